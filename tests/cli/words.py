#!/usr/bin/env python3
"""Words that are nearly right get a suggestion: in the command, in weft.yaml, in requests.

usage: words.py WEFT   (TAP)
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from served import Server, main  # noqa: E402

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-words-")
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:weft.db
models: {echoing: {provider: scripted, echo: true}}
tools: {get_weather: {parameters: {type: object}}}
agents: {weather: {model: echoing, tools: [get_weather]}, other: {model: echoing}}
"""

# What is typed, the word that is meant, and the exit code.
COMMANDS = (
    ("thraeds", "threads", 2), ("help seerve", "serve", 2), ("threads --limmit 3", "--limit", 2), ("config chekc", "check", 2),
    ("keys lst", "list", 2), ("keys add a --scope raed", "read", 1), ("encryption rotat", "rotate", 2),
    ("runs --state runing", "running", 2), ("convert --to pydantik x", "pydantic", 2), ("convert --to ui --from threat x", "thread", 2),
    ("import x --from threat", "thread", 2), ("import x --on-conflict cpy", "copy", 2), ("export x --as upq", "upp", 2),
    ("validate --as threed x", "thread", 2), ("serve --log-level inof", "info", 2), ("run wether hi", "weather", 1),
    ("init x --template plam", "plan", 2), ("export x --as lgo", "log", 2), ("replay weft.yaml --live othr", "other", 1),
)

# A line of weft.yaml instead of another, and the word that is meant.
MISTAKES = (
    ("server:", "sever:", "server"), ("store:", "stroe:", "store"), ("listen:", "lisen:", "listen"), ("tools: {get", "tolls: {get", "tools"),
    ("provider:", "provder:", "provider"), ("scripted", "scriptd", "scripted"), ("model: echoing, tools", "model: ecoing, tools", "echoing"),
    ("[get_weather]", "[get_wether]", "get_weather"), ("[get_weather]", "[get_weather], strategy: loup", "loop"),
    ("[get_weather]", "[get_weather], handoff: [othr]", "other"), ("[get_weather]", "[get_weather], hosted: {file_serch: get_weather}", "file_search"),
    ("[get_weather]", "[get_weather], middleware: [loging]", "logging"), ("parameters:", "paramters:", "parameters"),
    ("agents: {", "default_agent: wether\nagents: {", "weather"), ("agents: {", "durability: sinc\nagents: {", "sync"),
)


def weft(*args, cwd=HERE):
    return subprocess.run([WEFT, *args], cwd=cwd, capture_output=True, text=True, timeout=60)


def config(text):
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write(text)


def test_the_command():
    config(CONFIG)
    for typed, meant, code in COMMANDS:
        p = weft(*typed.split())
        assert p.returncode == code and f"; did you mean '{meant}'?" in p.stderr, (typed, p)


def test_the_beginning_of_a_thread():
    """And an id with a slip: commands that read, and those that ask the owner of the store, alone and next to a server."""
    first, second = (json.loads(weft("run", "other", "hi", "--json").stdout)["thread"] for _ in "ab")
    wrong = first[:-1] + ("0" if first[-1] != "0" else "1")
    typed = (["show"], ["tree"], ["export", "--as", "upp"], ["runs", "--thread"], ["fork"], ["run", "other", "hi", "--thread"], ["replay"])

    def try_all():
        for args in typed:
            for word in (first[:14], first[7:13].upper(), first[7:15] + "-" + first[15:17], wrong):
                p = weft(*args, word)
                assert p.returncode == 1 and f"; did you mean '{first}'?" in p.stderr, (args, word, p)
            for word in ("thread_", "abc", "thread_" + "f" * 32, "nothing"):
                p = weft(*args, word)
                assert p.returncode == 1 and "did you mean" not in p.stderr, (args, word, p)
        p = weft("export", first, "--as", "pydantic", "--view", "othr")
        assert p.returncode == 1 and "; did you mean 'other'?" in p.stderr, p
        p = weft("restore", first[:14], "x")
        assert p.returncode == 1 and f"; did you mean '{first}'?" in p.stderr, p
        p = weft("restore", first, "x")  # the thread is there, the checkpoint is not
        assert p.returncode == 1 and "did you mean" not in p.stderr, p

    try_all()
    weft("fork", second)  # shares its first digits
    p = weft("show", second[:13])
    assert p.returncode == 1 and "; 2 begin so, `weft threads` lists them" in p.stderr, p
    with Server(WEFT, HERE, CONFIG):
        try_all()


