#!/usr/bin/env python3
"""What operators see of the real program: access log, run log, traces, health, version, metrics.

usage: ops.py WEFT   (TAP)
"""
import http.client
import http.server
import json
import os
import re
import sys
import tempfile
import threading
import time

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:ops.db
log: {level: info, format: %s, access: %s}
models:
  tool: {provider: scripted, script: tool.json}
  ask: {provider: scripted, script: ask.json}
  broken: {provider: scripted, script: broken.json}
  boss: {provider: scripted, script: boss.json}
  vendor: {provider: openai, api: chat, model: m-1, base_url: "http://127.0.0.1:%d/v1", api_key: "k-not-a-secret"}
tools:
  look: {description: d, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo 18"]}
  pick: {description: d, parameters: {type: object}}
agents:
  tool: {model: tool, tools: [look], middleware: [logging]}
  ask: {model: ask, tools: [pick]}
  broken: {model: broken}
  boss: {model: boss, tools: [tool]}
  vendor: {model: vendor}
"""
SCRIPTS = {
    "tool": [{"parts": [{"tool_call": {"id": "c1", "name": "look"}}], "usage": {"input_tokens": 7, "output_tokens": 2}},
             {"parts": [{"text": "It is 18."}], "usage": {"input_tokens": 9, "output_tokens": 4}}],
    "ask": [{"parts": [{"tool_call": {"id": "c1", "name": "pick"}}]}, {"parts": [{"text": "Picked."}]}],
    "boss": [{"parts": [{"tool_call": {"id": "b1", "name": "tool", "arguments": {"task": "look"}}}]}, {"parts": [{"text": "Done."}]}],
    "broken": [{"error": {"code": "AUTHENTICATION_FAILED", "message": "said in private"}}],
}


def folder():
    path = tempfile.mkdtemp(prefix="weft-ops-")
    for name, replies in SCRIPTS.items():
        with open(f"{path}/{name}.json", "w") as f:
            json.dump({"replies": replies, "at_end": "restart"}, f)
    return path


def serve(path, format="text", access="true", vendor=9):
    return Server(WEFT, path, CONFIG % (format, access, vendor))


def once(fields):
    """A dictionary of fields, none of which comes twice."""
    found = dict(fields)
    assert len(found) == len(fields), fields
    return found


def lines(server, message, count=1):
    """The log lines with this message as dictionaries, once there are so many of them."""
    end = time.monotonic() + 60
    while True:
        found = [line for line in server.log().splitlines() if f'msg="{message}' in line or f'"msg":"{message}' in line]
        if len(found) >= count or time.monotonic() > end:
            break
        time.sleep(0.02)
    assert len(found) == count, (message, server.log())
    if found[0].startswith("{"):
        return [json.loads(line, object_pairs_hook=once) for line in found]
    return [once([(k, v.strip('"')) for k, v in re.findall(r'(\S+?)=("(?:[^"\\]|\\.)*"|\S+)', line)]) for line in found]


def test_access_log():
    for format in ("text", "json"):
        with serve(folder(), format) as s:
            run, thread = s.start("tool", {"x-request-id": "mine-1", "traceparent": PARENT})
            lines(s, "request", 2)
            new, begun = lines(s, "request", 2)
            assert new["method"] == "POST" and new["route"] == "/v1/threads" and new["id"].startswith("req_"), new
            assert begun["route"] == "/v1/threads/{t}/runs" and begun["id"] == "mine-1" and begun["run"] == run["id"], begun
            assert begun["trace"] == TRACE and begun["tenant"] == "local" and begun["client"] == "127.0.0.1", begun
            assert int(begun["status"]) == 200 and int(begun["bytes"]) > 300 and 0 < float(begun["ms"]) < 60000, begun
            assert re.fullmatch(r"[0-9]+(\.[0-9]{1,3})", str(begun["ms"])), begun
            assert thread not in json.dumps(begun), "ids of paths are not in the log"


def test_access_log_can_be_off():
    with serve(folder(), access="false") as s:
        run, thread = s.start("tool")
        s.ended(run, thread)
        lines(s, "run ended")
        assert 'msg="request"' not in s.log(), s.log()


def test_streams_are_logged_at_their_end():
    with serve(folder()) as s:
        run, thread = s.start("ask")
        c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
        c.request("GET", f"/v1/runs/{run['id']}/events")
        r = c.getresponse()
        r.read1(100)
        assert s.metrics()["weft_http_streams"] == "1"
        assert "stream=true" not in s.log()
        s.good("POST", f"/v1/runs/{run['id']}/cancel")
        r.read()
        c.close()
        end = time.monotonic() + 60
        while "stream=true" not in s.log():
            assert time.monotonic() < end, s.log()
            time.sleep(0.02)
        line = [x for x in lines(s, "request", s.log().count('msg="request"')) if x.get("stream")][0]
        assert line["route"] == "/v1/runs/{r}/events" and line["run"] == run["id"], line
        assert s.metrics()["weft_http_streams"] == "0"


def test_run_log():
    with serve(folder()) as s:
        run, thread = s.start("tool", {"traceparent": PARENT})
        s.ended(run, thread)
        began, = lines(s, "run started")
        assert began["run"] == run["id"] and began["thread"] == thread and began["agent"] == "tool", began
        assert began["state"] == "running" and began["trace"] == TRACE, began
        over, = lines(s, "run ended")
        assert over["state"] == "completed" and over["input_tokens"] == "16" and over["output_tokens"] == "6", over
        assert over["trace"] == TRACE and int(over["ms"]) >= 0, over

        run, thread = s.start("ask")
        lines(s, "run waits")
        assert lines(s, "run waits")[0]["run"] == run["id"]
        s.good("POST", f"/v1/runs/{run['id']}/answers", {"answers": [{"call_id": "c1", "output": 1}]})
        assert lines(s, "run resumed")[0]["run"] == run["id"]
        lines(s, "run ended", 2)

        run, thread = s.start("broken")
        over = lines(s, "run ended", 3)[2]
        assert over["state"] == "failed" and over["level"] == "warn" and over["code"], over
        assert "said in private" not in s.log(), "what a provider says is not in the run log"


def test_runs_of_sub_agents_are_runs():
    with serve(folder()) as s:
        run, thread = s.start("boss", {"traceparent": PARENT})
        s.ended(run, thread)
        root, child = lines(s, "run started", 2)
        assert root["run"] == run["id"] and "parent" not in root, root
        assert child["parent"] == run["id"] and child["agent"] == "tool" and child["trace"] == TRACE, child
        below, above = lines(s, "run ended", 2)
        assert below["run"] == child["run"] and below["input_tokens"] == "16", below
        assert above["run"] == run["id"] and above["input_tokens"] == "16", "with all runs below it"
        m = s.metrics()
        assert m['weft_runs_total{agent="boss",outcome="completed"}'] == m['weft_runs_total{agent="tool",outcome="completed"}'] == "1", m
        assert sum(float(v) for k, v in m.items() if k.startswith("weft_model_tokens_total") and 'kind="input"' in k) == 16, m


def test_queued_runs():
    with serve(folder()) as s:
        first, thread = s.start("ask")
        lines(s, "run waits")
        second = s.good("POST", f"/v1/threads/{thread}/runs", {"assistant_id": "tool", "on_busy": "enqueue", "additional_messages": [{"role": "user", "content": "x"}]})
        assert lines(s, "run queued")[0]["run"] == second["id"]
        assert s.metrics()['weft_runs{state="queued"}'] == "1"
        s.good("POST", f"/v1/runs/{first['id']}/cancel")
        s.ended(second, thread)
        assert lines(s, "run started", 2)[1]["run"] == second["id"]
        assert [x["state"] for x in lines(s, "run ended", 2)] == ["cancelled", "completed"]


def test_stored_assistants_share_one_series():
    with serve(folder()) as s:
        for i in range(3):
            made = s.good("POST", "/v1/assistants", {"model": "tool", "name": f"n{i}"})["id"]
            assert s.ended(*s.start(made))["status"] == "completed"
            s.good("DELETE", f"/v1/assistants/{made}")
        s.ended(*s.start("broken"))
        m = s.metrics()
        agents = {k: v for k, v in m.items() if k.startswith("weft_runs_total")}
        assert agents == {'weft_runs_total{agent="other",outcome="completed"}': "3", 'weft_runs_total{agent="broken",outcome="failed"}': "1"}, agents
        assert m['weft_run_duration_seconds_count{agent="other"}'] == "3", m


def test_logging_middleware_writes_to_the_same_log():
    with serve(folder()) as s:
        s.ended(*s.start("tool"))
        lines(s, "run ended")
        for line in s.log().splitlines():
            assert re.match(r"time=\S+ level=\w+ msg=", line), line
        assert re.search(r'level=info msg="Agent \S+ starting execution"', s.log()), s.log()


def test_a_run_keeps_its_trace():
    """It goes to the model's provider, and a restart does not lose it."""
    seen, hold = [], threading.Event()

    class Vendor(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(self.headers.get("traceparent"))
            self.rfile.read(int(self.headers["content-length"]))
            if len(seen) == 2:
                hold.wait(60)
            body = 'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'.encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                pass

        def log_message(self, *_):
            pass

    vendor = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Vendor)
    threading.Thread(target=vendor.serve_forever, daemon=True).start()
    try:
        path, port = folder(), vendor.server_address[1]
        with serve(path, vendor=port) as s:
            run = s.ended(*s.start("vendor", {"traceparent": PARENT}))
            assert run["status"] == "completed", (run, s.log())
            assert "traceparent" not in json.dumps(run), run
            assert re.fullmatch(rf"00-{TRACE}-[0-9a-f]{{16}}-01", seen[0]) and seen[0] != PARENT, seen
            run, thread = s.start("vendor", {"traceparent": PARENT})
            end = time.monotonic() + 60
            while len(seen) < 2 and time.monotonic() < end:
                time.sleep(0.02)
            s.process.kill()
            s.process.wait()
        hold.set()
        with serve(path, vendor=port) as s:
            s.ended(run, thread)
            assert lines(s, "run resumed")[0]["trace"] == TRACE
            assert len(seen) == 3 and seen[2] == seen[1] and TRACE in seen[2], seen
            run, thread = s.start("vendor")
            s.ended(run, thread)
            assert seen[3] is None, seen
    finally:
        hold.set()
        vendor.shutdown()
        vendor.server_close()


def test_counters_move():
    path = folder()
    with serve(path) as s:
        before = s.metrics()
        for agent in ("tool", "broken"):
            s.ended(*s.start(agent))
        run, thread = s.start("ask")
        lines(s, "run waits")
        after = s.metrics()

        def grew(name, by):
            got = float(after[name]) - float(before.get(name, 0))
            assert got == by, (name, got, by)

        grew('weft_runs_total{agent="tool",outcome="completed"}', 1)
        grew('weft_runs_total{agent="broken",outcome="failed"}', 1)
        grew('weft_run_duration_seconds_count{agent="tool"}', 1)
        grew('weft_http_requests_total{method="POST",route="/v1/threads",status="200"}', 3)
        grew('weft_http_request_duration_seconds_count{route="/v1/threads"}', 3)
        asked = [float(v) for k, v in after.items() if k.startswith("weft_model_requests_total") and 'outcome="ok"' in k]
        assert sum(asked) == 3, after
        tokens = [float(v) for k, v in after.items() if k.startswith("weft_model_tokens_total") and 'kind="input"' in k]
        assert sum(tokens) == 16, after
        grew('weft_tool_calls_total{tool="look",outcome="ok"}', 1)
        grew('weft_tool_duration_seconds_count{tool="look"}', 1)
        assert after['weft_runs{state="waiting"}'] == "1" and after['weft_runs{state="running"}'] == "0", after
        assert float(after["weft_store_commits_total"]) > float(before["weft_store_commits_total"])
        assert float(after["weft_store_syncs_total"]) > float(before["weft_store_syncs_total"])
        for file, suffix in (("database", ""), ("wal", "-wal")):
            assert 0 < float(after[f'weft_store_file_bytes{{file="{file}"}}']) <= os.path.getsize(f"{path}/ops.db{suffix}"), (file, after)
        assert float(after["weft_store_commit_duration_seconds_count"]) >= 8, after
        assert 1e6 < float(after["process_resident_memory_bytes"]) < 4e9 and float(after["process_open_fds"]) > 3
        assert abs(float(after["process_start_time_seconds"]) - time.time()) < 600
        s.good("POST", f"/v1/runs/{run['id']}/cancel")
        lines(s, "run ended", 3)
        assert s.metrics()['weft_runs{state="waiting"}'] == "0"
        assert s.metrics()['weft_runs{state="cancelling"}'] == "0"


def test_unknown_paths_are_one_series():
    with serve(folder()) as s:
        for i in range(50):
            s.ask("GET", f"/nothing/{i}")
        m = s.metrics()
        assert m['weft_http_requests_total{method="GET",route="other",status="404"}'] == "50", m
        assert not [k for k in m if "/nothing" in k], m


def test_health_and_version():
    with serve(folder()) as s:
        health = s.good("GET", "/health")
        assert health["status"] == "ok" and health["store"] == {"name": "sqlite", "status": "ok"}, health
        assert health["uptime_seconds"] >= 0 and 1 <= health["loops"] <= 64 and health["connections"] >= 1, health
        version = s.good("GET", "/version")
        assert re.fullmatch(r"\d+\.\d+\.\d+", version["version"]) and "commit" in version, version
        assert {"sqlite", "openssl", "llhttp"} <= {x["name"] for x in version["libraries"]}, version


def quota():
    """Does a container limit our processor time? libuv may then count fewer processors."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as f:
            return not f.read().startswith("max")
    except OSError:
        return False


def test_a_loop_for_each_processor():
    here = sorted(os.sched_getaffinity(0))
    for some in (here, here[:1]):
        with Server(WEFT, folder(), CONFIG % ("text", "true", 9), loops=(), preexec=lambda: os.sched_setaffinity(0, some)) as s:
            loops = s.good("GET", "/health")["loops"]
            assert loops == min(len(some), 16) or (quota() and 1 <= loops < len(some)), (loops, some)
    for loops in (1, 3):
        config = CONFIG % ("text", "true", 9)
        with Server(WEFT, folder(), config.replace(':0"}', f':0", loops: {loops}}}'), loops=()) as s:
            assert s.good("GET", "/health")["loops"] == loops


main(globals())
