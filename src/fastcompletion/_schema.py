"""The one schema: what OpenAI-compatible servers answer, as the specifications say it.

Data only. Every Struct is the superset of the OpenAI reference, the Ray Serve / vLLM models, the Z.ai
fields and what the big servers add; what is rarer stays in `extra`. What servers do *against* the
specifications (a missing `id`, an object where a string belongs) is not written into the types: a codec
learns it (`_dialect`). Exceptions, each named below, are shapes that several large servers send by design.

Reading the types:

* ``T`` is required by the specification. A server that leaves it out makes it `UNSET` (see `deviations`).
* ``T | None | UnsetType = UNSET`` may be a value, null or absent, and the three stay apart. `None` and
  `UNSET` are both false: ``if completion.usage:``, ``message.content or ""``.
* ``Number`` is a JSON number kept as sent: Go and JavaScript servers write ``0`` and ``-1`` for floats.

Who sends a member is noted beside it: OpenAI (openai-python 3.57, openai-openapi f85dbe22), vLLM (0.33.0,
older versions where said), SGLang (0.5.23), and others by name. Members come in the order in which OpenAI
and vLLM write them, since msgspec finds the next member fastest where the last one ended.

`gc=False` everywhere (inherited): none of these objects can be part of a reference cycle unless a caller
builds one, and not tracking them makes decoding 10 to 25 % faster.
"""

from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import UNSET, UnsetType

from fastcompletion._extra import Extensible, is_array, is_object

__all__ = [
    "ROOTS",
    "Annotation",
    "Audio",
    "AudioDelta",
    "BaseResponse",
    "ChatCompletion",
    "ChatCompletionChunk",
    "Choice",
    "ChoiceLogprobs",
    "ChunkChoice",
    "Completion",
    "CompletionChoice",
    "CompletionLogprobs",
    "CompletionTokensDetails",
    "CustomTool",
    "CustomToolDelta",
    "Delta",
    "ErrorInfo",
    "ErrorObject",
    "ErrorResponse",
    "FunctionCall",
    "FunctionCallDelta",
    "Logprob",
    "Message",
    "Moderation",
    "ModerationResult",
    "ModerationSide",
    "Number",
    "PromptTokensDetails",
    "RequestMetrics",
    "TokenCounts",
    "TokenLogprob",
    "ToolCall",
    "ToolCallDelta",
    "TopLogprob",
    "UrlCitation",
    "Usage",
    "WebSearchResult",
    "WeightVersion",
]

Number: TypeAlias = int | float


class FunctionCall(Extensible, kw_only=True):
    """The function that the model wants called, in `ToolCall.function` or (deprecated) `Message.function_call`.

    >>> import fastcompletion as fc
    >>> fc.FunctionCall(name="add", arguments='{"a": 1}').name
    'add'
    """

    name: str
    arguments: str  # JSON as text, as the model wrote it: may be invalid or cut off


class CustomTool(Extensible, kw_only=True):
    """The input for a custom (free-text) tool. OpenAI.

    >>> import fastcompletion as fc
    >>> fc.CustomTool(name="sql", input="SELECT 1").input
    'SELECT 1'
    """

    name: str
    input: str


class ToolCall(Extensible, kw_only=True):
    """One tool call of a finished message; which of `function` and `custom` is there depends on `type`.

    >>> import fastcompletion as fc
    >>> call = fc.ToolCall(id="call_1", type="function", function=fc.FunctionCall(name="f", arguments="{}"))
    >>> call.function.name if call.function else None
    'f'
    """

    id: str
    type: str  # "function", "custom"; servers invent others
    function: FunctionCall | UnsetType = UNSET  # with type "function"
    custom: CustomTool | UnsetType = UNSET  # with type "custom" (OpenAI)
    index: int | UnsetType = UNSET  # position; SGLang, Ollama, Cerebras, Mistral also outside streams


class UrlCitation(Extensible, kw_only=True):
    """A web page that the text between two character positions rests on. OpenAI, OpenRouter.

    >>> import fastcompletion as fc
    >>> fc.UrlCitation(start_index=0, end_index=4, title="T", url="https://example.org").url
    'https://example.org'
    """

    start_index: int
    end_index: int
    title: str
    url: str