def test_far_words_get_none():
    for typed in ("something", "threads --nothing", "config forget", "keys everything", "run nobody hi", "convert --to latin x",
                  "export x --as foo"):
        p = weft(*typed.split())
        assert p.returncode and "did you mean" not in p.stderr, (typed, p)


def test_what_is_said_is_said_once_and_in_the_words_of_the_command():
    config(CONFIG)
    said = subprocess.run([WEFT, "chat", "other"], cwd=HERE, capture_output=True, text=True, timeout=60, input="/export foo\n")
    assert "there is no dialect 'foo'; there are: thread, " in said.stdout + said.stderr, said
    keys = ("--store", "sqlite:keys.db")  # a server with keys would ask for one
    weft("keys", "add", "only", *keys)
    p = weft("keys", "revoke", "only", *keys)
    assert p.returncode == 0 and p.stderr.count("every request over TCP is refused") == 1 and "that was the last usable key" in p.stderr, p
    with open(f"{HERE}/text.md", "w") as f:
        f.write("# No document\n")
    assert weft("import", "text.md").stderr.startswith("weft import: text.md: "), weft("import", "text.md")
    assert weft("validate", "text.md").stdout.startswith("text.md: document: "), weft("validate", "text.md")
    p = weft("chat", "nobody")
    assert p.stderr == "weft chat: no agent 'nobody'; there are: weather, other\n", p


def test_an_exchange_is_shown_by_its_task():
    envelope = {"protocol": "multiagent-1.0", "role": "user", "intent": "plan", "task": "Track the prices", "content": {"type": "text", "text": "x"}}
    thread = json.loads(weft("run", "other", json.dumps(envelope), "--json").stdout)["thread"]
    line, = (x for x in weft("threads").stdout.splitlines() if x.startswith(thread))
    assert line.endswith("  Track the prices"), line
    assert '"Track the prices"' in weft("tree", thread).stdout, weft("tree", thread)
    assert json.loads(weft("threads", "--json", "--limit", "1").stdout)["first_words"] == "Track the prices"


def test_the_configuration():
    for right, wrong, meant in MISTAKES:
        assert right in CONFIG, right
        config(CONFIG.replace(right, wrong, 1))
        p = weft("config", "check")
        assert p.returncode == 1 and f"did you mean '{meant}'?" in p.stdout, (wrong, p)
    config(CONFIG)


def test_requests():
    user = [{"role": "user", "content": "hi"}]
    with Server(WEFT, HERE, CONFIG) as s:
        thread = s.good("POST", "/v1/threads", {})["id"]
        start = {"assistant_id": "weather", "additional_messages": user}
        for method, path, body, meant in (
            ("POST", f"/v1/threads/{thread}/runs", {**start, "assistant_id": "wether"}, "weather"),
            ("POST", f"/v1/threads/{thread}/runs", {**start, "model": "ecoing"}, "echoing"),
            ("POST", f"/v1/threads/{thread}/runs", {**start, "tool_choice": {"type": "function", "function": {"name": "get_wether"}}}, "get_weather"),
            ("POST", f"/v1/threads/{thread}/runs?as=agentpi", {**start, "stream": True}, "agentapi"),
            ("POST", "/v1/chat/completions", {"model": "wether", "messages": user}, "weather"),
            ("POST", "/v1/responses", {"model": "othr", "input": "hi"}, "other"),
            ("POST", "/agents/wether/v1/threads", {}, "weather"),
            ("GET", f"/v1/threads/{thread}/export?as=threed", None, "thread"),
        ):
            status, answer = s.ask(method, path, body)
            assert status >= 400 and f"did you mean '{meant}'?" in str(answer).replace("\\'", "'"), (path, status, answer)


if __name__ == "__main__":
    try:
        main(globals().copy())
    finally:
        shutil.rmtree(HERE)
