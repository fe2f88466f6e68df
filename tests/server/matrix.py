#!/usr/bin/env python3
"""The route matrix, from the server's own OpenAPI document: every route, asked rightly and wrongly.

usage: matrix.py WEFT   (TAP)

Columns: right (and the answer fits its schema, as far as types, required members and constants go), wrong method, unknown
id, bad body, too large body, bad JSON; on a server with API keys (keys() below) also no key and a foreign key.
"""
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from urllib.parse import urlencode

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:matrix.db
log: {level: warn}
default_agent: echo
models:
  echo: {provider: scripted, echo: true}
  ask: {provider: scripted, script: ask.json}
  slow: {provider: scripted, script: slow.json}
tools:
  pick: {description: d, parameters: {type: object}}
agents:
  echo: {model: echo}
  ask: {model: ask, tools: [pick]}
  slow: {model: slow}
routes: [{intent: analyze, to: echo}]
"""
ASK = {"replies": [{"parts": [{"tool_call": {"id": "c1", "name": "pick"}}]}, {"parts": [{"text": "Picked."}]}], "at_end": "restart"}
UNKNOWN = {"a": "asst_" + "0" * 32, "model": "none", "t": "thread_" + "0" * 32, "m": "msg_" + "0" * 32, "r": "run_" + "0" * 32, "s": "step_" + "0" * 32, "k": "0" * 16, "f": "file-" + "0" * 32, "file": "none", "module": "none", "session": "none", "chat": "none", "response": "resp_" + "0" * 32, "completion": "chatcmpl-" + "0" * 32, "c": "conv_" + "0" * 32, "i": "msg_" + "0" * 32,
           "actor": "nobody", "agent": "nobody", "e": "none"}
FORM = (b'--XX\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\nhello\r\n'
        b'--XX\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nvision\r\n--XX--\r\n')
SLOW = {"replies": [{"parts": [{"text": "0123456789" * 3}], "delta_bytes": 1, "delay_ms": 50}], "at_end": "restart"}
ENVELOPE = {"protocol": "multiagent-1.0", "role": "user", "timestamp": "2025-10-10T12:40:00Z", "intent": "analyze", "task": "Hello", "content": {"type": "text", "text": "Hello"}}
RESUME = "/api/chat/{chat}/stream"  # has something to say only while a run goes on
# The headers of a client that owns what is made below, and those of another tenant.
OWN, FOREIGN = {}, {}


class Host:
    """A server, and its answers: (status, headers, JSON or text)."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="weft-matrix-")
        for name, script in (("ask", ASK), ("slow", SLOW)):
            with open(f"{self.folder}/{name}.json", "w") as f:
                json.dump(script, f)
        self.server = Server(WEFT, self.folder, CONFIG)
        for to, tenant in ((OWN, "one"), (FOREIGN, "two")):
            added = subprocess.run([WEFT, "keys", "add", tenant, "--tenant", tenant, "--scope", "run,admin"], cwd=self.folder,
                                   capture_output=True, text=True, check=True)
            to["Authorization"] = f"Bearer {added.stdout.strip()}"
        self.doc = self.ask("GET", "/openapi.json")[2]

    def ask(self, method, path, body=None, headers=None):
        c = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        kind = {"Content-Type": "multipart/form-data; boundary=XX"} if isinstance(body, bytes) else {}
        c.request(method, path, data, {**kind, **(OWN if headers is None else headers)})
        r = c.getresponse()
        text = r.read().decode()
        c.close()
        is_json = r.headers["content-type"] == "application/json"
        return r.status, r.headers, json.loads(text) if is_json and text else text

    def resolve(self, value):
        while isinstance(value, dict) and "$ref" in value:
            at = self.doc
            for name in value["$ref"][2:].split("/"):
                at = at[name.replace("~1", "/").replace("~0", "~")]
            value = at
        return value

    def operations(self):
        for path, item in self.doc["paths"].items():
            for method, op in item.items():
                yield method.upper(), path, op


HOST = Host()


def good(method, path, body=None):
    status, _, answer = HOST.ask(method, path, body)
    assert status == 200, (method, path, status, answer)
    return answer


def wait(thread, run, *states):
    end = time.monotonic() + 60
    while run["status"] not in states:
        assert time.monotonic() < end, run
        time.sleep(0.01)
        run = good("GET", f"/v1/threads/{thread}/runs/{run['id']}")
    return run


