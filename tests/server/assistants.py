#!/usr/bin/env python3
"""Assistants, models, threads and messages of the Assistants API, from outside: objects, limits, lists, tenants, errors.

usage: assistants.py WEFT   (TAP)
"""
import atexit
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-assistants-")
atexit.register(shutil.rmtree, HERE, ignore_errors=True)
CONFIG = """
server: {listen: "127.0.0.1:0"%s}
store: sqlite:assistants.db
durability: async
log: {level: warn}
models:
  echo: {provider: scripted, echo: true}
  other: {provider: scripted, echo: true}
  asks: {provider: scripted, script: asks.json}
tools:
  pick: {description: Picks., parameters: {type: object}}
  hidden: {description: Hides., parameters: {type: object}, command: ["true"]}
agents:
  plain: {model: echo, id: 3f2504e0-4f89-41d3-9a0c-0305e82c3301, title: The plain one, system: Nobody sees this prompt.}
  asks: {model: asks, tools: [pick, hidden]}
"""
ASKS = {"replies": [{"parts": [{"tool_call": {"id": "p1", "name": "pick", "arguments": {}}}]}, {"parts": [{"text": "thanks"}]}]}
KEYS = ["id", "object", "created_at", "name", "description", "model", "instructions", "tools", "tool_resources", "metadata",
        "temperature", "top_p", "response_format", "reasoning_effort"]


class Host(Server):
    def __init__(self, name, more="", config=CONFIG):
        folder = f"{HERE}/{name}"
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/asks.json", "w") as f:
            json.dump(ASKS, f)
        super().__init__(WEFT, folder, config % more)

    def add_key(self, tenant, scopes="run"):
        r = subprocess.run([WEFT, "keys", "add", tenant, "--tenant", tenant, "--scope", scopes], cwd=self.folder,
                           capture_output=True, text=True, check=True)
        return {"Authorization": f"Bearer {r.stdout.strip()}"}

    def refused(self, status, method, path, body=None, headers=None, code=None, param=None):
        """The message."""
        got, answer = self.ask(method, path, body, headers)
        assert got == status, (method, path, got, answer)
        error = answer["error"]
        assert list(error) == ["message", "type", "param", "code"] and error["type"] == "invalid_request_error", error
        assert code is None or error["code"] == code, error
        assert param is None or error["param"] == param, error
        return error["message"]

    def pages(self, path, limit, order, key="after"):
        """All ids, page by page, as the clients do it: after the last item of each page."""
        ids, cursor = [], ""
        while True:
            page = self.good("GET", f"{path}?limit={limit}&order={order}{cursor}")
            assert page["object"] == "list" and len(page["data"]) <= limit, page
            assert page["first_id"] == (page["data"][0]["id"] if page["data"] else None)
            assert page["last_id"] == (page["data"][-1]["id"] if page["data"] else None)
            found = [x["id"] for x in page["data"]]
            ids = ids + found if key == "after" else found + ids
            if not page["has_more"]:
                return ids
            cursor = f"&{key}={found[-1 if key == 'after' else 0]}"


S = Host("plain")
atexit.register(S.__exit__)


def tool(name, **more):
    return {"type": "function", "function": {"name": name, **more}}


# ---- Assistants ---------------------------------------------------------------------------------------------------


def test_a_card_has_the_definition_for_those_who_may_replace_it():
    with Host("card", config=CONFIG.replace("tools: [pick, hidden]}", "tools: [pick, hidden, plain], handoff: [{agent: plain, prompt: Go on.}], description: Asks.}")
              .replace('command: ["true"]', 'command: ["true"], approval: always')) as s:
        card = s.good("GET", "/agents/asks")
        assert card["description"] == "Asks." == s.good("GET", "/v1/assistants/asks")["description"], card
        d = card["definition"]
        assert d["model"] == "asks" and d["strategy"] == "loop" and d["instructions"] is None, d
        assert [(t["name"], t["kind"], t["agent"], t["approval"]) for t in d["tools"]] == [
            ("pick", "client", None, False), ("hidden", "server", None, True), ("plain", "agent", "plain", False)], d
        assert d["tools"][0]["parameters"] == {"type": "object"} and d["tools"][0]["description"] == "Picks.", d
        assert d["handoffs"] == [{"agent": "plain", "on_mention": False, "prompt": "Go on."}], d
        assert s.good("GET", "/agents/plain")["definition"]["instructions"] == "Nobody sees this prompt."
        made = s.good("POST", "/v1/assistants", {"model": "echo", "name": "Guide"})["id"]
        assert s.good("GET", f"/agents/{made}")["definition"] is None
        few, all = s.add_key("a"), s.add_key("b", "run,instructions")
        assert s.ask("GET", "/agents/plain", headers=few)[1]["definition"] is None
        assert s.ask("GET", "/agents/plain", headers=all)[1]["definition"]["instructions"]
        run = s.ask("POST", "/v1/threads/runs", {"assistant_id": "plain", "thread": {"messages": [{"role": "user", "content": "Hi"}]}}, headers=all)[1]
        view = f"/v1/threads/{run['thread_id']}/export?as=pydantic&view=plain"
        sees = lambda key: "Nobody sees this prompt." in json.dumps(s.ask("GET", view, headers=key)[1])
        assert sees(all) and not sees(few)  # the prompt of an agent's view
    with Host("card", ", instructions: false") as s:
        assert s.ask("GET", "/agents/plain", headers=all)[1]["definition"] is None


