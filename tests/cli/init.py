#!/usr/bin/env python3
"""weft init: every template runs at once, nothing is overwritten, keys select a real model; and the file .env.

usage: init.py WEFT   (TAP)
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from served import main  # noqa: E402

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-init-")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "WEFT_CONFIG")
TEMPLATES = ("assistant", "weather", "approval", "plan")
BARE = {k: v for k, v in os.environ.items() if k not in KEYS}


def weft(want, *args, cwd=HERE, **env):
    p = subprocess.run([WEFT, *args], cwd=cwd, capture_output=True, text=True, timeout=60, env={**BARE, **env})
    assert p.returncode == want, (args, p)
    return p


def example(folder):
    """The command of README.md."""
    text = open(f"{folder}/README.md").read()
    return re.search(r'^    weft run (\w+) "(.+)"$', text, re.M).groups()


def test_every_template_runs_at_once():
    says = {"assistant": "to buy milk", "weather": "Good weather for a walk", "plan": "Lisbon is warmer", "approval": "approval"}
    for name in TEMPLATES:
        folder = f"{HERE}/{name}"
        told = weft(0, "init", name, "--template", name).stdout
        assert "answer from a script" in told, told
        agent, text = example(folder)
        assert f'  weft run {agent} "{text}"\n  weft chat\n' in told, told
        check = weft(0, "config", "check", cwd=folder)
        assert ": good: " in check.stdout and "warning" not in check.stdout, check
        p = weft(1 if name == "approval" else 0, "run", agent, text, cwd=folder)
        assert says[name] in p.stdout, p


def test_the_second_question_is_about_another_city():
    """It is the travel agent's then, which hands it back."""
    folder = f"{HERE}/weather"
    for question, city in (("What is the weather in Rome?", "Rome"), ("What about Oslo?", "Oslo")):
        thread = re.search("thread_[0-9a-f]{32}", weft(0, "threads", cwd=folder).stdout)[0]
        said = weft(0, "run", "travel", question, "--thread", thread, cwd=folder).stdout
        assert f"In {city} it is " in said and said.rstrip().endswith("a park in the afternoon."), said
    assert weft(0, "run", "travel", "Hello", cwd=folder).stdout.startswith("I plan trips."), "nothing to hand over"


def test_the_plan_has_parallel_steps():
    agent, text = example(f"{HERE}/plan")
    lines = [json.loads(x) for x in weft(0, "run", agent, text, "--events", "--json", cwd=f"{HERE}/plan").stdout.splitlines()]
    text = json.dumps(lines)
    assert '"oslo"' in text and '"lisbon"' in text and '"compare"' in text, text


def test_an_approval_is_given():
    folder = f"{HERE}/approval"
    waits = weft(0, "approvals", cwd=folder).stdout
    run = re.search(r"run_[0-9a-f]{32}", waits)[0]
    p = weft(0, "approve", run, "--yes", cwd=folder)
    assert "It is paid" in p.stdout, p
    assert open(f"{folder}/payments.txt").read() == "20 euros to Ada\n"


def test_the_amount_and_the_person_that_were_asked_for():
    folder = f"{HERE}/pays"
    weft(0, "init", "pays", "--template", "approval")
    for text, says, arguments in (("Pay 30 to Ann", "30 euros to Ann", {"to": "Ann", "euros": 30}),
                                  ("please pay bob 12.50 euros", "12.50 euros to Bob", {"to": "Bob", "euros": 12.5}),
                                  ("Pay 30 euros", "To whom?", None), ("Pay something to Ann", "How much?", None), ("What about today?", "Tell me whom to pay", None)):
        p = weft(1 if arguments else 0, "run", "bursar", text, "--json", cwd=folder)
        assert says in p.stdout, (text, p.stdout)
        if arguments:
            assert json.dumps(arguments, separators=(",", ":")) in p.stdout.replace("\\", "").replace("12.50", "12.5"), (text, p.stdout)
    run = re.findall(r"run_[0-9a-f]{32}", weft(0, "approvals", cwd=folder).stdout)
    for r in dict.fromkeys(run):
        assert "It is paid: " in weft(0, "approve", r, "--yes", cwd=folder).stdout
    assert sorted(open(f"{folder}/payments.txt").read().splitlines()) == ["12.50 euros to Bob", "30 euros to Ann"]