class Annotation(Extensible, kw_only=True):
    """A note on the text of a message; `type` says which.

    >>> import fastcompletion as fc
    >>> fc.Annotation(type="file").type
    'file'
    """

    type: str  # "url_citation" (OpenAI); "document_citation", "function_citation" (Groq); "file" (OpenRouter)
    url_citation: UrlCitation | UnsetType = UNSET


class Audio(Extensible, kw_only=True):
    """Spoken answer. OpenAI.

    >>> import fastcompletion as fc
    >>> fc.Audio(id="a", data="", expires_at=0, transcript="hi").transcript
    'hi'
    """

    id: str
    data: str  # base64
    expires_at: int  # Unix time, seconds
    transcript: str


class Message(Extensible, kw_only=True):
    """What the assistant said in one choice.

    >>> import fastcompletion as fc
    >>> fc.Message(role="assistant", content="Hello").text
    'Hello'
    """

    role: str
    content: str | None | UnsetType = UNSET  # null with tool calls (OpenAI, vLLM); absent there (TGI, Gemini)
    refusal: str | None | UnsetType = UNSET  # OpenAI; vLLM >= 0.10 always null
    annotations: list[Annotation] | None | UnsetType = UNSET  # OpenAI; vLLM always null
    audio: Audio | None | UnsetType = UNSET  # OpenAI; vLLM always null
    function_call: FunctionCall | None | UnsetType = UNSET  # deprecated; vLLM, LiteLLM always null
    tool_calls: list[ToolCall] | None | UnsetType = UNSET  # vLLM <= 0.22 sends [], LiteLLM null when there are none
    reasoning: str | None | UnsetType = UNSET  # vLLM >= 0.11.2, Groq, Cerebras, OpenRouter, Ollama, LM Studio
    reasoning_content: str | None | UnsetType = UNSET  # DeepSeek, Z.ai, SGLang (always), vLLM 0.8.5 to 0.12

    @property
    def text(self) -> str:
        """The answer as one string: string content, or its text parts joined (Mistral, Fireworks), or "".

        >>> import fastcompletion as fc
        >>> fc.Message(role="assistant", content=None).text
        ''
        """
        return _text_of(self.content)

    @property
    def reasoning_text(self) -> str:
        """The model's reasoning under whichever of its two names the server uses, or "".

        >>> import fastcompletion as fc
        >>> fc.Message(role="assistant", reasoning_content="Because.").reasoning_text
        'Because.'
        """
        return _text_of(self.reasoning or self.reasoning_content)


def _text_of(content: object) -> str:
    if isinstance(content, str) or not is_array(content):
        return content if isinstance(content, str) else ""
    texts = (part.get("text") for part in content if is_object(part) and part.get("type", "text") == "text")
    return "".join(text for text in texts if isinstance(text, str))


class TopLogprob(Extensible, kw_only=True):
    """One of the likeliest tokens at a position.

    >>> import fastcompletion as fc
    >>> fc.TopLogprob(token="a", logprob=-0.5, bytes=[97]).logprob
    -0.5
    """

    token: str
    logprob: Number  # natural logarithm; -9999.0 stands for "very unlikely" (OpenAI, vLLM)
    bytes: list[int] | None | UnsetType = UNSET  # UTF-8 bytes of the token, which may be part of a character


class TokenLogprob(Extensible, kw_only=True):
    """A token of the answer with its log probability and the likeliest alternatives.

    >>> import fastcompletion as fc
    >>> fc.TokenLogprob(token="a", logprob=-0.5, bytes=[97], top_logprobs=[]).token
    'a'
    """

    token: str
    logprob: Number
    bytes: list[int] | None | UnsetType = UNSET
    top_logprobs: list[TopLogprob] | None | UnsetType = UNSET  # null: TensorRT-LLM, LMDeploy; absent: Ollama


class ChoiceLogprobs(Extensible, kw_only=True):
    """Log probabilities of one choice, a token each.

    >>> import fastcompletion as fc
    >>> fc.ChoiceLogprobs(content=[]).content
    []
    """

    content: list[TokenLogprob] | None | UnsetType = UNSET
    refusal: list[TokenLogprob] | None | UnsetType = UNSET  # OpenAI; absent in vLLM, SGLang, llama.cpp