def test_agents_of_the_configuration_are_assistants():
    a = S.good("GET", "/v1/assistants/plain")
    assert list(a) == KEYS, list(a)
    assert a["id"] == "plain" and a["name"] == "The plain one" and a["model"] == "echo" and a["object"] == "assistant", a
    assert a["instructions"] is None and "Nobody" not in json.dumps(a), a
    asks = S.good("GET", "/v1/assistants/asks")
    assert [t["function"]["name"] for t in asks["tools"]] == ["pick"], asks  # what the client runs, and nothing else
    by_id = "asst_3f2504e04f8941d39a0c0305e82c3301"
    assert S.good("GET", f"/v1/assistants/{by_id}") == a
    assert S.run(by_id)["assistant_id"] == "plain"
    for method, body in (("POST", {"name": "x"}), ("DELETE", None)):
        why = S.refused(400, method, "/v1/assistants/plain", body, code="refused")
        assert "configuration" in why, why
    S.refused(404, "GET", "/v1/assistants/nobody", code="not_found")
    S.refused(404, "GET", "/v1/assistants/asst_" + "0" * 32, code="not_found")


def test_an_assistant_is_stored_modified_and_deleted():
    given = {"model": "echo", "name": "Guide", "description": "d", "instructions": "Be kind.", "tools": [tool("locate", parameters={"type": "object"})],
             "tool_resources": {"code_interpreter": {"file_ids": []}}, "metadata": {"a": "b"}, "temperature": 0.5, "top_p": 1,
             "response_format": {"type": "json_object"}, "reasoning_effort": "low"}
    a = S.good("POST", "/v1/assistants", given)
    assert list(a) == KEYS and re.fullmatch("asst_[0-9a-f]{32}", a["id"]), a
    assert {k: a[k] for k in given} == given, a
    assert S.good("GET", f"/v1/assistants/{a['id']}") == a
    b = S.good("POST", f"/v1/assistants/{a['id']}", {"name": "Other", "temperature": None, "metadata": {"c": "d"}})
    assert b == {**a, "name": "Other", "temperature": None, "metadata": {"c": "d"}}, b  # metadata as a whole; null takes away
    assert S.good("POST", f"/v1/assistants/{a['id']}", {"model": None}) == b  # there is always a model
    assert S.good("POST", f"/v1/assistants/{a['id']}") == b
    least = S.good("POST", "/v1/assistants", {"model": "other"})
    assert {k: v for k, v in least.items() if k not in ("id", "created_at")} == {
        "object": "assistant", "name": None, "description": None, "model": "other", "instructions": None, "tools": [], "tool_resources": {},
        "metadata": {}, "temperature": None, "top_p": None, "response_format": "auto", "reasoning_effort": None}, least
    for x in (a, least):
        assert S.good("DELETE", f"/v1/assistants/{x['id']}") == {"id": x["id"], "object": "assistant.deleted", "deleted": True}
        S.refused(404, "GET", f"/v1/assistants/{x['id']}", code="not_found")
        S.refused(404, "DELETE", f"/v1/assistants/{x['id']}", code="not_found")
        S.refused(404, "POST", f"/v1/assistants/{x['id']}", {}, code="not_found")


