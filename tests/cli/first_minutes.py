#!/usr/bin/env python3
"""What `make run` starts: the agents of the demo, without a key and with one, and the server that is killed.

usage: first_minutes.py WEFT   (TAP)
"""
import atexit
import http.server
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from served import Server, main  # noqa: E402

WEFT = os.path.abspath(sys.argv[1])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HERE = tempfile.mkdtemp(prefix="weft-minutes-")
atexit.register(shutil.rmtree, HERE, True)
CLEAN = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY") and k != "WEFT_CONFIG"}
# It waits more than it works: it begins here and is looked at in the end.
KILLED = subprocess.Popen([f"{ROOT}/demo/kill-me", "--weft", WEFT], env=CLEAN, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Run(Server):
    """scripts/run, without a terminal. What it printed before the server listened is in `said`."""

    def __init__(self, name, **env):
        self.folder = f"{HERE}/{name}"
        os.mkdir(self.folder)
        self.process = subprocess.Popen(
            [f"{ROOT}/scripts/run"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(f"{self.folder}/log", "a"), text=True,
            env={**CLEAN, "WEFT": WEFT, "PORT": "0", "STORE": f"sqlite:{self.folder}/weft.db", "WEFT_DEMO_FOLDER": f"{self.folder}/demo",
                 "ENV_FILE": f"{self.folder}/none", **env})
        self.said, self.tls = "", None
        for line in self.process.stdout:
            self.said += line
            if line.startswith("listening on"):
                self.port = int(line.rsplit(":", 1)[1])
                return
        raise AssertionError((self.said, self.log()))

    def told(self, agent, text):
        """The run when it is over or waits, its thread, and the assistant's texts in it."""
        run, thread = self.start(agent, text=text)
        return self.ended(run, thread), thread

    def texts(self, thread):
        data = self.good("GET", f"/v1/threads/{thread}/messages?order=asc&limit=100")["data"]
        return [c["text"]["value"] for m in data if m["role"] == "assistant" for c in m["content"] if c["type"] == "text"]


def test_without_a_key():
    with Run("scripted") as s:
        assert "No key of a vendor is set: the agents answer from scripts" in s.said, s.said
        assert "The page: http://127.0.0.1:PORT/" in s.said and "demo/kill-me" in s.said, s.said
        for agent, question in re.findall(r"^  (\w+)   +(\S.*?)   ", s.said, re.M)[1:]:  # as its table says, but for the head
            if agent == "teller":  # a long one, which others listen to
                continue
            run, thread = s.told(agent, question)
            assert run["status"] == ("requires_action" if agent == "booking" else "completed"), (agent, run)
            assert s.texts(thread), agent
        run, thread = s.told("weather", "What is the weather in Ulan Bator?")
        assert [t for t in s.texts(thread) if "Ulan Bator is currently -2°C and snowing" in t], s.texts(thread)
        assert s.texts(thread)[-1].startswith("Not a day for a long walk. In Ulan Bator"), s.texts(thread)


def test_the_city_that_was_asked_for():
    """What it says, and who has the last word: the handoff, or a question when there is nothing to hand over."""
    cases = (("What's the weather like in Tokyo?", "The weather in Tokyo is currently 18°C and partly cloudy.", "temples and parks"),
             ("what is the weather in new york today", "The weather in New York is currently 16°C", "In New York I'd recommend"),
             ("Weather in Rome, please!", "The weather in Rome is currently 23°C and sunny.", "In Rome I'd recommend a long walk"),
             ("weather oslo", "The weather in Oslo is currently 8°C and raining.", "In Oslo I'd recommend a museum"),
             ("How about paris?", "The weather in Paris is currently 17°C", "In Paris I'd recommend"),
             ("What is the weather in Olso?", "I have no weather for Olso: did you mean Oslo?", "did you mean Oslo?"),
             ("What is the weather in Xyzzyx?", "I have no weather for Xyzzyx: this demo knows", "Oslo and Tokyo."),
             ("What is the weather like today?", "In which city?", "What is the weather in Oslo?"),
             ("Tell me a joke", "Ask me: What is the weather in Oslo?", "What is the weather in Oslo?"))
    with Run("cities") as s:
        runs = [(s.start("weather", text=question), says, last) for question, says, last in cases]
        for (run, thread), says, last in runs:
            run = s.ended(run, thread)
            texts = s.texts(thread)
            assert run["status"] == "completed" and says in " ".join(texts) and last in texts[-1], (run["status"], says, texts)
        # Without a city, a later question is about the last one.
        (run, thread), *_ = runs[2]
        asked = {"assistant_id": "weather", "additional_messages": [{"role": "user", "content": "And the weather tomorrow?"}]}
        s.ended(s.good("POST", f"/v1/threads/{thread}/runs", asked), thread)
        assert "The weather in Rome is currently 23°C and sunny." in s.texts(thread)[-2], s.texts(thread)


def test_the_second_city():
    """The thread is the travel agent's then: it hands weather questions back, and has the last word again. Nothing goes round."""
    with Run("second") as s:
        run, thread = s.told("weather", "What is the weather in Oslo?")
        for question, says, last in (("What is the weather in Rome?", "The weather in Rome is currently 23°C and sunny.", "In Rome I'd recommend a long walk"),
                                     ("And in Oslo?", "The weather in Oslo is currently 8°C and raining.", "In Oslo I'd recommend a museum"),
                                     ("What is the weather in Xyzzyx?", "I have no weather for Xyzzyx", "Oslo and Tokyo.")):
            had = len(s.texts(thread))
            asked = {"assistant_id": "travel", "additional_messages": [{"role": "user", "content": question}]}
            run = s.ended(s.good("POST", f"/v1/threads/{thread}/runs", asked), thread)
            texts = s.texts(thread)[had:]
            assert run["status"] == "completed" and says in " ".join(texts) and last in texts[-1] and len(texts) <= 4, (question, texts)
        run, thread = s.told("travel", "Will it rain?")
        assert run["status"] == "completed" and s.texts(thread)[-1].startswith("In which city?"), s.texts(thread)


def test_the_nights_that_were_asked_for():
    with Run("nights") as s:
        for question, says, nights in (("Book a room in rome for 5 nights", "I found a room in Rome, nights: 5.", 5), ("Book a room in Oslo", "nights: 2.", 2),
                                       ("Book a room in Rome for three nights", "How many nights?", None), ("Book a room", "In which city?", None),
                                       ("What can you do?", "I book hotel rooms.", None)):
            run, thread = s.told("booking", question)
            assert says in s.texts(thread)[-1], (question, s.texts(thread))
            assert run["status"] == ("requires_action" if nights else "completed"), (question, run)
            if nights:
                [wait] = [w for w in s.good("GET", "/v1/approvals")["data"] if w["run_id"] == run["id"]]
                assert json.loads(wait["function"]["arguments"])["nights"] == nights, wait


def test_a_plan_without_what_it_needs():
    with Run("noplan") as s:
        run, thread = s.told("guide", "Plan something nice")
        assert run["status"] == "completed" and s.texts(thread)[-1].startswith("Which city?"), (run, s.texts(thread))
        run, thread = s.told("guide", "Plan a weekend in Xyzzyx")
        assert run["status"] == "completed" and "whatever the weather" in s.texts(thread)[-1], (run, s.texts(thread))


def test_a_person_is_asked():
    with Run("asked") as s:
        for verdict, wanted in (True, "Done: a room in Rome, nights: 2. The booking number is B-"), (False, "Nothing was booked in Rome."):
            run, thread = s.told("booking", "Book a room in Rome")
            assert run["status"] == "requires_action", run
            [wait] = [w for w in s.good("GET", "/v1/approvals")["data"] if w["run_id"] == run["id"]]
            s.good("POST", f"/v1/runs/{run['id']}/answers", {"answers": [{"call_id": wait["call_id"], "approved": verdict}]})
            run = s.ended({**run, "status": "queued"}, thread)
            assert run["status"] == "completed" and s.texts(thread)[-1].startswith(wanted), (run, s.texts(thread))


def test_a_plan_has_parallel_steps():
    with Run("plan") as s:
        run, thread = s.told("guide", "Plan a weekend in Porto")
        texts = s.texts(thread)
        assert "In Porto: the covered market" in "".join(texts) and texts[-1].startswith("A weekend in Porto"), texts
        # Each step of a wave works in a branch of its own.
        nodes = s.good("GET", f"/v1/threads/{thread}/tree")["nodes"]
        assert len(nodes) == 4, nodes


def vendor(keys, models):
    """Anthropic's API, as far as one answer needs it."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            keys.append(self.headers["x-api-key"])
            models.append(body["model"])
            events = [{"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [],
                                                            "model": body["model"], "usage": {"input_tokens": 3, "output_tokens": 1}}},
                      {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                      {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "From the vendor."}},
                      {"type": "content_block_stop", "index": 0},
                      {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
                      {"type": "message_stop"}]
            text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_with_a_key():
    keys, models = [], []
    there = vendor(keys, models)
    key = "test-key-of-the-demo"
    with Run("live", ANTHROPIC_API_KEY=key, WEFT_DEMO_BASE_URL=f"http://127.0.0.1:{there.server_port}", WEFT_DEMO_MODEL="some-model") as s:
        assert "ANTHROPIC_API_KEY is set: the agents run on some-model of anthropic" in s.said and key not in s.said, s.said
        with open(f"{s.folder}/demo/weft.yaml") as f:
            assert key not in f.read()
        run, thread = s.told("weather", "What is the weather in Oslo?")
        assert run["status"] == "completed" and s.texts(thread) == ["From the vendor."], (run, s.texts(thread), s.log())
        assert keys == [key] and models == ["some-model"], (keys, models)
        run, thread = s.told("echo", "still here")
        assert s.texts(thread) == ["still here"] and len(keys) == 1
    there.shutdown()
    there.server_close()


def test_with_a_key_in_a_file():
    keys, models = [], []
    there = vendor(keys, models)
    file = f"{HERE}/dotenv"
    with open(file, "w") as f:
        f.write("# keys\nOPENAI_API_KEY=\nexport ANTHROPIC_API_KEY='key-of-the-file' # mine\nTOUCHED=$(touch /nowhere)\n")
    with Run("file", ENV_FILE=file, WEFT_DEMO_BASE_URL=f"http://127.0.0.1:{there.server_port}", WEFT_DEMO_MODEL="some-model") as s:
        assert f"ANTHROPIC_API_KEY is in {file}: the agents run on some-model of anthropic" in s.said and "key-of-the-file" not in s.said, s.said
        run, thread = s.told("booking", "Book a room in Rome")
        assert s.texts(thread) == ["From the vendor."] and keys == ["key-of-the-file"], (run, s.texts(thread), keys, s.log())
    there.shutdown()
    there.server_close()


def test_other_vendors_are_known():
    for variable, provider in ("OPENAI_API_KEY", "openai"), ("GEMINI_API_KEY", "google"), ("GOOGLE_API_KEY", "google"):
        with Run(variable, **{variable: "test-key-of-the-demo"}) as s:
            assert re.search(rf"^{variable} is set: the agents run on \S+ of {provider},", s.said), s.said


def test_on_a_terminal_k_kills_it():
    ours, theirs = pty.openpty()
    p = subprocess.Popen([f"{ROOT}/scripts/run"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                         env={**CLEAN, "WEFT": WEFT, "PORT": "0", "STORE": f"sqlite:{HERE}/tty.db", "LOG": f"{HERE}/tty.log",
                              "ENV_FILE": f"{HERE}/none"})
    os.close(theirs)
    try:
        seen = ""
        while "k and Enter: kill -9 this server" not in seen:
            seen += os.read(ours, 65536).decode(errors="replace")
        os.write(ours, b"k\n")
        while "none lost, none twice." not in seen:
            seen += os.read(ours, 65536).decode(errors="replace")
        assert seen.count("--- kill -9 ") == 1 and "differently" not in seen, seen
        p.terminate()
        assert p.wait(timeout=60) == 143
    finally:
        p.kill()
        p.wait()
        os.close(ours)


def test_a_killed_server_loses_and_doubles_nothing():
    said, _ = KILLED.communicate(timeout=120)
    assert KILLED.returncode == 0 and "the same 155 in the store; none lost, none twice." in said, said
    intro, told = said.split("\n\n", 1)
    assert intro.startswith("--- An agent tells a story of three chapters"), said
    first, rest = re.split(r"\n\n--- kill -9 \d+: .*?\n\n", told, maxsplit=1, flags=re.S)
    shown = first + rest[3 + 40:]  # "..." and the last 40 characters again, so that one sees where it goes on
    with open(f"{ROOT}/demo/teller.json") as f:
        story = "".join(r["parts"][0]["text"] for r in json.load(f)["replies"])
    assert shown.startswith(story), (shown, story)


main(globals())
