#!/usr/bin/env python3
"""Requests to one conversation at the same time, through every door. One invariant: what was acknowledged is in the thread
that was addressed, once, with its answer; what was refused has changed nothing.

usage: races.py WEFT [ROUNDS] [SEED]   (TAP)
"""
import http.client
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import traceback

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 8
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
HERE = tempfile.mkdtemp(prefix="weft-races-")
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:races.db
log: {level: warn}
models:
  echo: {provider: scripted, echo: true}
  main: {provider: scripted, script: script.json}
tools:
  locate: {description: Where the client is, parameters: {type: object}}
agents:
  echo: {model: echo}
  asks: {model: main, tools: [locate]}
default_agent: echo
"""
SCRIPT = {"at_end": "restart", "replies": [
    {"when": {"tool_result": "locate"}, "parts": [{"text": "There."}]},
    {"when": {"contains": "where"}, "parts": [{"tool_call": {"id": "c1", "name": "locate", "arguments": {}}}]},
    {"when": {"contains": ""}, "parts": [{"text": "Well."}]},
]}
count = [0]


def word():
    """A text that no other request has."""
    count[0] += 1
    return f"word{count[0]:05}x"


class Request:
    """One request, with the word that it brings into the log."""

    def __init__(self, door, path, body, word, headers=None):
        self.door, self.path, self.body, self.word, self.headers = door, path, body, word, headers or {}
        self.status, self.text = None, ""

    def send(self, s):
        c = s.connection()
        c.request("POST", self.path, json.dumps(self.body), {"content-type": "application/json", **self.headers})
        r = c.getresponse()
        self.status, self.text = r.status, r.read().decode()
        c.close()

    @property
    def accepted(self):
        return self.status == 200

    def __repr__(self):
        return f"{self.door} {self.path} {json.dumps(self.body)[:300]} -> {self.status} {self.text[:300]}"


def race(s, requests):
    """All of them at once. Each is answered, and refused only with a reason of the client's."""
    gate, failures = threading.Barrier(len(requests)), []

    def one(r):
        try:
            gate.wait()
            r.send(s)
        except Exception:
            failures.append((r, traceback.format_exc()))
    threads = [threading.Thread(target=one, args=(r,)) for r in requests]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures, failures
    for r in requests:
        assert r.status == 200 or 400 <= r.status < 500, (r, s.log()[-2000:])
        assert r.status != 429, r
    return requests


# ---- What the doors are asked -------------------------------------------------------------------------------------------

def user(text):
    return {"role": "user", "parts": [{"type": "text", "text": text}]}


def chat(id, **more):
    w = word()
    return Request("ui", "/api/chat", {"id": id, "agent": "echo", "message": {"id": "u" + w, **user(w)}, **more}, w)


def run(thread, **more):
    w = word()
    return Request("runs", f"/v1/threads/{thread}/runs",
                   {"assistant_id": "echo", "additional_messages": [{"role": "user", "content": w}], **more}, w)


def process(session, path="/process", **more):
    w = word()
    return Request("process", path, {"session_id": session, "input": [{"role": "user", "content": [{"type": "text", "text": w}]}], **more}, w)


def message(thread):
    w = word()
    return Request("messages", f"/v1/threads/{thread}/messages", {"role": "user", "content": w}, w)


def responses(**more):
    w = word()
    return Request("responses", "/v1/responses", {"model": "echo", "input": w, **more}, w)


# ---- What must hold -----------------------------------------------------------------------------------------------------

def threads(s):
    found, after = [], ""
    while True:
        page = s.good("GET", f"/v1/threads?limit=100{after}")
        found += [t["id"] for t in page["data"]]
        if not page["has_more"]:
            return found
        after = "&after=" + page["last_id"]


def texts(s, thread, node=""):
    """The texts on a path, with the roles."""
    found, after = [], ""
    while True:
        page = s.good("GET", f"/v1/threads/{thread}/messages?order=asc&limit=100{node}{after}")
        found += [(m["role"], "".join(c["text"]["value"] for c in m["content"] if c["type"] == "text")) for m in page["data"]]
        if not page["has_more"]:
            return found
        after = "&after=" + page["last_id"]


def settle(s, thread):
    for r in s.good("GET", f"/v1/threads/{thread}/runs?limit=100")["data"]:
        s.ended(r, thread)


def holds(s, thread, requests, in_tree=False, answered=True):
    """Each accepted word is in the thread once, and its answer after it; in_tree: on any branch of it."""
    settle(s, thread)
    paths = [texts(s, thread)]
    if in_tree:
        paths += [texts(s, thread, f"&node_id={n['id']}") for n in s.good("GET", f"/v1/threads/{thread}/tree")["nodes"]]
    for r in requests:
        asked = [p for p in paths if ("user", r.word) in p]
        if not r.accepted:
            assert not asked, ("a refused request is in the thread", r, paths[0])
            continue
        assert asked, ("an accepted request is not in the thread", r, paths, requests)
        assert all(p.count(("user", r.word)) == 1 for p in asked), ("it is there more than once", r, asked)
        if answered and r.door != "messages":
            assert any(("assistant", r.word) in p[p.index(("user", r.word)):] for p in asked), ("its answer is not in the thread", r, paths, requests)


