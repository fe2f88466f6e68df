#!/usr/bin/env python3
"""check.py CONVERT GOLDEN: AgentScope Runtime's own schemas load what is written here, documents and frames.

The package is installed without what it needs: its schemas are one file, and of OpenAI's package it names one type.
Prints lines "ok or bad, TAB, title, TAB, what was wrong".
"""
import importlib.util
import json
import subprocess
import sys
import types
from importlib.metadata import distribution
from pathlib import Path

CONVERT, GOLDEN = sys.argv[1], Path(sys.argv[2])


def schemas():
    for name in ("openai", "openai.types", "openai.types.chat"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["openai.types.chat"].ChatCompletionChunk = dict
    path = distribution("agentscope-runtime").locate_file("agentscope_runtime/engine/schemas/agent_schemas.py")
    spec = importlib.util.spec_from_file_location("agent_schemas", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


S = schemas()
CONTENTS = {"text": S.TextContent, "data": S.DataContent, "image": S.ImageContent, "audio": S.AudioContent,
            "file": S.FileContent, "refusal": S.RefusalContent}
if hasattr(S, "VideoContent"):
    CONTENTS["video"] = S.VideoContent


def ask(questions):
    lines = "".join(f"{a}\t{b}\t{text}\n" for a, b, text in questions)
    return subprocess.run([CONVERT], input=lines.encode(), stdout=subprocess.PIPE, check=True).stdout.decode().split("\n")[:-1]


def judge(title, wrong):
    wrong = [w for w in wrong if w]
    print("bad" if wrong else "ok", title, " | ".join(wrong[:3]).replace("\t", " ").replace("\n", " "), sep="\t")


def loses(model, value, where):
    """What is wrong with a value that the model should load and dump as it is."""
    try:
        dumped = model.model_validate(value).model_dump(mode="json")
    except ValueError as e:
        return f"{where}: {str(e)[:300]}"
    lost = sorted(k for k, v in value.items() if k != "content" and k != "output" and v is not None and dumped.get(k) != v)
    return f"{where}: {lost} came out as {[dumped.get(k) for k in lost]}" if lost else ""


def message(value, where):
    wrong = [loses(S.Message, value, where)]
    return wrong + [loses(CONTENTS[c["type"]], c, f"{where}/{i}") for i, c in enumerate(value["content"] or [])]


def compact(path):
    return json.dumps(json.loads(path.read_text()), ensure_ascii=False, separators=(",", ":"))


def documents():
    for dialect in ("thread", "pydantic", "ui/documents"):
        for path in sorted((GOLDEN / dialect).glob("*.json")):
            [out] = ask([(dialect.split("/")[0], "agentapi", compact(path))])
            wrong = [out[:300]] if out.startswith("!") else []
            for i, m in enumerate(json.loads(out) if not wrong else []):
                wrong += message(m, f"message {i}")
            judge(f"{dialect} {path.name} is loaded", wrong)
    for name, model in (("request", S.AgentRequest), ("request-all", S.AgentRequest), ("response", S.AgentResponse)):
        value = json.loads((GOLDEN / "agentapi/documents" / f"{name}.json").read_text())
        try:
            model.model_validate(value)
            wrong = ""
        except ValueError as e:
            wrong = str(e)[:300]
        judge(f"{name}.json is loaded", [wrong])


def frames():
    for path in sorted(p for p in (GOLDEN / "agentapi").iterdir() if p.is_file()):
        wrong = []
        for line in path.read_text().splitlines():
            number, text = line.split(" ", 1)
            value = json.loads(text)
            if value["object"] == "content":
                wrong.append(loses(CONTENTS[value["type"]], value, number))
            elif value["object"] == "message":
                wrong += message(value, number)
            else:
                wrong.append(loses(S.AgentResponse, value, number))
                for m in value["output"] or []:
                    wrong += message(m, number)
        judge(f"frames of {path.name} are loaded", wrong)


documents()
frames()
