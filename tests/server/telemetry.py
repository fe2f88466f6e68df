#!/usr/bin/env python3
"""The spans that the real program sends, as a collector receives them.

usage: telemetry.py WEFT   (TAP)
"""
import http.client
import http.server
import json
import os
import re
import socket
import sys
import tempfile
import threading
import time

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"
SECRET = "marmalade"  # in what users, models and tools say, and nowhere else
CONFIG = """
server: {listen: "127.0.0.1:0", loops: %d}
store: sqlite:telemetry.db
log: {level: info}
%s
models:
  boss: {provider: scripted, script: boss.json}
  worker: {provider: scripted, script: worker.json}
  broken: {provider: scripted, script: broken.json}
  ask: {provider: scripted, script: ask.json}
  plan: {provider: scripted, script: plan.json}
  hand: {provider: scripted, script: hand.json}
  echo: {provider: scripted, echo: true}
tools:
  look: {description: d, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo marmalade"]}
  fails: {description: d, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo marmalade >&2; exit 3"]}
  pick: {description: d, parameters: {type: object}}
agents:
  boss: {model: boss, system: "marmalade", tools: [worker]}
  worker: {model: worker, tools: [look, fails]}
  broken: {model: broken}
  ask: {model: ask, tools: [pick]}
  planner: {model: plan, tools: [worker], strategy: {plan: {}}}
  hand: {model: hand, handoff: [echo]}
  echo: {model: echo}
"""
SCRIPTS = {
    "boss": [{"parts": [{"tool_call": {"id": "b1", "name": "worker", "arguments": {"task": SECRET}}}], "usage": {"input_tokens": 5, "output_tokens": 1}},
             {"parts": [{"text": f"Done: {SECRET}."}], "usage": {"input_tokens": 6, "output_tokens": 3}}],
    "worker": [{"parts": [{"tool_call": {"id": "c1", "name": "look", "arguments": {"x": SECRET}}}, {"tool_call": {"id": "c2", "name": "fails"}}],
                "usage": {"input_tokens": 7, "output_tokens": 2}},
               {"parts": [{"text": f"It is {SECRET}."}], "usage": {"input_tokens": 9, "output_tokens": 4}}],
    "broken": [{"error": {"code": "AUTHENTICATION_FAILED", "message": SECRET}}],
    "plan": [{"data": {"steps": [{"id": "a", "description": "d", "tool": "", "dependsOn": []}, {"id": "b", "description": "d", "tool": "", "dependsOn": []}]}},
             {"parts": [{"text": SECRET}]}, {"parts": [{"text": SECRET}]}],
    "hand": [{"parts": [{"tool_call": {"id": "h1", "name": "handoff_to_echo", "arguments": {"reason": SECRET}}}]}],
    "ask": [{"parts": [{"tool_call": {"id": "c1", "name": "pick"}}]}, {"parts": [{"text": SECRET}]}],
}


class Collector:
    """Takes POST /v1/traces. `answers` are the statuses of the first requests, with Retry-After or None; a hold keeps all waiting."""

    def __init__(self, answers=(), body=b"{}"):
        self.requests, self.answers, self.body, self.lock = [], list(answers), body, threading.Lock()
        self.free = threading.Event()
        self.free.set()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                text = self.rfile.read(int(self.headers["content-length"]))
                outer.free.wait(60)
                with outer.lock:
                    outer.requests.append((self.path, dict((k.lower(), v) for k, v in self.headers.items()), text, time.monotonic()))
                    status, after = outer.answers.pop(0) if outer.answers else (200, None)
                self.send_response(status)
                if after:
                    self.send_header("retry-after", after)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(outer.body)))
                self.end_headers()
                self.wfile.write(outer.body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # of clients that did not wait
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free.set()
        self.server.shutdown()
        self.server.server_close()

    def texts(self):
        with self.lock:
            return list(self.requests)

    def spans(self):
        """All that were delivered so far, each as a dictionary with its attributes as one."""
        found = []
        for path, headers, text, _ in self.texts():
            assert path == "/v1/traces" and headers["content-type"] == "application/json", (path, headers)
            resource, = json.loads(text)["resourceSpans"]
            about = attributes(resource["resource"])
            assert about["service.name"] == "weft" and re.fullmatch(r"\d+\.\d+\.\d+\S*", about["service.version"]), about
            scope, = resource["scopeSpans"]
            assert scope["scope"]["name"] == "weft" and 0 < len(scope["spans"]) <= 512, scope["scope"]
            found += [{**s, "attributes": attributes(s)} for s in scope["spans"]]
        return found

    def wait(self, names):
        """The spans, once there are some of all these names."""
        end = time.monotonic() + 60
        while set(names) - {s["name"] for s in self.spans()}:
            assert time.monotonic() < end, (names, self.spans())
            time.sleep(0.02)
        return self.spans()


def attributes(of):
    def value(v):
        (kind, x), = v.items()
        if kind == "intValue":
            assert isinstance(x, str), v
            return int(x)
        if kind == "arrayValue":
            return [value(y) for y in x["values"]]
        assert kind == "stringValue", v
        return x
    pairs = [(a["key"], value(a["value"])) for a in of["attributes"]]
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)


