#!/usr/bin/env python3
"""The Python and JavaScript of the pages, run with the real clients: blocks marked python or js are taken from the pages and run
against `weft serve`, after the commands of their page. A block that cannot run says so above itself (tests/docs/pages.py).

usage: clients.py SOURCE-ROOT WEFT PYTHON NODE NODE_MODULES   (TAP)
"""
import base64
import datetime
import re
import sys
from pathlib import Path
from types import SimpleNamespace

ROOT, PYTHON, NODE, MODULES = (Path(sys.argv[n]).resolve() if n < 3 else Path(sys.argv[n]).absolute() for n in (1, 3, 4, 5))
sys.path.insert(0, str(ROOT / "tests" / "docs"))
import pages  # noqa: E402

SPECIAL = ("operations.md",)  # whose blocks are no clients: the tests below
START = next(b.text for b in pages.BLOCKS if b.page.name == "http.md" and b.kind == "sh")


def programs(page):
    """The page's blocks of a language are one program: a later one uses what an earlier one has made."""
    found = {}
    for b in pages.BLOCKS:
        if b.page == page and b.kind in ("python", "js") and not b.reason:
            found[b.kind] = found.get(b.kind, "") + b.text
    return found


def before(page):
    """The commands that come before: those of the tutorial; README's run on the demo; the others on the server of http.md."""
    if page.name == "tutorial.md":
        return "".join(b.text for b in pages.BLOCKS if b.page == page and b.kind == "sh")
    return "" if page.name == "README.md" else START


def promised(text):
    """What the comment after a print says that it prints."""
    return [a or b for a, b in re.findall(r"(?:print\(.*\)\s*#|console\.log\(.*\);?\s*//) (.+)$()", text, re.M)]


def client(kind):
    return f"'{PYTHON}' -W ignore program.py" if kind == "python" else f"ln -s '{MODULES}' node_modules; '{NODE}' program.mjs"


def test_programs_of_the_pages_run():
    bad, count = [], 0
    for page in pages.PAGES:
        for kind, text in programs(page).items() if page.name not in SPECIAL else ():
            name = "program.py" if kind == "python" else "program.mjs"
            script = before(page) + f"cat >{name} <<'END_OF_PROGRAM'\n{text}END_OF_PROGRAM\necho; echo @@program\n{client(kind)}\n"
            code, said = pages.run(f"{page.stem}-{kind}", script, "-eu")
            said = said.rpartition("@@program\n")[2]
            lacks = [line for line in promised(text) if line not in said.splitlines()]
            count += 1
            print(f"# {page.name}, {kind}: {said.strip()!r}")
            if code or lacks or ("print(" in text or "console.log(" in text) and not said.strip():
                bad.append(f"{page.relative_to(ROOT)}: {kind}: {code}, lacks {lacks}\n{said}")
    assert count >= 5, count
    pages.fails(bad)


def block(text):
    return next(b for b in pages.BLOCKS if b.page.name == "operations.md" and not b.reason and text in b.text)


def test_the_collector_of_operations_prints_spans():
    config = block("otlp: http").text + "store: sqlite:spans.db\nserver: {listen: '127.0.0.1:8787'}\nmodels: {echo: {provider: scripted, echo: true}}\nagents: {echo: {model: echo}}\n"
    program = block("class Collector").text
    code, said = pages.run("collector", f"""
export OTLP_KEY=a-secret-of-the-test
cat >weft.yaml <<'END_OF_CONFIG'
{config}END_OF_CONFIG
cat >collector.py <<'END_OF_PROGRAM'
{program}END_OF_PROGRAM
'{PYTHON}' collector.py >spans 2>collector.log &
echo $! >>"$PIDS"
weft serve
weft run echo Hello
until grep -q invoke_agent spans; do sleep 0.05; done
cat spans
""", "-eu")
    assert code == 0 and re.search(r"^[0-9a-f]{32} [0-9a-f]{16} \S+ invoke_agent echo$", said, re.M), (code, said)


def test_a_webhook_is_verified_as_operations_says():
    from standardwebhooks.webhooks import Webhook
    text = block("import Webhook").text
    secret = "whsec_" + base64.b64encode(b"a secret of the test, long").decode()
    now, body = datetime.datetime.now(datetime.timezone.utc), b'{"type":"run.end"}'
    for signed in (body, b"{}"):
        headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": Webhook(secret).sign("msg_1", now, signed.decode())}
        names = {"request": SimpleNamespace(body=body, headers=headers)}
        try:
            exec(text.replace("whsec_...", secret), names)  # the page's own lines
            assert signed == body and names["message"] == {"type": "run.end"}, names.get("message")
        except Exception as error:
            assert signed != body and "signature" in str(error).lower(), error


pages.main(globals())
