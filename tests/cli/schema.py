#!/usr/bin/env python3
"""The JSON Schema of weft.yaml: the committed one is what the command prints; it takes the demo and every template of
`weft init`, and refuses what `weft config check` refuses.

usage: schema.py WEFT SOURCE   (TAP)
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from served import main  # noqa: E402

try:
    import jsonschema
    import yaml
except ImportError:
    jsonschema = None

WEFT, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
HERE = tempfile.mkdtemp(prefix="weft-schema-")
SCHEMA = json.loads(subprocess.run([WEFT, "config", "schema"], capture_output=True, check=True).stdout)
GOOD = "models: {m: {provider: scripted, echo: true}}\nagents: {a: {model: m}}\n"
BROKEN = (
    "sever: {}", "server: {lisen: x}", "server: {loops: 0}", "server: {loops: 100}", "server: {metrics: open-to-all}", "server: {ping: 5}",
    "server: {instructions: maybe}", "server: {hosts: x}", "durability: never", "on_busy: wait", "search: letters", "retention: {tapes_days: 0}",
    "waits: {tool: soon}", "log: {level: loud}", "log: {colour: true}", "webhooks: {on_end: {url: 'http://x/'}}", "telemetry: {headers: {}}",
    "tools: {t: {delivery: twice}}", "tools: {t: {aproval: always}}", "tools: {t: {command: ls}}", "tools: {'a b': {}}", "tools: {t: {limits: {seconds: -1}}}",
    "store: []", "store_cache_mb: 0", "store_cache_mb: 65537", "store_cache_mb: much", "encryption: {file: x}",
)


def valid(text):
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(yaml.safe_load(text))


def good(text):
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write(text)
    return subprocess.run([WEFT, "config", "check"], cwd=HERE, capture_output=True).returncode == 0


def test_the_committed_schema_is_this_one():
    with open(f"{SOURCE}/docs/schemas/weft.schema.json") as f:
        assert json.load(f) == SCHEMA, "weft config schema | python3 -m json.tool --indent 1 >docs/schemas/weft.schema.json"


def test_good_files_are_valid():
    if not jsonschema:
        return "no jsonschema"
    for name in ("assistant", "weather", "approval", "plan"):
        subprocess.run([WEFT, "init", f"{HERE}/{name}", "--template", name], check=True, capture_output=True)
        assert valid(open(f"{HERE}/{name}/weft.yaml").read()), name
    files = [f"{SOURCE}/demo/weft.yaml", f"{SOURCE}/packaging/etc/weft.yaml"]
    files += [os.path.join(d, f) for d, _, fs in os.walk(f"{SOURCE}/examples") for f in fs if f == "weft.yaml"]
    for f in files:
        assert valid(open(f).read()), f
    assert valid(GOOD) and good(GOOD)


def test_both_refuse_broken_files():
    if not jsonschema:
        return "no jsonschema"
    for line in BROKEN:
        text = f"{line}\n{GOOD}"
        assert not good(text) and not valid(text), (line, good(text), valid(text))


if __name__ == "__main__":
    try:
        main(globals().copy())
    finally:
        shutil.rmtree(HERE)