def folder(name):
    path = f"{HERE}/{name}"
    os.mkdir(path)
    with open(f"{path}/weft.yaml", "w") as f:
        f.write(CONFIG)
    with open(f"{path}/script.json", "w") as f:
        json.dump(SCRIPT, f)
    return path


def server(name):
    return Server(WEFT, folder(name), loops=["--loops", os.environ.get("WEFT_TEST_LOOPS", "2")])


# ---- The sweep ----------------------------------------------------------------------------------------------------------

def test_first_messages_of_one_chat():
    with server("first") as s:
        for i in range(2 * ROUNDS):
            before = len(threads(s))
            id = f"k{i}"
            requests = race(s, [chat(id) for _ in range(8)])
            made = threads(s)
            assert len(made) == before + 1, (made, requests)
            assert any(r.accepted for r in requests), requests
            holds(s, made[0], requests)


def test_first_messages_of_one_session():
    with server("session") as s:
        for i in range(ROUNDS):
            before = len(threads(s))
            requests = race(s, [process(f"s{i}", path) for path in ("/process", "/process/task", "/agents/echo/process") for _ in range(2)])
            made = threads(s)
            assert len(made) == before + 1, (made, requests)
            assert any(r.accepted for r in requests), requests
            holds(s, made[0], requests)


def turns(s, id):
    """A chat with three turns: its thread, its messages, and the ids that the streams had."""
    ids, said = [], []
    for _ in range(3):
        r = chat(id)
        r.send(s)
        assert r.accepted, r
        ids.append(next(json.loads(line[6:])["messageId"] for line in r.text.splitlines() if '"type":"start"' in line))
        said.append(r)
    return s.good("GET", "/v1/threads?limit=1")["data"][0]["id"], said, ids


def test_every_door_to_one_thread():
    chance = random.Random(SEED)
    with server("doors") as s:
        for i in range(2 * ROUNDS):
            id = f"d{i}"
            thread, said, ids = turns(s, id)
            messages = s.good("GET", f"/v1/threads/{thread}/messages?order=asc")["data"]
            appends = [lambda: chat(id), lambda: run(thread), lambda: process(thread), lambda: message(thread), lambda: process(thread, "/process/task"),
                       lambda: responses(conversation="conv_" + thread.removeprefix("thread_")),
                       lambda: Request("answers", f"/v1/threads/{thread}/runs", {"assistant_id": "echo", "answers": [{"call_id": "none", "output": "x"}]}, word())]
            at = chance.randrange(3)
            edits = [lambda: chat(id, messageId=said[at].body["message"]["id"], trigger="submit-message"),
                     lambda: Request("again", "/api/chat", {"id": id, "agent": "echo", "trigger": "regenerate-message", "messageId": ids[at]}, word()),
                     lambda: Request("restore", f"/v1/threads/{thread}/restore", {"before": messages[2 * at]["id"]}, word()),
                     lambda: Request("checkout", f"/v1/threads/{thread}/checkout", {"node_id": "none"}, word()),
                     lambda: Request("fork", f"/v1/threads/{thread}/fork", {"at": messages[2 * at + 1]["id"]}, word())]
            kind = i % 3  # only at the end, only elsewhere, or both
            pool = appends if kind == 0 else edits if kind == 1 else appends + edits
            before = len(threads(s))
            requests = race(s, [chance.choice(pool)() for _ in range(chance.randrange(3, 9))])
            assert len(threads(s)) == before + sum(r.door == "fork" and r.accepted for r in requests), requests
            writes = [r for r in requests if r.door not in ("again", "restore", "checkout", "fork", "answers")]
            moved = [r for r in requests if r.accepted and (r.door in ("again", "restore") or "messageId" in r.body)]
            holds(s, thread, writes, in_tree=bool(moved))
            path = texts(s, thread)
            if not moved:
                assert [t for _, t in path[:6]] == [t for r in said for t in (r.word, r.word)], (path, requests)
            if not any(r.accepted and r.door in ("restore", "messages") for r in requests):
                assert path[-1][0] == "assistant", ("the thread ends at a question", path, requests)


def test_continuations_of_one_response():
    with server("responses") as s:
        for i in range(ROUNDS):
            first = responses()
            first.send(s)
            previous = json.loads(first.text)["id"]
            before = len(threads(s))
            requests = race(s, [responses(previous_response_id=previous) for _ in range(5)])
            assert all(r.accepted for r in requests), requests
            made = threads(s)
            assert len(made) == before + 4, ("one goes on, and the others have threads of their own", len(made) - before)
            paths = [texts(s, t) for t in made[:5]]
            for r in requests:
                [path] = [p for p in paths if ("user", r.word) in p]
                assert [t for _, t in path] == [first.word, first.word, r.word, r.word], (path, r)
            refused = race(s, [responses(previous_response_id=previous, temperature="hot"), responses(previous_response_id=previous, model="nobody")])
            assert not any(r.accepted for r in refused) and len(threads(s)) == len(made), refused