def test_settings_are_checked():
    long = {"name": 256, "description": 512, "instructions": 256000}
    for name, most in long.items():
        fits = S.good("POST", "/v1/assistants", {"model": "echo", name: "é" * most})  # characters, not bytes
        assert len(fits[name]) == most
        S.good("DELETE", f"/v1/assistants/{fits['id']}")
        S.refused(400, "POST", "/v1/assistants", {"model": "echo", name: "é" * (most + 1)}, param=f"/{name}")
    S.refused(400, "POST", "/v1/assistants", {})
    S.refused(400, "POST", "/v1/assistants", {"name": "x"})
    S.refused(404, "POST", "/v1/assistants", {"model": "gpt-4o"}, code="model_not_found", param="/model")
    e = S.refused(400, "POST", "/v1/assistants", {"model": "echo", "tools": [{"type": "web_search"}]}, param="/tools/0/type")
    assert "'web_search'" in json.dumps(e) and "functions" in json.dumps(e), e
    bad = [("temperature", -0.1), ("temperature", 2.1), ("temperature", "1"), ("top_p", 1.5), ("top_p", -1), ("response_format", "json"),
           ("response_format", {"type": "xml"}), ("response_format", {"type": "json_schema"}), ("reasoning_effort", "much"), ("tools", {}),
           ("tools", [tool(f"t{i}") for i in range(129)]), ("tool_resources", []), ("tool_resources", {"file_search": 1}),
           ("tool_resources", {"file_search": {"vector_store_ids": ["x" * 65536]}}), ("metadata", {str(i): "x" for i in range(17)})]
    for name, value in bad:
        got, answer = S.ask("POST", "/v1/assistants", {"model": "echo", name: value})
        assert got == 400 and answer["error"]["param"].startswith(f"/{name}"), (name, value, answer)
    for wrong in ({"type": "file_search"}, {"type": "code_interpreter"}, {"type": "function"}, tool(""), tool("a b"), tool("x" * 65),
                  tool("a", parameters=3), tool("a", strict="yes"), 7, {"type": "web"}):
        got, answer = S.ask("POST", "/v1/assistants", {"model": "echo", "tools": [wrong]})
        assert got == 400 and answer["error"]["param"].startswith("/tools/0"), (wrong, answer)
    assert "file_search" in S.refused(400, "POST", "/v1/assistants", {"model": "echo", "tools": [{"type": "file_search"}]})
    assert "two tools" in S.refused(400, "POST", "/v1/assistants", {"model": "echo", "tools": [tool("a"), tool("a")]}, param="/tools/1")
    assert all(x["id"] in ("plain", "asks") for x in S.good("GET", "/v1/assistants")["data"])  # nothing was stored


def test_metadata_has_limits_everywhere():
    t = S.good("POST", "/v1/threads", {})["id"]
    m = S.good("POST", f"/v1/threads/{t}/messages", {"role": "user", "content": "x"})["id"]
    makers = [("/v1/assistants", {"model": "echo"}), ("/v1/threads", {}), (f"/v1/threads/{t}", {}), (f"/v1/threads/{t}/messages/{m}", {}),
              (f"/v1/threads/{t}/messages", {"role": "user", "content": "x"})]
    for path, body in makers:
        fits = {"k" * 64: "é" * 512, **{str(i): "" for i in range(15)}}
        assert S.good("POST", path, {**body, "metadata": fits})["metadata"] == fits
        for wrong in ({**fits, "more": ""}, {"k" * 65: ""}, {"k": "é" * 513}, {"k": 1}, {"k": {}}, [], "x"):
            got, answer = S.ask("POST", path, {**body, "metadata": wrong})
            assert got == 400 and answer["error"]["param"].startswith("/metadata"), (path, answer)
    nested = {"parent_id": None, "actors": [{"id": "a", "name": "A", "capabilities": []}], "weft": {"user": "a"}}  # AITP
    made = S.good("POST", "/v1/threads", {"metadata": {"actors": nested["actors"]}})
    assert made["metadata"] == nested


def test_lists_of_assistants():
    with Host("lists") as s:
        made = [s.good("POST", "/v1/assistants", {"model": "echo", "name": f"n{i}"})["id"] for i in range(7)]
        assert made == sorted(made)  # they sort by creation
        ascending = ["plain", "asks"] + made
        for limit in (1, 2, 3, 8, 9, 100):
            assert s.pages("/v1/assistants", limit, "asc") == ascending, limit
            assert s.pages("/v1/assistants", limit, "desc") == ascending[::-1], limit
        for order, ids in (("asc", ascending), ("desc", ascending[::-1])):
            for at in range(len(ids)):
                for limit in (1, 3, 100):
                    page = s.good("GET", f"/v1/assistants?order={order}&limit={limit}&before={ids[at]}")
                    nearest = ids[max(0, at - limit):at]
                    assert [x["id"] for x in page["data"]] == nearest and page["has_more"] == (at > limit), (order, at, limit)
            page = s.good("GET", f"/v1/assistants?order={order}&after={ids[1]}&before={ids[5]}&limit=2")
            assert [x["id"] for x in page["data"]] == ids[2:4] and page["has_more"], page
        for query in ("limit=0", "limit=101", "limit=x", "order=up", "after=nobody", "before=asst_" + "1" * 32):
            s.refused(400, "GET", f"/v1/assistants?{query}")


