#!/usr/bin/env python3
"""Idempotency-Keys at every POST that makes something: the same key and body give the first one's object or stream, also
while it is being made; another body is refused; keys belong to tenant, user and route.

usage: idempotency.py WEFT   (TAP)
"""
import http.client
import json
import os
import shutil
import sys
import tempfile
import threading
import uuid

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-keys-")
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:keys.db
log: {level: warn}
models:
  echo: {provider: scripted, echo: true}
  slow: {provider: scripted, script: script.json}
  asks: {provider: scripted, script: asks.json}
  twice: {provider: scripted, script: twice.json}
tools:
  once: {description: Counts, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo x >> once; sleep 0.3; echo done"], delivery: at_most_once}
  pick: {parameters: {type: object}}
  more: {parameters: {type: object}}
agents:
  twice: {model: twice, tools: [pick, more]}
  asks: {model: asks, tools: [pick]}
  echo: {model: echo}
  acts: {model: slow, tools: [once]}
default_agent: echo
"""
SCRIPT = {"at_end": "restart", "delta_bytes": 4, "replies": [
    {"when": {"tool_result": "once"}, "delay_ms": 20, "parts": [{"text": "It was done, and only once."}]},
    {"parts": [{"tool_call": {"id": "c1", "name": "once", "arguments": {}}}]}]}


TWICE = {"at_end": "restart", "delta_bytes": 4, "replies": [
    {"when": {"tool_result": "more"}, "parts": [{"text": "That is all."}]},
    {"when": {"tool_result": "pick"}, "delay_ms": 20, "parts": [{"text": "And more?"}, {"tool_call": {"id": "m1", "name": "more", "arguments": {}}}]},
    {"parts": [{"tool_call": {"id": "p1", "name": "pick", "arguments": {}}}]}]}


def server(name, **env):
    path = f"{HERE}/{name}"
    if not os.path.isdir(path):
        os.mkdir(path)
        with open(f"{path}/weft.yaml", "w") as f:
            f.write(CONFIG)
        with open(f"{path}/script.json", "w") as f:
            json.dump(SCRIPT, f)
        with open(f"{path}/twice.json", "w") as f:
            json.dump(TWICE, f)
        with open(f"{path}/asks.json", "w") as f:
            json.dump({"replies": [{"parts": [{"tool_call": {"id": "p1", "name": "pick", "arguments": {}}}]}, {"parts": [{"text": "thanks"}]}]}, f)
    return Server(WEFT, path, loops=["--loops", os.environ.get("WEFT_TEST_LOOPS", "2")], **env)


def send(s, path, body, key=None, user=None, method="POST"):
    """Status, text and headers."""
    headers = {"content-type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    if user:
        headers["weft-user"] = user
    if isinstance(body, tuple):
        headers["content-type"], body = body
    else:
        body = json.dumps(body)
    c = s.connection()
    c.request(method, path, body, headers)
    r = c.getresponse()
    text = r.read().decode()
    c.close()
    return r.status, text, r.headers


def at_once(s, n, *args):
    """The same request n times at once."""
    gate, answers = threading.Barrier(n), []

    def one():
        gate.wait()
        answers.append(send(s, *args))
    threads = [threading.Thread(target=one) for _ in range(n)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return answers


def count(s, thread=None):
    if thread:
        return len(s.good("GET", f"/v1/threads/{thread}/messages?limit=100")["data"])
    return len(s.good("GET", "/v1/threads?limit=100")["data"])


def form(text):
    """A file, with another boundary each time."""
    b = uuid.uuid4().hex
    parts = [f'--{b}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n',
             f'--{b}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n{text}\r\n--{b}--\r\n']
    return (f"multipart/form-data; boundary={b}", "".join(parts))


def user_message(text):
    return {"role": "user", "content": text}


def input_of(text):
    return [{"role": "user", "content": [{"type": "text", "text": text}]}]


def document(s):
    t = json.loads(send(s, "/v1/threads", {"messages": [user_message("to export")]})[1])["id"]
    return s.good("GET", f"/v1/threads/{t}/export?as=uap")


# What is made by each route: (path, body, another body, where the id is).
def objects(s):
    t = json.loads(send(s, "/v1/threads", {"messages": [user_message("first")]})[1])["id"]
    return [("/v1/threads", {"messages": [user_message("a")]}, {"messages": [user_message("b")]}),
            ("/v1/thread", {"metadata": {"a": "1"}}, {"metadata": {"a": "2"}}),
            ("/agents/echo/v1/threads", {"messages": [user_message("a")]}, {}),
            (f"/v1/threads/{t}/messages", user_message("a"), user_message("b")),
            (f"/v1/threads/{t}/fork", {}, {"at": "none"}),
            (f"/v1/threads/{t}/subthread", {"new_messages": []}, {"new_messages": ["x"]}),
            ("/v1/threads/import?from=uap&on_conflict=copy", document(s), {}),
            ("/v1/conversations", {"items": [user_message("a")]}, {"items": [user_message("b")]}),
            (f"/v1/conversations/conv_{t.removeprefix('thread_')}/items", {"items": [user_message("c"), user_message("d")]}, {"items": [user_message("e")]}),
            ("/v1/files", form("text"), form("other"))]


def identity(text):
    v = json.loads(text)
    return [i["id"] for i in v["data"]] if v.get("object") == "list" else v["id"]


def test_objects():
    with server("objects") as s:
        for i, (path, body, other) in enumerate(objects(s)):
            key = f"key{i}"
            again = form("text") if isinstance(body, tuple) else body
            status, text, headers = send(s, path, body, key)
            assert status == 200 and "weft-ignored" not in headers, (path, status, text, headers)
            before = count(s)
            for _ in range(2):
                assert send(s, path, again, key)[:2] == (200, text), (path, text, send(s, path, again, key))
            assert count(s) == before, path
            status, answer, _ = send(s, path, other, key)
            assert status == 400 and "refused" in answer, (path, status, answer)
            assert identity(send(s, path, again, key + "x")[1]) != identity(text), path
            answers = at_once(s, 4, path, again, key + "y")
            assert [a[0] for a in answers] == [200] * 4, (path, answers)
            assert len({str(identity(a[1])) for a in answers}) == 1, (path, answers)


def test_imports_at_once():
    """Where the document's id is free. The same key: one makes it, and the others get it; on_conflict=copy: each gets its own."""
    with server("exports") as s:
        documents = []
        for i in range(12):
            t = json.loads(send(s, "/v1/threads", {"messages": [user_message(f"text {i}")]})[1])["id"]
            documents.append((s.good("GET", f"/v1/threads/{t}/export?as=uap"), s.good("GET", f"/v1/threads/{t}/export?as=thread")))
    with server("imports") as s:
        for i, (uap, thread) in enumerate(documents):
            dialect, body = ("uap", uap) if i % 2 else ("thread", thread)
            copy, key = [("", "k"), ("&on_conflict=copy", "k"), ("&on_conflict=copy", None)][i // 2 % 3]
            answers = at_once(s, 4, f"/v1/threads/import?from={dialect}{copy}", body, key and f"{key}{i}")
            assert [a[0] for a in answers] == [200] * 4, (dialect, copy, key, answers)
            made = {identity(a[1]) for a in answers}
            assert len(made) == (1 if key else 4), (dialect, copy, key, answers)
            assert all(count(s, t) == 1 for t in made), made


def test_keys_belong_to_user_and_route():
    with server("users") as s:
        made = [json.loads(send(s, path, {}, "k", user)[1])["id"].split("_")[1]
                for user in (None, "ann", "bob") for path in ("/v1/threads", "/v1/conversations")]
        assert len(set(made)) == 6, made
        assert json.loads(send(s, "/v1/threads", {}, "k", "ann")[1])["id"] == "thread_" + made[2]


def test_a_kill_between_commit_and_answer():
    with server("kill", WEFT_CRASHPOINT="thread.after:1") as s:
        body = {"messages": [user_message("once")]}
        try:
            send(s, "/v1/threads", body, "k")
            raise AssertionError("it answered")
        except (ConnectionError, OSError, http.client.HTTPException):
            s.process.wait(timeout=30)
    with server("kill") as s:
        assert count(s) == 1
        status, text, _ = send(s, "/v1/threads", body, "k")
        assert status == 200 and count(s) == 1, (status, text)


def frames(text):
    return [line[6:] for line in text.splitlines() if line.startswith("data: ") and '"heartbeat"' not in line]


def test_runs_and_streams():
    """The tool is called once, and each repetition gets the stream from its start."""
    with server("runs") as s:
        t = json.loads(send(s, "/v1/threads", {})[1])["id"]
        doors = [("/api/chat", {"id": "c", "agent": "acts", "message": {"role": "user", "parts": [{"type": "text", "text": "go"}]}}, {"id": "c"}),
                 ("/process", {"input": input_of("go")}, {"input": input_of("other")}),
                 ("/agents/acts/process", {"session_id": "p1", "input": input_of("go")}, {"session_id": "p1", "input": input_of("other")}),
                 ("/process/task", {"session_id": "p2", "input": input_of("go")}, {"input": input_of("other")}),
                 (f"/v1/threads/{t}/runs", {"assistant_id": "acts", "stream": True, "additional_messages": [user_message("go")]}, {"assistant_id": "echo"}),
                 ("/v1/threads/runs", {"assistant_id": "acts", "stream": True, "thread": {"messages": [user_message("go")]}}, {"assistant_id": "echo"}),
                 ("/v1/responses", {"model": "acts", "input": "go", "stream": True}, {"model": "acts", "input": "other"}),
                 ("/v1/chat/completions", {"model": "acts", "messages": [user_message("go")], "stream": True}, {"model": "acts", "messages": [user_message("x")]})]
        def calls():
            try:
                with open(f"{s.folder}/once") as f:
                    return f.read().count("x")
            except FileNotFoundError:
                return 0
        for i, (path, body, other) in enumerate(doors):
            if path.startswith("/process"):
                path = "/agents/acts" + path
            had, made = calls(), count(s)
            answers = at_once(s, 4, path, body, f"k{i}")
            assert [a[0] for a in answers] == [200] * 4, (path, answers)
            again = send(s, path, body, f"k{i}")
            assert again[0] == 200 and "weft-ignored" not in again[2], (path, again)
            if path.endswith("/task"):
                task = json.loads(again[1])
                assert all(json.loads(a[1]) == task for a in answers), (answers, again)
                while s.good("GET", f"/process/task/{task['task_id']}")["status"] != "finished":
                    pass
            else:
                assert len({str(frames(a[1])) for a in [*answers, again]}) == 1, (path, [frames(a[1])[:3] for a in [*answers, again]])
                assert "only once" in "".join(json.dumps(frames(again[1]))) or frames(again[1]), again
            assert calls() == had + 1, (path, calls() - had, "calls of a tool that runs at most once")
            assert count(s) == made + (0 if "/threads/thread_" in path else 1), (path, count(s) - made)
            status, answer, _ = send(s, path, other, f"k{i}")
            assert status in (400, 422), (path, status, answer)


def test_threads_of_runs_are_at_home_on_all_loops():
    with server("loops") as s:
        homes = set()
        for i in range(24):
            run = json.loads(send(s, "/v1/threads/runs", {"assistant_id": "echo", "thread": {"messages": [user_message("x")]}}, f"k{i}")[1])
            homes.add(int(run["thread_id"][7:15], 16) % 2)
        assert homes == {0, 1}, homes


def test_a_message_that_the_chat_has_joins_its_run():
    with server("message") as s:
        body = {"id": "c", "agent": "acts", "message": {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "go"}]}}
        answers = at_once(s, 4, "/api/chat", body)
        good = [a for a in answers if a[0] == 200]
        assert good and all(a[0] in (200, 409) for a in answers), answers
        again = send(s, "/api/chat", body)
        assert again[0] == 200 and len({str(frames(a[1])) for a in [*good, again]}) == 1, (answers, again)
        with open(f"{s.folder}/once") as f:
            assert f.read() == "x\n"
        [t] = s.good("GET", "/v1/threads")["data"]
        before = count(s, t["id"])
        body["message"]["parts"][0]["text"] = "go on"
        assert send(s, "/api/chat", body)[0] == 200 and count(s, t["id"]) > before, "another text is another message"


