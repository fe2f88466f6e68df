#!/usr/bin/env python3
"""Values that came from variables of the environment are shown to nobody: a provider that repeats what it was sent, tools
that look around, files that others can read.

usage: hidden_values.py WEFT   (TAP)
"""
import atexit
import base64
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request

import served

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-secrets-")
atexit.register(shutil.rmtree, HERE, ignore_errors=True)
SANITIZED = b"__asan_init" in open(WEFT, "rb").read()

SECRETS = {"GATEWAY_TOKEN": 'gw-7Qk/29"xW\\plmzzT', "PARAM_TOKEN": "param+Zr8/vvQ=tail", "URL_TOKEN": "url-Hy6:2b@nnQpWw",
           "AGENT_TOKEN": "agent-99Kd8xUUq2wwe", "OPENAI_API_KEY": "sk-envkey-0123456789abcdef", "SHORT": "a",
           "WORD": "zq7x9", "TOOL_TOKEN": "tool-Vv71Lm0pXxQ3r"}
HIDDEN = [v for k, v in SECRETS.items() if k != "SHORT"]


class Echo(http.server.BaseHTTPRequestHandler):
    """Repeats the request in its error, or in the metadata of its answer."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        token = self.headers["X-Token"]
        told = " | ".join([f"a: {self.path}", "headers " + "; ".join(f"{k}={v}" for k, v in self.headers.items()),
                           "url " + urllib.parse.quote(token, safe=""), "low " + urllib.parse.quote(token, safe="").lower(),
                           "b64 " + base64.b64encode(f"user:{token}".encode()).decode(), "json " + json.dumps(token),
                           "body " + body])
        parts = [told[i:i + 90] for i in range(0, len(told), 90)]
        if "stream" in self.path:
            text = "data: " + json.dumps({"error": {"message": told[:1500], "code": "x " + token, "type": token}}) + "\n\n"
            self.reply(200, "text/event-stream", text)
        elif "good" in self.path:
            answer = {"id": "x", "object": "chat.completion", "model": "m", "system_fingerprint": token, "echo": [told, parts],
                      "choices": [{"index": 0, "message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop",
                                   "logprobs": {"content": None, "echo": told}}],
                      "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "echo": token}}
            self.reply(200, "application/json", json.dumps(answer))
        else:
            status = 404 if "missing" in self.path else 400
            which = self.path.split("?")[0].rsplit("/", 3)[1]
            start = {"url": "a: ", "headers": "headers ", "quoted": "url ", "low": "low ", "b64": "b64 ", "json": "json ",
                     "body": "body "}.get(which, "a: ")
            at = told.index(start)
            self.reply(status, "application/json", json.dumps({"error": {"message": told[at:at + 2000], "type": token,
                                                                         "code": f"c {token[:9]}"}}),
                       {"x-request-id": token.replace('"', "").replace("\\", "")})

    def reply(self, status, kind, text, headers=None):
        data = text.encode()
        self.send_response(status)
        for k, v in {"Content-Type": kind, "Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


echo = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
threading.Thread(target=echo.serve_forever, daemon=True).start()
WAYS = ["url", "headers", "quoted", "low", "b64", "json", "body", "missing", "stream", "good"]

LOOK = r"""cat >/dev/null
p=$$; while [ "$p" -gt 1 ]; do echo "== $p"; tr '\0' '\n' </proc/$p/environ; p=$(sed -n 's/^PPid:[^0-9]*//p' /proc/$p/status); done 2>&1
if (exec 3</proc/$SERVER/mem) 2>/dev/null; then echo "memory: open"; else echo "memory: closed"; fi
"""


def config():
    models = "".join(f"""
  {way}:
    provider: openai
    api: chat
    model: m
    base_url: http://127.0.0.1:{echo.server_port}/${{URL_TOKEN}}/{way}/v1
    headers: {{X-Token: '${{GATEWAY_TOKEN}}', X-Auth: 'Bearer ${{WORD}} ${{SHORT}}'}}
    params: {{user: 'u ${{PARAM_TOKEN}}'}}
    retry: {{strategy: none}}""" for way in WAYS)
    agents = "".join(f"\n  {way}: {{model: {way}, params: {{metadata: {{t: '${{AGENT_TOKEN}}'}}}}}}" for way in WAYS)
    return f"""
server: {{listen: "127.0.0.1:0"}}
store: sqlite:secrets.db
log: {{level: debug}}
models:{models}
  calls: {{provider: scripted, script: calls.json}}
tools:
  look: {{parameters: {{type: object}}, command: [sh, ./look.sh]}}
  fail: {{parameters: {{type: object}}, command: [sh, -c, 'echo "no: $T" >&2; exit 3'], env: {{T: '${{TOOL_TOKEN}}'}}}}
agents:{agents}
  calls: {{model: calls, tools: [look, fail]}}
