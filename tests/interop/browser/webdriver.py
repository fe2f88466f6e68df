"""A headless Chromium through chromedriver: the few commands of W3C WebDriver that the tests need."""
import json
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request


class Browser:
    def __init__(self, *arguments):
        self.profile = tempfile.mkdtemp(prefix="weft-browser-")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                break
        else:
            raise RuntimeError("chromedriver did not start")
        self.base = f"http://127.0.0.1:{found[1]}/session"
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server",
                            f"--user-data-dir={self.profile}", *arguments]}
        self.base += "/" + self.ask("POST", "", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "acceptInsecureCerts": True, "goog:chromeOptions": options,
            "timeouts": {"script": 60000}}}})["sessionId"]

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, None if body is None else json.dumps(body).encode(), method=method)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as r:
                return json.load(r)["value"]
        except urllib.error.HTTPError as e:
            raise RuntimeError(json.load(e)["value"]["message"]) from None

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value that the body of an async function returns on the page."""
        wrapped = ("const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);"
                   "(async (...args) => {" + script + "})(...given).then(done, (e) => done({ thrown: `${e.name}: ${e.message}` }))")
        return self.ask("POST", "/execute/async", {"script": wrapped, "args": arguments})

    def close(self):
        try:
            self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(timeout=30)
            self.driver.stdout.close()
            shutil.rmtree(self.profile, ignore_errors=True)