def agent_for(path):
    """The one whose run waits, for what has to do with waiting."""
    return "slow" if path == RESUME else "ask" if re.search("cancel|answers|submit", path) else "echo"


def fixture(agent="echo"):
    """A thread with a message, and a run on it that has ended, or waits."""
    thread = good("POST", "/v1/threads", {"actors": [{"id": "me"}, {"id": "guest"}]})["id"]
    run = good("POST", f"/v1/threads/{thread}/runs", {"assistant_id": agent, "additional_messages": [{"role": "user", "content": "I like parks."}]})
    run = wait(thread, run, {"echo": "completed", "ask": "requires_action", "slow": "in_progress"}[agent])
    messages = good("GET", f"/v1/threads/{thread}/messages")
    key = good("POST", "/v1/keys", {"name": f"spare-{uuid.uuid4()}"})
    step = good("GET", f"/v1/threads/{thread}/runs/{run['id']}/steps")["first_id"]
    assistant = good("POST", "/v1/assistants", {"model": "echo"})
    return {"a": assistant["id"], "model": "echo", "t": thread, "r": run["id"], "s": step, "m": messages["last_id"], "k": key["id"], "file": "docs.js", "module": "app.js", "session": thread, "chat": thread, "response": "resp_" + run["id"][4:], "c": "conv_" + thread[7:], "i": messages["last_id"],
            "actor": "guest", "agent": "echo", "e": good("POST", "/v1/envelopes", {**ENVELOPE, "trace": {"id": str(uuid.uuid4())}})["trace"]["id"],
            "f": good("POST", "/v1/files", FORM)["id"],
            "completion": good("POST", "/v1/chat/completions", {"model": "echo", "store": True, "messages": [{"role": "user", "content": str(uuid.uuid4())}]})["id"]}


def body_for(method, path, op, ids):
    """The example of the document, or what only this server knows."""
    key = f"{method} {path}"
    if key == "POST /v1/threads/{t}/restore":
        return {"checkpoint_id": good("GET", f"/v1/threads/{ids['t']}/checkpoints")["first_id"]}
    if key == "POST /v1/threads/{t}/checkout":
        return {"node_id": good("GET", f"/v1/threads/{ids['t']}/tree")["root_id"]}
    if key == "POST /v1/threads/import":
        document = HOST.ask("GET", f"/v1/threads/{ids['t']}/export?as=upp")[2]
        return {**document, "id": str(uuid.uuid4())}  # another thread
    if path in ("/process/cancel", "/stop"):
        return {"session_id": ids["session"]}
    if "requestBody" not in op:
        return None
    if "multipart/form-data" in op["requestBody"]["content"]:
        return FORM
    media = op["requestBody"]["content"]["application/json"]
    return media["example"] if "example" in media else next(iter(media["examples"].values()))["value"]


def place(path, op, ids):
    """The path with ids, and with those query parameters that are required or have an example."""
    for name, value in ids.items():
        path = path.replace("{" + name + "}", value)
    query = {}
    for p in map(HOST.resolve, op["parameters"]):
        if p["in"] == "query" and "example" in p:
            query[p["name"]] = p["example"]
        assert p["in"] != "query" or not p.get("required") or "example" in p, p
    return path + ("?" + urlencode(query) if query else "")


