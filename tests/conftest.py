"""How much Hypothesis tries.

Its built-in profile "ci" holds where CI is set, "local" elsewhere, and "fuzz" for `make fuzz`.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# No deadline: a shared machine is at times slow for reasons that are not ours.
settings.register_profile("local", deadline=None)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "10000")),
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)

if "CI" not in os.environ:
    settings.load_profile("local")
