"""check.py WEFT: lines "ok or bad, TAB, title, TAB, what was wrong"."""
import base64
import json
import os
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes, http_attributes, service_attributes

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../server"))
from telemetry import Collector, folder, serve, start  # noqa: E402

IDS = ("traceId", "spanId", "parentSpanId")


def as_protobuf(value):
    """OTLP writes ids in hex, where the JSON of protocol buffers has base64: the only difference."""
    if isinstance(value, dict):
        return {k: base64.b64encode(bytes.fromhex(v)).decode() if k in IDS else as_protobuf(v) for k, v in value.items()}
    return [as_protobuf(v) for v in value] if isinstance(value, list) else value


def decode(text):
    return json_format.ParseDict(as_protobuf(json.loads(text)), ExportTraceServiceRequest(), ignore_unknown_fields=False)


def spans_of(requests):
    return [s for q in requests for r in q.resource_spans for scope in r.scope_spans for s in scope.spans]


def value(v):
    kind = v.WhichOneof("value")
    return [value(x) for x in v.array_value.values] if kind == "array_value" else getattr(v, kind)


def check_decoding(requests, _):
    spans = spans_of(requests)
    assert len(spans) == 10 + 3 + 3, [s.name for s in spans]
    for s in spans:
        assert len(s.trace_id) == 16 and len(s.span_id) == 8 and len(s.parent_span_id) in (0, 8), s
        assert 0 < s.start_time_unix_nano <= s.end_time_unix_nano, s
    for q in requests:
        about = {a.key: value(a.value) for r in q.resource_spans for a in r.resource.attributes}
        assert about[service_attributes.SERVICE_NAME] == "weft" and about[service_attributes.SERVICE_VERSION], about


def check_parents(requests, _):
    spans = spans_of(requests)
    known = {(s.trace_id, s.span_id) for s in spans}
    tops = [s for s in spans if not s.parent_span_id]
    assert len(known) == len(spans) and len(tops) == 3, tops
    assert all(s.kind == Span.SPAN_KIND_SERVER for s in tops), tops
    assert all((s.trace_id, s.parent_span_id) in known for s in spans if s.parent_span_id)


def check_kinds(requests, _):
    first = {"chat": Span.SPAN_KIND_CLIENT, "invoke_agent": Span.SPAN_KIND_INTERNAL, "execute_tool": Span.SPAN_KIND_INTERNAL, "POST": Span.SPAN_KIND_SERVER}
    for s in spans_of(requests):
        assert s.kind == first[s.name.split()[0]], s
        failed = any(a.key == error_attributes.ERROR_TYPE for a in s.attributes)
        assert (s.status.code == Status.STATUS_CODE_ERROR) == failed, s
    assert any(s.status.code == Status.STATUS_CODE_ERROR for s in spans_of(requests))


def check_names(requests, _):
    """All attributes but our own are of the semantic conventions, and so are the values of those that have a list of them."""
    known = {v for m in (gen_ai_attributes, http_attributes, error_attributes) for k, v in vars(m).items() if k.isupper() and isinstance(v, str)}
    operations = {x.value for x in gen_ai_attributes.GenAiOperationNameValues}
    for s in spans_of(requests):
        a = {x.key: value(x.value) for x in s.attributes}
        unknown = {k for k in a if k not in known and not k.startswith("weft.")}
        assert not unknown, unknown
        assert a.get(gen_ai_attributes.GEN_AI_OPERATION_NAME, "chat") in operations, a
        assert a[gen_ai_attributes.GEN_AI_CONVERSATION_ID] and a[gen_ai_attributes.GEN_AI_AGENT_NAME], a
        assert a.get(gen_ai_attributes.GEN_AI_TOOL_TYPE, "function") in ("function", "extension", "datastore"), a


def check_content(_, texts):
    assert all(b"marmalade" not in t for t in texts)


def main():
    with Collector() as c:
        with serve(folder(), c.url) as s:
            for agent in ("boss", "broken", "echo"):
                s.ended(*start(s, agent))
            s.wait_for_log("run ended", 4)
        texts = [text for _, _, text, _ in c.texts()]
    requests = [decode(t) for t in texts]
    for check, title in ((check_decoding, "spans are decoded"), (check_parents, "every parent is there"), (check_kinds, "kinds and statuses"),
                         (check_names, "attributes are those of the semantic conventions"), (check_content, "no content")):
        try:
            check(requests, texts)
            print(f"ok\t{title}\t")
        except Exception as e:
            print(f"bad\t{title}\t{type(e).__name__}: {e}".replace("\n", " "))


if __name__ == "__main__":
    main()
