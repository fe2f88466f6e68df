#!/usr/bin/env python3
"""`search` in weft.yaml: substrings, words, off; from one to the other on a store that has messages, and back.

usage: search.py WEFT   (TAP)
"""
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from urllib.parse import quote

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-search-")
TEXTS = ["He plans a journey to the lake", "The plan: planets and a foo_bar", "東京都に行く", "nothing of that"]


def configure(search, store="sqlite:search.db"):
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write(f'server: {{listen: "127.0.0.1:0"}}\nstore: "{store}"\n' + (f"search: {search}\n" if search else "") +
                "models: {m: {provider: scripted, echo: true}}\nagents: {a: {model: m}}\n")


def weft(*args):
    return subprocess.run([WEFT, *args], cwd=HERE, capture_output=True, text=True, timeout=240)


class Server:
    def __init__(self, search, **more):
        configure(search, **more)
        self.errors = open(f"{HERE}/errors", "w+")
        self.process = subprocess.Popen([WEFT, "serve"], cwd=HERE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        found = re.search(r":(\d+)\n", self.process.stdout.readline())
        assert found, self.said()
        self.port = int(found[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0, self.said()
        self.errors.close()

    def said(self):
        with open(f"{HERE}/errors") as f:
            return f.read()

    def says(self, text):
        """Whether its log has this, now or soon: a thread writes it."""
        end = time.monotonic() + 30
        while text not in self.said() and time.monotonic() < end:
            time.sleep(0.02)
        return text in self.said()

    def ask(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        c.request(method, path, None if body is None else json.dumps(body))
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, json.loads(text)

    def found(self, words, whole):
        for _ in range(2400):
            status, r = self.ask("GET", f"/v1/search?q={quote(words)}")
            assert status == 200, (status, r)
            if r["index"]["rows_behind"] == 0:
                break
            time.sleep(0.05)
        assert r["index"]["whole_words"] == whole and r["index"]["text_bytes"] == 65536, r
        return len(r["data"])

    def refuses(self):
        status, r = self.ask("GET", "/v1/search?q=plan")
        assert status == 400 and r["error"]["code"] == "refused" and "`search`" in r["error"]["message"], (status, r)


def fill(s):
    status, r = s.ask("POST", "/v1/threads", {"messages": [{"role": "user", "content": t} for t in TEXTS]})
    assert status == 200, r
    return r["id"]


def whole(s):
    assert [s.found(w, True) for w in ("plan", "PLANS", "lan", "foo", "oo_bar", "京都")] == [1, 1, 0, 1, 0, 1]


def pieces(s):
    assert [s.found(w, False) for w in ("plan", "PLANS", "lan", "foo", "oo_bar", "京都")] == [2, 1, 2, 1, 1, 1]


def test_from_one_to_the_other():
    with Server(None) as s:
        thread = fill(s)
        whole(s)
        assert "index" not in s.said(), s.said()
    for search, check in (("substrings", pieces), (None, pieces), ("words", whole), ("off", Server.refuses), (None, Server.refuses),
                          ("words", whole), ("substrings", pieces)):
        with Server(search) as s:
            check(s)
            assert s.says("the index of the search is another one now") if search else "index" not in s.said(), (search, s.said())
            status, r = s.ask("GET", f"/v1/threads/{thread}/messages")
            assert status == 200 and len(r["data"]) == len(TEXTS), r
    with Server("substrings") as s:
        assert "index" not in s.said(), s.said()


def test_what_is_new_is_found_as_the_setting_says():
    with Server("words") as s:
        fill(s)
        assert s.found("journey", True) >= 1 and s.found("ourney", True) == 0


def test_a_store_in_memory_can_be_off():
    with Server("off", store="memory:") as s:
        fill(s)
        s.refuses()
    with Server("words", store="memory:") as s:
        fill(s)
        pieces(s)  # it is read


def test_the_command():
    configure("off")
    p = weft("doctor", "--rebuild-search")
    assert p.returncode == 1 and "`search`" in p.stderr, p
    configure("words")
    p = weft("doctor", "--rebuild-search")
    assert p.returncode == 0, p
    configure("everything")
    p = weft("config", "check")
    assert p.returncode == 1 and "search is one of 'substrings', 'words', 'off', not 'everything'" in p.stdout + p.stderr, p


def main():
    results = []
    for name, fn in list(globals().items()):
        if not name.startswith("test_"):
            continue
        try:
            fn()
            results.append(True)
            print(f"ok {len(results)} - {name[5:].replace('_', ' ')}", flush=True)
        except Exception:
            results.append(False)
            print(f"not ok {len(results)} - {name[5:].replace('_', ' ')}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
    print(f"1..{len(results)}")
    shutil.rmtree(HERE, ignore_errors=True)
    return 0 if all(results) else 1


sys.exit(main())