"""


def start():
    with open(f"{HERE}/look.sh", "w") as f:
        f.write(LOOK)
    with open(f"{HERE}/calls.json", "w") as f:
        json.dump({"replies": [{"parts": [{"tool_call": {"id": "c1", "name": "look", "arguments": {}}},
                                          {"tool_call": {"id": "c2", "name": "fail", "arguments": {}}}]},
                               {"parts": [{"text": "done"}]}]}, f)
    return served.Server(WEFT, HERE, config(), **SECRETS)


def forms(secret):
    quoted = urllib.parse.quote(secret, safe="")
    yield from (secret, quoted, quoted.lower(), json.dumps(secret)[1:-1], secret[:12])
    for before in range(3):
        yield base64.b64encode(b"x" * before + secret.encode()).decode()[4:-4]


def nothing_of(text, where):
    for secret in HIDDEN:
        for form in forms(secret) if len(secret) > 8 else [secret]:
            at = text.find(form)
            assert at < 0, (where, secret, form, text[max(0, at - 100):at + 100])


def test_a_provider_that_repeats_the_request():
    with start() as s:
        for way in WAYS:
            run = s.run(way)
            thread = run["thread_id"]
            assert run["status"] == ("completed" if way == "good" else "failed"), (way, run)
            text = json.dumps(run, ensure_ascii=False) + (run["last_error"]["message"] if run["last_error"] else "")
            if way != "good":
                assert "***" in run["last_error"]["message"], (way, run)
                if way == "headers":  # a short value does not take every letter a away
                    assert "headers" in run["last_error"]["message"], run
            nothing_of(text, way)
            for path in (f"/v1/threads/{thread}/messages", f"/v1/threads/{thread}/export?as=uap",
                         f"/v1/threads/{thread}/export?as=upp", f"/v1/threads/{thread}/tree"):
                answer = s.good("GET", path)
                nothing_of(json.dumps(answer, ensure_ascii=False), path)
                nothing_of(json.dumps(answer), path)
            for dialect in ("weft", "assistants", "ui"):
                with urllib.request.urlopen(f"http://127.0.0.1:{s.port}/v1/runs/{run['id']}/events?as={dialect}", timeout=60) as r:
                    events = r.read().decode()
                assert events
                nothing_of(events, dialect)
        nothing_of(s.log(), "log")
        assert "run" in s.log()
    for name in os.listdir(HERE):
        if name.startswith("secrets.db"):
            with open(f"{HERE}/{name}", "rb") as f:
                nothing_of(f.read().decode("latin-1"), name)


def test_a_tool_that_looks_into_the_server():
    with start() as s:
        with open(f"{HERE}/look.sh", "w") as f:
            f.write(LOOK.replace("$SERVER", str(s.process.pid)))
        with open(f"/proc/{s.process.pid}/environ", "rb") as f:
            mine = f.read().decode(errors="replace")
        nothing_of(mine, "environ")
        run = s.run("calls")
        assert run["status"] == "completed", run
        shown = json.dumps(s.good("GET", f"/v1/threads/{run['thread_id']}/export?as=upp"), ensure_ascii=False)
        assert "memory: closed" in shown or SANITIZED, shown  # root's too
        nothing_of(shown, "tools")
        assert "no: ***" in shown, shown


def check(text, mode=0o600, **env):
    path = f"{HERE}/check.yaml"
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    r = subprocess.run([WEFT, "config", "check", path], capture_output=True, text=True, env={**os.environ, **env})
    return r.stdout + r.stderr


def test_files_that_others_can_read():
    inline = """
models: {m: {provider: openai, model: m, api_key: %s, headers: {x-auth: %s, x-other: plain}}}
agents: {a: {model: m}}
"""
    assert "warning" not in check(inline % ("sk-inline", "hdr-inline"))
    told = check(inline % ("sk-inline", "hdr-inline"), 0o644)
    assert told.count("others can read this file") == 2 and "sk-inline" not in told, told
    assert told.count("others can read") == check(inline % ("sk-inline", "hdr-inline"), 0o640).count("others can read")
    assert "warning" not in check(inline % ("'${K}'", "'${K}'"), 0o644, K="value-of-k")
    sealed = "store: sqlite:sealed.db\nencryption: {key_file: master.key}\nmodels: {m: {provider: scripted, echo: true}}\nagents: {a: {model: m}}\n"
    with open(f"{HERE}/master.key", "w") as f:
        f.write(subprocess.run([WEFT, "keys", "new"], capture_output=True, text=True).stdout)
    os.chmod(f"{HERE}/master.key", 0o644)
    assert "master key" in check(sealed), check(sealed)
    run = [WEFT, "run", "a", "hello", "--config", f"{HERE}/check.yaml"]
    r = subprocess.run(run, capture_output=True, text=True)
    assert r.returncode == 1 and "master.key: the encryption key: others can read this file" in r.stderr and not os.path.exists(f"{HERE}/sealed.db-wal"), r
    os.chmod(f"{HERE}/master.key", 0o600)
    assert "warning" not in check(sealed)
    assert subprocess.run(run, capture_output=True, text=True).returncode == 0
    # The server says so in its log.
    other = f"{HERE}/other"
    os.makedirs(other)
    with open(f"{other}/weft.yaml", "w") as f:
        f.write('server: {listen: "127.0.0.1:0"}' + inline % ("sk-inline", "hdr-inline"))
    os.chmod(f"{other}/weft.yaml", 0o644)
    with served.Server(WEFT, other) as s:
        s.wait_for_log("others can read this file", 2)
        assert s.log().count("others can read this file") == 2 and "sk-inline" not in s.log(), s.log()


served.main(globals())
