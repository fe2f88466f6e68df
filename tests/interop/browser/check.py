#!/usr/bin/env python3
"""Pages in a real browser that call the server from other origins: server.origins, hosts and trusted_proxies, with and
without TLS.

usage: check.py WEFT CERTIFICATE   (TAP). Needs Chromium and its driver: scripts/setup browser.
"""
import atexit
import http.client
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "server"))
import served  # noqa: E402
import webdriver  # noqa: E402

WEFT, CERTIFICATE = (os.path.abspath(a) for a in sys.argv[1:3])
HERE = tempfile.mkdtemp(prefix="weft-pages-")
atexit.register(shutil.rmtree, HERE, ignore_errors=True)

for tool in ("chromium", "chromedriver"):
    if not shutil.which(tool):
        print(f"not ok 1 - there is {tool} (scripts/setup browser)\n1..1")
        sys.exit(1)


class Page(http.server.BaseHTTPRequestHandler):
    """An empty page."""

    def do_GET(self):
        data = b"<!doctype html><title>page</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes requests on with its key, as a proxy in front of the server does. It is reached as weft.test."""

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        c = http.client.HTTPConnection("127.0.0.1", self.server.to, timeout=60)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection", "content-length", "authorization")}
        c.request(self.command, self.path, body or None, {**headers, "Host": "backend", "Authorization": f"Bearer {self.server.key}", "X-Forwarded-Host": self.headers["Host"],
                                                          "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http"})
        r = c.getresponse()
        data = r.read()
        self.send_response_only(r.status)
        for k, v in r.headers.items():
            if k.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(k, v)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_PUT = do_OPTIONS = do_GET

    def log_message(self, *_):
        pass


def listen(handler):
    s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    s.daemon_threads = True
    threading.Thread(target=s.serve_forever, daemon=True).start()
    return s


pages = [listen(Page), listen(Page)]
ALLOWED, OTHER = (f"http://127.0.0.1:{p.server_port}" for p in pages)
subprocess.run([CERTIFICATE, HERE, "server"], check=True)
browser = webdriver.Browser("--host-resolver-rules=MAP *.test 127.0.0.1")
atexit.register(browser.close)


def start(server, tls=False, store="memory:"):
    keys = ['listen: "127.0.0.1:0"', server, "tls: {certificate: server.pem, key: server.key}" if tls else ""]
    config = f"""
server: {{{', '.join(filter(None, keys))}}}
store: "{store}"
log: {{level: debug}}
models: {{echo: {{provider: scripted, echo: true}}}}
agents: {{echo: {{model: echo}}}}
"""
    open(f"{HERE}/log", "w").close()  # of this one alone
    return served.Server(WEFT, HERE, config, ca=f"{HERE}/ca-server.pem" if tls else None)


CALLS = """
const [base, credentials] = args, told = {};
const json = { 'content-type': 'application/json', authorization: 'Bearer k', 'x-stainless-os': 'none' };
let r = await fetch(`${base}/v1/threads`, { method: 'POST', headers: json, body: '{}', credentials });
told.created = [r.status, !!r.headers.get('x-request-id')];
const thread = (await r.json()).id;
r = await fetch(`${base}/v1/threads/none`, { credentials });
told.missing = [r.status, !!r.headers.get('x-request-id'), (await r.json()).error.code];
r = await fetch(`${base}/no/such/route`, { method: 'PUT', headers: json, body: '{}', credentials });
told.nowhere = r.status;
r = await fetch(`${base}/v1/threads/${thread}/runs?as=weft`, { method: 'POST', headers: json, credentials, body: JSON.stringify(
  { assistant_id: 'echo', stream: true, additional_messages: [{ role: 'user', content: 'hello browser' }] }) });
told.stream = [r.status, r.headers.get('content-type'), !!r.headers.get('x-request-id')];
let text = '', pieces = 0;
const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
for (let p; !(p = await reader.read()).done; pieces++) text += p.value;
told.read = [pieces > 0, text.includes('completed')];
r = await fetch(`${base}/v1/threads/${thread}/messages?limit=1`, { credentials });
const run = (await r.json()).data[0].run_id;
r = await fetch(`${base}/v1/threads/${thread}/runs/${run}`, { credentials });
told.poll = r.headers.get('openai-poll-after-ms');
told.events = await new Promise((resolve) => {
  const frames = text.split('\\n\\n').filter((f) => /^data:/m.test(f)), seen = [];
  const source = new EventSource(`${base}/v1/runs/${run}/events?as=weft`, { withCredentials: credentials === 'include' });
  for (const n of new Set(frames.map((f) => /^event: (.*)$/m.exec(f)?.[1] ?? 'message')))
    source.addEventListener(n, (e) => seen.push(e.data));
  source.onerror = () => { source.close(); resolve([frames.length > 5, seen.length - frames.length]); };
});
return told;
"""

