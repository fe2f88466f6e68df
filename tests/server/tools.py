#!/usr/bin/env python3
"""Tools that take too much, by the server and by weft-reaper itself: processes, and memory of all of them together.

usage: tools.py WEFT REAPER   (TAP)
"""
import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import served

WEFT, REAPER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable  # one that every user can start
HERE = tempfile.mkdtemp(prefix="weft-tools-")
os.chmod(HERE, 0o755)
atexit.register(shutil.rmtree, HERE, ignore_errors=True)

MANY = """
import os, sys, time
each, children, before = (int(a) for a in sys.argv[1:])
print(os.getppid(), flush=True)
shared = bytearray(os.urandom(1 << 20) * before)
for _ in range(children):
    if os.fork() == 0:
        mine = bytearray(os.urandom(1 << 20) * each)
        time.sleep(3)
        os._exit(0)
for _ in range(children):
    os.wait()
print("together")
"""
BOMB = "echo $PPID; i=0; while [ $i -lt 1500 ]; do sleep 20.%d & i=$((i+1)); done; echo everyone; wait" % os.getpid()


def tool(words, limits):
    return f"{{parameters: {{type: object}}, command: {json.dumps(words)}, limits: {json.dumps(limits)}}}"


CONFIG = f"""
server: {{listen: "127.0.0.1:0"}}
store: memory
log: {{level: warn}}
models:
  bomb: {{provider: scripted, script: bomb.json}}
  memory: {{provider: scripted, script: memory.json}}
  shared: {{provider: scripted, script: shared.json}}
tools:
  bomb: {tool(["sh", "-c", BOMB], {"processes": 40})}
  memory: {tool([PYTHON, "many.py", "60", "6", "0"], {"memory_mb": 256})}
  shared: {tool([PYTHON, "many.py", "0", "6", "90"], {"memory_mb": 256})}
agents:
  bomber: {{model: bomb, tools: [bomb]}}
  eater: {{model: memory, tools: [memory]}}
  sharer: {{model: shared, tools: [shared]}}
"""
with open(f"{HERE}/many.py", "w") as f:
    f.write(MANY)
for name in ("bomb", "memory", "shared"):
    with open(f"{HERE}/{name}.json", "w") as f:
        json.dump({"replies": [{"parts": [{"tool_call": {"id": "c1", "name": name, "arguments": {}}}]},
                               {"parts": [{"text": "done"}]}]}, f)


def sleepers():
    """How many of the bomb's processes there are."""
    mark, n = f"20.{os.getpid()}".encode(), 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                n += f.read().split(b"\0")[:2] == [b"sleep", mark]
        except OSError:
            pass
    return n


class Most:
    """The most of them there ever were, while it is looked."""

    def __enter__(self):
        self.n, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self):
        while not self.over.is_set():
            self.n = max(self.n, sleepers())
            time.sleep(0.01)

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def said(s, agent):
    """What the tool's result is, and how long the run took."""
    began = time.monotonic()
    run = s.run(agent)
    assert run["status"] == "completed", run
    thread = s.good("GET", f"/v1/threads/{run['thread_id']}/export?as=upp")
    return json.dumps(thread), time.monotonic() - began


def test_a_bomb_of_processes_is_held():
    with served.Server(WEFT, HERE, CONFIG) as s, Most() as most:
        shown, _ = said(s, "bomber")
        assert s.good("GET", "/livez") == {"status": "ok"}
        assert "everyone" not in shown, shown
        assert re.search("exit code|killed by signal", shown), shown
        assert sleepers() == 0
    assert most.n <= 200, most.n  # 40 where the system counts; a few more until a watcher has seen them


def test_processes_have_one_limit_of_memory_together():
    with served.Server(WEFT, HERE, CONFIG) as s:
        shown, took = said(s, "eater")
        assert "took more than 256 MiB together" in shown or "killed by signal 9" in shown, shown
        assert "together: all of them were ended" in shown or "control group" in means([]), shown
        shown, _ = said(s, "sharer")  # pages that they share count once
        assert "killed" not in shown and "together" in shown, shown


def means(how):
    r = subprocess.run([*how, REAPER, "--limits"], capture_output=True, text=True)
    assert r.returncode == 0 and r.stdout.count("\n") == 1, r
    return r.stdout


def groups():
    """Where weft-reaper makes its control groups, as far as this machine has it."""
    return [f for f in ("/sys/fs/cgroup", "/sys/fs/cgroup/pids") if os.path.isdir(f)]


def reap(how, processes, memory, *program):
    """weft-reaper below a shell, which is its parent. What it runs says the reaper's number first."""
    shell = 'reaper=$0; "$reaper" $$ "$@"; exit $?'
    r = subprocess.run([*how, "sh", "-c", shell, REAPER, str(memory << 20), "0", str(processes), *program],
                       capture_output=True, text=True, cwd=HERE, timeout=120)
    pid, _, r.stdout = r.stdout.partition("\n")
    assert pid.isdigit(), r
    left = [f for f in groups() if os.path.exists(f"{f}/weft-tool-{pid}")]
    assert not left, (pid, left)
    return r


def check_means(how, word):
    told = means(how)
    assert word in told, told
    with Most() as most:
        r = reap(how, 40, 0, "sh", "-c", BOMB)
        assert r.returncode != 0 and "everyone" not in r.stdout, r
    assert most.n <= (41 if word != "watched" else 1200), most.n
    assert sleepers() == 0
    r = reap(how, 40, 256, PYTHON, f"{HERE}/many.py", "60", "6", "0")
    assert r.returncode != 0 and "together" not in r.stdout, r
    r = reap(how, 40, 256, PYTHON, f"{HERE}/many.py", "0", "6", "90")
    assert r.returncode == 0 and r.stdout == "together\n", r
    r = reap(how, 40, 256, "sh", "-c", "echo $PPID; echo fine; exit 3")
    assert r.returncode == 3 and r.stdout == "fine\n" and not r.stderr, r


def test_held_by_a_control_group():
    if "control group" not in means([]):
        return "no control group can be made here"
    check_means([], "control group")


def test_groups_of_killed_reapers_are_removed():
    """An old one without a process goes; one that is new may be about to get its process."""
    made = []
    for folder in groups():
        for pid, age in ((999999998, 3600), (999999999, 0)):
            path = f"{folder}/weft-tool-{pid}"
            try:
                os.mkdir(path)
            except OSError:
                continue
            os.utime(path, (time.time() - age,) * 2)
            made.append((path, age))
    try:
        if "control group" not in means([]) or not made:
            return "no control group can be made here"
        assert reap([], 40, 0, "sh", "-c", "echo $PPID").returncode == 0
        here = [(path, age) for path, age in made if not os.path.exists(path)]
        assert here and all(age for _, age in here), (made, here)
    finally:
        for path, _ in made:
            if os.path.exists(path):
                os.rmdir(path)


def test_held_by_a_user_namespace():
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    if subprocess.run([*nobody, "test", "-x", REAPER]).returncode != 0:
        return "another user cannot reach the program"
    if "user namespace" not in means(nobody):
        return "no user namespace can be made here"
    check_means(nobody, "user namespace")


def test_watched_where_the_system_has_nothing():
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none /sys/fs/cgroup && exec "$0" "$@"']
    if os.getuid() != 0 or subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
        return "nothing can be mounted here"
    check_means(hidden, "watched")


def test_doctor_says_which():
    r = subprocess.run([WEFT, "doctor", "--store", HERE], capture_output=True, text=True)
    assert means([]).strip() in r.stdout, r.stdout


served.main(globals())