# A conversation at each door that waits for the client's tool, and a function: the path and the body that answer its open call.
def of_runs(s, path, body):
    t = json.loads(send(s, "/v1/threads", {})[1])["id"]
    run = json.loads(send(s, f"/v1/threads/{t}/runs", {"assistant_id": "twice", "additional_messages": [user_message("go")]})[1])["id"]

    def answer(output):
        while (now := s.good("GET", f"/v1/threads/{t}/runs/{run}"))["status"] != "requires_action":
            pass
        [call] = now["required_action"]["submit_tool_outputs"]["tool_calls"]
        return path.format(t=t, r=run), body(call["id"], output)
    return answer


def of_responses(s):
    last = json.loads(send(s, "/v1/responses", {"model": "twice", "input": "go"})[1])
    latest = [last["id"]]

    def answer(output):
        response = s.good("GET", f"/v1/responses/{latest[0]}")
        call = [i for i in response["output"] if i["type"] == "function_call"][-1]["call_id"]
        return "/v1/responses", {"model": "twice", "stream": True, "previous_response_id": latest[0], "input": [{"type": "function_call_output", "call_id": call, "output": output}]}
    answer.went_on = lambda text: latest.__setitem__(0, json.loads(frames(text)[-1])["response"]["id"])
    return answer