class WeightVersion(Extensible, kw_only=True):
    """Which version of the weights made which tokens of a choice. vLLM >= 0.33.

    >>> import fastcompletion as fc
    >>> fc.WeightVersion(version="7", start=0, end=12).end
    12
    """

    version: str
    start: int
    end: int


class Choice(Extensible, kw_only=True):
    """One answer of a `ChatCompletion`.

    >>> import fastcompletion as fc
    >>> fc.Choice(index=0, message=fc.Message(role="assistant"), finish_reason="stop").finish_reason
    'stop'
    """

    index: int
    message: Message
    logprobs: ChoiceLogprobs | None | UnsetType = UNSET
    finish_reason: str | None | UnsetType = UNSET
    # An open set: stop, length, tool_calls, content_filter, function_call (OpenAI); abort (vLLM, SGLang),
    # sensitive (Z.ai), eos (Together), insufficient_system_resource (DeepSeek), "" (SGLang 0.4), ...
    stop_reason: int | str | None | UnsetType = UNSET  # vLLM: token id or string that stopped it; 0 is a token id
    token_ids: list[int] | None | UnsetType = UNSET  # vLLM >= 0.10.2, Fireworks
    routed_experts: str | None | UnsetType = UNSET  # vLLM >= 0.22: base64 of a .npy file
    weight_versions: list[WeightVersion] | None | UnsetType = UNSET  # vLLM >= 0.33
    matched_stop: int | str | None | UnsetType = UNSET  # SGLang (always)
    content_filter_results: dict[str, Any] | UnsetType = UNSET  # Azure
    native_finish_reason: str | None | UnsetType = UNSET  # OpenRouter


class PromptTokensDetails(Extensible, kw_only=True):
    """What the prompt's tokens were; counts of tokens.

    >>> import fastcompletion as fc
    >>> fc.PromptTokensDetails(cached_tokens=8).cached_tokens
    8
    """

    cached_tokens: int | None | UnsetType = UNSET
    audio_tokens: int | None | UnsetType = UNSET
    cache_write_tokens: int | None | UnsetType = UNSET  # OpenAI 3.x, OpenRouter
    text_tokens: int | None | UnsetType = UNSET  # OpenAI 3.x, xAI
    image_tokens: int | None | UnsetType = UNSET  # OpenAI 3.x, xAI, SGLang
    video_tokens: int | None | UnsetType = UNSET  # OpenRouter, SGLang
    created_cache_tokens: int | None | UnsetType = UNSET  # vLLM >= 0.26
    multimodal_tokens: dict[str, int] | None | UnsetType = UNSET  # vLLM >= 0.26, by modality


class CompletionTokensDetails(Extensible, kw_only=True):
    """What the answer's tokens were; counts of tokens.

    >>> import fastcompletion as fc
    >>> fc.CompletionTokensDetails(reasoning_tokens=100).reasoning_tokens
    100
    """

    reasoning_tokens: int | None | UnsetType = UNSET
    audio_tokens: int | None | UnsetType = UNSET
    accepted_prediction_tokens: int | None | UnsetType = UNSET
    rejected_prediction_tokens: int | None | UnsetType = UNSET
    text_tokens: int | None | UnsetType = UNSET  # OpenAI 3.x
    image_tokens: int | None | UnsetType = UNSET  # LiteLLM


class Usage(Extensible, kw_only=True):
    """Tokens used.

    >>> import fastcompletion as fc
    >>> fc.Usage(prompt_tokens=9, completion_tokens=3, total_tokens=12).total_tokens
    12
    """

    prompt_tokens: int
    completion_tokens: int | None | UnsetType = UNSET  # nullable by type in vLLM and SGLang; absent in embeddings
    total_tokens: int  # need not be the sum: xAI and Gemini count reasoning here only
    prompt_tokens_details: PromptTokensDetails | None | UnsetType = UNSET  # vLLM, SGLang: null unless enabled
    completion_tokens_details: CompletionTokensDetails | None | UnsetType = UNSET
    prompt_cache_hit_tokens: int | UnsetType = UNSET  # DeepSeek
    prompt_cache_miss_tokens: int | UnsetType = UNSET  # DeepSeek
    reasoning_tokens: int | None | UnsetType = UNSET  # SGLang (always), Perplexity
    cached_tokens: int | UnsetType = UNSET  # Moonshot
    cost: Number | None | UnsetType = UNSET  # OpenRouter, in credits
    is_byok: bool | UnsetType = UNSET  # OpenRouter
    cost_details: dict[str, Any] | None | UnsetType = UNSET  # OpenRouter