def folder():
    path = tempfile.mkdtemp(prefix="weft-telemetry-")
    for name, replies in SCRIPTS.items():
        with open(f"{path}/{name}.json", "w") as f:
            json.dump({"replies": replies, "at_end": "restart"}, f)
    return path


def start(server, *args, **more):
    return server.start(*args, text=f"I like {SECRET}", **more)


def serve(path, url, more="", loops=1, **env):
    return Server(WEFT, path, CONFIG % (loops, f'telemetry: {{otlp: "{url}"{more}}}' if url else ""), **env)


def one(spans, name, **attrs):
    found = [s for s in spans if s["name"] == name and all(s["attributes"].get(k.replace("__", ".")) == v for k, v in attrs.items())]
    assert len(found) == 1, (name, attrs, len(found), spans)
    return found[0]


REQUEST = "POST /v1/threads/{t}/runs"


def check_tree(spans, run, thread, trace, top):
    """The spans of one run of the agent boss; `top`: the parent of its request."""
    for s in spans:
        assert s["traceId"] == trace and re.fullmatch("[0-9a-f]{16}", s["spanId"]) and int(s["spanId"], 16), s
        assert re.fullmatch(r"1\d{18}", s["startTimeUnixNano"]) and int(s["startTimeUnixNano"]) <= int(s["endTimeUnixNano"]), s
        assert abs(int(s["endTimeUnixNano"]) / 1e9 - time.time()) < 120, s
        assert s["attributes"]["gen_ai.conversation.id"].startswith("thread_") and s["attributes"]["gen_ai.agent.name"], s
        assert s["attributes"]["weft.run.id"].startswith("run_"), s
    assert len({s["spanId"] for s in spans}) == len(spans), spans
    request = one(spans, REQUEST)
    boss, worker = one(spans, "invoke_agent boss"), one(spans, "invoke_agent worker")
    call, look, fails = one(spans, "execute_tool worker"), one(spans, "execute_tool look"), one(spans, "execute_tool fails")
    asked = [s for s in spans if s["name"].startswith("chat ")]
    assert len(spans) == 1 + 2 + 3 + 4 and len(asked) == 4, [s["name"] for s in spans]
    assert request.get("parentSpanId") == top and boss["parentSpanId"] == request["spanId"], (request, boss)
    assert call["parentSpanId"] == boss["spanId"] and worker["parentSpanId"] == call["spanId"], (call, worker)
    assert look["parentSpanId"] == fails["parentSpanId"] == worker["spanId"], (look, fails)
    assert sorted(s["parentSpanId"] for s in asked) == sorted([boss["spanId"]] * 2 + [worker["spanId"]] * 2), asked
    assert request["kind"] == 2 and all(s["kind"] == 3 for s in asked), "SERVER and CLIENT"
    assert all(s["kind"] == 1 for s in (boss, worker, call, look, fails)), "INTERNAL"

    a = request["attributes"]
    assert a["http.request.method"] == "POST" and a["http.route"] == "/v1/threads/{t}/runs" and a["http.response.status_code"] == 200, a
    assert a["gen_ai.agent.name"] == "boss" and a["gen_ai.conversation.id"] == thread, a
    a = boss["attributes"]
    assert a["gen_ai.operation.name"] == "invoke_agent" and a["gen_ai.agent.name"] == "boss" and a["gen_ai.agent.id"], a
    assert a["gen_ai.conversation.id"] == thread and a["weft.run.id"] == run["id"] and a["weft.run.status"] == "completed", a
    assert a["gen_ai.usage.input_tokens"] == 27 and a["gen_ai.usage.output_tokens"] == 10 and "error.type" not in a, a
    assert worker["attributes"]["gen_ai.usage.input_tokens"] == 16, worker
    a = look["attributes"]
    assert a["gen_ai.operation.name"] == "execute_tool" and a["gen_ai.tool.name"] == "look", a
    assert a["gen_ai.tool.call.id"] == "c1" and a["gen_ai.tool.type"] == "function" and a["gen_ai.agent.name"] == "worker", a
    assert "status" not in look and fails["status"]["code"] == 2 and fails["attributes"]["error.type"] == "tool_error", fails
    for s in asked:
        a = s["attributes"]
        assert a["gen_ai.operation.name"] == "chat" and a["gen_ai.provider.name"] == "scripted", a
        assert s["name"] == f"chat {a['gen_ai.request.model']}", a
    reasons = sorted((s["attributes"]["gen_ai.usage.input_tokens"], s["attributes"]["gen_ai.response.finish_reasons"]) for s in asked)
    assert reasons == [(5, ["tool_call"]), (6, ["stop"]), (7, ["tool_call"]), (9, ["stop"])], reasons


