#!/usr/bin/env python3
"""Whom the server answers: hosts, origins of pages, proxies in front of it; and that it goes nowhere a request sends it.

usage: origins.py WEFT   (TAP). A real browser asks in tests/interop/browser.
"""
import atexit
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import served

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-origins-")
atexit.register(shutil.rmtree, HERE, ignore_errors=True)


def config(server, models="{echo: {provider: scripted, echo: true}}", agent="echo", store="memory:"):
    return f"""
server: {{listen: "127.0.0.1:0", {server}}}
store: "{store}"
log: {{level: debug}}
models: {models}
agents: {{{agent}: {{model: {agent}}}}}
"""


def start(server="", **more):
    return served.Server(WEFT, HERE, config(server, **more), OPENAI_API_KEY="sk-configured-0123456789")


def ask(s, method, path, headers, body=None):
    """Status and headers."""
    c = s.connection()
    c.request(method, path, body, headers)
    r = c.getresponse()
    r.read()
    c.close()
    return r.status, r.headers


PAGE = "https://app.example.org"


def test_hosts_of_the_configuration_are_ours():
    with start("hosts: [weft.example.org]") as s:
        for host, status in (("localhost", 200), ("weft.example.org", 200), ("WEFT.example.org:443", 200), ("evil.example", 421),
                             ("weft.example.org.evil.example", 421)):
            assert ask(s, "GET", "/livez", {"Host": host})[0] == status, host


def test_pages_of_the_configuration_may_call():
    with start(f'origins: ["{PAGE}", "http://localhost:3000"]') as s:
        for origin in (PAGE, "http://localhost:3000"):
            status, h = ask(s, "OPTIONS", "/v1/threads", {"Origin": origin, "Access-Control-Request-Method": "POST",
                                                          "Access-Control-Request-Headers": "authorization,content-type"})
            assert status == 204 and h["access-control-allow-origin"] == origin and h["vary"] == "Origin", (status, dict(h))
            assert "POST" in h["access-control-allow-methods"] and h["access-control-max-age"] == "600", dict(h)
            assert h["access-control-allow-headers"] == "authorization,content-type", dict(h)
            for method, path, want in (("POST", "/v1/threads", 200), ("GET", "/v1/threads/none", 404), ("GET", "/nowhere", 404),
                                       ("PUT", "/v1/threads", 405), ("POST", "/v1/threads?a=%", 200)):
                status, h = ask(s, method, path, {"Origin": origin})
                assert status == want and h["access-control-allow-origin"] == origin, (path, status, dict(h))
                assert "x-request-id" in h["access-control-expose-headers"], dict(h)
        for origin in ("https://evil.example", "null", "http://app.example.org", PAGE + ".evil.example", PAGE + "/"):
            for method in ("GET", "OPTIONS"):
                status, h = ask(s, method, "/v1/threads", {"Origin": origin, "Access-Control-Request-Method": "GET"})
                assert status == 403 and not h["access-control-allow-origin"], (origin, status, dict(h))
        status, h = ask(s, "GET", "/v1/threads", {"Origin": f"http://localhost:{s.port}", "Host": f"localhost:{s.port}"})
        assert status == 200 and not h["access-control-allow-origin"], (status, dict(h))


def test_without_origins_nothing_is_said():
    with start() as s:
        status, h = ask(s, "GET", "/livez", {})
        assert status == 200 and not h["vary"] and not h["access-control-allow-origin"], dict(h)
        assert ask(s, "OPTIONS", "/v1/threads", {"Origin": PAGE, "Access-Control-Request-Method": "POST"})[0] == 403


def test_other_sites_without_an_origin_are_refused():
    """An image, a script or a frame of another site has no Origin, but browsers say what it is. A link to the page works."""
    def from_site(s, path, site="cross-site", mode="no-cors", dest="image", **more):
        return ask(s, "GET", path, {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest, **more})[0]
    with start(f'origins: ["{PAGE}"]') as s:
        for path in ("/v1/threads", "/v1/threads/none", "/nowhere", "/", "/page/app.js", "/health", "/metrics"):
            assert from_site(s, path) == 403 and from_site(s, path, dest="script") == 403 and from_site(s, path, mode="navigate", dest="iframe") == 403, path
        assert from_site(s, "/v1/threads", mode="navigate", dest="document") == 403
        for path in ("/", "/docs"):
            assert from_site(s, path, mode="navigate", dest="document") == 200, path
        for site in ("same-origin", "none", "same-site"):
            assert from_site(s, "/v1/threads", site=site) == 200, site
        assert from_site(s, "/v1/threads", Origin=PAGE, mode="cors", dest="empty") == 200
    with start('origins: ["*"]') as s:
        assert from_site(s, "/v1/threads") == 200


def test_credentials_never_go_with_all_origins():
    with start('origins: ["*"]') as s:
        for origin in (PAGE, "null"):
            for method in ("GET", "OPTIONS"):
                status, h = ask(s, method, "/v1/threads", {"Origin": origin, "Access-Control-Request-Method": "GET"})
                assert status in (200, 204) and h["access-control-allow-origin"] == "*", (status, dict(h))
                assert "access-control-allow-credentials" not in h, dict(h)
        s.wait_for_log("every web page that is opened on this machine can use the server")