def test_what_a_script_cannot_answer():
    assert "compares Oslo and Lisbon only" in weft(0, "run", "planner", "Compare Rome and Paris", cwd=f"{HERE}/plan").stdout
    assert "Lisbon is warmer" in weft(0, "run", "planner", "compare lisbon with oslo, please", cwd=f"{HERE}/plan").stdout
    weather = f"{HERE}/weather"
    assert "In Rome it is 18 degrees and partly cloudy." in weft(0, "run", "weather", "weather in rome?", cwd=weather).stdout
    assert "Ask me about the weather in a city" in weft(0, "run", "weather", "What is the weather like?", cwd=weather).stdout
    assert "I am a script" in weft(0, "run", "assistant", "Do you remember?", cwd=f"{HERE}/assistant").stdout


def test_nothing_is_overwritten():
    folder = f"{HERE}/mine"
    os.mkdir(folder)
    open(f"{folder}/.gitignore", "w").write("mine\n")
    p = weft(1, "init", cwd=folder)
    assert ".gitignore is there already: nothing was written" in p.stderr, p
    assert os.listdir(folder) == [".gitignore"] and open(f"{folder}/.gitignore").read() == "mine\n"
    assert "is there already" in weft(1, "init", "assistant").stderr
    open(f"{HERE}/a-file", "w").close()
    assert "cannot be made: " in weft(1, "init", "a-file").stderr
    assert "cannot be made: " in weft(1, "init", "no/such/folder").stderr


def test_the_current_folder_and_json():
    folder = f"{HERE}/here"
    os.mkdir(folder)
    told = json.loads(weft(0, "init", "--json", "--template=weather", cwd=folder).stdout)
    assert told["folder"] == "." and told["template"] == "weather" and told["provider"] == "scripted", told
    have = sorted(os.path.relpath(os.path.join(d, f), folder) for d, _, fs in os.walk(folder) for f in fs)
    assert have == sorted(told["files"]), (have, told)
    assert open(f"{folder}/README.md").read().startswith("# here\n")
    assert "@" not in "".join(open(f"{folder}/{f}").read() for f in ("weft.yaml", "README.md"))
    assert os.access(f"{folder}/tools/get_weather.sh", os.X_OK)


def test_words_that_are_nearly_right():
    assert "did you mean 'weather'?" in weft(2, "init", "x", "--template", "wether").stderr
    assert "--template is one of assistant, weather, approval, plan, not 'nothing'" in weft(2, "init", "x", "--template", "nothing").stderr
    weft(2, "init", "x", "y")
    assert not os.path.exists(f"{HERE}/x")


def test_a_key_selects_a_real_model():
    for variable, provider in (("ANTHROPIC_API_KEY", "anthropic"), ("OPENAI_API_KEY", "openai"), ("GOOGLE_API_KEY", "google"),
                               ("GEMINI_API_KEY", "google")):
        folder = f"real-{variable}"
        key = {variable: "sk-test-0123456789"}
        told = weft(0, "init", folder, **key).stdout
        assert f"use the real model of {provider}, because {variable} is set" in told, told
        files = "".join(open(os.path.join(d, f)).read() for d, _, fs in os.walk(f"{HERE}/{folder}") for f in fs)
        assert "sk-test" not in files and "sk-test" not in told
        assert f"\n  main: {{provider: {provider}, " in files and "\n  # main: {provider: scripted" in files, files
        check = weft(0, "config", "check", cwd=f"{HERE}/{folder}", **key)
        assert "warning" not in check.stdout, check
    assert "'GEMINI_API_KEY' is not set" in weft(1, "config", "check", cwd=f"{HERE}/real-GEMINI_API_KEY").stdout
    assert "ANTHROPIC_API_KEY is not set" in weft(0, "config", "check", cwd=f"{HERE}/real-ANTHROPIC_API_KEY").stdout


# ---- .env ----------------------------------------------------------------------------------------------------------