NAMES = [REQUEST, "invoke_agent boss", "invoke_agent worker", "execute_tool look", "execute_tool fails", "execute_tool worker"]


def test_tree_of_a_run():
    with Collector() as c, serve(folder(), c.url) as s:
        run, thread = start(s, "boss")
        s.ended(run, thread)
        spans = c.wait(NAMES)
        check_tree(spans, run, thread, run["id"][4:], None)
        assert s.metrics()["weft_telemetry_dropped_total"] == "0"


def test_tree_below_a_caller():
    with Collector() as c, serve(folder(), c.url) as s:
        run, thread = start(s, "boss", {"traceparent": f"00-{TRACE}-{CALLER}-01"})
        s.ended(run, thread)
        check_tree(c.wait(NAMES), run, thread, TRACE, CALLER)


def test_several_loops():
    with Collector() as c:
        with serve(folder(), c.url, loops=4) as s:
            runs = [start(s, "boss") for _ in range(40)]
            for run, thread in runs:
                s.ended(run, thread)
            s.wait_for_log("run ended", 80)
            m = s.metrics()
            assert m["weft_telemetry_dropped_total"] == "0", m
        spans = c.spans()
        assert len(spans) == 400
        for run, thread in runs:
            check_tree([x for x in spans if x["traceId"] == run["id"][4:]], run, thread, run["id"][4:], None)


def test_no_content():
    with Collector() as c:
        with serve(folder(), c.url) as s:
            for agent in ("boss", "broken", "echo"):
                s.ended(*start(s, agent))
            run, thread = start(s, "ask")
            s.wait_for_log("run waits")
            s.good("POST", f"/v1/runs/{run['id']}/answers", {"answers": [{"call_id": "c1", "output": SECRET}]})
            s.ended(run, thread)
        assert len(c.spans()) > 15
        assert all(SECRET.encode() not in text for _, _, text, _ in c.texts())


def test_failures():
    with Collector() as c, serve(folder(), c.url) as s:
        run, thread = start(s, "broken")
        s.ended(run, thread)
        spans = c.wait([REQUEST, "invoke_agent broken"])
        for s in (one(spans, "invoke_agent broken"), [s for s in spans if s["name"].startswith("chat ")][0]):
            assert s["status"] == {"code": 2} and s["attributes"]["error.type"] == "AUTHENTICATION_FAILED", s
        assert "gen_ai.usage.input_tokens" not in [s for s in spans if s["name"].startswith("chat ")][0]["attributes"]


def test_branches_of_a_plan():
    """Steps that run in parallel are runs without a tool: children of the run itself."""
    with Collector() as c:
        with serve(folder(), c.url) as s:
            run = s.ended(*start(s, "planner"))
            assert run["status"] == "completed", run
            s.wait_for_log(f"run ended\" run={run['id']}")
        spans = c.spans()
        known = {x["spanId"] for x in spans}
        assert [x["name"] for x in spans if x.get("parentSpanId", x["spanId"]) not in known] == [], spans
        top = one(spans, "invoke_agent planner", weft__run__id=run["id"])
        below = [x for x in spans if x["name"] == "invoke_agent planner" and x is not top]
        assert len(below) == 2 and all(x["parentSpanId"] == top["spanId"] for x in below), spans
        assert len([x for x in spans if x["name"].startswith("chat ")]) == 3, spans