def test_proxies_are_believed_only_if_trusted():
    told = {"Host": "backend:80", "X-Forwarded-Host": "weft.example.org", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
    store = "sqlite:proxies.db"  # with a key: a server behind a proxy needs one
    subprocess.run([WEFT, "keys", "add", "ci", "--store", store], cwd=HERE, check=True, capture_output=True)
    with start("hosts: [weft.example.org], trusted_proxies: [127.0.0.0/8, '::1']", store=store) as s:
        assert ask(s, "GET", "/livez", told)[0] == 200
        assert ask(s, "GET", "/livez", {**told, "Origin": "https://weft.example.org"})[0] == 200
        assert ask(s, "GET", "/livez", {**told, "Origin": "http://weft.example.org"})[0] == 403
        assert ask(s, "GET", "/livez", {**told, "X-Forwarded-Host": "evil.example"})[0] == 421
    with start("hosts: [weft.example.org], trusted_proxies: [10.0.0.0/8]", store=store) as s:
        assert ask(s, "GET", "/livez", told)[0] == 421
        assert ask(s, "GET", "/livez", {**told, "Host": "localhost", "X-Forwarded-Host": "evil.example"})[0] == 200


def test_a_hangup_without_tls_is_no_end():
    with start() as s:
        s.process.send_signal(signal.SIGHUP)
        s.wait_for_log("signal")
        assert s.good("GET", "/livez") == {"status": "ok"}


# ---- Where requests send it ----


class Seen(http.server.BaseHTTPRequestHandler):
    """Answers as a model does, and keeps what it was asked."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.server.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        data = json.dumps({"id": "x", "object": "chat.completion", "model": "m", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_HEAD = do_OPTIONS = do_POST

    def log_message(self, *_):
        pass


class Listener(http.server.ThreadingHTTPServer):
    """connections: also of clients that send nothing."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Seen)
        self.seen, self.connections, self.url = [], 0, f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def get_request(self):
        self.connections += 1
        return super().get_request()


def test_it_fetches_no_url_that_it_was_sent():
    """Neither of a message, nor of a document, nor as the address of a provider; and keys of requests go nowhere."""
    provider, trap = Listener(), Listener()
    models = f"{{real: {{provider: openai, api: chat, model: right, base_url: '{provider.url}/v1', api_key: '${{OPENAI_API_KEY}}'}}}}"
    with start(models=models, agent="real") as s:
        url = trap.url
        parts = [{"type": "text", "text": f"look at {url}/text"}, {"type": "image_url", "image_url": {"url": f"{url}/image.png"}}]
        members = {"base_url": f"{url}/v1", "api_base": f"{url}/v1", "api_key": "sk-of-the-request", "provider":
                   {"base_url": f"{url}/v1"}, "models": {"real": {"base_url": f"{url}/v1"}}, "webhook": f"{url}/hook",
                   "callback_url": f"{url}/hook",
                   "metadata": {"url": f"{url}/metadata"}}
        headers = {"Authorization": "Bearer sk-of-the-request", "X-Api-Key": "sk-of-the-request", "OpenAI-Base-Url": f"{url}/v1",
                   "X-Base-Url": f"{url}/v1", "Referer": f"{url}/page", "Link": f"<{url}/link>", "Proxy": url}
        thread = s.good("POST", "/v1/threads", {"messages": [{"role": "user", "content": parts}], "webhook": f"{url}/hook"})["id"]
        s.good("POST", f"/v1/threads/{thread}/messages", {"role": "user", "content": parts})
        refused = {"role": "user", "content": parts, "attachments": [{"url": f"{url}/file"}]}
        assert s.ask("POST", f"/v1/threads/{thread}/messages", refused)[0] == 400
        refused = {"assistant_id": "real", "tools": [{"type": "mcp", "server_url": f"{url}/mcp"}]}
        assert s.ask("POST", f"/v1/threads/{thread}/runs", refused)[0] == 400
        status, run = s.ask("POST", f"/v1/threads/{thread}/runs?base_url={url}/v1&url={url}", {
            "assistant_id": "real", "additional_messages": [{"role": "user", "content": parts}], **members}, headers)
        assert status == 200, run
        for model in ("wrong", f"{url}/v1"):  # only the names of the configuration
            assert s.ask("POST", f"/v1/threads/{thread}/runs", {"assistant_id": "real", "model": model})[0] in (400, 404), model
        end = time.monotonic() + 60
        while run["status"] in ("queued", "in_progress") and time.monotonic() < end:
            time.sleep(0.02)
            run = s.good("GET", f"/v1/threads/{thread}/runs/{run['id']}")
        for kind in ("thread", "uap", "upp", "ui"):
            doc = s.good("GET", f"/v1/threads/{thread}/export?as={kind}")
            status, answer = s.ask("POST", f"/v1/threads/import?from={kind}&agent=real&on_conflict=copy&url={url}/doc", doc)
            assert status == 200, (kind, answer)
        status, _ = s.ask("POST", f"/v1/threads/import?from={url}/doc.json", {"url": f"{url}/doc.json"})
        assert status == 400, status
        assert ask(s, "GET", f"{url}/v1/nothing", {"Host": f"127.0.0.1:{trap.server_port}"})[0] == 404  # no proxy
        assert run["status"] == "completed", (run, s.log()[-2000:])
        assert provider.seen, "the model was asked"
        for path, told, body in provider.seen:
            assert path == "/v1/chat/completions" and told["authorization"] == "Bearer sk-configured-0123456789", (path, told)
            assert json.loads(body)["model"] == "right" and "sk-of-the-request" not in body, body
            assert not any(url in str(v) or "sk-of-the-request" in str(v) for v in told.values()), told
        assert trap.connections == 0 and not trap.seen, trap.seen
        assert "sk-of-the-request" not in s.log()
    provider.shutdown()
    trap.shutdown()


served.main(dict(globals()))