BLOCKED = """
const [base] = args, told = {};
const tries = { get: {}, post: { method: 'POST', body: '{}' }, preflight: { method: 'POST', body: '{}', headers: { authorization: 'Bearer k' } } };
for (const [name, init] of Object.entries(tries))
  told[name] = await fetch(`${base}/v1/threads`, init).then((r) => r.status, (e) => e.name);
told.events = await new Promise((resolve) => {
  const source = new EventSource(`${base}/v1/runs/none/events`);
  source.onopen = () => resolve('open');
  source.onerror = () => { source.close(); resolve('blocked'); };
});
return told;
"""

FETCH = "return fetch(...args).then((r) => r.status, (e) => e.name);"


def all_work(told):
    want = {"created": [200, True], "missing": [404, True, "not_found"], "nowhere": 404, "poll": "100",
            "stream": [200, "text/event-stream", True], "read": [True, True], "events": [True, 0]}
    assert told == want, told


def nothing_works(told):
    assert told == {"get": "TypeError", "post": "TypeError", "preflight": "TypeError", "events": "blocked"}, told


def threads(s):
    return len(s.good("GET", "/v1/threads?limit=100")["data"])


def test_a_page_of_an_allowed_origin_may_call_and_another_may_not():
    for tls in (False, True):
        with start(f'origins: ["{ALLOWED}"]', tls) as s:
            browser.open(ALLOWED)
            all_work(browser.run(CALLS, s.url, "same-origin"))
            all_work(browser.run(CALLS, s.url, "include"))  # a named origin may send credentials
            before = threads(s)
            browser.open(OTHER)
            nothing_works(browser.run(BLOCKED, s.url))
            assert threads(s) == before, "what is blocked has no effect"
            s.wait_for_log("status=403")


def test_without_origins_every_other_page_is_blocked():
    with start("") as s:
        browser.open(ALLOWED)
        nothing_works(browser.run(BLOCKED, s.url))
        assert threads(s) == 0


def test_pages_of_the_server_itself_may_call():
    for tls in (False, True):
        with start("", tls) as s:
            browser.open(f"{s.url}/livez")
            all_work(browser.run(CALLS, "", "same-origin"))


def test_all_origins_without_credentials():
    with start('origins: ["*"]') as s:
        browser.open(OTHER)
        all_work(browser.run(CALLS, s.url, "omit"))
        assert browser.run(FETCH, f"{s.url}/v1/threads", {"credentials": "include"}) == "TypeError"


def test_a_name_that_is_not_ours_is_refused():
    """weft.test and evil.test lead to the server, as a name does that an attacker points at it (DNS rebinding)."""
    with start(f'hosts: [weft.test], origins: ["{ALLOWED}"]') as s:
        browser.open(ALLOWED)
        all_work(browser.run(CALLS, f"http://weft.test:{s.port}", "same-origin"))
        assert browser.run(FETCH, f"http://evil.test:{s.port}/livez") == "TypeError"
        for name, status in (("weft.test", 200), ("evil.test", 421)):  # a page of that very name
            browser.open(f"http://{name}:{s.port}/livez")
            assert browser.run(FETCH, "/v1/threads", {"method": "POST"}) == status, name


def test_through_a_proxy():
    proxy = listen(Proxy)
    at = f"http://weft.test:{proxy.server_port}"
    store = "sqlite:proxies.db"
    proxy.key = subprocess.run([WEFT, "keys", "add", "proxy", "--store", store], cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    for trusted, works in (("127.0.0.1", True), ("10.0.0.0/8", False)):
        with start(f'hosts: [weft.test], origins: ["{ALLOWED}"], trusted_proxies: [{trusted}]', store=store) as s:
            proxy.to = s.port
            browser.open(ALLOWED)
            if works:
                all_work(browser.run(CALLS, at, "same-origin"))
                browser.open(OTHER)
                nothing_works(browser.run(BLOCKED, at))
                browser.open(f"{at}/livez")  # a page of the server, as the browser sees it
                assert browser.run(FETCH, "/v1/threads", {"method": "POST"}) == 200
            else:  # the server sees only its Host, "backend"
                nothing_works(browser.run(BLOCKED, at))
                s.wait_for_log("status=421")
    proxy.shutdown()


served.main(dict(globals()))
