#!/usr/bin/env python3
"""The pages: the index has each once, links lead somewhere, and what stands in a block marked sh, console, yaml, json or c
works, or says above itself why it is not tried:   <!-- not run: REASON -->
What is marked python, js or jsx needs clients from registries: tests/interop/docs runs it.

usage: pages.py SOURCE-ROOT WEFT   (TAP)
"""
import atexit
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT, WEFT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ROOT / "tests" / "server"))
from served import main  # noqa: E402

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
HERE = Path(tempfile.mkdtemp(prefix="weft-pages-"))
atexit.register(shutil.rmtree, HERE, True)
ENV = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY") and k != "WEFT_CONFIG"}
ENV["PATH"] = f"{WEFT.parent}:{ENV['PATH']}"
if not shutil.which("sqlite3"):  # the one command of it that storage.md has
    ENV["PATH"] += f":{HERE}"
    (HERE / "sqlite3").write_text(f"""#!{sys.executable}
import sqlite3, sys
sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2])
""")
    (HERE / "sqlite3").chmod(0o755)
# Programs are compiled with the library of this build.
BUILD = WEFT.parent
ENV |= {"PKG_CONFIG_PATH": f"{BUILD}/meson-uninstalled", "LD_LIBRARY_PATH": f"{BUILD}/src"}
SANITIZED = "libasan" in subprocess.run(["ldd", WEFT], capture_output=True, text=True).stdout
SECONDS = 60  # of one page's commands
PROMPTS = ("http.md", "models.md", "ui.md", "assistants.md", "operations.md", "sessions.md")  # whose examples ($ ...) run on the server of http.md
TYPED = {"cli.md": "tests/docs/command.py", "chat.md": "tests/cli/chat.py"}  # whose examples other tests type

# `weft serve` as a function: a server in the background, which listens when the function returns. And `rest`: returns when no
# run works, as a reader who types the commands would find it.
SERVE = ("cc() { command cc -fsanitize=address,undefined \"$@\"; }\n" if SANITIZED else "") + """
rest() {
    while curl -s --unix-socket weft.db.sock http://localhost/metrics | grep -Eq '^weft_runs.state="(queued|running|cancelling)". [1-9]'; do
        sleep 0.02
    done
}
weft() {
    if [ "$1" != serve ]; then command weft "$@"; return; fi
    command weft serve >"serve.$PORT" 2>>serve.log &
    echo $! >>"$PIDS"
    while ! grep -q listening "serve.$PORT"; do kill -0 $! || { cat serve.log; return 1; }; sleep 0.02; done
}
"""


class Block:
    def __init__(self, page, line, kind, text, reason):
        self.page, self.line, self.kind, self.text, self.reason = page, line, kind, text, reason
        self.at = f"{page.relative_to(ROOT)}:{line}"


def blocks_of(page):
    found, kind, text, above = [], None, [], ""
    for n, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            if kind is None:
                kind, text, start = line[3:].strip(), [], n
                reason = re.fullmatch(r"<!-- not run: (.{10,}) -->", above)
            else:
                found.append(Block(page, start, kind, "\n".join(text) + "\n", reason and reason[1]))
                kind = None
        elif kind is not None:
            text.append(line)
        above = line.strip() or above
    assert kind is None, f"{page}: a block has no end"
    return found


BLOCKS = [b for page in PAGES for b in blocks_of(page)]


def of(kind):
    return [b for b in BLOCKS if b.kind == kind and not b.reason]


def fails(bad):
    assert not bad, "\n".join(bad)


def anchors(page):
    """As GitHub makes them of headings, and those that are written as <a id>."""
    found, text, fence = set(), page.read_text(), False
    for line in text.splitlines():
        fence ^= line.startswith("```")
        head = re.match(r"#+ (.*)", line)
        if head and not fence:
            title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head[1])
            name = re.sub(r"[^\w\- ]", "", title.lower().strip()).replace(" ", "-")
            n = 0
            while name + (f"-{n}" if n else "") in found:
                n += 1
            found.add(name + (f"-{n}" if n else ""))
    return found | set(re.findall(r'<a id="([^"]+)"', text))


