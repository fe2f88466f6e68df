#!/usr/bin/env python3
"""API keys from outside: who is let in, what a tenant sees, scopes, limits, changes while the server runs.

usage: keys.py WEFT   (TAP)
"""
import atexit
import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import served

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-keys-")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
atexit.register(shutil.rmtree, HERE, ignore_errors=True)

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:keys.db
durability: async
log: {level: debug}
models:
  echo: {provider: scripted, echo: true}
  counts: {provider: scripted, script: counts.json}
  asks: {provider: scripted, script: asks.json}
tools: {pick: {parameters: {type: object}}}
agents:
  echo: {model: echo}
  counts: {model: counts}
  asks: {model: asks, tools: [pick]}
"""


class Folder:
    """A store of its own, its server, and commands on it."""

    def __init__(self, name):
        self.path = f"{HERE}/{name}"
        os.mkdir(self.path)
        with open(f"{self.path}/weft.yaml", "w") as f:
            f.write(CONFIG)
        with open(f"{self.path}/counts.json", "w") as f:
            f.write('{"replies": [{"parts": [{"text": "yes"}], "usage": {"input_tokens": 60, "output_tokens": 40}}]}')
        with open(f"{self.path}/asks.json", "w") as f:
            f.write('{"replies": [{"parts": [{"tool_call": {"id": "p1", "name": "pick", "arguments": {}}}]}, {"parts": [{"text": "thanks"}]}]}')
        self.secrets = []

    def start(self):
        return served.Server(WEFT, self.path)

    def weft(self, *args, code=0):
        r = subprocess.run([WEFT, *args], cwd=self.path, capture_output=True, text=True, timeout=60)
        assert r.returncode == code, (args, r.returncode, r.stdout, r.stderr)
        return r.stdout, r.stderr

    def add(self, name, *args):
        out, err = self.weft("keys", "add", name, *args)
        assert re.fullmatch(r"weft_[0-9a-f]{16}_[0-9a-f]{64}\n", out), out
        assert out.strip() not in err and name in err, err
        self.secrets.append(out.strip())
        return out.strip()


def ask(s, method, path, key=None, body=None, **headers):
    """Status, headers (lower case) and bytes."""
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
    headers = {k.replace("_", "-"): v for k, v in headers.items()}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    c.request(method, path, None if body is None else json.dumps(body), headers)
    r = c.getresponse()
    text = r.read()
    c.close()
    return r.status, {k.lower(): v for k, v in r.getheaders()}, text


def good(*args, **more):
    status, _, text = ask(*args, **more)
    assert status == 200, (args[1:], status, text)
    return json.loads(text)


def refused(answer, status, code):
    assert answer[0] == status, answer
    body = json.loads(answer[2])
    if "detail" in body:  # the Agent API's form has no code
        return body["detail"]
    if "protocol" in body:  # an error envelope
        assert body["content"]["data"]["code"] == code, body
        return body["content"]["text"]
    assert body["error"]["code"] == code, body
    return body["error"]["message"]


def thread(s, key, **more):
    return good(s, "POST", "/v1/threads", key, {}, **more)["id"]


def run(s, key, t, agent="echo", **more):
    return ask(s, "POST", f"/v1/threads/{t}/runs", key,
               {"assistant_id": agent, "additional_messages": [{"role": "user", "content": "hello"}]}, **more)


def ended(s, key, t, r, **more):
    end = time.monotonic() + 60
    while True:
        now = good(s, "GET", f"/v1/threads/{t}/runs/{r}", key, **more)
        if now["status"] not in ("queued", "in_progress", "cancelling"):
            return now
        assert time.monotonic() < end, now
        time.sleep(0.02)


def until(fn):
    end = time.monotonic() + 30
    while not fn():
        assert time.monotonic() < end
        time.sleep(0.02)


def routes():
    """Every row of every table of routes: methods, pattern, flags (with those of its door)."""
    found = []
    for file in sorted(glob.glob(f"{ROOT}/src/server/**/*.c", recursive=True)):
        with open(file) as f:
            text = f.read()
        door = re.search(r"struct sv_door \w+ = \{([^;]*)\};", text)
        for m in re.finditer(r'\{((?:SV_[A-Z]+(?: \| )?)+),\s*"(/[^"]*)",\s*\w+,[^,]*,([^}]*)\}', text):
            for method in re.findall(r"SV_([A-Z]+)", m[1]):
                found.append((method, m[2], m[3] + (door[1] if door else "")))
    assert len(found) > 20, found
    return found


def test_without_keys_loopback_is_open_and_with_one_it_is_not():
    f = Folder("open")
    with f.start() as s:
        t = thread(s, None)
        good(s, "GET", f"/v1/threads/{t}")
        refused(ask(s, "GET", "/v1/keys"), 403, "insufficient_scope")  # keys are for the socket, or for keys
        refused(ask(s, "POST", "/v1/keys", None, {"name": "mine"}), 403, "insufficient_scope")
        key = f.add("ci")
        nothing = ask(s, "GET", "/v1/threads")
        assert "API key" in refused(nothing, 401, "invalid_api_key")
        assert nothing[1]["www-authenticate"] == "Bearer"
        good(s, "GET", f"/v1/threads/{t}", key)  # of the tenant local
        for wrong in ("x", key[:-1], key + "0", key[:-1] + ("0" if key[-1] != "0" else "1"), key[:22] + "0" * 64, "weft_" + "0" * 16 + key[21:],
                      key.upper()):
            answer = ask(s, "GET", "/v1/threads", wrong)
            assert answer[0] == 401 and answer[2] == nothing[2], (wrong, answer)
            answer = ask(s, "POST", "/v1/threads", wrong, {})  # with a body that is not read
            assert answer[0] == 401 and answer[2] == nothing[2], (wrong, answer)
        good(s, "GET", "/v1/threads", x_api_key=key)
        assert ask(s, "GET", "/v1/threads", x_api_key="x")[2] == nothing[2]
        for path in ("/livez", "/readyz", "/health", "/openapi.json", "/docs", "/", "/page/app.js"):  # as docs/http.md says
            assert ask(s, "GET", path)[0] == 200, path
    assert "status=401" not in s.log()  # test_requests_without_a_key_are_limited_and_logged_in_sums
    assert "status=200" in s.log() and "tenant=local" in s.log()


def test_keys_are_added_and_revoked_while_the_server_runs_and_survive_it():
    f = Folder("changes")
    with f.start() as s:
        one, two = f.add("one"), f.add("two", "--tenant", "acme", "--scope", "read,run", "--limits", "requests=600/m,bytes=10GiB")
        good(s, "GET", "/v1/threads", one)
        assert "no key 'three'" in f.weft("keys", "revoke", "three", code=1)[1]
        assert "has a key 'one' already" in f.weft("keys", "add", "one", code=1)[1]
        out, err = f.weft("keys", "revoke", "one")
        assert out.startswith("key 'one' (") and not err, (out, err)  # there is another one
        assert "is revoked already" in f.weft("keys", "revoke", "one", code=1)[1]
        refused(ask(s, "GET", "/v1/threads", one), 401, "invalid_api_key")
        good(s, "GET", "/v1/threads", two)
        lines = [json.loads(line) for line in f.weft("keys", "list", "--json")[0].splitlines()]
        by_name = {line["name"]: line for line in lines}
        assert by_name["one"]["revoked_at"] and by_name["two"]["revoked_at"] is None
        assert by_name["two"]["scopes"] == ["read", "run"] and by_name["two"]["limits"] == "requests=600/m,bytes=10737418240"
        assert by_name["two"]["tenant"] == "acme" and by_name["two"]["last_used_at"] and "key" not in by_name["two"]
        assert two.split("_")[2] not in json.dumps(lines)
        assert by_name["one"]["limits"] is None, by_name["one"]
        assert [line["name"] for line in lines] == ["two", "one"], lines  # usable ones first
        text = f.weft("keys", "list", "--tenant", "acme")[0]
        assert "two" in text and "one" not in text, text
    with f.start() as s:
        good(s, "GET", "/v1/threads", two)
        refused(ask(s, "GET", "/v1/threads", one), 401, "invalid_api_key")
        assert "`weft keys add NAME`" in f.weft("keys", "revoke", by_name["two"]["id"])[1]
        s.wait_for_log("the last API key is revoked")
        refused(ask(s, "GET", "/v1/threads"), 401, "invalid_api_key")  # the last key is gone: nobody is let in
    with f.start() as s:
        s.wait_for_log("all API keys are revoked. Add one with `weft keys add NAME`")
        refused(ask(s, "GET", "/v1/threads"), 401, "invalid_api_key")  # nor after a restart
        refused(ask(s, "GET", "/v1/threads", two), 401, "invalid_api_key")
    three = f.add("three")  # without a server
    with f.start() as s:
        good(s, "GET", "/v1/threads", three)
        assert ask(s, "GET", "/v1/threads")[0] == 401


def test_wrong_commands_are_refused():
    f = Folder("wrong")
    for args, words in ((("add",), "add wants"), (("add", "a b"), "name"), (("add", "x", "--tenant", "a/b"), "tenant's name"),
                        (("add", "x", "--tenant", "weft"), "Weft's own"), (("add", "x", "--scope", "all"), "not a scope"),
                        (("add", "x", "--limits", "requests=0"), "requests=N/m"), (("add", "x", "--limits", "bytes=1GX"), "TB, KiB, MiB"),
                        (("add", "0123456789abcdef"), "that is an id"), (("list", "x"), "list wants"),
                        (("revoke",), "revoke wants"), (("fly",), "one of add, list, revoke"), ((), "add")):
        r = subprocess.run([WEFT, "keys", *args], cwd=f.path, capture_output=True, text=True, timeout=60)
        assert r.returncode in (1, 2) and words in r.stderr and not r.stdout, (args, r)


def test_a_foreign_id_is_answered_as_an_unknown_one_on_every_route():
    f = Folder("tenants")
    bodies = {"messages": {"role": "user", "content": "x"}, "runs": {"assistant_id": "echo"}, "answers": {"answers": [{"call": "p1", "output": "x"}]}}
    with f.start() as s:
        mine, theirs = f.add("a", "--tenant", "a", "--scope", "run,admin"), f.add("b", "--tenant", "b", "--scope", "run,admin")
        t = thread(s, theirs)
        r = json.loads(run(s, theirs, t, "asks")[2])["id"]
        ended(s, theirs, t, r)
        message = good(s, "GET", f"/v1/threads/{t}/messages", theirs)["data"][0]["id"]
        own = thread(s, mine)
        keys = {k["name"]: k["id"] for k in good(s, "GET", "/v1/keys", theirs)["data"]}
        assert list(keys) == ["b"], keys  # an admin sees the keys of its tenant
        seen = 0
        for method, pattern, _ in routes():
            if "{" not in pattern:
                continue
            foreign = {"t": t, "r": r, "m": message, "k": keys["b"], "chat": t, "c": "conv_" + t[7:], "i": message, "response": "resp_" + r[4:]}
            for first in (foreign, {**foreign, "t": own}):  # their thread; our thread and their run or message
                unknown = {k: re.sub(r"[0-9a-f]{16,}$", lambda m: "ab" * (len(m[0]) // 2), v) for k, v in foreign.items()}
                other = {k: v if v == own else unknown[k] for k, v in first.items()}
                if first["t"] == own and not re.search(r"\{t\}.*\{", pattern):
                    continue
                answers = []
                for ids in (first, other):
                    path = re.sub(r"\{(\w+)\}", lambda m: ids.get(m[1], "x"), pattern)
                    body = bodies.get(pattern.rsplit("/", 1)[1], {}) if method in ("POST", "PUT", "PATCH") else None
                    status, headers, text = ask(s, method, path, mine, body)
                    for v in sorted(ids.values(), key=len, reverse=True):  # as given, and as a UUID
                        h = v.split("_")[-1]
                        for form in (v, f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"):
                            text = text.replace(form.encode(), b"ID")
                    text = re.sub(rb'"(timestamp|id)":"[0-9T:.Za-f-]+"', b"", text)  # of an error envelope
                    for h in ("date", "x-request-id"):
                        headers.pop(h, None)
                    headers.pop("content-length", None)
                    answers.append((status, headers, text))
                assert answers[0] == answers[1], (method, pattern, answers)
                # Two protocols say "not found" in their own way.
                want = {"/process/task/{r}": (200,), "/api/chat/{chat}/stream": (204,)}.get(pattern, (404, 400))
                assert answers[0][0] in want, (method, pattern, answers)
                seen += 1
        assert seen >= 15, seen
        assert good(s, "GET", "/v1/threads", mine)["data"][0]["id"] == own
        assert len(good(s, "GET", "/v1/threads", mine)["data"]) == 1
        assert good(s, "GET", "/v1/search?q=hello", mine)["data"] == []
        assert ended(s, theirs, t, r)["status"] == "requires_action"  # nothing has happened to it
        good(s, "GET", "/v1/threads", theirs)  # nor to its key


def test_every_route_wants_its_scope():
    f = Folder("scopes")
    with f.start() as s:
        reads, admin, runs = f.add("r", "--scope", "read"), f.add("a", "--scope", "admin"), f.add("w", "--scope", "run")
        for method, pattern, flags in routes():
            path = re.sub(r"\{\w+\}", "x", pattern)
            need = "admin" if "SV_ROUTE_ADMIN" in flags or "SV_ROUTE_OPERATOR" in flags else "read" if method == "GET" or "SV_ROUTE_READ" in flags else "run"
            if "SV_ROUTE_OPEN" in flags:
                assert ask(s, method, path)[0] in (200, 204, 503) + (404,) * ("{" in pattern), path
                continue
            assert ask(s, method, path)[0] in (401, 429), path  # more of them than are answered in a minute
            for key, scopes in ((reads, {"read"}), (admin, {"admin"}), (runs, {"read", "run"})):
                answer = ask(s, method, path, key, {"name": "n", "scopes": "admin"} if method in ("POST", "PUT", "PATCH") else None)
                if need in scopes:
                    assert answer[0] not in (401, 403, 429, 500), (method, path, answer)
                else:
                    assert f"the scope {need}" in refused(answer, 403, "insufficient_scope"), (method, path, answer)


def test_requests_without_a_key_are_limited_and_logged_in_sums():
    f = Folder("strangers")
    with f.start() as s:
        key, one = f.add("k"), f.add("one")
        f.weft("keys", "revoke", "one")

        def stranger(address, wrong=None, body=None):
            c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60, source_address=(address, 0))
            c.request("POST" if body else "GET", "/v1/threads", body, {"x-api-key": wrong} if wrong else {})
            r = c.getresponse()
            text = r.read()
            c.close()
            return r.status, {k.lower(): v for k, v in r.getheaders()}, text

        answers = [stranger("127.0.0.1", *(((None,), ("x",), (one,), ("x", "{}"))[i % 4])) for i in range(60)]
        for answer in answers:
            refused(answer, 401, "invalid_api_key")
        limited = 0
        for i in range(200):  # it gets one more each second
            answer = stranger("127.0.0.1", "x", "{}" if i % 2 else None)
            if answer[0] == 401:
                continue
            limited += 1
            assert "from this address" in refused(answer, 429, "rate_limit_exceeded")
            assert answer[1]["retry-after"] == "1" and "www-authenticate" not in answer[1], answer
        assert limited, answer
        refused(stranger("127.0.0.2"), 401, "invalid_api_key")  # another address
        good(s, "GET", "/v1/threads", key)  # a key cannot be guessed: it is not locked out by its neighbours
        assert ask(s, "GET", "/livez")[0] == 200
    lines = [line for line in s.log().splitlines() if "without a valid API key" in line]
    mine = [line for line in lines if "client=127.0.0.1 " in line]
    assert "requests=1 limited=0" in mine[0], lines  # at once, so that it is seen
    assert sum(int(re.search(r"requests=(\d+)", line)[1]) for line in mine) == 260, lines
    assert sum(int(re.search(r"limited=(\d+)", line)[1]) for line in mine) == limited, lines
    assert [line for line in lines if "client=127.0.0.2 " in line and "requests=1 limited=0" in line], lines
    assert not [line for line in s.log().splitlines() if 'msg="request"' in line and ("status=401" in line or "status=429" in line)]


def test_instructions_and_users_have_scopes():
    f = Folder("more-scopes")
    with f.start() as s:
        plain, both = f.add("p", "--tenant", "acme"), f.add("b", "--tenant", "acme", "--scope", "run,act-as,instructions")
        t = thread(s, plain)
        body = {"assistant_id": "echo", "instructions": "be brief", "additional_messages": [{"role": "user", "content": "x"}]}
        answer = ask(s, "POST", f"/v1/threads/{t}/runs", plain, body)
        assert "the scope instructions" in refused(answer, 403, "insufficient_scope") and json.loads(answer[2])["error"]["param"] == "/instructions"
        r = good(s, "POST", f"/v1/threads/{t}/runs", both, body)
        assert ended(s, both, t, r["id"])["instructions"] == "be brief"
        refused(ask(s, "GET", "/v1/threads", plain, weft_user="ann"), 403, "insufficient_scope")
        refused(ask(s, "GET", "/v1/threads", both, weft_tenant="other"), 403, "insufficient_scope")
        for wrong in ("a\tb", b"a\xff", b"\xed\xa0\x80", ""):
            refused(ask(s, "GET", "/v1/threads", both, weft_user=wrong), 400, "invalid_request")
        anns = thread(s, both, weft_user="ann")
        r = json.loads(run(s, both, anns, weft_user="ann")[2])["id"]
        ended(s, both, anns, r, weft_user="ann")
        assert [x["id"] for x in good(s, "GET", "/v1/threads", both, weft_user="ann")["data"]] == [anns]
        assert [x["id"] for x in good(s, "GET", "/v1/threads", both)["data"]] == [t]
        unknown_t, unknown_r = "thread_" + "ab" * 16, "run_" + "ab" * 16
        for who in ({}, {"weft_user": "bob"}):
            for method, path, unknown in (("GET", f"/v1/threads/{anns}", f"/v1/threads/{unknown_t}"),
                                          ("DELETE", f"/v1/threads/{anns}", f"/v1/threads/{unknown_t}"),
                                          ("GET", f"/v1/runs/{r}/events", f"/v1/runs/{unknown_r}/events"),
                                          ("GET", f"/v1/runs/{r}/trace", f"/v1/runs/{unknown_r}/trace"),
                                          ("GET", f"/v1/threads/{t}/runs/{r}", f"/v1/threads/{t}/runs/{unknown_r}"),
                                          ("POST", f"/v1/runs/{r}/cancel", f"/v1/runs/{unknown_r}/cancel")):
                if who and path.startswith(f"/v1/threads/{t}"):
                    continue
                a, b = ask(s, method, path, both, **who), ask(s, method, unknown, both, **who)
                assert a[0] == 404 and a[2].replace(anns.encode(), b"").replace(r.encode(), b"") == \
                    b[2].replace(unknown_t.encode(), b"").replace(unknown_r.encode(), b""), (a, b)
        gone = thread(s, both, weft_user="ann")  # also of a thread that is deleted
        r = json.loads(run(s, both, gone, weft_user="ann")[2])["id"]
        ended(s, both, gone, r, weft_user="ann")
        good(s, "DELETE", f"/v1/threads/{gone}", both, weft_user="ann")
        assert ask(s, "GET", f"/v1/runs/{r}/events", both, weft_user="ann")[0] == 200
        assert ask(s, "GET", f"/v1/runs/{r}/events", both)[0] == 404
        assert ask(s, "GET", f"/v1/runs/{r}/events", both, weft_user="bob")[0] == 404
        fixed = f.add("u", "--tenant", "acme", "--user", "ann")
        assert [x["id"] for x in good(s, "GET", "/v1/threads", fixed)["data"]] == [anns]


def test_an_assistant_is_changed_by_its_maker_or_an_admin():
    f = Folder("makers")
    with f.start() as s:
        def make(key, name, **who):
            return "/v1/assistants/" + good(s, "POST", "/v1/assistants", key, {"model": "echo", "name": name}, **who)["id"]

        def others(key, path, **who):
            for answer in (ask(s, "POST", path, key, {"name": "Mine"}, **who), ask(s, "DELETE", path, key, **who)):
                assert "was made by another user: this needs an API key with the scope admin" in refused(answer, 403, "insufficient_scope")

        ann, bob = f.add("ann", "--tenant", "acme", "--user", "ann"), f.add("bob", "--tenant", "acme", "--user", "bob")
        front, admin = f.add("front", "--tenant", "acme", "--scope", "run,act-as"), f.add("admin", "--tenant", "acme", "--scope", "run,admin")
        foreign = f.add("foreign", "--tenant", "other", "--scope", "run,admin")
        anns, nobodys = make(ann, "Ann's"), make(front, "Nobody's")
        for key, who in ((bob, {}), (front, {}), (front, {"weft_user": "bob"})):
            others(key, anns, **who)
        for key, who in ((ann, {}), (front, {"weft_user": "bob"})):  # as one that was made before there were makers
            others(key, nobodys, **who)
        refused(ask(s, "POST", anns, foreign, {"name": "x"}), 404, "not_found")
        for key in (ann, bob, front):  # all of the tenant read and run it
            assert good(s, "GET", anns, key)["name"] == "Ann's" and "user" not in good(s, "GET", anns, key)
            assert len([x for x in good(s, "GET", "/v1/assistants", key)["data"] if x["id"].startswith("asst_")]) == 2
            t = thread(s, key)
            ended(s, key, t, json.loads(run(s, key, t, anns.rsplit("/", 1)[1])[2])["id"])
        assert good(s, "POST", anns, ann, {"name": "A"})["name"] == "A"
        assert good(s, "POST", anns, front, {"name": "B"}, weft_user="ann")["name"] == "B"
        assert good(s, "POST", anns, admin, {"name": "C"})["name"] == "C"
        others(bob, anns)
        assert good(s, "POST", anns, ann, {"name": "D"})["name"] == "D"  # an admin's change makes it nobody else's
        good(s, "POST", nobodys, front, {"name": "E"})
        good(s, "DELETE", anns, ann)
        good(s, "DELETE", nobodys, admin)


def test_the_socket_is_local_and_may_name_a_tenant():
    f = Folder("socket")
    with f.start() as s:
        key = f.add("k", "--tenant", "acme")
        t = thread(s, key)

        def by_socket(head):
            with socket.socket(socket.AF_UNIX) as c:
                c.connect(f"{f.path}/keys.db.sock")
                c.sendall(f"GET /v1/threads HTTP/1.0\r\nHost: x\r\n{head}\r\n".encode())
                answer = b""
                while more := c.recv(65536):
                    answer += more
            return answer
        assert t.encode() not in by_socket("")
        assert t.encode() in by_socket("weft-tenant: acme\r\n")
        assert b" 400 " in by_socket("weft-tenant: a/b\r\n").split(b"\r\n")[0]
        assert b" 400 " in by_socket("weft-tenant: weft\r\n").split(b"\r\n")[0]
        assert b" 400 " in by_socket("weft-tenant:\r\n").split(b"\r\n")[0]
        assert t in f.weft("threads", "--tenant", "acme")[0] and t not in f.weft("threads")[0]
        f.weft("show", t, "--tenant", "acme")
        f.weft("tree", t, "--tenant", "acme")
        f.weft("export", t, "--as", "uap", "--tenant", "acme")
        f.weft("show", t, code=1)
        f.weft("show", t, "--tenant", "acme", "--user", "ann", code=1)


def test_admin_keys_give_no_more_than_they_have():
    f = Folder("admin")
    with f.start() as s:
        admin = f.add("a", "--tenant", "acme", "--scope", "run,admin", "--limits", "bytes=1GiB")
        other = f.add("o", "--tenant", "other")
        made = good(s, "POST", "/v1/keys", admin, {"name": "new", "scopes": ["run"], "limits": "requests=2000/m,bytes=2GiB"})
        f.secrets.append(made["key"])
        assert made["tenant"] == "acme" and made["limits"] == "requests=2000/m,bytes=1073741824", made
        good(s, "GET", "/v1/threads", made["key"])
        refused(ask(s, "POST", "/v1/keys", admin, {"name": "x", "tenant": "other"}), 400, "refused")
        assert "the scope 'act-as', which this key lacks" in refused(ask(s, "POST", "/v1/keys", admin, {"name": "x", "scopes": "run,act-as"}), 403, "insufficient_scope")
        only = f.add("only", "--tenant", "acme", "--scope", "admin")
        assert refused(ask(s, "POST", "/v1/keys", only, {"name": "x"}), 403, "insufficient_scope") == \
            "the new key would have the scope 'run', which this key lacks: give 'scopes'"
        good(s, "POST", "/v1/keys", only, {"name": "x", "scopes": "admin"})
        for body in ({}, {"name": 1}, {"name": "x", "scopes": 1}, {"name": "x", "scopes": [1]}, {"name": "x", "scopes": ["fly"]}, {"name": "x", "scopes": []},
                     {"name": "x", "limits": "much"}, {"name": "x" * 65}, {"name": "ab" * 8}):
            refused(ask(s, "POST", "/v1/keys", admin, body), 400, "invalid_request")
        assert sorted(k["name"] for k in good(s, "GET", "/v1/keys", admin)["data"]) == ["a", "new", "only", "x"]
        refused(ask(s, "DELETE", "/v1/keys/o", admin), 404, "not_found")
        good(s, "DELETE", "/v1/keys/new", admin)
        refused(ask(s, "GET", "/v1/threads", made["key"]), 401, "invalid_api_key")
        assert "is revoked already" in refused(ask(s, "DELETE", f"/v1/keys/{made['id']}", admin), 400, "refused")
        good(s, "GET", "/v1/threads", other)
        for n, limit in enumerate(("requests=1000/m", "runs=3", "tokens=5/d")):  # which each new key would have again
            limited = f.add(f"limited{n}", "--tenant", "acme", "--scope", "run,admin", "--limits", limit)
            assert "`weft keys add`" in refused(ask(s, "POST", "/v1/keys", limited, {"name": f"y{n}"}), 400, "refused")
            good(s, "DELETE", f"/v1/keys/limited{n}", limited)


def test_admin_keys_of_a_user_manage_the_keys_of_that_user():
    f = Folder("users")
    with f.start() as s:
        anns, whole = f.add("anns", "--user", "ann", "--scope", "run,admin"), f.add("whole", "--scope", "run,admin")
        bobs, acting = f.add("bobs", "--user", "bob"), f.add("acting", "--scope", "run,admin,act-as")
        made = good(s, "POST", "/v1/keys", anns, {"name": "more"})
        f.secrets.append(made["key"])
        assert made["user"] == "ann"
        refused(ask(s, "POST", "/v1/keys", anns, {"name": "most", "user": "bob"}), 403, "insufficient_scope")
        refused(ask(s, "POST", "/v1/keys", whole, {"name": "most", "user": "bob"}), 403, "insufficient_scope")
        assert good(s, "POST", "/v1/keys", acting, {"name": "most", "user": "bob"})["user"] == "bob"
        assert good(s, "POST", "/v1/keys", acting, {"name": "last"}, weft_user="bob")["user"] == "bob"
        assert sorted(k["name"] for k in good(s, "GET", "/v1/keys", anns)["data"]) == ["anns", "more"]
        assert sorted(k["name"] for k in good(s, "GET", "/v1/keys", acting, weft_user="bob")["data"]) == ["bobs", "last", "most"]
        assert len(good(s, "GET", "/v1/keys", whole)["data"]) == 7
        ids = {k["name"]: k["id"] for k in good(s, "GET", "/v1/keys", whole)["data"]}
        for word in ("bobs", ids["bobs"], "whole", ids["whole"]):
            refused(ask(s, "DELETE", f"/v1/keys/{word}", anns), 404, "not_found")
        good(s, "GET", "/v1/threads", bobs)
        good(s, "DELETE", "/v1/keys/more", anns)


def test_keys_are_listed_in_pages():
    f = Folder("pages")
    with f.start() as s:
        empty = json.loads(ask(s, "GET", "/v1/keys", f.add("other", "--tenant", "other", "--user", "u", "--scope", "admin,act-as"), weft_user="nobody")[2])
        assert empty == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}, empty
        admin = f.add("admin", "--scope", "admin,run")
        for n in range(104):
            f.secrets.append(good(s, "POST", "/v1/keys", admin, {"name": f"k{n}", "limits": "runs=1"} if n == 50 else {"name": f"k{n}"})["key"])
        assert len(good(s, "GET", "/v1/keys", admin)["data"]) == 20
        names, after = [], ""
        while True:
            page = good(s, "GET", f"/v1/keys?limit=10{after}", admin)
            assert page["first_id"] == page["data"][0]["id"] and page["last_id"] == page["data"][-1]["id"], page
            names += [k["name"] for k in page["data"]]
            after = f"&after={page['last_id']}"
            if not page["has_more"]:
                break
        assert sorted(names) == sorted(["admin"] + [f"k{n}" for n in range(104)]), names
        for wrong in ("limit=0", "limit=101", "after=x"):
            refused(ask(s, "GET", f"/v1/keys?{wrong}", admin), 400, "invalid_request")
        f.weft("keys", "revoke", "k3")
        lines = f.weft("keys", "list", "--tenant", "local")[0].splitlines()
        assert len(lines) == 105 and lines[-1].split()[1] == "k3", lines  # revoked ones last
        times = [re.search(r"created (\S+)", line)[1] for line in lines[:-1]]
        assert times == sorted(times), lines  # the newest last
        assert len({line.index("  created ") for line in lines}) == 1, lines  # aligned


def test_requests_a_minute():
    f = Folder("requests")
    with f.start() as s:
        key, free = f.add("k", "--limits", "requests=3/m"), f.add("free")
        for left in (2, 1, 0):
            status, h, _ = ask(s, "GET", "/v1/threads", key)
            assert status == 200 and h["x-ratelimit-limit-requests"] == "3" and h["x-ratelimit-remaining-requests"] == str(left), h
            assert re.fullmatch(r"(\d+m)?\d+s", h["x-ratelimit-reset-requests"]), h
        for method, body in (("GET", None), ("POST", {})):
            answer = ask(s, method, "/v1/threads", key, body)
            assert "a limit of 3 requests a minute" in refused(answer, 429, "rate_limit_exceeded")
            assert 0 < int(answer[1]["retry-after"]) <= 20 and answer[1]["x-ratelimit-remaining-requests"] == "0", answer
        more = f.add("m", "--limits", "requests=100/m")
        t = thread(s, more)
        answer = ask(s, "POST", f"/v1/threads/{t}/runs", more, {"assistant_id": "echo", "stream": True})  # a stream too
        assert answer[1]["content-type"] == "text/event-stream" and answer[1]["x-ratelimit-remaining-requests"] == "98", answer
        assert "x-ratelimit-limit-requests" not in ask(s, "GET", "/v1/threads", free)[1]


def test_runs_at_once():
    f = Folder("runs")
    with f.start() as s:
        key = f.add("k", "--limits", "runs=2")
        first = thread(s, key)
        r = json.loads(run(s, key, first, "asks", Idempotency_Key="again")[2])["id"]
        t = thread(s, key)
        assert run(s, key, t, "asks")[0] == 200
        third = thread(s, key)
        answer = run(s, key, third, "asks")
        assert "2 runs at the same time" in refused(answer, 429, "rate_limit_exceeded") and int(answer[1]["retry-after"]) >= 1
        assert good(s, "GET", f"/v1/threads/{third}/messages", key)["data"] == []  # nothing of it was stored
        assert json.loads(run(s, key, first, "asks", Idempotency_Key="again")[2])["id"] == r  # repeated: not started again
        ended(s, key, first, r)
    with f.start() as s:  # they are counted again
        refused(run(s, key, third, "asks"), 429, "rate_limit_exceeded")
        good(s, "POST", f"/v1/runs/{r}/cancel", key)
        ended(s, key, first, r)
        status, _, text = run(s, key, third)
        assert status == 200, text
        ended(s, key, third, json.loads(text)["id"])
        for _ in range(3):  # each makes room for the next
            done = json.loads(run(s, key, third)[2])["id"]
            assert ended(s, key, third, done)["status"] == "completed"


def test_a_repeated_task_starts_no_second_run():
    f = Folder("repeated")
    with f.start() as s:
        key = f.add("k", "--limits", "runs=1")
        for more, headers in (({"id": "mine"}, {}), ({}, {"Idempotency_Key": "once"})):
            body = {"input": [{"role": "user", "content": [{"type": "text", "text": "go"}]}], **more}
            def post():
                return ask(s, "POST", "/agents/asks/process/task", key, body, **headers)
            status, _, text = post()
            assert status == 200, text
            assert post()[::2] == (200, text), "the limit is for runs that are started"
            refused(ask(s, "POST", "/agents/asks/process/task", key, {**body, "id": "other"}), 429, "rate_limit_exceeded")
            good(s, "POST", f"/v1/runs/{json.loads(text)['task_id']}/cancel", key)
            until(lambda: json.loads(ask(s, "GET", f"/process/task/{json.loads(text)['task_id']}", key)[2])["status"] == "finished")


def test_tokens_a_day():
    f = Folder("tokens")
    with f.start() as s:
        key = f.add("k", "--limits", "tokens=150/d")
        t = thread(s, key)
        for left in ("50", "0"):
            r = json.loads(run(s, key, t, "counts")[2])["id"]
            ended(s, key, t, r)
            h = ask(s, "GET", "/v1/threads", key)[1]
            assert h["x-ratelimit-limit-tokens"] == "150" and h["x-ratelimit-remaining-tokens"] == left, h
            assert re.fullmatch(r"((\d+h)?\d+m)?\d+s", h["x-ratelimit-reset-tokens"]), h
        answer = run(s, key, t, "counts")
        assert "150 tokens a day" in refused(answer, 429, "insufficient_quota") and 0 < int(answer[1]["retry-after"]) <= 86400
        good(s, "GET", f"/v1/threads/{t}", key)  # what costs nothing goes on
        s.process.send_signal(signal.SIGTERM)
        s.process.wait(timeout=30)
    with f.start() as s:
        refused(run(s, key, t, "counts"), 429, "insufficient_quota")


def test_stored_bytes():
    f = Folder("bytes")
    with f.start() as s:
        key, free = f.add("k", "--tenant", "acme", "--limits", "bytes=64KiB"), f.add("f", "--tenant", "acme")
        t = thread(s, key)
        sent = 0
        while (answer := ask(s, "POST", f"/v1/threads/{t}/messages", key, {"role": "user", "content": f"{sent}" * 20000}))[0] == 200:
            sent += 1
            assert sent < 10
        assert sent >= 3, sent
        assert "a limit of 65536 stored bytes" in refused(answer, 429, "insufficient_quota")
        assert int(answer[1]["retry-after"]) > 0
        refused(run(s, key, t), 429, "insufficient_quota")
        good(s, "GET", f"/v1/threads/{t}/messages", key)
        refused(ask(s, "POST", "/v1/runs/run_" + "ab" * 16 + "/cancel", key), 404, "not_found")  # cancelling goes on
        good(s, "POST", f"/v1/threads/{t}/messages", free, {"role": "user", "content": "y" * 20000})  # the limit is the key's
    with f.start() as s:  # counted again
        until(lambda: ask(s, "POST", "/v1/threads", key, {})[0] == 429)
        good(s, "DELETE", f"/v1/threads/{t}", key)  # deleting always goes


def test_a_stream_ends_when_its_key_is_revoked():
    f = Folder("stream")
    with f.start() as s:
        key = f.add("k")
        t = thread(s, key)
        r = json.loads(run(s, key, t, "asks")[2])["id"]
        ended(s, key, t, r)
        c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
        c.request("GET", f"/v1/runs/{r}/events", headers={"Authorization": f"Bearer {key}"})
        stream = c.getresponse()
        assert stream.status == 200 and stream.readline()
        f.weft("keys", "revoke", "k")
        assert stream.read().endswith(b": the key was revoked\n\n")  # to its end
        c.close()


def test_a_request_whose_key_is_revoked_while_its_body_comes_is_refused():
    f = Folder("late")
    with f.start() as s:
        key, admin = f.add("k", "--limits", "requests=100/m"), f.add("a", "--scope", "run,admin")
        with socket.create_connection(("127.0.0.1", s.port)) as c:
            c.sendall(f"POST /v1/threads HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n".encode())
            assert c.recv(100).startswith(b"HTTP/1.1 100 ")  # the head was read
            good(s, "DELETE", "/v1/keys/k", admin)
            c.sendall(b"{}")
            answer = c.recv(65536)
        assert answer.startswith(b"HTTP/1.1 401 ") and b"invalid_api_key" in answer and b"x-ratelimit" not in answer, answer
        assert good(s, "GET", "/v1/threads", admin)["data"] == []


def test_a_public_address_wants_a_key():
    f = Folder("public")
    _, err = f.weft("serve", "--listen", "0.0.0.0:0", code=1)
    assert "`weft keys add NAME`" in err and "`weft serve --listen 127.0.0.1:8787`" in err, err
    f.add("k")
    f.weft("keys", "revoke", "k")
    f.weft("serve", "--listen", "0.0.0.0:0", code=1)
    f.add("k")
    p = subprocess.Popen([WEFT, "serve", "--listen", "0.0.0.0:0"], cwd=f.path, stdout=subprocess.PIPE, stderr=open(f"{f.path}/log", "a"), text=True)
    assert re.fullmatch(r"listening on http://0\.0\.0\.0:\d+\n", p.stdout.readline())
    p.terminate()
    p.wait(timeout=30)
    p.stdout.close()


def test_a_proxy_wants_a_key():
    f = Folder("proxy")
    trusted = CONFIG.replace('listen: "127.0.0.1:0"', 'listen: "127.0.0.1:0", trusted_proxies: [127.0.0.1]')
    with f.start() as s:
        good(s, "GET", "/v1/threads")
        with open(f"{f.path}/weft.yaml", "w") as g:
            g.write(trusted)
        s.process.send_signal(signal.SIGHUP)  # from now on a request may come from anywhere
        until(lambda: ask(s, "GET", "/v1/threads")[0] == 401)
        s.wait_for_log("server.trusted_proxies needs an API key. Add one with `weft keys add NAME`")
    _, err = f.weft("serve", code=1)
    assert "server.trusted_proxies" in err and "`weft keys add NAME`" in err and "`weft serve --listen 127.0.0.1:8787`" in err, err
    key = f.add("k")
    with f.start() as s:
        good(s, "GET", "/v1/threads", key, X_Forwarded_For="192.0.2.1")
        refused(ask(s, "GET", "/v1/threads"), 401, "invalid_api_key")


def test_no_secret_is_stored_or_logged():
    n = 0
    for folder in os.listdir(HERE):
        for file in os.listdir(f"{HERE}/{folder}"):
            path = f"{HERE}/{folder}/{file}"
            if not os.path.isfile(path):
                continue
            with open(path, "rb") as f:
                assert not re.search(rb"weft_[0-9a-f]{16}_[0-9a-f]{20}", f.read()), path
            n += 1
    assert n > 20, n
    f = Folder("last")
    with f.start() as s:
        key = f.add("k")
        t = thread(s, key)
        ended(s, key, t, json.loads(run(s, key, t)[2])["id"])
        ask(s, "GET", "/v1/threads", key[:-1] + "x")
    for file in os.listdir(f.path):
        if os.path.isfile(f"{f.path}/{file}"):
            with open(f"{f.path}/{file}", "rb") as g:
                assert key.split("_")[2].encode() not in g.read(), file


served.main(globals())
