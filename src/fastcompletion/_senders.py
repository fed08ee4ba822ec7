"""Who is known to send what: for people who read a deviation and ask whether it is only their server.

Data, and one lookup. A key is (place, member, kind): the path of the JSON object without positions (`$.choices[].message`;
`{}` stands for any name in a map), the member in it (with `[]` for an element of its array), and the kind of `Deviation`.
Kinds are relative to what a body was held against, so members that the library's own schema has and the OpenAI or the
vLLM document lacks are here as extras too. The value names servers, for people: "vLLM >= 0.26" where only some versions
do it, what follows in parentheses where only some answers have it. A server that is not named may do it as well.

Places are the same in whole answers, chunks and text completions where the objects are called alike: `$.choices[]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = ["SENDERS", "VALUES", "senders_of"]

_CHOICE: Final = "$.choices[]"
_MESSAGE: Final = "$.choices[].message"
_DELTA: Final = "$.choices[].delta"
_CALL: Final = "$.choices[].message.tool_calls[]"
_CALL_DELTA: Final = "$.choices[].delta.tool_calls[]"
_LOGPROBS: Final = "$.choices[].logprobs"
_TOKEN: Final = "$.choices[].logprobs.content[]"  # noqa: S105 (of a text, not of a login)
_USAGE: Final = "$.usage"
_PROMPT_DETAILS: Final = "$.usage.prompt_tokens_details"
_COMPLETION_DETAILS: Final = "$.usage.completion_tokens_details"

SENDERS: Final[Mapping[tuple[str, str, str], str]] = {
    # -- the body: what it should have --------------------------------------------------------------------------------
    ("$", "id", "absent"): "guardrails",
    ("$", "id", "null"): "Cloudflare",
    ("$", "object", "absent"): "GitHub Copilot, Z.ai, guardrails; optional in Mistral, Perplexity and Fireworks chunks",
    ("$", "object", "str"): 'Azure ("" on the prompt filter chunk), TGI 2.0.0, mlx-lm (usage chunk), Together',
    ("$", "created", "float"): "SambaNova, old LiteLLM",
    ("$", "created", "absent"): "guardrails; optional in Z.ai and in Mistral chunks",
    ("$", "model", "absent"): "guardrails",
    ("$", "model", "null"): "LiteLLM",
    ("$", "choices", "null"): "xAI, OpenRouter and MiniMax (errors with HTTP 200)",
    ("$", "choices", "absent"): "LM Studio (failures with HTTP 200); optional in Cerebras chunks",
    ("$", "usage", "absent"): "OpenAI, where it is optional",
    ("$", "usage", "null"): "vLLM's Rust frontend, by its type; chunks of OpenAI, SGLang, TGI",
    # -- the body: members beyond one document or the other -----------------------------------------------------------
    ("$", "system_fingerprint", "extra"): (
        "OpenAI, vLLM >= 0.10, llama.cpp, Ollama, TGI, Groq, Cerebras, OpenRouter, LiteLLM, mlx-lm, LM Studio"
    ),
    ("$", "service_tier", "extra"): "OpenAI, Azure, vLLM >= 0.10, Groq, OpenRouter, Cerebras",
    ("$", "moderation", "extra"): "OpenAI (when asked for)",
    ("$", "metadata", "extra"): "SGLang, OpenAI (stored completions)",
    ("$", "prompt_logprobs", "extra"): "vLLM, Ray, TensorRT-LLM",
    ("$", "prompt_token_ids", "extra"): "vLLM >= 0.10.2, TensorRT-LLM, Fireworks",
    ("$", "prompt_token_ids_b64", "extra"): "TensorRT-LLM",
    ("$", "prompt_text", "extra"): "vLLM >= 0.22",
    ("$", "kv_transfer_params", "extra"): "vLLM >= 0.10, Ray",
    ("$", "ec_transfer_params", "extra"): "vLLM >= 0.26",
    ("$", "metrics", "extra"): "vLLM >= 0.26",
    ("$", "sglext", "extra"): "SGLang (when asked for)",
    ("$", "request_id", "extra"): "Z.ai, gateways",
    ("$", "web_search", "extra"): "Z.ai (when the tool ran)",
    ("$", "web_search", "object"): "Z.ai (a single result)",
    ("$.web_search[]", "images", "extra"): "Z.ai",
    ("$", "task_status", "extra"): "Z.ai (asynchronous results)",
    ("$", "provider", "extra"): "OpenRouter, Vercel and other gateways",
    ("$", "openrouter_metadata", "extra"): "OpenRouter",
    ("$", "alignment", "extra"): "OpenRouter",
    ("$", "safeguard_results", "extra"): "OpenRouter",
    ("$", "user_id", "extra"): "OpenRouter (errors)",
    ("$", "x_groq", "extra"): "Groq",
    ("$", "usage_breakdown", "extra"): "Groq (compound models)",
    ("$", "mcp_list_tools", "extra"): "Groq",
    ("$", "time_info", "extra"): "Cerebras",
    ("$", "timings", "extra"): "llama.cpp",
    ("$", "prompt_progress", "extra"): "llama.cpp",
    ("$", "__verbose", "extra"): "llama.cpp (with --verbose)",
    ("$", "_debug_info", "extra"): "Ollama",
    ("$", "stats", "extra"): "LM Studio",
    ("$", "model_info", "extra"): "LM Studio",
    ("$", "runtime", "extra"): "LM Studio",
    ("$", "citations", "extra"): "Perplexity, xAI",
    ("$", "search_results", "extra"): "Perplexity",
    ("$", "images", "extra"): "Perplexity",
    ("$", "related_questions", "extra"): "Perplexity",
    ("$", "status", "extra"): "Perplexity",
    ("$", "type", "extra"): "Perplexity",
    ("$", "prompt", "extra"): "Together",
    ("$", "warnings", "extra"): "Together",
    ("$", "perf_metrics", "extra"): "Fireworks",
    ("$", "nvext", "extra"): "Dynamo, NVIDIA NIM",
    ("$", "prompt_filter_results", "extra"): "Azure",
    ("$", "prompt_annotations", "extra"): "Azure (older API versions)",
    ("$", "base_resp", "extra"): "MiniMax",
    ("$", "input_sensitive", "extra"): "MiniMax",
    ("$", "input_sensitive_type", "extra"): "MiniMax",
    ("$", "output_sensitive", "extra"): "MiniMax",
    ("$", "output_sensitive_type", "extra"): "MiniMax",
    ("$", "output_files", "extra"): "Cloudflare (models of xAI)",
    ("$", "provider_specific_fields", "extra"): "LiteLLM",
    ("$", "error", "extra"): "OpenRouter, xAI, LM Studio",
    # -- a choice -----------------------------------------------------------------------------------------------------
    (_CHOICE, "index", "absent"): "Together",
    (_CHOICE, "message", "absent"): "Together (text instead), Mistral (messages instead)",
    (_CHOICE, "message", "extra"): "Perplexity (message and delta together)",
    (_CHOICE, "messages", "extra"): "Mistral",
    (_CHOICE, "delta", "absent"): "Azure (asynchronous content filter); optional in Cerebras chunks",
    (_CHOICE, "delta", "extra"): "Perplexity (message and delta together)",
    (_CHOICE, "text", "absent"): "Together",
    (_CHOICE, "text", "extra"): "Together, Cerebras",
    (_CHOICE, "tokens", "extra"): "Cerebras",
    (_CHOICE, "finish_reason", "null"): "Ollama, SGLang, Cerebras",
    (_CHOICE, "finish_reason", "absent"): "Gemini and the LiteLLM proxy (chunks)",
    (_CHOICE, "finish_reason", "str"): "vLLM, SGLang, TGI, Mistral, Together, DeepSeek, Z.ai, Ollama, gateways",
    (_CHOICE, "logprobs", "float"): "Together (chunks)",
    (_CHOICE, "logprobs", "array"): "TGI (text completions)",
    (_CHOICE, "stop_reason", "extra"): "vLLM, Ray, TensorRT-LLM",
    (_CHOICE, "token_ids", "extra"): "vLLM >= 0.10.2, Fireworks, SGLang (text completions)",
    (_CHOICE, "routed_experts", "extra"): "vLLM >= 0.22",
    (_CHOICE, "weight_versions", "extra"): "vLLM >= 0.33",
    (_CHOICE, "matched_stop", "extra"): "SGLang",
    (_CHOICE, "hidden_states", "extra"): "SGLang",
    (_CHOICE, "prompt_token_ids", "extra"): "SGLang",
    (_CHOICE, "response_token_ids", "extra"): "SGLang",
    (_CHOICE, "meta_info", "extra"): "SGLang",
    (_CHOICE, "mm_embedding_handle", "extra"): "TensorRT-LLM",
    (_CHOICE, "disaggregated_params", "extra"): "TensorRT-LLM",
    (_CHOICE, "avg_decoded_tokens_per_iter", "extra"): "TensorRT-LLM",
    (_CHOICE, "native_finish_reason", "extra"): "OpenRouter",
    (_CHOICE, "error", "extra"): "OpenRouter",
    (_CHOICE, "content_filter_results", "extra"): "Azure",
    (_CHOICE, "content_filter_offsets", "extra"): "Azure",
    (_CHOICE, "content_filter_raw", "extra"): "Azure",
    (_CHOICE, "provider_specific_fields", "extra"): "LiteLLM",
    (_CHOICE, "reasoning_logprobs", "extra"): "Cerebras",
    (_CHOICE, "seed", "extra"): "Together",
    (_CHOICE, "top_logprobs", "extra"): "Together",
    (_CHOICE, "raw_output", "extra"): "Fireworks",
    (_CHOICE, "prompt_logprobs", "extra"): "Mistral",
    (_CHOICE, "usage", "extra"): "Moonshot",
    # -- a message ----------------------------------------------------------------------------------------------------
    (_MESSAGE, "role", "null"): "Cloudflare",
    (_MESSAGE, "content", "array"): "Mistral, Perplexity, OpenRouter, Fireworks",
    (_MESSAGE, "refusal", "extra"): "OpenAI, Azure, vLLM >= 0.10, OpenRouter, LiteLLM",
    (_MESSAGE, "reasoning", "extra"): (
        "vLLM >= 0.11.2, Groq, Cerebras, OpenRouter, Ollama, LM Studio, mlx-lm, Together, TensorRT-LLM"
    ),
    (_MESSAGE, "reasoning_content", "extra"): (
        "DeepSeek, Z.ai, SGLang, vLLM 0.8.5 to 0.12, llama.cpp, Moonshot, xAI, Alibaba, Fireworks, Together, LiteLLM, "
        "TensorRT-LLM"
    ),
    (_MESSAGE, "reasoning_details", "extra"): "OpenRouter",
    (_MESSAGE, "reasoning_steps", "extra"): "Perplexity",
    (_MESSAGE, "reasoning_items", "extra"): "LiteLLM",
    (_MESSAGE, "annotations", "extra"): "OpenAI, vLLM >= 0.10, OpenRouter, Groq, LiteLLM",
    (_MESSAGE, "annotations", "object"): "vLLM, by its type",
    (_MESSAGE, "audio", "extra"): "OpenAI, vLLM >= 0.10, OpenRouter",
    (_MESSAGE, "function_call", "extra"): "OpenAI, vLLM >= 0.10, LiteLLM, Groq",
    (_MESSAGE, "tool_calls", "null"): "LiteLLM, Inception",
    (_MESSAGE, "executed_tools", "extra"): "Groq",
    (_MESSAGE, "images", "extra"): "OpenRouter, LiteLLM",
    (_MESSAGE, "thinking_blocks", "extra"): "LiteLLM",
    (_MESSAGE, "provider_specific_fields", "extra"): "LiteLLM",
    (_MESSAGE, "context", "extra"): "Azure (On Your Data)",
    (_MESSAGE, "citations", "extra"): "vLLM (Cohere parser)",
    (_MESSAGE, "gen_tokens", "extra"): "LMDeploy",
    (_MESSAGE, "prefix", "extra"): "Mistral",
    (_MESSAGE, "name", "extra"): "MiniMax, OpenRouter, Ollama, Perplexity, Fireworks",
    (_MESSAGE, "tool_call_id", "extra"): "Ollama, Perplexity, Fireworks",
    (_MESSAGE, "model", "extra"): "OpenRouter",
    (_MESSAGE, "audio_content", "extra"): "MiniMax",
    (_MESSAGE, "extra_content", "extra"): "Gemini",
    (_MESSAGE, "id", "extra"): "OpenAI (lists of stored messages)",
    (_MESSAGE, "content_parts", "extra"): "OpenAI (lists of stored messages)",
    # -- what a chunk adds to a message -------------------------------------------------------------------------------
    (_DELTA, "content", "array"): "Mistral",
    (_DELTA, "reasoning_details", "extra"): "OpenRouter",
    (_DELTA, "images", "extra"): "OpenRouter",
    (_DELTA, "token_id", "extra"): "Together",
    (_DELTA, "tokens", "extra"): "Cerebras",
    (_DELTA, "hidden_states", "extra"): "SGLang",
    (_DELTA, "executed_tools", "extra"): "Groq",
    (_DELTA, "extra_content", "extra"): "Gemini",
    (_DELTA, "thinking_blocks", "extra"): "LiteLLM",
    (_DELTA, "provider_specific_fields", "extra"): "LiteLLM",
    (_DELTA, "tool_call_id", "extra"): "Mistral",
    (_DELTA, "index", "extra"): "Mistral",
    (_DELTA, "metadata", "extra"): "Mistral",
    # -- tool calls ---------------------------------------------------------------------------------------------------
    (_CALL, "id", "absent"): "llama.cpp (when empty); optional in Cerebras, Perplexity and Fireworks",
    (_CALL, "id", "int"): "TGI 2.0.0",
    (_CALL, "type", "absent"): "Fireworks, Mistral",
    (_MESSAGE, "tool_calls[]", "object"): "Fireworks and Mistral (without type)",
    (_CALL, "function", "str"): "Fireworks",
    (_CALL, "index", "extra"): "Ollama, SGLang, Cerebras, Mistral, Together",
    (_CALL, "index", "float"): "Together",
    (_CALL, "custom", "extra"): "OpenAI",
    (_CALL, "extra_content", "extra"): "Gemini",
    (f"{_CALL}.function", "name", "null"): "LiteLLM, Fireworks",
    (f"{_CALL}.function", "arguments", "object"): "Mistral, TGI 2.0.0, llama.cpp (some templates), Fireworks, SGLang",
    (f"{_CALL}.function", "arguments", "null"): "vLLM's Rust frontend and Fireworks, by their types",
    (f"{_CALL}.function", "description", "extra"): "TGI",
    (f"{_CALL}.function", "provider_specific_fields", "extra"): "LiteLLM",
    (f"{_MESSAGE}.function_call", "name", "null"): "LiteLLM",
    (_CALL_DELTA, "index", "absent"): "Gemini, xAI; optional in Fireworks, Perplexity and Cerebras",
    (_CALL_DELTA, "index", "float"): "Together",
    (_CALL_DELTA, "extra_content", "extra"): "Gemini",
    (f"{_CALL_DELTA}.function", "arguments", "object"): "Mistral, by its type",
    (f"{_CALL_DELTA}.function", "provider_specific_fields", "extra"): "LiteLLM",
    # -- annotations and audio ----------------------------------------------------------------------------------------
    (f"{_MESSAGE}.annotations[]", "type", "str"): "Groq (document_citation, function_citation), OpenRouter (file)",
    (f"{_MESSAGE}.annotations[]", "url_citation", "absent"): "Groq and OpenRouter (annotations of other types)",
    (f"{_MESSAGE}.annotations[]", "document_citation", "extra"): "Groq",
    (f"{_MESSAGE}.annotations[]", "function_citation", "extra"): "Groq",
    (f"{_MESSAGE}.annotations[]", "file", "extra"): "OpenRouter",
    (f"{_MESSAGE}.annotations[].url_citation", "content", "extra"): "OpenRouter",
    (f"{_MESSAGE}.annotations[].url_citation", "title", "absent"): "OpenRouter",
    (f"{_MESSAGE}.annotations[].url_citation", "start_index", "absent"): "OpenRouter",
    (f"{_MESSAGE}.annotations[].url_citation", "end_index", "absent"): "OpenRouter",
    (f"{_DELTA}.annotations[]", "document_citation", "extra"): "Groq",
    (f"{_DELTA}.annotations[]", "function_citation", "extra"): "Groq",
    (f"{_DELTA}.annotations[]", "file", "extra"): "OpenRouter",
    (f"{_DELTA}.annotations[].url_citation", "content", "extra"): "OpenRouter",
    (f"{_DELTA}.annotations[].url_citation", "title", "absent"): "OpenRouter",
    (f"{_DELTA}.annotations[].url_citation", "start_index", "absent"): "OpenRouter",
    (f"{_DELTA}.annotations[].url_citation", "end_index", "absent"): "OpenRouter",
    (f"{_MESSAGE}.audio", "id", "absent"): "OpenRouter",
    (f"{_MESSAGE}.audio", "data", "absent"): "OpenRouter",
    (f"{_MESSAGE}.audio", "expires_at", "absent"): "OpenRouter",
    (f"{_MESSAGE}.audio", "transcript", "absent"): "OpenRouter",
    # -- log probabilities --------------------------------------------------------------------------------------------
    (_LOGPROBS, "refusal", "extra"): "OpenAI",
    (_LOGPROBS, "reasoning_content", "extra"): "DeepSeek",
    (_LOGPROBS, "content", "extra"): "llama.cpp and Ollama (text completions)",
    (_LOGPROBS, "tokens", "extra"): "Together and Fireworks (chats)",
    (_LOGPROBS, "token_logprobs", "extra"): "Together and Fireworks (chats)",
    (_LOGPROBS, "top_logprobs", "extra"): "Together and Fireworks (chats)",
    (_LOGPROBS, "text_offset", "extra"): "Fireworks (chats)",
    (_LOGPROBS, "token_ids", "extra"): "Together, Fireworks",
    (_LOGPROBS, "top_logprobs", "object"): "Together",
    (_TOKEN, "token", "absent"): "mlx-lm",
    (_TOKEN, "logprob", "null"): "SGLang (for minus infinity)",
    (_TOKEN, "logprob", "absent"): "mlx-lm (when it has no candidates), llama.cpp (with post_sampling_probs)",
    (_TOKEN, "prob", "extra"): "llama.cpp (with post_sampling_probs)",
    (_TOKEN, "top_probs", "extra"): "llama.cpp (with post_sampling_probs)",
    (_TOKEN, "top_logprobs", "null"): "TensorRT-LLM, LMDeploy, Mistral",
    (_TOKEN, "top_logprobs", "absent"): "Ollama (when empty), llama.cpp (with post_sampling_probs)",
    (_TOKEN, "id", "extra"): "llama.cpp, mlx-lm",
    (_TOKEN, "token_id", "extra"): "Mistral, Fireworks",
    (_TOKEN, "sampling_logprob", "extra"): "Fireworks",
    (_TOKEN, "text_offset", "extra"): "Fireworks",
    (_TOKEN, "last_activation", "extra"): "Fireworks",
    (_TOKEN, "routing_matrix", "extra"): "Fireworks",
    (f"{_TOKEN}.top_logprobs[]", "id", "extra"): "llama.cpp",
    (f"{_TOKEN}.top_logprobs[]", "prob", "extra"): "llama.cpp (with post_sampling_probs)",
    (f"{_TOKEN}.top_logprobs[]", "logprob", "absent"): "llama.cpp (with post_sampling_probs)",
    (f"{_TOKEN}.top_logprobs[]", "logprob", "null"): "SGLang (for minus infinity)",
    (f"{_TOKEN}.top_logprobs[]", "token_id", "extra"): "Fireworks",
    # -- usage --------------------------------------------------------------------------------------------------------
    (_USAGE, "prompt_tokens", "absent"): "Claude resellers (input_tokens instead); optional in Cerebras",
    (_USAGE, "prompt_tokens", "float"): "SambaNova",
    (_USAGE, "completion_tokens", "absent"): "Claude resellers (output_tokens instead)",
    (_USAGE, "completion_tokens", "float"): "SambaNova",
    (_USAGE, "completion_tokens", "null"): "vLLM and SGLang, by their types",
    (_USAGE, "total_tokens", "float"): "SambaNova",
    (_USAGE, "completion_tokens_details", "extra"): (
        "OpenAI, vLLM >= 0.30, SGLang, Groq, Z.ai, OpenRouter, LiteLLM, Fireworks"
    ),
    (_USAGE, "prompt_cache_hit_tokens", "extra"): "DeepSeek",
    (_USAGE, "prompt_cache_miss_tokens", "extra"): "DeepSeek",
    (_USAGE, "reasoning_tokens", "extra"): "SGLang, Perplexity",
    (_USAGE, "cached_tokens", "extra"): "Moonshot",
    (_USAGE, "queue_time", "extra"): "Groq",
    (_USAGE, "prompt_time", "extra"): "Groq",
    (_USAGE, "completion_time", "extra"): "Groq",
    (_USAGE, "total_time", "extra"): "Groq",
    (_USAGE, "cost", "extra"): "OpenRouter, LiteLLM, Perplexity",
    (_USAGE, "cost", "object"): "Perplexity",
    (_USAGE, "cost_details", "extra"): "OpenRouter",
    (_USAGE, "is_byok", "extra"): "OpenRouter",
    (_USAGE, "server_tool_use_details", "extra"): "OpenRouter",
    (_USAGE, "server_tool_use", "extra"): "LiteLLM",
    (_USAGE, "cost_in_usd_ticks", "extra"): "xAI",
    (_USAGE, "num_sources_used", "extra"): "xAI",
    (_USAGE, "citation_tokens", "extra"): "Perplexity",
    (_USAGE, "num_search_queries", "extra"): "Perplexity",
    (_USAGE, "search_context_size", "extra"): "Perplexity",
    (_USAGE, "image_tokens", "extra"): "Cerebras",
    (_USAGE, "prompt_audio_seconds", "extra"): "Mistral",
    (_USAGE, "service_tier", "extra"): "Mistral",
    (_USAGE, "total_characters", "extra"): "MiniMax",
    (_USAGE, "is_last_response", "extra"): "SambaNova",
    (_USAGE, "start_time", "extra"): "SambaNova",
    (_USAGE, "end_time", "extra"): "SambaNova",
    (_USAGE, "stop_reason", "extra"): "SambaNova",
    (_USAGE, "cache_creation_input_tokens", "extra"): "LiteLLM (models of Anthropic)",
    (_USAGE, "cache_read_input_tokens", "extra"): "LiteLLM (models of Anthropic)",
    (_USAGE, "input_tokens", "extra"): "Claude resellers",
    (_USAGE, "output_tokens", "extra"): "Claude resellers",
    (_PROMPT_DETAILS, "audio_tokens", "extra"): "OpenAI, OpenRouter, SGLang",
    (_PROMPT_DETAILS, "text_tokens", "extra"): "OpenAI, LiteLLM, xAI",
    (_PROMPT_DETAILS, "image_tokens", "extra"): "OpenAI, LiteLLM, xAI, SGLang",
    (_PROMPT_DETAILS, "video_tokens", "extra"): "OpenRouter, SGLang, LiteLLM",
    (_PROMPT_DETAILS, "cache_write_tokens", "extra"): "OpenAI, OpenRouter, LiteLLM",
    (_PROMPT_DETAILS, "created_cache_tokens", "extra"): "vLLM >= 0.26",
    (_PROMPT_DETAILS, "multimodal_tokens", "extra"): "vLLM >= 0.26",
    (_PROMPT_DETAILS, "cache_creation_input_tokens", "extra"): "Alibaba",
    (_PROMPT_DETAILS, "cache_creation", "extra"): "Alibaba",
    (_PROMPT_DETAILS, "cache_type", "extra"): "Alibaba",
    (_PROMPT_DETAILS, "cache_creation_tokens", "extra"): "LiteLLM",
    (_PROMPT_DETAILS, "cache_creation_token_details", "extra"): "LiteLLM",
    (_COMPLETION_DETAILS, "image_tokens", "extra"): "LiteLLM",
    (_COMPLETION_DETAILS, "video_tokens", "extra"): "LiteLLM",
    # -- error bodies -------------------------------------------------------------------------------------------------
    ("$", "message", "object"): "Mistral",
    ("$", "choices", "extra"): "MiniMax (null, beside base_resp)",
    ("$.error", "misalignment", "extra"): "OpenAI",
    ("$.error", "failed_generation", "extra"): "Groq",
    ("$.error", "debug", "extra"): "Groq",
    ("$.error", "schema_code", "extra"): "Groq",
    ("$.error", "schema_kind", "extra"): "Groq",
    ("$.error", "schema_path", "extra"): "Groq",
    ("$.error", "schema_path_segments", "extra"): "Groq",
    ("$.error", "n_prompt_tokens", "extra"): "llama.cpp",
    ("$.error", "n_ctx", "extra"): "llama.cpp",
    ("$.error", "object", "extra"): "SGLang (in streams)",
    ("$.error", "details", "extra"): "Gemini",
    ("$.error", "id", "extra"): "Cerebras (in streams)",
    ("$.error", "provider_specific_fields", "extra"): "LiteLLM",
}

_ANTHROPIC: Final = "models of Anthropic behind gateways"
_COHERE: Final = "models of Cohere behind gateways"
_GEMINI: Final = "Gemini behind gateways"

VALUES: Final[Mapping[tuple[str, str, str], str]] = {
    # Where a document closes the set of values and the kind says too little: the value as JSON in place of the kind.
    ("$", "object", '""'): "Azure (prompt filter chunk)",
    ("$", "object", '"text_completion"'): "TGI 2.0.0 (chats)",
    ("$", "object", '"chat.completion"'): "mlx-lm (usage chunk)",
    ("$", "object", '"text.completion"'): "Together",
    (_CHOICE, "finish_reason", '""'): "SGLang 0.4.3, Together, Perplexity, TGI (chunks of text completions)",
    (_CHOICE, "finish_reason", '"abort"'): "vLLM, SGLang, LMDeploy",
    (_CHOICE, "finish_reason", '"error"'): "OpenRouter, Mistral, LMDeploy",
    (_CHOICE, "finish_reason", '"repetition"'): "vLLM",
    (_CHOICE, "finish_reason", '"model_length"'): "Mistral",
    (_CHOICE, "finish_reason", '"eos"'): "Together",
    (_CHOICE, "finish_reason", '"eos_token"'): "TGI",
    (_CHOICE, "finish_reason", '"stop_sequence"'): "TGI",
    (_CHOICE, "finish_reason", '"insufficient_system_resource"'): "DeepSeek",
    (_CHOICE, "finish_reason", '"sensitive"'): "Z.ai",
    (_CHOICE, "finish_reason", '"network_error"'): "Z.ai",
    (_CHOICE, "finish_reason", '"model_context_window_exceeded"'): "Z.ai",
    (_CHOICE, "finish_reason", '"load"'): "Ollama",
    (_CHOICE, "finish_reason", '"unload"'): "Ollama",
    (_CHOICE, "finish_reason", '"end_turn"'): _ANTHROPIC,
    (_CHOICE, "finish_reason", '"max_tokens"'): _ANTHROPIC,
    (_CHOICE, "finish_reason", '"tool_use"'): _ANTHROPIC,
    (_CHOICE, "finish_reason", '"refusal"'): _ANTHROPIC,
    (_CHOICE, "finish_reason", '"pause_turn"'): _ANTHROPIC,
    (_CHOICE, "finish_reason", '"compaction"'): _ANTHROPIC,
    (_CHOICE, "finish_reason", '"COMPLETE"'): _COHERE,
    (_CHOICE, "finish_reason", '"STOP_SEQUENCE"'): _COHERE,
    (_CHOICE, "finish_reason", '"TOOL_CALL"'): _COHERE,
    (_CHOICE, "finish_reason", '"ERROR"'): _COHERE,
    (_CHOICE, "finish_reason", '"ERROR_TOXIC"'): _COHERE,
    (_CHOICE, "finish_reason", '"STOP"'): _GEMINI,
    (_CHOICE, "finish_reason", '"MAX_TOKENS"'): _GEMINI,
    (_CHOICE, "finish_reason", '"SAFETY"'): _GEMINI,
    (_CHOICE, "finish_reason", '"RECITATION"'): _GEMINI,
    (_CHOICE, "finish_reason", '"LANGUAGE"'): _GEMINI,
    (_CHOICE, "finish_reason", '"OTHER"'): _GEMINI,
    (_CHOICE, "finish_reason", '"BLOCKLIST"'): _GEMINI,
    (_CHOICE, "finish_reason", '"PROHIBITED_CONTENT"'): _GEMINI,
    (_CHOICE, "finish_reason", '"SPII"'): _GEMINI,
    (_CHOICE, "finish_reason", '"MALFORMED_FUNCTION_CALL"'): _GEMINI,
    (_CHOICE, "finish_reason", '"IMAGE_SAFETY"'): _GEMINI,
    (_CHOICE, "finish_reason", '"UNEXPECTED_TOOL_CALL"'): _GEMINI,
    (_CHOICE, "finish_reason", '"TOO_MANY_TOOL_CALLS"'): _GEMINI,
    (_CHOICE, "finish_reason", '"MISSING_THOUGHT_SIGNATURE"'): _GEMINI,
    (_CHOICE, "finish_reason", '"NO_IMAGE"'): _GEMINI,
    (_CHOICE, "finish_reason", '"guardrail_intervened"'): "Bedrock behind gateways",
    (_CHOICE, "finish_reason", '"content_filtered"'): "Bedrock behind gateways",
}

_POSITION_OR_NAME = re.compile(r'\[(?:[0-9]*|("(?:[^"\\]|\\.)*"))\]')


def senders_of(path: str, kind: str, example: str = "") -> str | None:
    """Who is known to send such a deviation, or None where nobody is.

    Args:
        path: `Deviation.path`, with or without positions.
        kind: `Deviation.kind`.
        example: `Deviation.example`; where the value decides, the answer names those who send that value.

    >>> senders_of("$.choices[3].message.content", "array")
    'Mistral, Perplexity, OpenRouter, Fireworks'
    >>> senders_of("$.choices[].finish_reason", "str", '"abort"')
    'vLLM, SGLang, LMDeploy'
    >>> senders_of("$.nobody", "extra") is None
    True
    """
    general = _POSITION_OR_NAME.sub(lambda match: "{}" if match[1] else "[]", path)
    place, _, member = general.rpartition(".")
    return VALUES.get((place, member, example)) or SENDERS.get((place, member, kind))
