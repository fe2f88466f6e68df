"""`weft serve` in a folder of its own, for tests that look at it from outside."""
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import time
import traceback


# Runs on so many loops, whatever the configuration says. Without it, tests run on as many as the machine has processors.
LOOPS = ["--loops", os.environ["WEFT_TEST_LOOPS"]] if "WEFT_TEST_LOOPS" in os.environ else []


class Server:
    """One life of the program on the weft.yaml of a folder."""

    def __init__(self, weft, folder, config=None, preexec=None, ca=None, loops=LOOPS, **env):
        self.folder = folder
        if config is not None:
            with open(f"{folder}/weft.yaml", "w") as f:
                f.write(config)
        self.process = subprocess.Popen([weft, "serve", "--config", f"{folder}/weft.yaml", *loops], stdout=subprocess.PIPE,
                                        stderr=open(f"{folder}/log", "a"), text=True, preexec_fn=preexec, cwd=folder,
                                        env={**os.environ, **env})
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on (https?://127\.0\.0\.1:(\d+))\n", line)
        assert found, f"it said {line!r}; log: {self.log()}"
        self.url, self.port = found[1], int(found[2])
        self.tls = ssl.create_default_context(cafile=ca) if ca else None  # of clients that expect TLS

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"it did not stop; log: {self.log()[-2000:]}") from None
        finally:
            self.process.stdout.close()

    def log(self):
        with open(f"{self.folder}/log", errors="replace") as f:
            return f.read()

    def memory(self, name):
        """VmRSS or VmHWM, in MiB."""
        with open(f"/proc/{self.process.pid}/status") as f:
            return int(re.search(rf"^{name}:\s+(\d+) kB", f.read(), re.M)[1]) / 1024

    def cpu_seconds(self):
        """The processor time that it has taken so far: what a busy machine does not change."""
        with open(f"/proc/{self.process.pid}/stat") as f:
            return sum(map(int, f.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def connection(self):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=120, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def wait_for_log(self, text, times=1):
        end = time.monotonic() + 60
        while self.log().count(text) < times:
            assert time.monotonic() < end, (text, self.log()[-2000:])
            time.sleep(0.01)

    def ask(self, method, path, body=None, headers=None):
        """Status and JSON."""
        c = self.connection()
        c.request(method, path, None if body is None else json.dumps(body), headers or {})
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, json.loads(text)

    def good(self, method, path, body=None):
        status, answer = self.ask(method, path, body)
        assert status == 200, (status, answer, self.log()[-2000:])
        return answer

    def start(self, agent, headers=None, text="hello", **more):
        """A run, as its request ended, and the id of its new thread."""
        thread = self.good("POST", "/v1/threads", {})["id"]
        status, run = self.ask("POST", f"/v1/threads/{thread}/runs",
                               {"assistant_id": agent, "additional_messages": [{"role": "user", "content": text}], **more}, headers)
        assert status == 200, (status, run, self.log()[-2000:])
        return run, thread

    def ended(self, run, thread):
        """The run when it is over, or waits."""
        end = time.monotonic() + 120
        while run["status"] in ("queued", "in_progress", "cancelling"):
            assert time.monotonic() < end, run
            time.sleep(0.02)
            run = self.good("GET", f"/v1/threads/{thread}/runs/{run['id']}")
        return run

    def run(self, agent, text="hello"):
        return self.ended(*self.start(agent, text=text))

    def metrics(self):
        """The values of GET /metrics by their name and labels."""
        c = self.connection()
        c.request("GET", "/metrics")
        text = c.getresponse().read().decode()
        c.close()
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def main(tests):
    """TAP of every function test_*. One that returns a text was skipped, for that reason."""
    results = []
    for name, fn in list(tests.items()):
        if not name.startswith("test_"):
            continue
        try:
            skipped = fn()
            results.append(True)
            print(f"ok {len(results)} - {name[5:].replace('_', ' ')}" + (f" # SKIP {skipped}" if skipped else ""), flush=True)
        except Exception:
            results.append(False)
            print(f"not ok {len(results)} - {name[5:].replace('_', ' ')}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
    print(f"1..{len(results)}")
    sys.exit(0 if all(results) else 1)