def test_handoff():
    with Collector() as c:
        with serve(folder(), c.url) as s:
            run, thread = start(s, "hand")
            assert s.ended(run, thread)["status"] == "completed"
            s.wait_for_log("run ended")
        spans = c.spans()
        top = one(spans, "invoke_agent hand")
        asked = [x for x in spans if x["name"].startswith("chat ")]
        assert [x["attributes"]["gen_ai.agent.name"] for x in asked] == ["hand", "echo"], asked
        assert len({x["attributes"]["gen_ai.agent.id"] for x in asked}) == 2, asked
        assert all(x["parentSpanId"] == top["spanId"] for x in asked), asked


def test_joining_requests():
    """Streams and answers belong to the run's trace; a request with a trace of its own has a link; polls have no span."""
    with Collector() as c:
        with serve(folder(), c.url) as s:
            run, thread = start(s, "ask")
            s.wait_for_log("run waits")
            s.ask("POST", f"/v1/runs/{run['id']}/answers", {"answers": [{"call_id": "c1", "output": 1}]})
            s.wait_for_log("run ended")
            s.good("GET", f"/v1/threads/{thread}/runs/{run['id']}")
            for headers in ({}, {"traceparent": f"00-{TRACE}-{CALLER}-01"}):
                conn = s.connection()
                conn.request("GET", f"/v1/runs/{run['id']}/events", headers=headers)
                conn.getresponse().read()
                conn.close()
        spans = c.spans()
        assert not [x for x in spans if x["name"] == "GET /v1/threads/{t}/runs/{r}"], spans
        top = one(spans, "invoke_agent ask")
        below, apart = sorted((x for x in spans if x["name"] == "GET /v1/runs/{r}/events"), key=lambda x: x["traceId"] == TRACE)
        assert below["traceId"] == run["id"][4:] and below["parentSpanId"] == top["spanId"], below
        assert apart["traceId"] == TRACE and apart["parentSpanId"] == CALLER, apart
        assert apart["links"] == [{"traceId": top["traceId"], "spanId": top["spanId"]}], apart
        assert below["attributes"]["gen_ai.conversation.id"] == apart["attributes"]["gen_ai.conversation.id"] == thread


def test_unsampled_traces():
    with Collector() as c:
        with serve(folder(), c.url) as s:
            s.ended(*start(s, "boss", {"traceparent": f"00-{TRACE}-{CALLER}-00"}))
            run, thread = start(s, "echo")
            s.ended(run, thread)
        assert {x["traceId"] for x in c.spans()} == {run["id"][4:]}, c.spans()


def test_trace_over_a_restart():
    """A run that waited for its answers in an earlier process."""
    path = folder()
    with Collector() as c:
        with serve(path, c.url) as s:
            run, thread = start(s, "ask")
            s.wait_for_log("run waits")
        before = c.spans()
        with serve(path, c.url) as s:
            s.good("POST", f"/v1/runs/{run['id']}/answers", {"answers": [{"call_id": "c1", "output": 1}]})
            s.ended(run, thread)
            s.wait_for_log("run ended")
        spans = c.spans()
        assert len(spans) > len(before) and {x["traceId"] for x in spans} == {run["id"][4:]}, spans
        top = one(spans, "invoke_agent ask")
        assert top["parentSpanId"] == one(before, REQUEST)["spanId"], top
        assert [x["parentSpanId"] for x in spans if x["name"].startswith("chat ")] == [top["spanId"]] * 2, spans
        assert int(top["endTimeUnixNano"]) > int(top["startTimeUnixNano"]), top


def test_flush_at_stop():
    with Collector() as c:
        with serve(folder(), c.url) as s:
            run, thread = start(s, "boss")
            s.ended(run, thread)
            s.wait_for_log("run ended", 2)
        check_tree(c.spans(), run, thread, run["id"][4:], None)


def test_flush_has_a_limit():
    with Collector() as c:
        c.free.clear()
        s = serve(folder(), c.url)
        with s:
            s.ended(*start(s, "echo"))
            s.wait_for_log("run ended")
            began = time.monotonic()
        assert time.monotonic() - began < 20, "two seconds, and what a stop takes on a busy machine"
        assert "spans were dropped" in s.log() and 'reason="the server stopped"' in s.log(), s.log()


def free_port():
    with socket.socket() as x:
        x.bind(("127.0.0.1", 0))
        return x.getsockname()[1]


def exchange(connection, path, body):
    connection.request("POST", path, json.dumps(body))
    r = connection.getresponse()
    answer = json.loads(r.read())
    assert r.status == 200, answer
    return answer