def links(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`", "", text)
    return re.findall(r"\]\(([^)\s]+)\)", text)


def test_the_index_has_every_page_once():
    docs = ROOT / "docs"
    listed = [link for link in links(docs / "README.md") if link.endswith(".md")]
    there = {str(p.relative_to(docs)) for p in docs.rglob("*.md")} - {"README.md"}
    fails([f"docs/README.md does not list {p}" for p in sorted(there - set(listed))] +
          [f"docs/README.md lists {p} twice" for p in sorted(set(listed)) if listed.count(p) > 1] +
          [f"docs/README.md lists {p}, which there is not" for p in sorted(set(listed) - there)])


def test_links_lead_somewhere():
    bad = []
    for page in PAGES + [ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        for link in links(page):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if target.suffix == ".png":
                continue
            if not target.exists():
                bad.append(f"{page.relative_to(ROOT)}: there is no {link}")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                bad.append(f"{page.relative_to(ROOT)}: {path or page.name} has no #{anchor}")
    fails(bad)


def test_json_is_json():
    bad = []
    for b in of("json"):
        try:
            json.loads(b.text)
        except ValueError as e:
            bad.append(f"{b.at}: {e}")
    fails(bad)


def test_yaml_is_a_configuration():
    """With models, tools and agents of the test where the block has none."""
    bad = []
    folder = HERE / "yaml"
    shutil.copytree(ROOT / "demo", folder / "demo")
    shutil.copy(ROOT / "demo" / "weather.sh", folder / "weather.sh")
    shutil.copy(ROOT / "demo" / "weather.json", folder / "script.json")
    (folder / "tls").mkdir()
    for name in ("cert.pem", "key.pem", "tls/cert.pem", "tls/key.pem"):
        (folder / name).write_text("")
    more = {"models": "models: {gpt: {provider: scripted, echo: true}}\n", "agents": "agents: {a: {model: gpt}, planner: {model: gpt}, writer: {model: gpt}, runner: {model: gpt}}\n",
            "tools": "tools: {docs_search: , python: }\n"}
    for b in of("yaml"):
        text = b.text
        for key, line in more.items():
            if not re.search(rf"^{key}:", text, re.M):
                text += line
        first = re.search(r"^models:\s*\n?\s*\{?\s*(\w+)", b.text, re.M)
        if first:
            text = text.replace("{model: gpt}", f"{{model: {first[1]}}}")
        (folder / "weft.yaml").write_text(text)
        keys = {name: "a-secret-of-the-test" for name in re.findall(r"\$\{(\w+)\}", text)} | {"WEATHER_KEY": "a-secret-of-the-test"}
        p = subprocess.run([WEFT, "config", "check", "--config", folder / "weft.yaml"], env={**ENV, **keys}, capture_output=True, text=True)
        if p.returncode or ": good: " not in p.stdout:
            bad.append(f"{b.at}: {p.stdout}{p.stderr}\n{text}")
    fails(bad)


def test_commands_run():
    """Those of a page one after the other, in a folder with the demo. A script is only read."""
    bad = []
    for page in PAGES:
        mine = [b for b in of("sh") + of("console") if b.page == page]
        for b in mine:
            if b.text.startswith("#!"):
                p = subprocess.run(["sh", "-n"], input=b.text, text=True, capture_output=True)
                bad += [f"{b.at}: {p.stderr}"] if p.returncode else []
        text = "".join(b.text for b in mine if not b.text.startswith("#!"))
        if text:
            bad += commands(page, text)
    fails(bad)


def commands(page, text):
    code, said = run(page.stem, text, "-eu")
    wrong = [line for line in said.splitlines() if line.startswith('{"error"')]
    return [] if code == 0 and not wrong else [f"{page.relative_to(ROOT)}: {code}\n{said}"]


def run(name, text, flags):
    """A script in a folder with the demo, its servers on free ports. How it ended, and what it said."""
    folder = HERE / name
    shutil.copytree(ROOT / "demo", folder)
    (folder / "notes.md").write_text("# Notes\n")
    ports, sockets = {}, []
    if ":8787" in text and "weft serve" not in text:  # another page has started it
        text = "weft serve\n" + text
    text = re.sub(r"^weft serve &$", "weft serve", text, flags=re.M)
    address = r'(127\.0\.0\.1|localhost)(:|", )(\d+)'  # in a URL, or in Python
    for port in sorted({m[2] for m in re.findall(address, text)} | {"8787"}):
        sockets.append(socket.create_server(("127.0.0.1", 0)))
        ports[port] = str(sockets[-1].getsockname()[1])
    for s in sockets:
        s.close()
    text = re.sub(address, lambda m: m[1] + m[2] + ports[m[3]], text)
    # The address is the configuration's, or that of the demo, or the default: all are 8787.
    text = re.sub(r"^(store: sqlite:weft\.db)$", rf'server: {{listen: "127.0.0.1:{ports["8787"]}"}}\n\1', text, flags=re.M)
    config = folder / "weft.yaml"
    config.write_text(config.read_text().replace("127.0.0.1:8787", f"127.0.0.1:{ports['8787']}"))
    pids = folder / "pids"
    pids.touch()
    p = subprocess.Popen(["sh", flags, "-c", SERVE + text], cwd=folder, stdin=subprocess.DEVNULL, stdout=open(folder / "said", "w"),
                         stderr=subprocess.STDOUT, env={**ENV, "PORT": ports["8787"], "PIDS": str(pids)})
    try:
        code = p.wait(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        p.kill()
        code = p.wait()
    for pid in pids.read_text().split():
        try:
            os.kill(int(pid), signal.SIGTERM)
        except ProcessLookupError:
            pass
    return code, (folder / "said").read_text(errors="replace")


def lines_of(b):
    """(command, what the page says that it says) of a block with prompts."""
    found = []
    for line in b.text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif found:
            found[-1][1] += line + "\n"
    return found


def follows(page, said):
    """What is left of the page's words that do not come in what was said, in their order: names of members of JSON, types of
    events. Ids and times differ, and ... stands for the rest."""
    words = r'"(?:\w+)":|"type":"[\w.-]+"|"object":"[\w.]+"|"code":"\w+"'
    at, have = 0, re.findall(words, said)
    for word in re.findall(words, page):
        while at < len(have) and have[at] != word:
            at += 1
        if at == len(have):
            return word
        at += 1
    return None


def plain(line):
    """A line of text without what differs from one time to the next, as a terminal without UTF-8 has it."""
    line = re.sub(r"[0-9a-f]{8}[0-9a-f-]{8,}", "ID", line)
    line = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", line)
    return line.replace("├─", "|-").replace("└─", "`-").replace("•", ".").rstrip()


def lines_lacking(page, said):
    """Those of the page's lines that are neither JSON, events nor shortened, and were not said."""
    have = {plain(line) for line in said.splitlines()}
    return [line for line in page.splitlines() if line.strip() and not re.search(r'[{}]|\.\.\.|^(id|data|event):', line) and plain(line) not in have]


def test_examples_with_prompts_say_what_the_pages_say():
    bad, count = [], 0
    start = next(b.text for b in BLOCKS if b.page.name == "http.md" and b.kind == "sh")
    address = next(lines_of(b) for b in BLOCKS if b.text.startswith("$ U="))  # where it is, and a thread
    for name in PROMPTS:
        page = ROOT / "docs" / name
        examples = [e for b in BLOCKS if b.page == page and not b.kind and not b.reason for e in lines_of(b)]
        script = start + "".join(command + "\n" for command, _ in address)
        script += "".join(f"rest; echo; echo '@@{n}'\n{command}\n" for n, (command, _) in enumerate(examples))
        _, said = run("prompts-" + page.stem, script, "-u")
        answers = dict(re.findall(r"^@@(\d+)\n(.*?)(?=^@@|\Z)", said, re.M | re.S))
        count += len(examples)
        for n, (command, wanted) in enumerate(examples):
            answer = answers.get(str(n))
            missing = "the answer" if answer is None else follows(wanted, answer) or lines_lacking(wanted, answer)
            if missing or (answer.lstrip().startswith('{"error"') and '"error"' not in wanted):
                bad.append(f"docs/{name}: $ {command}\nlacks {missing}: {(answer or said[-500:])[:1500]}\npage: {wanted[:600]}")
    print(f"# {count} commands with prompts")
    fails(bad)


def test_the_tutorial_and_the_embedded_agent_say_what_the_pages_say():
    said = (HERE / "tutorial" / "said").read_text()
    assert "Take a coat." in (HERE / "embedding" / "said").read_text()
    for wanted in ("weft.yaml: good: 1 agent, 1 model, 0 tools", "I have no hands yet.", "Noted.", '{"text":"buy milk"}', "it waits",
                   "It is sent.", "2 nodes, ", '"content":"Noted."'):
        assert wanted in said, (wanted, said)


def test_every_block_is_tried_or_says_why_not():
    """C that is a whole file is compiled by run.sh, that of uap.md by test_uap_examples.py."""
    bad = [f"{b.at}: a piece of C that nothing compiles: say why above it" for b in of("c")
           if not b.text.startswith("#include") and b.page.name != "uap.md"]
    bad += [f"{b.at}: an example that nothing runs: say why above it" for b in of("")
            if b.text.startswith("$ ") and b.page.name not in (*PROMPTS, *TYPED)]
    known = ("sh", "console", "yaml", "json", "c", "python", "js", "jsx", "text", "")  # python, js and jsx: tests/interop/docs
    bad += [f"{b.at}: {b.kind} is run by nothing: say why above it" for b in BLOCKS if b.kind not in known and not b.reason]
    kinds = known[:-2]
    tried = {k: len(of(k)) for k in kinds}
    excused = {k: len([b for b in BLOCKS if b.kind == k and b.reason]) for k in kinds}
    print(f"# tried: {tried}; not, for a reason: {excused}")
    fails(bad)


if __name__ == "__main__":
    main(globals())