def test_continuations_of_one_conversation():
    with server("completions") as s:
        def complete(*said):
            w = word()
            return Request("chat", "/v1/chat/completions", {"model": "echo", "messages": [*said, {"role": "user", "content": w}]}, w)
        for i in range(ROUNDS):
            first = complete()
            first.send(s)
            history = [{"role": "user", "content": first.word}, {"role": "assistant", "content": first.word}]
            before = len(threads(s))
            requests = race(s, [complete(*history) for _ in range(5)])
            assert all(r.accepted for r in requests), requests
            made = threads(s)
            assert len(made) == before + 4, (len(made) - before, requests)
            paths = [texts(s, t) for t in made[:5]]
            for r in requests:
                [path] = [p for p in paths if ("user", r.word) in p]
                assert [t for _, t in path] == [first.word, first.word, r.word, r.word], (path, r)


def test_answers_to_one_call():
    with server("answers") as s:
        for i in range(ROUNDS):
            run_, thread = s.start("asks", text="where")
            run_ = s.ended(run_, thread)
            assert run_["status"] == "requires_action", run_
            def answer(path, body):
                return Request("answers", path, body, word())
            call = run_["required_action"]["submit_tool_outputs"]["tool_calls"][0]["id"]
            requests = [answer(f"/v1/runs/{run_['id']}/answers", {"answers": [{"call_id": call, "output": "a"}]}),
                        answer(f"/v1/threads/{thread}/runs/{run_['id']}/submit_tool_outputs", {"tool_outputs": [{"tool_call_id": call, "output": "b"}]}),
                        answer(f"/v1/threads/{thread}/runs", {"assistant_id": "asks", "answers": [{"call_id": call, "output": "c"}]}),
                        answer("/v1/responses", {"model": "asks", "conversation": "conv_" + thread.removeprefix("thread_"),
                                                 "input": [{"type": "function_call_output", "call_id": call, "output": "d"}]}),
                        run(thread), message(thread)]
            race(s, requests)
            settle(s, thread)
            accepted = [r for r in requests[:4] if r.accepted]
            assert len(accepted) == 1, requests
            path = texts(s, thread)
            assert path.count(("assistant", "There.")) == 1, (path, requests)
            holds(s, thread, requests[4:])


def test_imports_of_one_document():
    """Its id is given once: with on_conflict=copy each request has a thread, without it one has. With a key, all have the same one."""
    with server("exports") as s:
        documents = []
        for _ in range(2 * ROUNDS):
            w = word()
            thread = s.good("POST", "/v1/threads", {"messages": [{"role": "user", "content": w}]})["id"]
            documents.append((w, *(s.good("GET", f"/v1/threads/{thread}/export?as={d}") for d in ("uap", "thread"))))
    with server("imports") as s:
        for i, (w, *forms) in enumerate(documents):
            path = f"/v1/threads/import?from={('uap', 'thread')[i % 2]}"
            plain = [Request("import", path, forms[i % 2], w) for _ in range(2)]
            copies = [Request("import", path + "&on_conflict=copy", forms[i % 2], w) for _ in range(2)]
            keyed = [Request("import", path + "&on_conflict=copy", forms[i % 2], w, {"Idempotency-Key": f"k{i}"}) for _ in range(2)]
            before = len(threads(s))
            requests = race(s, plain + copies + keyed)
            assert all(r.accepted for r in copies + keyed), requests
            assert all(r.accepted or '"conflict"' in r.text for r in plain), requests
            made = [json.loads(r.text)["id"] for r in requests if r.accepted]
            assert json.loads(keyed[0].text)["id"] == json.loads(keyed[1].text)["id"] and len(set(made)) == len(made) - 1, requests
            assert sum(r.accepted for r in plain) <= 1 and len(threads(s)) == before + len(set(made)), requests
            assert all(texts(s, t) == [("user", w)] for t in made), requests


def test_a_death_before_the_first_commit_leaves_nothing():
    """The thread of a first message is made with its run: the process ends right before that commit."""
    doors = [chat("k"), process("s"), responses(),
             Request("chat", "/v1/chat/completions", {"model": "echo", "messages": [{"role": "user", "content": "x"}]}, "x"),
             Request("runs", "/v1/threads/runs", {"assistant_id": "echo", "thread": {"messages": [{"role": "user", "content": "x"}]}}, "x")]
    for i, request in enumerate(doors):
        path = folder(f"death{i}")
        with Server(WEFT, path, WEFT_CRASHPOINT="c1.before:1") as s:
            try:
                request.send(s)
                raise AssertionError(request)
            except (ConnectionError, OSError, EOFError, http.client.HTTPException):
                s.process.wait(timeout=30)
        with Server(WEFT, path) as s:
            assert threads(s) == [], request
            request.send(s)
            assert request.accepted and len(threads(s)) == 1, request


try:
    main(globals())
finally:
    shutil.rmtree(HERE, ignore_errors=True)