CONFIG = """
models: {echo: {provider: scripted, script: s.json}}
tools: {env: {command: [sh, -c, "echo \\"$GIVEN/$OTHER\\""], env: {GIVEN: "${GIVEN}"}}}
agents: {a: {model: echo, tools: [env], middleware: [{logging: {level: debug, include_messages: true}}]}}
"""
SCRIPT = {"replies": [{"when": {"tool_result": "env"}, "parts": [{"request": True}]}, {"parts": [{"tool_call": {"name": "env"}}]}], "again": True}


def project(name, dotenv):
    folder = f"{HERE}/{name}"
    os.mkdir(folder)
    open(f"{folder}/weft.yaml", "w").write(CONFIG)
    json.dump(SCRIPT, open(f"{folder}/s.json", "w"))
    with open(os.open(f"{folder}/.env", os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write(dotenv)
    return folder


def test_dotenv_stands_in_for_the_environment():
    folder = project("dotenv", "# mine\n\nexport GIVEN='from the file'  # said twice\nGIVEN=\"from \\$the file\"\r\nOTHER=no\n")
    assert "from $the file/" in weft(0, "run", "a", "x", cwd=folder).stdout  # and OTHER is not passed on
    assert "from the shell/" in weft(0, "run", "a", "x", cwd=folder, GIVEN="from the shell").stdout  # the environment wins
    elsewhere = weft(0, "run", "a", "x", "--config", f"{folder}/weft.yaml")
    assert "from $the file/" in elsewhere.stdout, elsewhere  # beside the configuration, not in the current folder


def test_values_of_dotenv_are_never_logged():
    folder = project("quiet", "GIVEN=hushhush-0123456789\n")
    # The tool prints it; the log of all messages, and what the model is told about a failure, have it masked.
    p = weft(0, "run", "a", "x", "--events", cwd=folder, LOG_LEVEL="debug")
    assert "hushhush" not in p.stderr, p.stderr
    assert "hushhush" not in weft(0, "config", "check", cwd=folder).stdout


def test_mistakes_in_dotenv():
    for n, (line, why) in enumerate((("NO", "NAME=VALUE"), ("1A=x", "NAME=VALUE"), ("=x", "NAME=VALUE"), ("A=x y", "in quotes"),
                                     ("A='x", "in quotes"), ('A="x\\q"', "in quotes"), ("A='x' y", "in quotes"))):
        folder = project(f"wrong{n}", f"# one\nGIVEN=secret-value\n{line}\n")
        p = weft(1, "config", "check", cwd=folder)
        assert ".env:3: " in p.stderr and why in p.stderr and "secret-value" not in p.stderr, (line, p)
    folder = project("large", "GIVEN=" + "x" * 70000)
    assert ".env" in weft(1, "config", "check", cwd=folder).stderr
    folder = project("exposed", "GIVEN=x\nAPI_KEY=0123456789\n")
    os.chmod(f"{folder}/.env", 0o644)
    assert "warning" not in weft(0, "config", "check", cwd=folder).stdout  # GIVEN does not sound like a secret
    text = open(f"{folder}/weft.yaml").read().replace("${GIVEN}", "${API_KEY}")
    open(f"{folder}/weft.yaml", "w").write(text)
    assert "others can read the file .env with API_KEY: chmod 600" in weft(0, "config", "check", cwd=folder).stdout


def test_a_reload_reads_dotenv_again():
    folder = project("reload", "GIVEN=first-value\n")
    text = "store: sqlite:x.db\nserver: {listen: '127.0.0.1:0'}\n" + open(f"{folder}/weft.yaml").read()
    open(f"{folder}/weft.yaml", "w").write(text)
    p = subprocess.Popen([WEFT, "serve"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=BARE)
    try:
        assert p.stdout.readline().startswith("listening")
        assert "first-value/" in weft(0, "run", "a", "x", cwd=folder).stdout
        open(f"{folder}/.env", "w").write("GIVEN=second-value\n")
        p.send_signal(signal.SIGHUP)
        while "reload" not in p.stderr.readline():
            pass
        assert "second-value/" in weft(0, "run", "a", "x", cwd=folder).stdout
    finally:
        p.terminate()
        p.communicate()


if __name__ == "__main__":
    try:
        main(globals().copy())
    finally:
        shutil.rmtree(HERE)