class TokenCounts(NamedTuple):
    """The three counts of a `ChatCompletion.usage`, None where the server said nothing or null.

    >>> import fastcompletion as fc
    >>> fc.TokenCounts(prompt=9, completion=None, total=9).completion is None
    True
    """

    prompt: int | None
    completion: int | None
    total: int | None


class ModerationResult(Extensible, kw_only=True):
    """One verdict of a moderation model. OpenAI.

    >>> import fastcompletion as fc
    >>> fc.ModerationResult(
    ...     type="moderation_result", model="m", flagged=False, categories={}, category_scores={}
    ... ).flagged
    False
    """

    type: str
    model: str
    flagged: bool
    categories: dict[str, bool]
    category_scores: dict[str, Number]
    category_applied_input_types: dict[str, list[str]] | UnsetType = UNSET


class ModerationSide(Extensible, kw_only=True):
    """Moderation of the request's input or of the answer: results, or an error. OpenAI.

    >>> import fastcompletion as fc
    >>> fc.ModerationSide(type="error", code="unavailable", message="try later").code
    'unavailable'
    """

    type: str  # "moderation_results" or "error"
    model: str | UnsetType = UNSET
    results: list[ModerationResult] | UnsetType = UNSET
    code: str | UnsetType = UNSET
    message: str | UnsetType = UNSET


class Moderation(Extensible, kw_only=True):
    """Moderation of both sides, when the request asked for it. OpenAI.

    >>> import fastcompletion as fc
    >>> side = fc.ModerationSide(type="moderation_results", model="m", results=[])
    >>> fc.Moderation(input=side, output=side).input.results
    []
    """

    input: ModerationSide
    output: ModerationSide


class Logprob(Extensible, kw_only=True):
    """vLLM's log probability of one prompt token; see `ChatCompletion.prompt_logprobs`.

    >>> import fastcompletion as fc
    >>> fc.Logprob(logprob=-0.1, rank=1, decoded_token="Hi").rank
    1
    """

    logprob: Number
    rank: int | None | UnsetType = UNSET  # place in the vocabulary, from 1
    decoded_token: str | None | UnsetType = UNSET


class WebSearchResult(Extensible, kw_only=True):
    """A page behind an answer of GLM's web_search tool. Z.ai.

    >>> import fastcompletion as fc
    >>> fc.WebSearchResult(title="T", link="https://example.org").link
    'https://example.org'
    """

    title: str | None | UnsetType = UNSET
    content: str | None | UnsetType = UNSET
    link: str | None | UnsetType = UNSET
    media: str | None | UnsetType = UNSET
    icon: str | None | UnsetType = UNSET
    refer: str | None | UnsetType = UNSET
    publish_date: str | None | UnsetType = UNSET


class RequestMetrics(Extensible, kw_only=True):
    """Timing of one request. vLLM >= 0.26, where enabled.

    >>> import fastcompletion as fc
    >>> fc.RequestMetrics(time_to_first_token_ms=41.5).time_to_first_token_ms
    41.5
    """

    time_to_first_token_ms: Number | None | UnsetType = UNSET
    generation_time_ms: Number | None | UnsetType = UNSET
    queue_time_ms: Number | None | UnsetType = UNSET
    mean_itl_ms: Number | None | UnsetType = UNSET
    tokens_per_second: Number | None | UnsetType = UNSET
    speculative_decoding: dict[str, Any] | None | UnsetType = UNSET


