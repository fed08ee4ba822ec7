"""How fast fastcompletion is beside what else reads and writes these bodies.

`make bench` times every contender on every body, `python -m bench.ratios` compares them fairly, and `make demo` shows
what the library does on real bodies. Nothing is timed before its answer is checked.
"""
