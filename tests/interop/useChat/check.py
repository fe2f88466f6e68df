#!/usr/bin/env python3
"""examples/useChat in headless Chromium: what a person would do, and what the page then shows.

usage: check.py WEFT FOLDER   FOLDER has index.html and page.js. Prints "ok or bad, TAB, title, TAB, what was wrong".
"""
import functools
import http.server
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import traceback
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "..", "server"), os.path.join(HERE, "..", "browser")]
import served  # noqa: E402
import webdriver  # noqa: E402

WEFT, PAGE = (os.path.abspath(a) for a in sys.argv[1:3])
STORY = "Once upon a time there was a weaver who wove the same cloth again and again."
SCRIPT = {"at_end": "restart", "delta_bytes": 4, "replies": [
    {"when": {"contains": "story"}, "delay_ms": 60, "parts": [{"text": STORY}]},
    {"when": {"contains": "denied", "tool_result": "remove"}, "parts": [{"text": "As you wish."}]},
    {"when": {"tool_result": "remove"}, "parts": [{"text": "Gone."}]},
    {"when": {"contains": "remove"}, "parts": [{"tool_call": {"id": "c1", "name": "remove", "arguments": {}}}]},
    {"when": {"contains": "hello"}, "parts": [{"text": "Hello."}]},
    {"when": {"contains": "expert"}, "parts": [{"text": "One moment."}, {"tool_call": {"id": "h1", "name": "handoff_to_other", "arguments": {"message": "Please answer"}}}]},
    {"when": {"contains": "Please answer"}, "parts": [{"text": "I know."}]},
]}
CONFIG = """
server: {listen: "127.0.0.1:0", origins: ["%s"]}
store: sqlite:chat.db
log: {level: warn}
models: {main: {provider: scripted, script: script.json}}
tools:
  remove: {description: Removes, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo gone"], approval: always}
agents: {main: {model: main, tools: [remove], handoff: [other]}, other: {model: main}}
default_agent: main
"""


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


# The page's own functions, as a person uses them.
SHOWN = "return [...document.querySelectorAll('main > div')].map((d) => d.innerText.trim().replace(/\\s+/g, ' '));"
STATUS = "return document.getElementById('status')?.innerText;"
TYPE = """const input = document.querySelector('input');
Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, args[0]);
input.dispatchEvent(new Event('input', { bubbles: true }));
await new Promise((f) => setTimeout(f));
document.querySelector('form button').click();"""
CLICK = "[...document.querySelectorAll('button')].find((b) => b.innerText === args[0]).click();"


class Person:
    def __init__(self, browser, page, server, chat):
        self.browser, self.url = browser, f"{page}/?weft={server.url}#{chat}"
        self.load()

    def load(self):
        self.browser.open("about:blank")
        self.browser.open(self.url)
        self.until(lambda: self.status())

    def status(self):
        return self.browser.run(STATUS)

    def shown(self):
        return self.browser.run(SHOWN)

    def until(self, check):
        end = time.monotonic() + 60
        while not (found := check()):
            assert time.monotonic() < end, (self.status(), self.shown())
            time.sleep(0.02)
        return found

    def say(self, text):
        self.browser.run(TYPE, text)
        self.until(lambda: f"user: {text}" in self.shown())

    def click(self, name):
        self.until(lambda: self.browser.run("return [...document.querySelectorAll('button')].some((b) => b.innerText === args[0]);", name))
        self.browser.run(CLICK, name)

    def shows(self, *texts):
        self.until(lambda: self.shown() == list(texts) and self.status() == "ready")


def answers(person, server):
    person.say("hello")
    person.shows("user: hello", "assistant: Hello.")
    person.load()
    person.shows("user: hello", "assistant: Hello.")
    person.click("Again")
    person.until(lambda: len(server.good("GET", f"/v1/threads/{server.good('GET', '/v1/threads')['data'][0]['id']}/tree")["nodes"]) == 2)
    person.shows("user: hello", "assistant: Hello.")


def loaded_in_the_middle(person, server):
    person.say("story")
    person.until(lambda: "weaver" in person.shown()[-1])
    person.load()
    person.until(lambda: "Once" in person.shown()[-1])
    person.shows("user: story", f"assistant: {STORY}")


