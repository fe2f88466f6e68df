"""Messages made with Pydantic AI's own classes: one list with every kind of part, and generated ones."""
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from pydantic_ai import messages as m
from pydantic_ai.usage import RequestUsage

NOON = datetime(2026, 2, 3, 12, 0, 0, tzinfo=timezone.utc)


def later(rng):
    zone = rng.choice([timezone.utc, timezone.utc, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=8))])
    return (NOON + timedelta(seconds=rng.randrange(10**6), microseconds=rng.choice([0, 1, 120000, 999999]))).astimezone(zone)


def everything():
    """Every part kind, every item, every field set at least once."""
    items = ["text", m.ImageUrl(url="https://x.org/a.png"), m.AudioUrl(url="https://x.org/a.mp3", media_type="audio/mpeg"),
             m.VideoUrl(url="https://youtu.be/abc", force_download="allow-local"),
             m.DocumentUrl(url="https://x.org/a.pdf", vendor_metadata={"detail": [1, 2.5]}, identifier="mine"),
             m.BinaryContent(data=bytes(range(256)), media_type="image/png"), m.BinaryContent(data=b"", media_type="text/plain"),
             m.TextContent(content="noted", metadata={"a": None}), m.CachePoint(ttl="1h"), m.CachePoint(),
             m.UploadedFile(file_id="file_1", provider_name="openai")]
    first = m.ModelRequest(parts=[m.SystemPromptPart(content="be brief", timestamp=NOON, dynamic_ref="f"),
                                  m.UserPromptPart(content=items, timestamp=NOON)],
                           timestamp=NOON, instructions="do", run_id="r", conversation_id="c", metadata={"k": [1, {"z": None}]})
    said = m.ModelResponse(parts=[m.ThinkingPart(content="hm", id="rs", signature="c2ln", provider_name="anthropic",
                                                 provider_details={"a": 1}),
                                  m.TextPart(content="one", id="t", provider_name="openai", provider_details={"b": []}),
                                  m.TextPart(content=""), m.TextPart(content="two \u2028\x7f\n\t\u00e9\U0001f600"),
                                  m.ToolCallPart(tool_name="f", args={"a": 1, "b": 1.0, "c": 10**30}, tool_call_id="c1", id="fc"),
                                  m.ToolCallPart(tool_name="g", args="{\"a\": 1", tool_call_id="c2"),
                                  m.ToolCallPart(tool_name="h", args=None, tool_call_id="c3"),
                                  m.ToolCallPart(tool_name="i", args="", tool_call_id="c4"),
                                  m.BuiltinToolCallPart(tool_name="web_search", args={"q": "x"}, tool_call_id="b1", provider_name="openai")
                                  if hasattr(m, "BuiltinToolCallPart") else
                                  m.NativeToolCallPart(tool_name="web_search", args={"q": "x"}, tool_call_id="b1", provider_name="openai"),
                                  (getattr(m, "BuiltinToolReturnPart", None) or m.NativeToolReturnPart)(
                                      tool_name="web_search", content={"s": "ok"}, tool_call_id="b1", timestamp=NOON, provider_name="openai"),
                                  m.FilePart(content=m.BinaryContent(data=b"\xfb\xff", media_type="image/png"), id="img"),
                                  m.CompactionPart(content="short", id="cp", provider_name="anthropic"),
                                  m.SpeechPart(speaker="assistant", transcript="hello", interrupted_at_ms=250,
                                               audio=m.BinaryContent(data=b"RIFF", media_type="audio/wav"))],
                           usage=RequestUsage(input_tokens=12, cache_write_tokens=1, cache_read_tokens=4, output_tokens=30,
                                              input_audio_tokens=2, cache_audio_read_tokens=3, output_audio_tokens=5,
                                              details={"reasoning_tokens": 9, "other": 1}, cost=Decimal("0.00031")),
                           model_name="m-1", timestamp=NOON, provider_name="anthropic", provider_url="https://x.org",
                           provider_details={"finish_reason": "tool_use"}, provider_response_id="msg_1", finish_reason="tool_call",
                           run_id="r", conversation_id="c", metadata={"m": 1}, state="interrupted")
    error = {"type": "int_parsing", "loc": ("n", 0), "msg": "not an int", "input": "x", "ctx": {"e": 1}, "url": "https://x.org"}
    answers = m.ModelRequest(parts=[m.ToolReturnPart(tool_name="f", content={"hits": [1, 2.50]}, tool_call_id="c1", metadata={"s": 1}, timestamp=NOON),
                                    m.ToolReturnPart(tool_name="g", content="no", tool_call_id="c2", timestamp=NOON, outcome="denied"),
                                    m.ToolReturnPart(tool_name="i", content=[m.BinaryContent(data=b"\xfb\xff", media_type="image/png"), "x"],
                                                     tool_call_id="c4", timestamp=NOON, outcome="interrupted"),
                                    m.ToolAvailabilityDeltaPart(tools_added=["z"], tool_call_id="c4")]
                             + retries(m, error) + [m.SpeechPart(speaker="user", transcript="stop")], timestamp=NOON)
    last = m.ModelResponse(parts=[m.TextPart(content="done")], usage=RequestUsage(), timestamp=NOON, finish_reason="stop", run_id="r")
    return [first, said, answers, last]