def check_schema(schema, value, where):
    schema = HOST.resolve(schema)
    for part in schema.get("allOf", []):
        check_schema(part, value, where)
    if "const" in schema:
        assert value == schema["const"], (where, value)
    if "enum" in schema:
        assert value in schema["enum"], (where, value)
    if "type" in schema:
        names = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
        types = tuple(names[t] for t in ([schema["type"]] if isinstance(schema["type"], str) else schema["type"]))
        assert isinstance(value, types) and (bool in types or not isinstance(value, bool)), (where, value, schema["type"])
    for name in schema.get("required", []):
        assert name in value, (where, name, value)
    for name, part in schema.get("properties", {}).items():
        if isinstance(value, dict) and name in value:
            check_schema(part, value[name], f"{where}/{name}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            check_schema(schema["items"], item, f"{where}/{i}")


def is_agentapi(path):
    """Its errors are {"detail": ...}, and 422 where others have 400."""
    return path == "/stop" or path.startswith("/process")


def is_envelopes(path):
    """Its errors are envelopes."""
    return path.startswith("/v1/envelopes")


def check_error(answer, status, code=None):
    if isinstance(answer, dict) and "protocol" in answer:
        check_schema({"$ref": "#/components/schemas/Envelope"}, answer, "error")
        assert answer["content"]["type"] == "error" and (code is None or answer["content"]["data"]["code"] == code), answer
        return
    if isinstance(answer, dict) and "detail" in answer:
        check_schema({"$ref": "#/components/schemas/Detail"}, answer, "error")
        return
    check_schema({"$ref": "#/components/schemas/Error"}, answer, "error")
    assert code is None or answer["error"]["code"] == code, answer


def each(test):
    """Runs it for every route, and says which one failed."""
    count = 0
    for method, path, op in HOST.operations():
        try:
            count += test(method, path, op) is not False
        except Exception as e:
            raise AssertionError(f"{method} {path}: {e}") from e
    assert count, "no route was tested"


# For commands, over the Unix socket alone: audit.py.
LOCAL = {("POST", "/v1/audit")}


def test_every_route_answers_rightly():
    def one(method, path, op):
        if (method, path) in LOCAL:
            status, _, answer = HOST.ask(method, path, op["requestBody"]["content"]["application/json"]["example"])
            assert (status, answer["error"]["code"]) == (400, "refused"), (status, answer)
            return
        ids = fixture(agent_for(path))
        status, headers, answer = HOST.ask(method, place(path, op, ids), body_for(method, path, op, ids))
        assert status == 200, (status, answer)
        kind = headers["content-type"].split(";")[0]
        assert kind in op["responses"]["200"]["content"], kind
        assert headers["x-request-id"], dict(headers)
        if kind == "application/json":
            check_schema(op["responses"]["200"]["content"][kind]["schema"], answer, "body")
    each(one)


def test_streams_are_what_is_described():
    n = 0
    for method, path, op in HOST.operations():
        if "text/event-stream" in op["responses"]["200"]["content"]:
            body = None
            if is_agentapi(path) and path != "/process" and method == "POST":
                continue
            if method == "POST":
                media = op["requestBody"]["content"]["application/json"]
                if is_envelopes(path):
                    continue  # tests/server/envelopes.py: its first envelope is not the first event
                body = media["example"] if "example" in media else next(x["value"] for x in media["examples"].values() if x["value"].get("stream"))
            status, headers, text = HOST.ask(method, place(path, op, fixture(agent_for(path))), body)
            assert status == 200 and headers["content-type"] == "text/event-stream", (path, status, text)
            begin = "" if path == "/process" else "event: thread.created\n" if path == "/v1/threads/runs" else r"id: 1-\d+\.1\n" if "submit" in path else r"id: 1-1\.1\n"
            assert re.match(begin + r"(event: \S+\n)?data: \{", text), text[:200]
            n += 1
    assert n >= 2


def test_wrong_methods():
    def one(method, path, op):
        item = HOST.doc["paths"][path]
        for other in ("PUT", "PATCH", "GET", "POST", "DELETE"):
            # another pattern may have the same path: /v1/threads/import is a {t} too
            taken = {m.upper() for p, i in HOST.doc["paths"].items() for m in i if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", p), path)}
            if other.lower() in item or other in taken:
                continue
            # with a body the request is refused before it is read
            status, headers, answer = HOST.ask(other, place(path, op, UNKNOWN), {} if other in ("PUT", "POST") else None)
            assert status == 405, (other, status, answer)
            check_error(answer, 405, "method_not_allowed")
            allowed = set(headers["allow"].split(", "))
            assert {m.upper() for m in item} <= allowed and other not in allowed, (other, allowed)
            message = answer["detail"] if is_agentapi(path) else answer["content"]["text"] if is_envelopes(path) else answer["error"]["message"]
            assert message == f"this route has {headers['allow']}", answer
    each(one)


def test_unknown_ids():
    def one(method, path, op):
        if "{" not in path or path == "/process/task/{r}":  # an unknown task is 200
            return False
        known = fixture()
        for name in re.findall(r"\{(\w+)\}", path):
            ids = {**known, name: UNKNOWN[name]}
            status, _, answer = HOST.ask(method, place(path, op, ids), body_for(method, path, op, known))
            if path == RESUME:  # its client asks before there is a chat
                assert status == 204, status
                continue
            assert status == 404, (name, status, answer)
            check_error(answer, 404, "model_not_found" if name == "model" else "not_found")
    each(one)


def wrong_value(schema):
    """A value that the schema refuses; None: it accepts any."""
    schema = HOST.resolve(schema)
    types = schema.get("type")
    return "no object" if types == "object" else {"no": "array"} if types == "array" else 3 if types in ("string", "boolean") or "enum" in schema else None


def test_bad_bodies_are_pointed_at():
    """Each member of each body, with a value of another type: 400, and param is its pointer."""
    def one(method, path, op):
        schema = HOST.resolve(op["requestBody"]["content"].get("application/json", {}).get("schema", {})) if "requestBody" in op else {}
        schema = HOST.resolve(schema["allOf"][0]) if "allOf" in schema else schema
        if not schema.get("properties") or (method, path) in LOCAL:
            return False
        ids = fixture(agent_for(path) if "cancel" not in path else "echo")
        right = body_for(method, path, op, ids)
        for name, part in schema["properties"].items():
            wrong = wrong_value(part)
            if wrong is None:
                continue
            status, _, answer = HOST.ask(method, place(path, op, ids), {**right, name: wrong})
            assert status == (422 if is_agentapi(path) else 400), (name, status, answer)
            check_error(answer, status)
            if is_agentapi(path):
                assert answer["detail"][0]["loc"][:2] == ["body", name], (name, answer)
            elif is_envelopes(path):
                assert any(p["pointer"].startswith(f"/{name}") for p in answer["content"]["data"]["problems"]), (name, answer)
            else:
                assert answer["error"]["param"] == f"/{name}", (name, answer)
    each(one)


def test_bodies_that_are_no_json():
    def one(method, path, op):
        if "requestBody" not in op:
            return False
        for body in ('{"a":', '"text"', '{"a":1,"a":2}') + (() if path.endswith("/import") else ("[]",)):  # [] is a document
            status, _, answer = HOST.ask(method, place(path, op, fixture()), body)
            assert status == (422 if is_agentapi(path) else 400), (body, status, answer)
            check_error(answer, status)
    each(one)


def test_bodies_that_are_too_large():
    """Refused by their length alone: no byte of them is read."""
    def one(method, path, op):
        v1 = path.startswith(("/v1/", "/api/", "/compatible-mode/")) or is_agentapi(path)
        limit = 64 << 20 if path.endswith("/import") else 4 << 20 if is_envelopes(path) else (512 << 20) + (64 << 10) if (method, path) == ("POST", "/v1/files") else 16 << 20 if method != "GET" and v1 else 1
        if method == "GET" and v1:
            return False  # the body of a GET is read and ignored
        c = http.client.HTTPConnection("127.0.0.1", HOST.server.port, timeout=60)
        c.putrequest(method, place(path, op, UNKNOWN))
        for name, value in {**OWN, "Content-Length": str(limit + 1)}.items():
            c.putheader(name, value)
        c.endheaders()
        r = c.getresponse()
        assert r.status == 413, (r.status, limit)
        check_error(json.loads(r.read()), 413, "body_too_large")
        c.close()
    each(one)


def test_keys():
    """No key: 401, or 429. A key of another tenant: what the route names is not found."""
    def one(method, path, op):
        ids = fixture()
        where, body = place(path, op, ids), body_for(method, path, op, ids)
        status, _, answer = HOST.ask(method, where, body, {})
        assert status in ((401, 429) if op["security"] else (200,)), (status, answer)  # 429: more than are answered in a minute
        if op["security"] and re.search(r"(\{[atmrskfe]\}|\{session\})", path) and path != "/process/task/{r}":
            status, _, answer = HOST.ask(method, where, body, FOREIGN)
            assert status == 404, (status, answer)
    each(one)


def test_nothing_is_loaded_from_elsewhere():
    status, headers, page = HOST.ask("GET", "/docs")
    assert status == 200 and "default-src 'none'" in headers["content-security-policy"], dict(headers)
    assert "unsafe" not in headers["content-security-policy"]
    files = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert files and all(f.startswith("/") and not f.startswith("//") for f in files), files
    assert not re.search(r"<script>|<style>|\son\w+=|style=", page), page
    for f in files:
        status, headers, text = HOST.ask("GET", f)
        assert status == 200 and headers["x-content-type-options"] == "nosniff", (f, status)
        assert "://" not in text or f == "/openapi.json", f


try:
    main(globals())
finally:
    HOST.server.__exit__()
