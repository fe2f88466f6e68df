#!/usr/bin/env python3
"""The audit and the usage from outside: what administrators did and who, what was used by whom; who may see it; a kill.

usage: audit.py WEFT   (TAP)
"""
import atexit
import datetime
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
HERE = tempfile.mkdtemp(prefix="weft-audit-")
atexit.register(shutil.rmtree, HERE, ignore_errors=True)

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:audit.db
retention: {audit_days: 300}
models:
  counts: {provider: scripted, script: counts.json}
agents:
  counts: {model: counts}
"""
REPLY = {"parts": [{"text": "yes"}], "usage": {"input_tokens": 60, "output_tokens": 40, "cache_read_tokens": 50}}


class Folder:
    def __init__(self, name):
        self.path = f"{HERE}/{name}"
        os.mkdir(self.path)
        self.write(CONFIG)
        with open(f"{self.path}/counts.json", "w") as f:
            json.dump({"replies": [REPLY] * 8}, f)

    def write(self, config):
        with open(f"{self.path}/weft.yaml", "w") as f:
            f.write(config)

    def start(self):
        return served.Server(WEFT, self.path)

    def weft(self, *args, code=0):
        r = subprocess.run([WEFT, *args], cwd=self.path, capture_output=True, text=True, timeout=120)
        assert r.returncode == code, (args, r.returncode, r.stdout, r.stderr)
        return r.stdout

    def add(self, name, *args):
        return self.weft("keys", "add", name, *args).strip()

    def audit(self, *args):
        return [json.loads(line) for line in self.weft("audit", "--json", *args).splitlines()]

    def usage(self, *args):
        return [json.loads(line) for line in self.weft("usage", "--json", *args).splitlines()]

    def local(self, method, path, body=None, **headers):
        """Over the Unix socket."""
        c = http.client.HTTPConnection("localhost", timeout=60)
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.connect(f"{self.path}/audit.db.sock")
        c.request(method, path, None if body is None else json.dumps(body), {k.replace("_", "-"): v for k, v in headers.items()})
        r = c.getresponse()
        status, text = r.status, r.read()
        c.close()
        return status, json.loads(text)


def ask(s, method, path, key=None, body=None, **headers):
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
    headers = {k.replace("_", "-"): v for k, v in headers.items()}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    c.request(method, path, None if body is None else json.dumps(body), headers)
    r = c.getresponse()
    text = r.read()
    c.close()
    return r.status, json.loads(text) if r.getheader("content-type", "").startswith("application/json") else text


def good(*args, **more):
    status, body = ask(*args, **more)
    assert status == 200, (args[1:], status, body)
    return body


def run(s, key, **headers):
    """One run to its end; its thread."""
    t = good(s, "POST", "/v1/threads", key, {}, **headers)["id"]
    r = good(s, "POST", f"/v1/threads/{t}/runs", key,
             {"assistant_id": "counts", "additional_messages": [{"role": "user", "content": "hello"}]}, **headers)["id"]
    end = time.monotonic() + 60
    while good(s, "GET", f"/v1/threads/{t}/runs/{r}", key, **headers)["status"] != "completed":
        assert time.monotonic() < end
        time.sleep(0.02)
    return t


def test_every_action_is_a_row():
    f = Folder("actions")
    admin = f.add("boss", "--tenant", "acme", "--scope", "admin,run")
    with f.start() as s:
        t = run(s, admin)
        made = good(s, "POST", "/v1/keys", admin, {"name": "ci", "scopes": ["read"], "limits": "bytes=1MiB"})
        for wrong in ({"name": "ci", "scopes": ["read"]}, {"name": 7}):
            assert 400 <= ask(s, "POST", "/v1/keys", admin, wrong)[0] < 500, wrong
        good(s, "DELETE", "/v1/keys/ci", admin)
        assert ask(s, "DELETE", "/v1/keys/none", admin)[0] == 404
        before = len(f.audit())
        assert ask(s, "DELETE", "/v1/keys/ci", made["key"])[0] == 401  # revoked: refused before it is an action
        good(s, "GET", "/v1/threads", admin)
        assert len(f.audit()) == before
        assert f.local("GET", f"/v1/threads/{t}/export?as=ui", weft_tenant="acme")[0] == 200
        good(s, "GET", f"/v1/threads/{t}/export?as=ui", admin)  # her own
        f.weft("export", t, "--as", "ui", "--tenant", "acme")
        good(s, "DELETE", f"/v1/threads/{t}?erase=tree", admin)
        f.weft("backup", "copy.db")
        f.weft("backup", "copy.db", code=1)  # it exists
        assert re.search(r"^20\S+Z +uid \d+ +backup +failed +- +copy.db; .*exists", f.weft("audit", "--limit", "1")), f.weft("audit")
        f.write(CONFIG.replace("300", "30"))
        s.process.send_signal(signal.SIGHUP)
        s.wait_for_log("the configuration was reloaded")
        f.write("agents: [")
        s.process.send_signal(signal.SIGHUP)
        s.wait_for_log("not reloaded")
        f.write(CONFIG)  # commands read it, too
        end = time.monotonic() + 30
        while f.audit("--limit", "1")[0]["outcome"] == "started":
            assert time.monotonic() < end
        rows = f.audit()
        for row in rows:
            assert re.fullmatch(r"act_[0-9a-f]{32}", row["id"]) and row["object"] == "audit.action", row
            assert (row["outcome"] == "failed") == ("error" in row), row
        told = [(r["action"], r["outcome"], r["actor"]["type"], r["tenant"]) for r in reversed(rows)]
        assert told == [("key.create", "done", "local", "acme"), ("key.create", "done", "api_key", "acme"),
                        ("key.create", "failed", "api_key", "acme"), ("key.create", "failed", "api_key", "acme"),
                        ("key.revoke", "done", "api_key", "acme"), ("key.revoke", "failed", "api_key", "acme"),
                        ("data.export", "done", "local", "acme"), ("data.export", "done", "local", "acme"),
                        ("thread.erase", "done", "api_key", "acme"), ("backup", "done", "local", None),
                        ("backup", "failed", "local", None), ("config.reload", "done", "signal", None),
                        ("config.reload", "failed", "signal", None)], told
        rows.reverse()
        assert rows[0]["actor"]["uid"] == os.getuid() and rows[1]["actor"]["name"] == "boss", rows[:2]
        assert rows[1]["target"] == f"key {made['id']} 'ci'" and "bytes=" in rows[1]["detail"], rows[1]
        assert rows[8]["target"] == t and rows[9]["target"] == "copy.db" and rows[10]["error"] == "REFUSED: exists already; --force replaces it", rows[8:11]
        assert "retention.audit_days 300 -> 30" in rows[11]["detail"], rows[11]
        assert made["key"] not in json.dumps(rows) and admin not in json.dumps(rows)


def test_who_sees_what():
    f = Folder("seen")
    keys = {t: f.add("boss", "--tenant", t, "--scope", "admin,run") for t in ("acme", "other")}
    plain = f.add("plain", "--tenant", "acme")
    ann = f.add("ann", "--tenant", "acme", "--user", "ann", "--scope", "admin,run")
    with f.start() as s:
        for tenant, key in keys.items():
            rows = good(s, "GET", "/v1/audit?limit=100", key)["data"]
            assert rows and all(r["tenant"] == tenant for r in rows), rows
            assert ask(s, "GET", "/v1/audit?tenant=nobody", key)[0] == 400
        assert [r["user"] for r in good(s, "GET", "/v1/audit", ann)["data"]] == ["ann"]
        assert ask(s, "GET", "/v1/audit", plain)[0] == 403
        assert ask(s, "POST", "/v1/audit", keys["acme"], {"action": "backup"})[0] == 400  # over the Unix socket only
        assert f.local("POST", "/v1/audit", {"action": "key.create"})[0] == 400
        assert f.local("GET", "/v1/audit?after=act_12")[0] == 400 and f.local("GET", "/v1/audit?since=now")[0] == 400
        assert len(f.local("GET", "/v1/audit", weft_tenant="other")[1]["data"]) == 1
        assert len(f.audit("--tenant", "acme")) == 3 and len(f.audit("--actor", "boss")) == 0
        assert len(f.audit("--actor", "local")) == 4
        seen, after = [], ""
        while True:
            page = f.local("GET", "/v1/audit?limit=1" + after)[1]
            seen += [r["id"] for r in page["data"]]
            if not page["next"]:
                break
            after = "&after=" + page["next"]
        assert seen == [r["id"] for r in f.audit()] and len(set(seen)) == 4, seen
        newest = f.audit()[0]["time"]
        assert [r["id"] for r in f.audit("--until", newest)] == seen[1:] and f.audit("--since", newest)[0]["id"] == seen[0]
        assert not f.audit("--since", "2100-01-01") and not f.audit("--until", "2001-01-01")


def test_usage_by_key_tenant_and_day():
    f = Folder("usage")
    admin = f.add("boss", "--tenant", "acme", "--scope", "admin,run")
    plain = f.add("plain", "--tenant", "acme")
    other = f.add("other", "--tenant", "other")
    s = f.start()
    for key in (plain, plain, other):
        run(s, key)
    f.weft("run", "counts", "hello")  # without a key, of tenant local
    time.sleep(2.5)  # what was counted is stored within a second
    s.process.kill()
    s.process.wait()
    with f.start() as s:
        rows = {(r["tenant"], r["key_name"]): r for r in f.usage()}
        assert set(rows) == {("acme", "plain"), ("other", "other"), ("local", None)}, rows
        r = rows["acme", "plain"]
        assert r["runs"] == 2 and r["input_tokens"] == 120 and r["output_tokens"] == 80 and r["cache_read_tokens"] == 100, r
        assert r["requests"] >= 6 and rows["local", None]["runs"] == 1 and rows["local", None]["requests"] == 0, rows
        assert r["day"] in (str(datetime.datetime.now(datetime.timezone.utc).date() - datetime.timedelta(days=n)) for n in (0, 1)), r
        run(s, plain)
        mine = good(s, "GET", "/v1/usage", plain)["data"]
        assert [(m["key_name"], m["runs"]) for m in mine] == [("plain", 3)], mine  # what is not stored yet, too
        assert ask(s, "GET", "/v1/usage?key=boss", plain)[0] == 400 and ask(s, "GET", "/v1/usage?tenant=other", admin)[0] == 400
        seen = {r["key_name"] for r in good(s, "GET", "/v1/usage", admin)["data"]}
        assert seen == {"boss", "plain"}, seen
        assert ask(s, "GET", "/v1/usage?days=0", admin)[0] == 400
        assert [r["tenant"] for r in f.usage("--key", "other")] == ["other"] and len(f.usage("--tenant", "acme", "--days", "30")) == 2
        page = f.local("GET", "/v1/usage?limit=1")[1]
        assert page["has_more"] and f.local("GET", "/v1/usage?limit=100&after=" + page["next"].replace("/", "%2F"))[1]["data"]
        text = ask(s, "GET", "/metrics", admin)[1].decode()
        assert 'weft_key_tokens_total{tenant="acme",key="plain",kind="input"} 60' in text, text
        assert 'weft_key_runs_total{tenant="acme",key="plain"} 1' in text
        lines = f.weft("usage").splitlines()
        assert any(re.search(r"acme +plain +\d+ +3 +180 +120 +150$", line) for line in lines), lines


served.main(globals())
