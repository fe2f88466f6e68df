"""check.py WEFT: lines "ok or bad, TAB, title, TAB, what was wrong"."""
import http.client
import json
import os
import sys
import tempfile

from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from prometheus_client.parser import text_string_to_metric_families
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../server"))
from served import Server  # noqa: E402

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:ops.db
log: {level: warn}
models:
  echo: {provider: scripted, echo: true}
  tool: {provider: scripted, script: tool.json}
tools:
  look: {description: d, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo 18"]}
agents:
  echo: {model: echo}
  tool: {model: tool, tools: [look]}
"""
SCRIPT = {"replies": [{"parts": [{"tool_call": {"id": "c1", "name": "look"}}], "usage": {"input_tokens": 7, "output_tokens": 2}},
                      {"parts": [{"text": "18."}], "usage": {"input_tokens": 9, "output_tokens": 4}}], "at_end": "restart"}


def get(server, path):
    c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    c.request("GET", path)
    r = c.getresponse()
    text = r.read().decode()
    c.close()
    assert r.status == 200, (path, r.status, text)
    return text


def families(server):
    return {f.name: f for f in text_string_to_metric_families(get(server, "/metrics"))}


def value(found, name, **labels):
    for family in found.values():
        for s in family.samples:
            if s.name == name and s.labels == labels:
                return s.value
    return 0


def check_lines(server):
    """Every line is parsed, and every family has a help text and a known type."""
    text, found = get(server, "/metrics"), families(server)
    samples = sum(len(f.samples) for f in found.values())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert abs(samples - len(lines)) <= 20, (samples, len(lines))  # two pages: a histogram of /metrics may be new
    for f in found.values():
        assert f.documentation and f.type in ("counter", "gauge", "histogram"), f
        assert (f.type == "counter") == any(s.name.endswith("_total") for s in f.samples), f
        assert f.name.startswith(("weft_", "process_")), f


def check_histograms(server):
    """Buckets grow, and the infinite one is the count."""
    for f in families(server).values():
        if f.type != "histogram":
            continue
        rows = {}
        for s in f.samples:
            key = tuple(sorted((k, v) for k, v in s.labels.items() if k != "le"))
            rows.setdefault(key, {})[s.labels.get("le", s.name.rsplit("_", 1)[1])] = s.value
        for row in rows.values():
            numbers = [v for k, v in sorted((float(k), v) for k, v in row.items() if k not in ("sum", "count"))]
            assert numbers == sorted(numbers) and numbers[-1] == row["count"] and row["sum"] >= 0, (f.name, row)


def check_counters(server):
    before = families(server)
    server.run("tool")
    after = families(server)
    for name, by, labels in (("weft_runs_total", 1, {"agent": "tool", "outcome": "completed"}),
                             ("weft_tool_calls_total", 1, {"tool": "look", "outcome": "ok"}),
                             ("weft_tool_duration_seconds_count", 1, {"tool": "look"}),
                             ("weft_http_requests_total", 1, {"method": "POST", "route": "/v1/threads", "status": "200"})):
        got = value(after, name, **labels) - value(before, name, **labels)
        assert got == by, (name, labels, got)
    for kind, by in (("input", 16), ("output", 6)):
        was, now = (sum(s.value for s in found["weft_model_tokens"].samples if s.labels["kind"] == kind) for found in (before, after))
        assert now - was == by, (kind, was, now)
    for name in ("weft_store_commits_total", "weft_store_syncs_total", "weft_store_commit_duration_seconds_count"):
        assert value(after, name) > value(before, name), name


def document(server):
    return json.loads(get(server, "/openapi.json"))


def check_openapi(server):
    errors = list(OpenAPIV31SpecValidator(document(server)).iter_errors())
    assert not errors, errors[:3]


def resolver(doc):
    registry = Registry().with_resource("urn:doc", Resource.from_contents(doc, default_specification=DRAFT202012))

    def absolute(value):
        if isinstance(value, dict):
            return {k: "urn:doc" + v if k == "$ref" and isinstance(v, str) else absolute(v) for k, v in value.items()}
        return [absolute(v) for v in value] if isinstance(value, list) else value
    return lambda schema: Draft202012Validator(absolute(schema), registry=registry)


def resolve(doc, value):
    if isinstance(value, dict) and "$ref" in value:
        at = doc
        for name in value["$ref"][2:].split("/"):
            at = at[name]
        return at
    return value


def check_examples(server):
    """Each example fits its schema."""
    doc, count = document(server), 0
    validator = resolver(doc)
    places = [media for item in doc["paths"].values() for op in item.values()
              for part in [op.get("requestBody", {}), *(resolve(doc, r) for r in op["responses"].values())]
              for media in part.get("content", {}).values()]
    for media in places:
        values = [media["example"]] if "example" in media else [resolve(doc, x)["value"] for x in media.get("examples", {}).values()]
        for v in values:
            validator(media["schema"]).validate(v)
            count += 1
    assert count > 20, count


def check_responses(server):
    """What the server says fits the schemas, too."""
    doc = document(server)
    validator = resolver(doc)
    run = server.run("tool")
    thread = run["thread_id"]
    for path, real in (("/v1/threads", "/v1/threads"), ("/v1/threads/{t}", f"/v1/threads/{thread}"),
                       ("/v1/threads/{t}/messages", f"/v1/threads/{thread}/messages"), ("/v1/threads/{t}/tree", f"/v1/threads/{thread}/tree"),
                       ("/v1/threads/{t}/checkpoints", f"/v1/threads/{thread}/checkpoints"), ("/v1/search", "/v1/search?q=hello"),
                       ("/v1/threads/{t}/runs/{r}", f"/v1/threads/{thread}/runs/{run['id']}"),
                       ("/health", "/health"), ("/version", "/version"), ("/readyz", "/readyz")):
        schema = doc["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        try:
            validator(schema).validate(json.loads(get(server, real)))
        except Exception as e:
            raise AssertionError(f"{path}: {e}") from e
    status, answer = server.ask("POST", f"/v1/threads/{thread}/runs", {"assistant_id": "echo", "stream": 3})
    assert status == 400, answer
    validator({"$ref": "#/components/schemas/Error"}).validate(answer)


def main():
    folder = tempfile.mkdtemp(prefix="weft-interop-ops-")
    with open(f"{folder}/tool.json", "w") as f:
        json.dump(SCRIPT, f)
    with Server(os.path.abspath(sys.argv[1]), folder, CONFIG) as server:
        server.run("tool")
        server.run("echo")
        for check, title in ((check_lines, "every line of /metrics is parsed"), (check_histograms, "histograms are whole"),
                             (check_counters, "counters move"), (check_openapi, "openapi.json is an OpenAPI 3.1 document"),
                             (check_examples, "its examples fit its schemas"), (check_responses, "responses fit its schemas")):
            try:
                check(server)
                print(f"ok\t{title}\t")
            except Exception as e:
                print(f"bad\t{title}\t{type(e).__name__}: {e}".replace("\n", " "))


if __name__ == "__main__":
    main()