def retries(m, error):
    """Feedback: a part of its own up to 2.33 and later, as that version itself would have it."""
    if hasattr(m, "RetryFeedbackPart"):
        return [m.RetryFeedbackPart(content="try again", retry=m.RetryInfo(cause="model_retry"), timestamp=NOON),
                m.ToolReturnPart(tool_name="h", content="no", tool_call_id="c3", timestamp=NOON, outcome="retried",
                                 retry=m.RetryInfo(cause="model_retry"))]
    return [m.RetryPromptPart(content=[error], tool_name="h", tool_call_id="c3", timestamp=NOON),
            m.RetryPromptPart(content="try again", tool_call_id="none", timestamp=NOON)]


WORDS = ["", "a", "two words", "\u00e9\U0001f600\u2028", "{\"x\": 1}", "[1, 2]", "null", "line\nline", "\"quoted\" \\ /", "7"]


def anything(rng, depth=3):
    kind = rng.randrange(9 if depth else 6)
    if kind < 6:
        return [None, True, rng.choice(WORDS), rng.randrange(-10**18, 10**18), rng.random() * 10**6, 10**25][kind]
    if kind == 6:
        return [anything(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice("abcdef"): anything(rng, depth - 1) for _ in range(rng.randrange(4))}


def mapping(rng):
    return rng.choice([None, {rng.choice("abc"): anything(rng) for _ in range(rng.randrange(3))}])


def item(rng):
    data = bytes(rng.randrange(256) for _ in range(rng.randrange(9)))
    return rng.choice([lambda: rng.choice(WORDS), lambda: rng.choice(WORDS),
                       lambda: m.ImageUrl(url="https://x.org/%d.png" % rng.randrange(99), force_download=rng.random() < .3),
                       lambda: m.DocumentUrl(url="https://x.org/%d" % rng.randrange(99), media_type="application/pdf"),
                       lambda: m.BinaryContent(data=data, media_type=rng.choice(["image/png", "audio/wav", "text/plain", "a/b"]),
                                               vendor_metadata=mapping(rng)),
                       lambda: m.TextContent(content=rng.choice(WORDS), metadata=mapping(rng)), lambda: m.CachePoint()])()


def who(rng):
    return {"id": rng.choice([None, "id_%d" % rng.randrange(99)]), "provider_name": rng.choice([None, "openai", "anthropic"]),
            "provider_details": mapping(rng)}


def said(rng, calls):
    kind = rng.randrange(8)
    if kind < 3:
        return m.TextPart(content=rng.choice(WORDS), **who(rng))
    if kind == 3:
        return m.ThinkingPart(content=rng.choice(WORDS), signature=rng.choice([None, "c2ln"]), **who(rng))
    if kind == 4:
        return m.FilePart(content=m.BinaryContent(data=b"\xfb\xff\xfe", media_type="image/png"), **who(rng))
    if kind == 5:
        return m.CompactionPart(content=rng.choice([None, "x"]), **who(rng))
    calls.append("call_%d" % rng.randrange(10**9))
    args = rng.choice([None, "", "{}", "{\"a\":", "[1]", {}, {"a": anything(rng)}, {"a": 1, "b": [1.0]}])
    return m.ToolCallPart(tool_name=rng.choice("fgh"), args=args, tool_call_id=calls[-1], **who(rng))


def answer(rng, call):
    when = later(rng)
    if rng.random() < .2 and not hasattr(m, "RetryFeedbackPart"):
        return m.RetryPromptPart(content=rng.choice(["again", [{"type": "t", "loc": ("a", 1), "msg": "m", "input": anything(rng)}]]),
                                 tool_name=rng.choice("fgh"), tool_call_id=call, timestamp=when)
    return m.ToolReturnPart(tool_name=rng.choice("fgh"), content=anything(rng), tool_call_id=call, timestamp=when,
                            metadata=anything(rng), outcome=rng.choice(["success"] * 3 + ["failed", "denied", "interrupted"]))


def generated(rng):
    """A conversation as agents have them, and now and then one as nobody has."""
    messages, calls, run = [], [], 0
    for _ in range(rng.randrange(1, 9)):
        named = {"run_id": rng.choice([None, "run_%d" % run]), "conversation_id": rng.choice([None, "c"]), "metadata": mapping(rng)}
        parts = [answer(rng, call) for call in calls if rng.random() < .9]
        if not calls or rng.random() < .1:
            run += rng.random() < .8
            if rng.random() < .3:
                parts.insert(0, m.SystemPromptPart(content=rng.choice(WORDS), timestamp=later(rng)))
            content = rng.choice([rng.choice(WORDS), [item(rng) for _ in range(rng.randrange(4))]])
            parts.append(m.UserPromptPart(content=content, timestamp=later(rng)))
        messages.append(m.ModelRequest(parts=parts, timestamp=rng.choice([None, later(rng)]),
                                       instructions=rng.choice([None, "be brief"]), **named))
        calls = []
        messages.append(m.ModelResponse(parts=[said(rng, calls) for _ in range(rng.randrange(4))], timestamp=later(rng),
                                        usage=RequestUsage(input_tokens=rng.randrange(99), output_tokens=rng.randrange(99),
                                                           details=rng.choice([{}, {"reasoning_tokens": 3}, {"z": 1}])),
                                        model_name=rng.choice([None, "m"]), provider_name=rng.choice([None, "openai"]),
                                        finish_reason=rng.choice([None, "stop", "length", "tool_call", "error", "content_filter"]),
                                        provider_response_id=rng.choice([None, "resp_1"]), provider_details=mapping(rng), **named))
    return messages