def test_a_tenant_has_so_many_assistants_at_most():
    with Host("many") as s:
        failed = []

        def make(n):
            c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=120)
            for _ in range(n):
                c.request("POST", "/v1/assistants", json.dumps({"model": "echo"}))
                r = c.getresponse()
                body = r.read()
                if r.status != 200:
                    failed.append(json.loads(body)["error"])
            c.close()
        workers = [threading.Thread(target=make, args=(130,)) for _ in range(8)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        assert len(failed) >= 40 and all(e["code"] == "refused" and "1000" in e["message"] for e in failed), (len(failed), failed[:1])
        stored = [i for i in s.pages("/v1/assistants", 100, "asc") if i.startswith("asst_")]
        assert 990 <= len(stored) <= 1000 == len(set(stored)) + 1000 - len(stored), len(stored)
        for _ in range(1000 - len(stored)):
            stored.append(s.good("POST", "/v1/assistants", {"model": "echo"})["id"])
        s.refused(400, "POST", "/v1/assistants", {"model": "echo"}, code="refused")
        s.good("DELETE", f"/v1/assistants/{stored[500]}")
        s.good("POST", "/v1/assistants", {"model": "echo"})


def test_tenants_do_not_see_each_other():
    with Host("tenants") as s:
        one, two, reads = s.add_key("one"), s.add_key("two"), s.add_key("three", "read")

        def ask(key, method, path, body=None):
            return s.ask(method, path, body, key)
        status, a = ask(one, "POST", "/v1/assistants", {"model": "echo", "name": "mine"})
        assert status == 200, a
        for method, body in (("GET", None), ("POST", {"name": "taken"}), ("DELETE", None)):
            status, answer = ask(two, method, f"/v1/assistants/{a['id']}", body)
            assert status == 404 and answer["error"]["code"] == "not_found", answer
        assert ask(one, "GET", f"/v1/assistants/{a['id']}")[1] == a
        listed = lambda key: [x["id"] for x in ask(key, "GET", "/v1/assistants")[1]["data"]]
        assert listed(one) == [a["id"], "asks", "plain"] and listed(two) == ["asks", "plain"] == listed(reads)
        assert ask(two, "GET", f"/v1/assistants?after={a['id']}")[0] == 400
        t = ask(two, "POST", "/v1/threads", {})[1]["id"]
        assert ask(two, "POST", f"/v1/threads/{t}/runs", {"assistant_id": a["id"]})[0] == 404
        assert ask(one, "POST", f"/v1/threads/{t}", {"metadata": {"a": "b"}})[0] == 404
        m = ask(two, "POST", f"/v1/threads/{t}/messages", {"role": "user", "content": "x"})[1]["id"]
        for method in ("GET", "POST"):
            assert ask(one, method, f"/v1/threads/{t}/messages/{m}")[0] == 404
        # A key that only reads makes none; one without the scope sets no prompts.
        assert ask(reads, "POST", "/v1/assistants", {"model": "echo"})[0] == 403
        for path, body in (("/v1/assistants", {"model": "echo", "instructions": "Obey."}), (f"/v1/assistants/{a['id']}", {"instructions": "Obey."})):
            status, answer = ask(one, "POST", path, body)
            assert status == 403 and answer["error"]["code"] == "insufficient_scope" and answer["error"]["param"] == "/instructions", answer
        able = s.add_key("one-able", "run,instructions")
        assert ask(able, "POST", "/v1/assistants", {"model": "echo", "instructions": "Obey."})[0] == 200
        # The same of a run's instructions: with the scope they are in the run, for as long as it is there. covers: UAP-16.5/6
        t = ask(able, "POST", "/v1/threads", {"messages": ["hello"]})[1]["id"]
        for name in ("instructions", "additional_instructions"):
            mine = ask(one, "POST", "/v1/threads", {"messages": ["hello"]})[1]["id"]
            status, answer = ask(one, "POST", f"/v1/threads/{mine}/runs", {"assistant_id": "plain", name: "Obey."})
            assert status == 403 and answer["error"]["code"] == "insufficient_scope" and answer["error"]["param"] == f"/{name}", answer
            assert ask(one, "GET", f"/v1/threads/{mine}/runs")[1]["data"] == [], "refused and run"
        status, run = ask(able, "POST", f"/v1/threads/{t}/runs", {"assistant_id": "plain", "instructions": "Obey."})
        assert status == 200 and run["instructions"] == "Obey.", run
        assert ask(able, "GET", f"/v1/threads/{t}/runs/{run['id']}")[1]["instructions"] == "Obey."


def test_no_prompts_where_the_configuration_forbids_them():
    with Host("forbids", ", instructions: false") as s:
        s.refused(400, "POST", "/v1/assistants", {"model": "echo", "instructions": "Obey."}, code="instructions_refused", param="/instructions")
        a = s.good("POST", "/v1/assistants", {"model": "echo"})
        s.refused(400, "POST", f"/v1/assistants/{a['id']}", {"instructions": "Obey."}, code="instructions_refused")


def test_a_run_of_a_stored_assistant():
    with Host("runs") as s:
        a = s.good("POST", "/v1/assistants", {"model": "asks", "name": "Guide", "instructions": "Be kind.", "tools": [tool("pick", parameters={"type": "object"})],
                                              "temperature": 0.5, "metadata": {"not": "the run's"}})["id"]
        t = s.good("POST", "/v1/threads", {"messages": ["hello"]})["id"]
        path = f"/v1/threads/{t}/runs"
        run = settled(s, s.good("POST", path, {"assistant_id": a, "temperature": 1, "metadata": {"mine": "yes"}}))
        assert run["status"] == "requires_action" and run["assistant_id"] == a, run
        shown = {k: run[k] for k in ("model", "instructions", "temperature", "metadata")}
        assert shown == {"model": "asks", "instructions": "Be kind.", "temperature": 1, "metadata": {"mine": "yes"}}, run  # the request over the assistant
        assert [x["function"]["name"] for x in run["tools"]] == ["pick"], run
        # Changed and deleted, it does not disturb its runs; nor does a restart.
        s.good("POST", f"/v1/assistants/{a}", {"model": "echo", "instructions": "Be rude.", "tools": []})
        assert s.good("GET", f"{path}/{run['id']}") == run
        s.good("DELETE", f"/v1/assistants/{a}")
    with Host("runs") as s:
        now = s.good("GET", f"{path}/{run['id']}")
        assert now == run, now
        run = settled(s, s.good("POST", f"/v1/runs/{run['id']}/answers", {"answers": [{"call_id": "p1", "output": "this one"}]}))
        assert run["status"] == "completed" and run["instructions"] == "Be kind.", run
        said = s.good("GET", f"/v1/threads/{t}/messages")["data"][0]
        assert texts([said]) == [["thanks"]] and said["assistant_id"] == a, said
        s.refused(404, "POST", path, {"assistant_id": a}, code="not_found")
        s.refused(404, "POST", path, {"assistant_id": "asst_" + "0" * 32}, code="not_found")
        s.refused(404, "POST", path, {"assistant_id": "asst_nothing"}, code="not_found")
        s.refused(404, "POST", path, {"assistant_id": "nobody"}, code="not_found")
        # A model that the configuration lost.
        b = s.good("POST", "/v1/assistants", {"model": "other"})["id"]
    with Host("runs", config=CONFIG.replace("  other: {provider: scripted, echo: true}\n", "")) as s:
        assert s.good("GET", f"/v1/assistants/{b}")["model"] == "other"
        s.refused(404, "POST", path, {"assistant_id": b}, code="model_not_found")
        assert settled(s, s.good("POST", path, {"assistant_id": b, "model": "echo"}))["status"] == "completed"


def settled(s, run):
    end = time.monotonic() + 60
    while run["status"] in ("queued", "in_progress", "cancelling"):
        assert time.monotonic() < end, run
        time.sleep(0.01)
        run = s.good("GET", f"/v1/threads/{run['thread_id']}/runs/{run['id']}")
    return run


# ---- Models -------------------------------------------------------------------------------------------------------


def test_models():
    found = S.good("GET", "/v1/models")
    assert list(found) == ["object", "data"] and found["object"] == "list", found
    assert [m["id"] for m in found["data"]] == ["echo", "other", "asks", "plain"], found  # a name once
    for m in found["data"]:
        assert m == {"id": m["id"], "object": "model", "created": 0, "owned_by": "weft"} == S.good("GET", f"/v1/models/{m['id']}"), m
    S.refused(404, "GET", "/v1/models/gpt-4o", code="model_not_found")
    S.refused(405, "DELETE", "/v1/models/echo", code="method_not_allowed")


# ---- Threads ------------------------------------------------------------------------------------------------------


def texts(messages):
    return [[p["text"]["value"] for p in m["content"]] for m in messages]


def test_threads_are_made_and_modified():  # covers: AITP-21/1/2
    t = S.good("POST", "/v1/threads", {"metadata": {"a": "b"}, "tool_resources": {"file_search": {"vector_store_ids": ["v"]}}})
    assert list(t) == ["id", "object", "created_at", "metadata", "tool_resources"], t
    assert t["metadata"] == {"a": "b"} and t["tool_resources"] == {"file_search": {"vector_store_ids": ["v"]}}, t
    path = f"/v1/threads/{t['id']}"
    assert S.good("GET", path) == t == S.good("POST", path) == S.good("POST", path, {})  # retrieved by GET and by POST
    assert [x for x in S.good("GET", "/v1/threads?limit=100")["data"] if x["id"] == t["id"]] == [t]
    b = S.good("POST", path, {"metadata": {"c": "d"}})
    assert b == {**t, "metadata": {"c": "d"}} == S.good("GET", path), b  # as a whole; the rest stays
    c = S.good("POST", path, {"tool_resources": {}})
    assert c == {**b, "tool_resources": {}}, c
    assert S.good("POST", path, {"metadata": {}})["metadata"] == {}
    assert S.good("POST", path, {"metadata": None})["metadata"] == {}
    assert S.good("POST", "/v1/threads", {"metadata": {"weft.tool_resources": "x"}, "tool_resources": {"a": {}}})["tool_resources"] == {"a": {}}
    plain = S.good("POST", "/v1/threads")
    assert plain["metadata"] == {} and plain["tool_resources"] is None
    S.refused(404, "POST", "/v1/threads/thread_" + "0" * 32, {}, code="not_found")
    # Its messages and its runs do not lose what was set.
    S.good("POST", path, {"metadata": {"x": "y"}})
    S.good("POST", f"{path}/messages", {"role": "user", "content": "hi"})
    S.good("POST", f"{path}/runs", {"assistant_id": "plain"})
    assert S.good("GET", path)["metadata"] == {"x": "y"}


def test_threads_that_many_modify():
    t = S.good("POST", "/v1/threads", {})["id"]
    answers = []

    def change(i):
        answers.append(S.ask("POST", f"/v1/threads/{t}", {"metadata": {"n": str(i)}})[0])
        answers.append(S.ask("POST", f"/v1/threads/{t}/messages", {"role": "user", "content": str(i)})[0])
    workers = [threading.Thread(target=change, args=(i,)) for i in range(8)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert answers == [200] * 16, answers
    assert len(S.good("GET", f"/v1/threads/{t}/messages")["data"]) == 8 and len(S.good("GET", f"/v1/threads/{t}")["metadata"]) == 1


def test_first_messages_in_every_spelling():  # covers: AITP-20/2
    given = ["bare", {"role": "user", "content": "string"}, {"role": "assistant", "content": ["one", {"type": "text", "text": "two"}], "metadata": {"a": "b"}}]
    for path in ("/v1/threads", "/v1/thread"):
        t = S.good("POST", path, {"messages": given, "metadata": {"actors": [{"id": "x"}]}})
        assert t["object"] == "thread" and t["metadata"]["actors"] == [{"id": "x", "capabilities": []}]
        found = S.good("GET", f"/v1/threads/{t['id']}/messages?order=asc")["data"]
        assert texts(found) == [["bare"], ["string"], ["one", "two"]] and [m["role"] for m in found] == ["user", "user", "assistant"], found
        assert found[2]["metadata"]["a"] == "b"
    for wrong in (7, None, {"role": "user", "content": [7]}, {"role": "system", "content": "x"}):
        S.refused(400, "POST", "/v1/threads", {"messages": [wrong]})


# ---- Messages -----------------------------------------------------------------------------------------------------


def test_a_message_is_retrieved_and_its_metadata_modified():  # covers: AITP-22/2
    t = S.good("POST", "/v1/threads", {})["id"]
    m = S.good("POST", f"/v1/threads/{t}/messages", {"role": "user", "content": "hello", "metadata": {"a": "b"}, "id": "msg_" + "1" * 32,
                                                     "created_at": 5, "assistant_id": "plain"})
    path = f"/v1/threads/{t}/messages/{m['id']}"
    assert m["created_at"] > 5 and m["id"] != "msg_" + "1" * 32 and m["assistant_id"] is None, m  # the service's, not the client's
    assert S.good("GET", path) == m == S.good("POST", path) == S.good("POST", path, {})
    changed = S.good("POST", path, {"metadata": {"c": "d"}, "content": "goodbye", "role": "assistant"})
    assert changed == {**m, "metadata": {"c": "d"}}, changed  # what was said stays
    assert S.good("GET", path) == changed == S.good("GET", f"/v1/threads/{t}/messages")["data"][0]
    # Without a run in the way, and during one.
    run = S.good("POST", f"/v1/threads/{t}/runs", {"assistant_id": "asks"})
    assert S.good("POST", path, {"metadata": {"e": "f"}})["metadata"] == {"e": "f"}
    S.good("POST", f"/v1/threads/{t}/runs/{run['id']}/cancel")
    # Forks share it, documents have it, and both formats.
    fork = S.good("POST", f"/v1/threads/{t}/fork", {})["id"]
    assert S.good("GET", f"/v1/threads/{fork}/messages/{m['id']}")["metadata"] == {"e": "f"}
    for dialect in ("uap", "upp"):
        document = json.dumps(S.good("GET", f"/v1/threads/{t}/export?as={dialect}")).replace(" ", "")
        assert '"e":"f"' in document and '"c":"d"' not in document, (dialect, document)
    S.good("DELETE", path)
    S.refused(404, "GET", path, code="not_found")
    S.refused(404, "POST", path, {"metadata": {"g": "h"}}, code="not_found")
    other = S.good("POST", "/v1/threads", {})["id"]
    S.refused(404, "GET", f"/v1/threads/{other}/messages/{m['id']}", code="not_found")
    for wrong in ("msg_" + "0" * 32, "nothing", t.replace("thread_", "msg_")):
        S.refused(404, "GET", f"/v1/threads/{t}/messages/{wrong}", code="not_found")


def test_notes_about_many_messages():
    t = S.good("POST", "/v1/threads", {"messages": [str(i) for i in range(120)]})["id"]
    ids = S.pages(f"/v1/threads/{t}/messages", 100, "asc")
    noted = {ids[i] for i in range(0, 120, 3)}
    for i in noted:
        S.good("POST", f"/v1/threads/{t}/messages/{i}", {"metadata": {"id": i}})
    for order in ("asc", "desc"):
        for limit in (7, 100):
            cursor, seen = "", 0
            while True:
                page = S.good("GET", f"/v1/threads/{t}/messages?limit={limit}&order={order}{cursor}")
                for m in page["data"]:
                    assert m["metadata"] == ({"id": m["id"]} if m["id"] in noted else {}), m
                seen += len(page["data"])
                if not page["has_more"]:
                    break
                cursor = f"&after={page['last_id']}"
            assert seen == 120


def test_notes_are_erased_with_what_they_are_about():
    with Host("erased") as s:
        t = s.good("POST", "/v1/threads", {"messages": ["one", "two", "three"]})["id"]
        ids = s.pages(f"/v1/threads/{t}/messages", 100, "asc")
        for i in ids:
            s.good("POST", f"/v1/threads/{t}/messages/{i}", {"metadata": {"secret": f"note-{i}"}})
        folder = s.folder
        s.good("DELETE", f"/v1/threads/{t}/messages/{ids[0]}")
        assert notes(folder) == {i: f"note-{i}" for i in ids[1:]}, notes(folder)
        s.good("DELETE", f"/v1/threads/{t}?erase=tree")
        assert notes(folder) == {}, notes(folder)


def notes(folder):
    """The notes in a store, by message."""
    import sqlite3
    db = sqlite3.connect(f"file:{folder}/assistants.db?mode=ro", uri=True)
    tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {}
    for table in tables:
        columns = [r[1] for r in db.execute(f"PRAGMA table_info('{table}')")]
        if "space" in columns and "name" in columns:
            for row in db.execute(f"SELECT * FROM '{table}'"):
                row = dict(zip(columns, row))
                text = lambda v: v.decode() if isinstance(v, bytes) else v
                if text(row["space"]) == "notes":
                    value = next(v for k, v in row.items() if k not in ("space", "name") and isinstance(v, (bytes, str)) and b"secret" in (v if isinstance(v, bytes) else v.encode()))
                    found["msg_" + text(row["name"]).replace("-", "")] = json.loads(value)["assistants"]["secret"]
    db.close()
    return found


def test_a_thousand_messages_of_one_second():  # covers: AITP-23/1/2
    thread = S.good("POST", "/v1/threads", {"messages": [f"{i}" for i in range(250)]})["id"]
    path = f"/v1/threads/{thread}/messages"
    for k in range(1, 4):  # 250 at a time: all within a second or two, many of the same millisecond
        run = S.good("POST", f"/v1/threads/{thread}/runs", {"assistant_id": "plain", "additional_messages":
                     [{"role": "assistant" if i == 249 else "user", "content": f"{k * 250 + i}"} for i in range(250)]})
        settled(S, run)
    ascending = S.pages(path, 100, "asc")
    assert len(ascending) == len(set(ascending)) == 1003, len(ascending)  # three answers
    times = [m["created_at"] for m in S.good("GET", f"{path}?limit=100&after={ascending[100]}&order=asc")["data"]]
    assert max(map(times.count, times)) >= 50, times  # many of one second
    for limit in (1, 7, 99, 100):
        assert S.pages(path, limit, "desc") == ascending[::-1], limit
        assert S.pages(path, limit, "asc") == ascending, limit
    for order, ids in (("asc", ascending), ("desc", ascending[::-1])):
        for at in (0, 1, 5, 500, 1002):
            page = S.good("GET", f"{path}?order={order}&limit=5&before={ids[at]}")
            assert [m["id"] for m in page["data"]] == ids[max(0, at - 5):at] and page["has_more"] == (at > 5), (order, at)
            page = S.good("GET", f"{path}?order={order}&limit=5&after={ids[at]}")
            assert [m["id"] for m in page["data"]] == ids[at + 1:at + 6] and page["has_more"] == (at < 997), (order, at)
        page = S.good("GET", f"{path}?order={order}&limit=3&after={ids[10]}&before={ids[20]}")
        assert [m["id"] for m in page["data"]] == ids[11:14] and page["has_more"], page
    default = S.good("GET", path)
    assert [m["id"] for m in default["data"]] == ascending[::-1][:20] and default["has_more"]
    for query in ("limit=0", "limit=101", "limit=-1", "limit=ten", "order=newest", "after=msg_" + "0" * 32, f"before={thread}", "run_id=x", "limit=1&limit=2"):
        S.refused(400, "GET", f"{path}?{query}", code="invalid_request")


def test_messages_of_one_run():
    t = S.good("POST", "/v1/threads", {"messages": ["before"]})["id"]
    path = f"/v1/threads/{t}/messages"
    runs = []
    for i in range(3):
        run = S.good("POST", f"/v1/threads/{t}/runs", {"assistant_id": "plain", "additional_messages": [{"role": "user", "content": f"q{i}"}]})
        runs.append(settled(S, run)["id"])
    for i, run in enumerate(runs):
        found = S.good("GET", f"{path}?run_id={run}&order=asc")["data"]
        assert found and all(m["run_id"] == run for m in found) and found[-1]["role"] == "assistant", found
        one = S.good("GET", f"{path}?run_id={run}&limit=1")
        assert one["data"] == found[-1:] and one["has_more"] == (len(found) > 1)
    assert S.good("GET", f"{path}?run_id=run_{'1' * 32}") == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}


# ---- Errors -------------------------------------------------------------------------------------------------------


def test_versions_and_request_ids():
    v1 = {"OpenAI-Beta": "assistants=v1"}
    why = S.refused(400, "GET", "/v1/assistants", headers=v1, code="invalid_request")
    assert "assistants=v2" in why
    S.refused(400, "POST", "/v1/threads", {}, headers=v1)
    for headers in ({}, {"OpenAI-Beta": "assistants=v2"}, {"OpenAI-Beta": "other=v1"}):
        assert S.ask("GET", "/v1/assistants", headers=headers)[0] == 200
    for method, path in (("GET", "/v1/assistants"), ("GET", "/v1/assistants/nobody"), ("GET", "/v1/models"), ("GET", "/v1/nothing"), ("POST", "/v1/threads")):
        c = http.client.HTTPConnection("127.0.0.1", S.port, timeout=60)
        c.request(method, path)
        r = c.getresponse()
        r.read()
        assert r.getheader("x-request-id"), path
        c.close()


main(globals())