def fill(server, runs):
    """Many quick runs, three spans each; how long the slowest of them took."""
    slowest, c = 0, server.connection()
    for _ in range(runs):
        began = time.monotonic()
        thread = exchange(c, "/v1/threads", {})["id"]
        exchange(c, f"/v1/threads/{thread}/runs", {"assistant_id": "echo", "additional_messages": [{"role": "user", "content": "x"}]})
        slowest = max(slowest, time.monotonic() - began)
    c.close()
    return slowest


FREES = {"ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=1"}  # a sanitizer keeps what is freed for a while


def drops(server):
    """More spans than the queue has room for. Runs go on, memory does not grow, the rest is counted, and one line a minute logged."""
    began = time.monotonic()
    assert fill(server, 100) < 9  # none waited for the collector, which has ten seconds
    before = server.memory("VmRSS")
    assert fill(server, 800) < 9
    m = server.metrics()
    runs = int(m['weft_runs_total{agent="echo",outcome="completed"}'])
    assert runs >= 899 and m["weft_telemetry_sent_total"] == "0", m
    assert int(m["weft_telemetry_dropped_total"]) >= 3 * runs - 2048 - 3, m
    assert server.memory("VmRSS") - before < 60, (before, server.memory("VmRSS"))
    server.wait_for_log("spans were dropped")
    assert server.log().count("spans were dropped") <= 1 + (time.monotonic() - began) / 60, server.log()[-2000:]


def test_drops_when_the_collector_is_down():
    with serve(folder(), f"http://127.0.0.1:{free_port()}", **FREES) as s:
        drops(s)


def test_drops_when_the_collector_hangs():
    with Collector() as c:
        c.free.clear()
        with serve(folder(), c.url, **FREES) as s:
            drops(s)
            c.free.set()  # and all is well again
            end = time.monotonic() + 60
            while int(s.metrics()["weft_telemetry_sent_total"]) < 1000:
                assert time.monotonic() < end, s.metrics()
                time.sleep(0.05)
            assert len(c.spans()) >= 1000


def test_retries():
    with Collector([(503, None), (429, "1")]) as c, serve(folder(), c.url) as s:
        s.ended(*start(s, "echo"))
        end = time.monotonic() + 60
        while len(c.texts()) < 3 or s.metrics()["weft_telemetry_sent_total"] == "0":
            assert time.monotonic() < end, c.texts()
            time.sleep(0.02)
        first, second, third = c.texts()[:3]
        assert first[2] == second[2] == third[2], "the same batch"
        assert third[3] - second[3] > 0.9, "Retry-After"
        assert s.metrics()["weft_telemetry_dropped_total"] == "0"


def test_refusals_are_not_tried_again():
    with Collector([(400, None)]) as c:
        with serve(folder(), c.url) as s:
            s.ended(*start(s, "echo"))
            s.wait_for_log("spans were dropped")
            assert 'reason="the collector refused them"' in s.log(), s.log()
            assert int(s.metrics()["weft_telemetry_dropped_total"]) >= 1 and len(c.texts()) == 1


def test_partial_success():
    with Collector(body=b'{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}') as c, serve(folder(), c.url) as s:
        s.ended(*start(s, "echo"))
        s.wait_for_log("spans were dropped")
        m = s.metrics()
        assert m["weft_telemetry_dropped_total"] == "2" and int(m["weft_telemetry_sent_total"]) == len(c.spans()) - 2, m


def test_headers_with_secrets():
    with Collector() as c:
        with serve(folder(), c.url + "/", ', headers: {authorization: "Bearer ${OTLP_KEY}", x-tenant: blue}', OTLP_KEY="k-very-secret-1") as s:
            s.ended(*start(s, "echo"))
            s.wait_for_log("run ended")
            with open(f"/proc/{s.process.pid}/environ", "rb") as f:
                assert b"k-very-secret-1" not in f.read()
        (path, headers, _, _), *_ = c.texts()
        assert path == "/v1/traces" and headers["authorization"] == "Bearer k-very-secret-1" and headers["x-tenant"] == "blue", headers
        assert "k-very-secret-1" not in s.log()


def test_nothing_without_configuration():
    with Collector() as c:
        with serve(folder(), None, OTEL_EXPORTER_OTLP_ENDPOINT=c.url) as s:
            s.ended(*start(s, "boss"))
            assert "weft_telemetry_sent_total" not in s.metrics()
        assert not c.texts()


if __name__ == "__main__":
    main(globals())