class ChatCompletion(Extensible, kw_only=True):
    """A whole answer of ``/v1/chat/completions``.

    >>> import fastcompletion as fc
    >>> body = b'{"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Hi"}}]}'
    >>> fc.decode(body, fc.ChatCompletion).choices[0].message.text
    'Hi'
    """

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int  # Unix time, seconds
    model: str
    choices: list[Choice]
    usage: Usage | None | UnsetType = UNSET
    service_tier: str | None | UnsetType = UNSET
    # OpenAI: auto, default, flex, scale, priority; Groq: on_demand; open set
    system_fingerprint: str | None | UnsetType = UNSET
    moderation: Moderation | None | UnsetType = UNSET  # OpenAI, when asked for
    prompt_logprobs: list[dict[int, Logprob] | None] | None | UnsetType = UNSET
    # vLLM: for each prompt token, token id -> Logprob; the first entry is null. Decimal token ids as names on the wire.
    prompt_token_ids: list[int] | None | UnsetType = UNSET  # vLLM >= 0.10.2
    prompt_text: str | None | UnsetType = UNSET  # vLLM >= 0.22: the rendered prompt
    kv_transfer_params: dict[str, Any] | None | UnsetType = UNSET
    # vLLM: disaggregated prefill, connector's own members
    ec_transfer_params: dict[str, Any] | None | UnsetType = UNSET  # vLLM >= 0.26: encoder cache, by multimodal hash
    metrics: RequestMetrics | None | UnsetType = UNSET  # vLLM >= 0.26
    metadata: dict[str, Any] | None | UnsetType = UNSET  # SGLang (always); OpenAI, stored completions
    request_id: str | None | UnsetType = UNSET  # Z.ai
    web_search: list[WebSearchResult] | None | UnsetType = UNSET  # Z.ai, when the tool ran
    prompt_filter_results: list[dict[str, Any]] | None | UnsetType = UNSET  # Azure
    sglext: dict[str, Any] | None | UnsetType = UNSET  # SGLang, when asked for

    @property
    def token_counts(self) -> TokenCounts:
        """Prompt, completion and total tokens, None where `usage` or the count is absent or null.

        >>> import fastcompletion as fc
        >>> body = b'{"object":"chat.completion","choices":[],"usage":{"prompt_tokens":7,"total_tokens":null}}'
        >>> fc.decode(body, fc.ChatCompletion).token_counts
        TokenCounts(prompt=7, completion=None, total=None)
        """
        usage = self.usage
        if not isinstance(usage, Usage):
            return TokenCounts(None, None, None)
        return TokenCounts(
            _int_or_none(usage.prompt_tokens), _int_or_none(usage.completion_tokens), _int_or_none(usage.total_tokens)
        )

    def choice(self, index: int = 0) -> Choice:
        """The choice with that ``index``; by position where the server sends no index (Together).

        Args:
            index: Which answer, from 0. Default 0.

        Raises:
            IndexError: when there is none.

        >>> import fastcompletion as fc
        >>> body = b'{"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Hi"}}]}'
        >>> fc.decode(body, fc.ChatCompletion).choice().message.text
        'Hi'
        """
        choices = [choice for choice in self.choices if isinstance(choice, Choice)] if is_array(self.choices) else []
        for position, choice in enumerate(choices):
            sent = _int_or_none(choice.index)
            if index == (position if sent is None else sent):
                return choice
        raise IndexError(f"no choice {index}: the completion has {len(choices)}")


def _int_or_none(count: object) -> int | None:
    return count if isinstance(count, int) else None


class FunctionCallDelta(Extensible, kw_only=True):
    """A fragment of a function call; `arguments` of all fragments are joined.

    >>> import fastcompletion as fc
    >>> fc.FunctionCallDelta(arguments='{"a').arguments
    '{"a'
    """

    name: str | None | UnsetType = UNSET  # first fragment; null later (SGLang)
    arguments: str | None | UnsetType = UNSET


class CustomToolDelta(Extensible, kw_only=True):
    """A fragment of a custom tool's input. OpenAI, LiteLLM.

    >>> import fastcompletion as fc
    >>> fc.CustomToolDelta(input="SELECT").input
    'SELECT'
    """

    name: str | None | UnsetType = UNSET
    input: str | None | UnsetType = UNSET