def of_completions(s):
    messages = [user_message("go")]

    def take(message):
        messages.append({"role": "assistant", "content": message.get("content"), "tool_calls": message["tool_calls"]})
    take(json.loads(send(s, "/v1/chat/completions", {"model": "twice", "messages": messages})[1])["choices"][0]["message"])

    def answer(output):
        call = messages[-1]["tool_calls"][0]["id"]
        answer.result = {"role": "tool", "tool_call_id": call, "content": output}
        return "/v1/chat/completions", {"model": "twice", "stream": True, "messages": [*messages, answer.result]}

    def went_on(text):
        deltas = [json.loads(f)["choices"][0]["delta"] for f in frames(text) if f != "[DONE]" and json.loads(f)["choices"]]
        calls = [c for d in deltas for c in d.get("tool_calls", [])]
        messages.append(answer.result)
        take({"content": "".join(d.get("content") or "" for d in deltas),
              "tool_calls": [{"id": calls[0]["id"], "type": "function", "function": {"name": calls[0]["function"]["name"], "arguments": "".join(c["function"]["arguments"] for c in calls)}}]})
    answer.went_on = went_on
    return answer


def of_chats(s):
    send(s, "/api/chat", {"id": "answered", "agent": "twice", "message": {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "go"}]}})

    def answer(output):
        message = s.good("GET", "/api/chat/answered")[-1]
        message["parts"][-1].update(state="output-available", output=output)
        return "/api/chat", {"id": "answered", "message": message}
    return answer