class Late(http.server.BaseHTTPRequestHandler):
    """In front of the server: the messages of a chat are those of before the answer."""

    def do_GET(self):
        with urllib.request.urlopen(self.server.url + self.path) as got:
            status, kind, body = got.status, got.headers["content-type"], got.read()
        if not self.path.split("?")[0].endswith("/stream"):
            body = json.dumps(json.loads(body)[:1]).encode()
        self.send_response(status)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Type", kind or "text/plain")
        self.end_headers()
        self.wfile.write(body)

    def do_OPTIONS(self):
        self.send_response(204)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Headers", "*")
        self.end_headers()

    def log_message(self, *_):
        pass


def loaded_as_the_run_ends(person, server):
    """It ends between the page's two requests, for the messages and for the stream."""
    person.say("hello")
    person.shows("user: hello", "assistant: Hello.")
    late = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Late)
    late.url = server.url
    threading.Thread(target=late.serve_forever, daemon=True).start()
    person.url = person.url.replace(server.url, f"http://127.0.0.1:{late.server_port}")
    person.load()
    person.shows("user: hello", "assistant: Hello.")
    late.shutdown()


def stopped(person, server):
    person.say("story")
    person.until(lambda: "time" in person.shown()[-1])
    person.click("Stop")
    person.until(lambda: person.status() == "ready")
    assert STORY not in person.shown()[-1], person.shown()
    person.say("hello")
    person.until(lambda: person.shown()[-1] == "assistant: Hello.")


def stopped_by_the_client_alone(person, server):
    """stop() of useChat ends only the reading; the next message ends the run."""
    person.browser.run("const real = fetch; window.fetch = (url, ...more) => (`${url}`.endsWith('/stop') ? Promise.resolve(new Response('{}')) : real(url, ...more));")
    person.say("story")
    person.until(lambda: "time" in person.shown()[-1])
    person.click("Stop")
    person.until(lambda: person.status() == "ready")
    person.say("hello")
    person.until(lambda: person.shown()[-1] == "assistant: Hello." and person.status() == "ready")
    before = person.shown()[1]
    assert before.startswith("assistant: Once") and STORY not in before, before
    person.load()
    stored = person.until(person.shown)
    assert stored[0] == "user: story" and STORY not in stored[1] and stored[2:] == ["user: hello", "assistant: Hello."], stored


def handed_over(person, server):
    answer = "assistant: One moment. handoff_to_other: output-available I know."
    person.say("expert")
    person.shows("user: expert", answer)
    person.load()
    person.shows("user: expert", answer)
    person.click("Again")
    person.until(lambda: len(server.good("GET", "/v1/threads/handed_over/tree")["nodes"]) == 2)
    person.shows("user: expert", answer)
    person.load()
    person.shows("user: expert", answer)


def approved(person, server):
    person.say("remove")
    person.click("Allow")
    person.shows("user: remove", "assistant: remove: output-available Gone.")
    person.load()
    person.shows("user: remove", "assistant: remove: output-available Gone.")


def denied_after_loading(person, server):
    person.say("remove")
    person.until(lambda: "Deny" in person.shown()[-1])
    person.load()
    person.click("Deny")
    person.shows("user: remove", "assistant: remove: output-denied As you wish.")


def main():
    folder = tempfile.mkdtemp(prefix="weft-useChat-")
    with open(f"{folder}/script.json", "w") as f:
        json.dump(SCRIPT, f)
    files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=PAGE))
    threading.Thread(target=files.serve_forever, daemon=True).start()
    page = f"http://127.0.0.1:{files.server_port}"
    browser = webdriver.Browser()
    try:
        with served.Server(WEFT, folder, CONFIG % page) as server:
            for test in (answers, loaded_in_the_middle, loaded_as_the_run_ends, stopped, stopped_by_the_client_alone, handed_over, approved, denied_after_loading):
                try:
                    test(Person(browser, page, server, test.__name__), server)
                    wrong = ""
                except Exception:
                    wrong = traceback.format_exc().replace("\n", " ")
                print("bad" if wrong else "ok", f"useChat in Chromium: {test.__name__.replace('_', ' ')}", wrong, sep="\t", flush=True)
    finally:
        browser.close()
        shutil.rmtree(folder, ignore_errors=True)


main()