class ToolCallDelta(Extensible, kw_only=True):
    """A fragment of the tool call at `index`.

    >>> import fastcompletion as fc
    >>> fc.ToolCallDelta(index=0, id="call_1", type="function").id
    'call_1'
    """

    index: int
    id: str | None | UnsetType = UNSET  # first fragment; null (SGLang) or "" (Alibaba) later
    type: str | None | UnsetType = UNSET
    function: FunctionCallDelta | None | UnsetType = UNSET
    custom: CustomToolDelta | None | UnsetType = UNSET


class AudioDelta(Extensible, kw_only=True):
    """A fragment of a spoken answer; every member arrives when it is ready. OpenAI.

    >>> import fastcompletion as fc
    >>> fc.AudioDelta(id="a").id
    'a'
    """

    id: str | UnsetType = UNSET
    data: str | UnsetType = UNSET
    transcript: str | UnsetType = UNSET
    expires_at: int | UnsetType = UNSET


class Delta(Extensible, kw_only=True):
    """What one chunk adds to a message.

    >>> import fastcompletion as fc
    >>> fc.Delta(content="Hel").text
    'Hel'
    """

    role: str | None | UnsetType = UNSET  # first chunk; every chunk (TGI, MLX); null (SGLang tool chunks)
    content: str | None | UnsetType = UNSET
    refusal: str | None | UnsetType = UNSET
    annotations: list[Annotation] | None | UnsetType = UNSET
    audio: AudioDelta | None | UnsetType = UNSET
    function_call: FunctionCallDelta | None | UnsetType = UNSET
    tool_calls: list[ToolCallDelta] | None | UnsetType = UNSET
    reasoning: str | None | UnsetType = UNSET
    reasoning_content: str | None | UnsetType = UNSET  # SGLang: always there, null when there is none

    @property
    def text(self) -> str:
        """The text this chunk adds, or ""; text parts joined, as in `Message.text`.

        >>> import fastcompletion as fc
        >>> fc.Delta(role="assistant").text
        ''
        """
        return _text_of(self.content)

    @property
    def reasoning_text(self) -> str:
        """The reasoning this chunk adds under whichever of its two names, or "".

        >>> import fastcompletion as fc
        >>> fc.Delta(reasoning="So").reasoning_text
        'So'
        """
        return _text_of(self.reasoning or self.reasoning_content)


class ChunkChoice(Extensible, kw_only=True):
    """What one chunk says about the choice at `index`.

    >>> import fastcompletion as fc
    >>> fc.ChunkChoice(index=0, delta=fc.Delta(content="Hi")).delta.content
    'Hi'
    """

    index: int
    delta: Delta
    logprobs: ChoiceLogprobs | None | UnsetType = UNSET
    finish_reason: str | None | UnsetType = UNSET
    stop_reason: int | str | None | UnsetType = UNSET  # vLLM, final chunk
    token_ids: list[int] | None | UnsetType = UNSET  # vLLM
    weight_versions: list[WeightVersion] | None | UnsetType = UNSET  # vLLM >= 0.33, final chunk
    matched_stop: int | str | None | UnsetType = UNSET  # SGLang (always)
    content_filter_results: dict[str, Any] | UnsetType = UNSET  # Azure
    native_finish_reason: str | None | UnsetType = UNSET  # OpenRouter
    usage: Usage | None | UnsetType = UNSET  # Moonshot


class ChatCompletionChunk(Extensible, kw_only=True):
    """One event of a streamed chat completion.

    >>> import fastcompletion as fc
    >>> chunk = fc.decode(b'{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}')
    >>> type(chunk).__name__
    'ChatCompletionChunk'
    """

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]  # [] on usage chunks, Azure's prompt filter chunk, SGLang's sglext chunk
    usage: Usage | None | UnsetType = UNSET
    service_tier: str | None | UnsetType = UNSET
    system_fingerprint: str | None | UnsetType = UNSET
    obfuscation: str | UnsetType = UNSET  # OpenAI: random padding
    moderation: Moderation | None | UnsetType = UNSET
    prompt_token_ids: list[int] | None | UnsetType = UNSET  # vLLM, first chunk
    prompt_text: str | None | UnsetType = UNSET  # vLLM, first chunk
    metrics: RequestMetrics | None | UnsetType = UNSET  # vLLM, usage chunk
    kv_transfer_params: dict[str, Any] | None | UnsetType = UNSET  # vLLM >= 0.33
    ec_transfer_params: dict[str, Any] | None | UnsetType = UNSET
    request_id: str | None | UnsetType = UNSET  # Z.ai
    web_search: list[WebSearchResult] | None | UnsetType = UNSET  # Z.ai
    prompt_filter_results: list[dict[str, Any]] | None | UnsetType = UNSET  # Azure, first chunk
    sglext: dict[str, Any] | None | UnsetType = UNSET  # SGLang