def of_processes(s):
    send(s, "/agents/twice/process", {"session_id": "processed", "input": input_of("go")})

    def answer(output):
        call = [p for r in s.good("GET", "/process/sessions/processed/response")["output"] for p in r.get("content") or [] if p["type"] == "data"][-1]["data"]
        return "/agents/twice/process", {"session_id": "processed", "input": [{"role": "tool", "type": "function_call_output", "content": [{"type": "data", "data": {"call_id": call["call_id"], "output": output}}]}]}
    return answer


def test_answers_to_open_calls():
    """Each repetition gets the answer to it from its start, also when the run has gone on to its next wait and was answered there."""
    with server("answers") as s:
        outputs = lambda call, output: {"stream": True, "tool_outputs": [{"tool_call_id": call, "output": output}]}
        answers = lambda call, output: {"answers": [{"call_id": call, "output": output}]}
        doors = [("outputs", of_runs(s, "/v1/threads/{t}/runs/{r}/submit_tool_outputs", outputs)),
                 ("answers", of_runs(s, "/v1/runs/{r}/answers", answers)),
                 ("runs", of_runs(s, "/v1/threads/{t}/runs", lambda *a: {"assistant_id": "twice", **answers(*a)})),
                 ("responses", of_responses(s)), ("completions", of_completions(s)), ("chat", of_chats(s)), ("process", of_processes(s))]
        for door, answer in doors:
            def content(text):
                return str(frames(text)) if "data: " in text else json.loads(text)["id"]

            path, body = answer("first")
            made, first = count(s), at_once(s, 4, path, body, door)
            assert [a[0] for a in first] == [200] * 4 and len({content(a[1]) for a in first}) == 1, (door, first)
            assert all("weft-ignored" not in a[2] or "idempotency-key" not in a[2].get_all("weft-ignored") for a in first), door
            assert "data: " not in first[0][1] or ("more" in first[0][1] and "That" not in first[0][1]), (door, first[0])
            getattr(answer, "went_on", lambda text: None)(first[0][1])
            status, text, _ = send(s, path, json.loads(json.dumps(body).replace("first", "other")), door)
            assert status in (400, 422) and "another request" in text, (door, status, text)
            assert count(s) == made, door
            second = send(s, *answer("second"), door + "2")
            assert second[0] == 200 and ("data: " not in second[1] or "all." in "".join(frames(second[1])).replace('"', "") or "That" in second[1]), (door, second)
            again = send(s, path, body, door)
            assert again[0] == 200 and content(again[1]) == content(first[0][1]), (door, again, first[0])
            assert count(s) == made, door


def test_elsewhere_it_is_named():
    with server("elsewhere") as s:
        t = json.loads(send(s, "/v1/threads", {})[1])["id"]
        for path, body in (("/v1/assistants", {"model": "echo"}), (f"/v1/threads/{t}", {"metadata": {}}), (f"/v1/threads/{t}/restore", {"before": "x"})):
            status, text, headers = send(s, path, body, "k")
            assert status != 200 or headers["weft-ignored"] == "idempotency-key", (path, status, text, headers)
        assert send(s, f"/v1/threads/{t}", {"metadata": {}, "odd": 1}, "k")[2].get_all("weft-ignored") == ["odd", "idempotency-key"]
        for key in ("", "x" * 256):
            assert send(s, "/v1/threads", {}, key or " ")[0] == 400, key
        c = s.connection()
        c.putrequest("POST", "/v1/threads")
        for key in ("a", "b"):
            c.putheader("Idempotency-Key", key)
        c.putheader("Content-Length", "0")
        c.endheaders()
        assert c.getresponse().status == 400


try:
    main(globals())
finally:
    shutil.rmtree(HERE, ignore_errors=True)
