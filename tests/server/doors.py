#!/usr/bin/env python3
"""One thread and every door: a run that was started in one protocol is read in every other while it streams, cut and joined again.

usage: doors.py WEFT [DISCONNECTS]   (TAP)
"""
import http.client
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
DISCONNECTS = int(sys.argv[2]) if len(sys.argv) > 2 else 300
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = tempfile.mkdtemp(prefix="weft-doors-")
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:doors.db
log: {level: warn}
models: {slow: {provider: scripted, script: slow.json}}
tools: {look: {description: Looks, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo 7"], delivery: pure}}
agents: {slow: {model: slow, tools: [look]}}
default_agent: slow
"""
SCRIPT = {"replies": [{"parts": [{"reasoning": "Hm, let me think."}, {"text": "I look at it."}, {"tool_call": {"id": "c1", "name": "look", "arguments": {}}}]},
                      {"parts": [{"text": "It is seven, as far as I can tell."}]}], "at_end": "restart", "delta_bytes": 3, "delay_ms": 8}
TEXT = "go on"
DIALECTS = ("weft", "uap", "upp", "ui", "assistants", "agentapi", "chat", "responses")

# How each door starts a run: path and body for a thread (None: it makes one).
DOORS = {
    "assistants": lambda t: (f"/v1/threads/{t}/runs", {"assistant_id": "slow", "stream": True, "additional_messages": [{"role": "user", "content": TEXT}]}),
    "ui": lambda t: ("/api/chat", {"id": t, "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": TEXT}]}]}),
    "agentapi": lambda t: ("/process?ids=true", {"session_id": t, "input": [{"role": "user", "content": [{"type": "text", "text": TEXT}]}]}),
    "chat": lambda t: ("/v1/chat/completions", {"model": "slow", "stream": True, "messages": [{"role": "user", "content": TEXT + str(random.random())}]}),
    "responses": lambda t: ("/v1/responses", {"model": "slow", "stream": True, "conversation": "conv_" + t[7:], "input": TEXT}),
    "aitp": lambda t: (f"/agents/slow/v1/threads/{t}/runs?as=uap", {"stream": True, "additional_messages": [{"role": "user", "content": [TEXT]}]}),
}


def folder(name):
    path = f"{HERE}/{name}"
    os.makedirs(path, exist_ok=True)
    with open(f"{path}/weft.yaml", "w") as f:
        f.write(CONFIG)
    with open(f"{path}/slow.json", "w") as f:
        json.dump(SCRIPT, f)
    return path


def read(s, method, path, body=None, after=None, limit=None):
    """The frames of a stream: [(id, data)], at most `limit`."""
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=120)
    c.request(method, path, json.dumps(body) if body is not None else None, {"Last-Event-ID": after} if after else {})
    r = c.getresponse()
    assert r.status == 200, (r.status, r.read())
    found, id = [], None
    for line in r:
        line = line.decode().rstrip("\n")
        if line.startswith("id: "):
            id = line[4:]
        elif line.startswith("data: "):
            found.append((id, line[6:]))
            id = None
            if limit and len(found) >= limit:
                break
    c.close()
    return found


def start(s, door):
    """Starts a run through a door and leaves it at once: its id."""
    thread = s.good("POST", "/v1/threads", {})["id"]
    path, body = DOORS[door](thread)
    first = read(s, "POST", path, body, limit=1)
    if door == "chat":
        return "run_" + json.loads(first[0][1])["id"][9:]
    return s.good("GET", f"/v1/threads/{thread}/runs")["data"][0]["id"]


def test_the_example_goes_through_every_door():
    r = subprocess.run([sys.executable, f"{ROOT}/examples/every-door/run", WEFT], capture_output=True, text=True, timeout=300)
    assert r.returncode == 0 and "imported again: the same" in r.stdout, (r.stdout, r.stderr)
    assert r.stdout.count(" -> ") == 6 and "Bring a hat." in r.stdout


def test_the_example_says_why_there_is_no_server():
    r = subprocess.run([sys.executable, f"{ROOT}/examples/every-door/run", "/bin/false"], capture_output=True, text=True, timeout=300)
    assert r.returncode == 1 and r.stderr == "/bin/false serve did not start\n", (r.stdout, r.stderr)


def test_a_run_of_every_door_is_joined_in_every_dialect():
    with Server(WEFT, folder("pairs")) as s:
        for door in DOORS:
            run = start(s, door)
            live = {}

            def join(dialect):
                live[dialect] = read(s, "GET", f"/v1/runs/{run}/events?as={dialect}")

            readers = [threading.Thread(target=join, args=(d,)) for d in DIALECTS]
            for t in readers:
                t.start()
            for t in readers:
                t.join(120)
            for dialect in DIALECTS:
                assert len(live[dialect]) > 5, (door, dialect, live[dialect])
                again = read(s, "GET", f"/v1/runs/{run}/events?as={dialect}")
                assert again == live[dialect], (door, dialect)
                joined = json.dumps([json.loads(d) for _, d in again if d != "[DONE]"])
                assert "seven" in joined or "sev" in joined, (door, dialect)
                # cut after every frame, and joined again
                for cut in range(1, len(again), 3):
                    rest = read(s, "GET", f"/v1/runs/{run}/events?as={dialect}", after=again[cut - 1][0])
                    assert rest == again[cut:], (door, dialect, cut)


def texts(dialect, frames):
    """The texts of a stream as its protocol has them apart."""
    frames = [f for f in (json.loads(d) for _, d in frames if d != "[DONE]")]
    if dialect == "assistants":
        return [f["content"][0]["text"]["value"] for f in frames if f["object"] == "thread.message" and f["status"] == "completed"]
    if dialect == "agentapi":
        return [f["content"][0]["text"] for f in frames if f["object"] == "message" and f["status"] == "completed"]
    if dialect == "chat":
        return "".join(f["choices"][0]["delta"].get("content", "") for f in frames).split("\n\n")
    if dialect == "responses":
        return [f["item"]["content"][0]["text"] for f in frames if f["type"] == "response.output_item.done"]
    if dialect == "ui":
        return ["".join(d["delta"] for d in frames if d["type"] == "text-delta" and d["id"] == f["id"]) for f in frames if f["type"] == "text-start"]
    found = [""]  # upp, uap and weft: by their messages
    for f in frames:
        if not f.get("aside"):
            f = f.get("upp", f)
            found += [""] if f.get("type") == "message_start" else []
            found[-1] += f["delta"]["text"] if f.get("type") == "text_delta" else ""
    return [t for t in found if t]


def test_the_texts_of_parallel_steps_are_apart():
    """At every door, live and read again."""
    plan = json.dumps({"steps": [{"id": "a", "description": "Do a"}, {"id": "b", "description": "Do b"}]})
    half = {"parts": [{"text": "Half of it."}]}
    where = folder("plan")
    with open(f"{where}/slow.json", "w") as f:
        json.dump({"replies": [{"parts": [{"text": plan}]}, half, half], "at_end": "restart"}, f)
    with Server(WEFT, where, CONFIG.replace("slow: {model: slow, tools: [look]}", "slow: {model: slow, strategy: plan}")) as s:
        for door in DOORS:
            thread = s.good("POST", "/v1/threads", {})["id"]
            live = read(s, "POST", *DOORS[door](thread))
            assert texts("uap" if door == "aitp" else door, live) == ["Half of it."] * 2, (door, live)
            if door == "ui":
                reloaded = s.good("GET", f"/api/chat/{thread}")[-1]["parts"]
                shown = {"start-step": "step-start", "text-start": "text"}
                streamed = [shown[f["type"]] for f in (json.loads(d) for _, d in live if d != "[DONE]") if f["type"] in shown]
                # nothing is shown of the planning, but it is a step
                assert streamed == [p["type"] for p in reloaded] == ["step-start"] + ["step-start", "text"] * 2, (live, reloaded)
                run = s.good("GET", f"/v1/threads/{thread}/runs")["data"][0]["id"]
        for dialect in DIALECTS:
            again = read(s, "GET", f"/v1/runs/{run}/events?as={dialect}")
            assert texts(dialect, again) == ["Half of it."] * 2, (dialect, again)
        # answers in one piece
        text = {"messages": [{"role": "user", "content": "once"}], "model": "slow"}
        assert s.good("POST", "/v1/chat/completions", text)["choices"][0]["message"]["content"] == "Half of it.\n\nHalf of it."
        for path, body in (("/v1/responses", {"model": "slow", "input": "once"}), ("/process", {"stream": False, **json.loads(json.dumps(DOORS["agentapi"](None)[1]))})):
            body.pop("session_id", None)
            output = s.good("POST", path, body)["output"]
            assert [m["content"][0]["text"] for m in output] == ["Half of it."] * 2, (path, output)


def test_readers_that_leave_and_come_back_miss_nothing():
    """At random frames, while the run streams, in every dialect; the frames of all connections are those of one."""
    r = random.Random(7)
    with Server(WEFT, folder("random")) as s:
        left = DISCONNECTS
        while left > 0:
            run = start(s, r.choice(list(DOORS)))
            results = {}

            def wander(dialect, seed):
                own, got, cuts = random.Random(seed), [], 0
                while True:
                    n = own.randint(1, 9)
                    part = read(s, "GET", f"/v1/runs/{run}/events?as={dialect}", after=got[-1][0] if got else None, limit=n)
                    got += part
                    cuts += 1
                    if len(part) < n:
                        break
                results[dialect] = got, cuts

            readers = [threading.Thread(target=wander, args=(d, r.random())) for d in DIALECTS]
            for t in readers:
                t.start()
            for t in readers:
                t.join(120)
            for dialect in DIALECTS:
                got, cuts = results[dialect]
                assert got == read(s, "GET", f"/v1/runs/{run}/events?as={dialect}"), dialect
                left -= cuts


try:
    main(globals())
finally:
    shutil.rmtree(HERE, ignore_errors=True)