class CompletionLogprobs(Extensible, kw_only=True):
    """Log probabilities of a text completion: parallel lists, a token each.

    >>> import fastcompletion as fc
    >>> fc.CompletionLogprobs(tokens=["a"], token_logprobs=[None]).token_logprobs
    [None]
    """

    text_offset: list[int] | UnsetType = UNSET
    token_logprobs: list[Number | None] | UnsetType = UNSET  # null for the first prompt token with echo (OpenAI, vLLM)
    tokens: list[str] | UnsetType = UNSET
    top_logprobs: list[dict[str, Number] | None] | None | UnsetType = UNSET  # null entries: vLLM, SGLang


class CompletionChoice(Extensible, kw_only=True):
    """One answer (or one chunk of it) of a text completion.

    >>> import fastcompletion as fc
    >>> fc.CompletionChoice(index=0, text="Hi", finish_reason="stop").text
    'Hi'
    """

    index: int
    text: str
    logprobs: CompletionLogprobs | None | UnsetType = UNSET
    finish_reason: str | None | UnsetType = UNSET  # null (or "", TGI) until the last chunk
    stop_reason: int | str | None | UnsetType = UNSET  # vLLM
    token_ids: list[int] | None | UnsetType = UNSET  # vLLM
    prompt_logprobs: list[dict[int, Logprob] | None] | None | UnsetType = UNSET  # vLLM: here, not at the top
    prompt_token_ids: list[int] | None | UnsetType = UNSET  # vLLM
    routed_experts: str | None | UnsetType = UNSET  # vLLM >= 0.22
    weight_versions: list[WeightVersion] | None | UnsetType = UNSET  # vLLM >= 0.33
    matched_stop: int | str | None | UnsetType = UNSET  # SGLang
    content_filter_results: dict[str, Any] | UnsetType = UNSET  # Azure


class Completion(Extensible, kw_only=True):
    """An answer of the legacy ``/v1/completions``, whole or one chunk: both carry the same `object`.

    >>> import fastcompletion as fc
    >>> body = b'{"object": "text_completion", "choices": [{"index": 0, "text": "Hi"}]}'
    >>> fc.decode(body, fc.Completion).choices[0].text
    'Hi'
    """

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: Usage | None | UnsetType = UNSET
    service_tier: str | None | UnsetType = UNSET  # vLLM
    system_fingerprint: str | None | UnsetType = UNSET
    kv_transfer_params: dict[str, Any] | None | UnsetType = UNSET  # vLLM
    ec_transfer_params: dict[str, Any] | None | UnsetType = UNSET  # vLLM
    metrics: RequestMetrics | None | UnsetType = UNSET  # vLLM
    metadata: dict[str, Any] | None | UnsetType = UNSET  # SGLang
    prompt_filter_results: list[dict[str, Any]] | None | UnsetType = UNSET  # Azure
    sglext: dict[str, Any] | None | UnsetType = UNSET  # SGLang


class ErrorObject(Extensible, kw_only=True):
    """The `error` member of an error body.

    >>> import fastcompletion as fc
    >>> fc.ErrorObject(message="overloaded", code=503).code
    503
    """

    message: str | UnsetType = UNSET
    type: str | None | UnsetType = UNSET
    param: str | None | UnsetType = UNSET
    code: int | str | None | UnsetType = UNSET  # OpenAI: a word; vLLM, llama.cpp: HTTP status; Z.ai: "1214"
    status: int | str | UnsetType = UNSET  # Azure: int; Gemini: a word
    metadata: dict[str, Any] | None | UnsetType = UNSET  # OpenRouter
    innererror: dict[str, Any] | None | UnsetType = UNSET  # Azure


class BaseResponse(Extensible, kw_only=True):
    """MiniMax's status, delivered with HTTP 200; other than 0 is an error.

    >>> import fastcompletion as fc
    >>> fc.BaseResponse(status_code=1004, status_msg="login fail").status_code
    1004
    """

    status_code: int
    status_msg: str | UnsetType = UNSET


class ErrorInfo(NamedTuple):
    """What any error body says, in one form; see `ErrorResponse.info`.

    >>> import fastcompletion as fc
    >>> fc.ErrorInfo(message="overloaded", type=None, code=503, param=None).code
    503
    """

    message: str
    type: str | None
    code: int | str | None
    param: str | None


class ErrorResponse(Extensible, kw_only=True):
    """A server's error body, in whichever shape it comes; `info` reads them all alike.

    Nested (OpenAI, Azure, vLLM >= 0.10.1, llama.cpp, OpenRouter, Z.ai), flat (vLLM <= 0.10, SGLang, Cerebras),
    a bare string (TGI, MLX, xAI), FastAPI's `detail`, MiniMax's `base_resp`, or in an array of one (Gemini),
    which encodes as an array again.

    >>> import fastcompletion as fc
    >>> fc.decode(b'{"object":"error","message":"no such model","type":"NotFoundError","code":404}').info.message
    'no such model'
    >>> fc.decode(b'[{"error":{"code":429,"message":"quota"}}]').info.code
    429
    """

    error: ErrorObject | str | UnsetType = UNSET
    object: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    type: str | None | UnsetType = UNSET
    param: str | None | UnsetType = UNSET
    code: int | str | None | UnsetType = UNSET
    detail: Any = UNSET  # FastAPI: text, or a list of validation errors
    error_type: str | UnsetType = UNSET  # TGI
    status_code: int | UnsetType = UNSET  # Cerebras
    user_id: str | UnsetType = UNSET  # OpenRouter
    base_resp: BaseResponse | UnsetType = UNSET  # MiniMax

    @property
    def info(self) -> ErrorInfo:
        """Message, type, code and parameter, wherever this server puts them; "" and None where it says nothing.

        >>> import fastcompletion as fc
        >>> fc.decode(b'{"error":"Model is overloaded","error_type":"overloaded"}').info
        ErrorInfo(message='Model is overloaded', type='overloaded', code=None, param=None)
        """
        error = self.error
        if isinstance(error, ErrorObject):
            return ErrorInfo(
                _message_of(error.message) or _message_of(self.message),
                _str_or_none(error.type) or _str_or_none(self.type),
                _code_of(error.code, error.status, self.status_code, self.code),
                _str_or_none(error.param),
            )
        base = self.base_resp if isinstance(self.base_resp, BaseResponse) else BaseResponse(status_code=0)
        return ErrorInfo(
            _message_of(error) or _message_of(self.message) or _message_of(self.detail) or _message_of(base.status_msg),
            _str_or_none(self.type) or _str_or_none(self.error_type),
            _code_of(self.code, self.status_code, base.status_code or None),
            _str_or_none(self.param),
        )


def _str_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _code_of(*candidates: object) -> int | str | None:
    return next((code for code in candidates if isinstance(code, int | str)), None)


def _message_of(value: Any, depth: int = 8) -> str:
    """The text in a message: itself, or FastAPI's ``detail``, or its list of ``{"msg": ...}``."""
    if depth == 0:  # no server's, and no end in sight
        return ""
    if is_array(value):
        return "; ".join(text for item in value if (text := _message_of(item, depth - 1)))
    if is_object(value):
        found = (_message_of(value.get(name), depth - 1) for name in ("message", "msg", "detail"))
        return next((text for text in found if text), "")
    return value if isinstance(value, str) else ""


ROOTS: dict[str, type[Extensible]] = {
    "chat.completion": ChatCompletion,
    "chat.completion.chunk": ChatCompletionChunk,
    "text_completion": Completion,
}
# What `object` names. An error body is recognised by its shape: `object` is "error" or says nothing.
