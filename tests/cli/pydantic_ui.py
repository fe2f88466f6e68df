"""Pydantic AI's messages as UI messages of the AI SDK and back, and the other way round: every member of the first document is in the
last one, but for a short list, which is what the report of the command says. usage: pydantic_ui.py WEFT   (TAP)"""
import json
import os
import re
import subprocess
import sys

WEFT = os.path.abspath(sys.argv[1])
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")

# What one of the two has no place for, and why (docs/dialects/ui.md, "Pydantic AI").
TO_UI = {
    r"/[13]/usage(/details)?/[a-z_]+": "a message has one sum of tokens for all answers in it",
    r"/2/parts/\d+/timestamp|/[23]/timestamp": "a message has the time at which it began, and the one at which it ended",
}
TO_PYDANTIC = {
    r"/2/parts/1/providerMetadata/openai(/itemId)?": "a part names its provider, and has members of Pydantic AI alone",
    r"/2/parts/4/callProviderMetadata(/openai(/k)?)?": "likewise",
}


def convert(source, target, document, *more):
    """The document in another dialect, and pointers to what is reported as lost."""
    r = subprocess.run([WEFT, "convert", "--from", source, "--to", target, "--report", *more, "-"], input=json.dumps(document).encode(),
                       capture_output=True, check=False)
    assert r.returncode == 0, r.stderr.decode()
    return json.loads(r.stdout), [json.loads(line)["pointer"] for line in r.stderr.decode().splitlines()]


def differences(was, now, at=""):
    """Pointers of what is not as it was; what has come beside it does not matter where nothing was."""
    if type(was) is not type(now):
        yield at
    elif isinstance(was, dict):
        for name, value in was.items():
            if name in now:
                yield from differences(value, now[name], f"{at}/{name}")
            else:
                yield f"{at}/{name}"
    elif isinstance(was, list):
        if len(was) != len(now):
            yield at
        for i, (a, b) in enumerate(zip(was, now)):
            yield from differences(a, b, f"{at}/{i}")
    elif was != now:
        yield at


def there_and_back(name, way, there, lost, *more):
    with open(os.path.join(GOLDEN, name), encoding="utf-8") as f:
        document = json.load(f)
    converted, told = convert(way, there, document, *more)
    back, _ = convert(there, way, converted)
    pointers = list(differences(document, back))
    for pointer in pointers:
        assert any(re.fullmatch(known, pointer) for known in lost), (pointer, pointers)
        assert any((pointer + "/").startswith(line + "/") for line in told), (pointer, told)
    for known in lost:
        assert any(re.fullmatch(known, pointer) for pointer in pointers), f"{known} is not lost any more"
    for pointer in told:  # and nothing else is
        assert pointer.startswith("entries/") or any(re.fullmatch(known, pointer) for known in lost), pointer
    return document, converted


def test_messages_of_pydantic_ai_come_back_from_ui_messages():
    _, ui = there_and_back("pydantic/every.json", "pydantic", "ui", TO_UI)
    assert [m["role"] for m in ui] == ["system", "user", "assistant", "system", "user", "assistant"]
    assert [p["text"] for p in ui[0]["parts"]] == ["Be brief.", "Be kind."]
    assert ui[1]["metadata"]["app"] == {"tenant": 7} and ui[2]["metadata"]["trace"] == "t1"
    assert [m["metadata"]["weft"]["run"] for m in ui if m["role"] != "system"] == ["r1", "r1", "r2", "r2"]
    tools = {p["toolCallId"]: p for m in ui for p in m["parts"] if "toolCallId" in p}
    assert {k: p["state"] for k, p in tools.items()} == {"b1": "output-available", "c1": "output-available", "c2": "output-denied",
                                                         "c3": "input-available"}
    assert tools["b1"]["providerExecuted"] is True and tools["b1"]["output"] == {"found": ["a"]}
    assert all("providerExecuted" not in p for k, p in tools.items() if k != "b1")
    assert "builtin" not in json.dumps(ui)


def test_ui_messages_come_back_from_messages_of_pydantic_ai():
    _, messages = there_and_back("ui/documents/every.json", "ui", "pydantic", TO_PYDANTIC)
    kinds = [[p["part_kind"] for p in m["parts"]] for m in messages]
    assert kinds == [["system-prompt", "system-prompt", "user-prompt"],
                     ["thinking", "text", "builtin-tool-call", "builtin-tool-return", "tool-call", "tool-call"],
                     ["tool-return", "tool-return"], ["text"], ["system-prompt", "user-prompt"], ["tool-call", "tool-call", "tool-call"]], kinds
    assert messages[0]["metadata"] == {"app": {"tenant": 7}, "weft": {"id": "u1", "system": "s1"}}
    assert [m["run_id"] for m in messages] == [None, "r1", "r1", "r1", None, "r2"]
    assert messages[5]["metadata"]["weft"]["approvals"]["c4"] == {"id": "ap4", "approved": True, "reason": "fine"}


def test_what_5_does_not_know_is_not_said():
    with open(os.path.join(GOLDEN, "ui/documents/every.json"), encoding="utf-8") as f:
        messages, _ = convert("ui", "pydantic", json.load(f))
    ui, _ = convert("pydantic", "ui", messages, "--target", "5")
    states = {p["toolCallId"]: p["state"] for m in ui for p in m["parts"] if "toolCallId" in p}
    assert states == {"b1": "output-available", "c1": "output-available", "c2": "output-error", "c3": "input-available",
                      "c4": "input-available", "c5": "input-available"}, states
    assert "approval" not in json.dumps(ui)


def prompt(text, at=1):
    return {"content": text, "timestamp": f"2026-09-03T04:05:0{at}Z", "dynamic_ref": None, "part_kind": "system-prompt"}


def request(parts, at=1):
    return {"parts": parts, "timestamp": f"2026-09-03T04:05:0{at}Z", "kind": "request", "run_id": None, "metadata": None}


def user(text, at=1):
    return {"content": text, "timestamp": f"2026-09-03T04:05:0{at}Z", "part_kind": "user-prompt"}


def response(parts, at=2):
    return {"parts": parts, "timestamp": f"2026-09-03T04:05:0{at}Z", "kind": "response", "run_id": None, "metadata": None}


def test_requests_of_prompts_alone_are_system_messages():
    text = {"content": "hi", "part_kind": "text"}
    for document, roles in (([request([prompt("A")]), request([user("x")])], ["system", "user"]),
                            ([request([user("x")]), response([text]), request([prompt("B", 3)], 3), request([user("y", 4)], 4)],
                             ["user", "assistant", "system", "user"]),
                            ([request([user("x")]), response([text]), request([prompt("C", 3)], 3)], ["user", "assistant", "system"])):
        ui, _ = convert("pydantic", "ui", document)
        assert [m["role"] for m in ui] == roles, ui
        back, _ = convert("ui", "pydantic", ui)
        said = [p["content"] for m in document for p in m["parts"]]
        assert [p["content"] for m in back for p in m["parts"]] == said, back
        none, _ = convert("pydantic", "ui", document, "--no-system")
        assert [m["role"] for m in none] == [r for r in roles if r != "system"], none


def test_a_builtin_call_without_its_return_stays_where_it_is():
    call = {"tool_name": "web_search", "args": {}, "tool_call_id": "b1", "part_kind": "builtin-tool-call"}
    back = {"tool_name": "web_search", "content": 1, "tool_call_id": "b1", "part_kind": "builtin-tool-return"}
    for parts in ([call], [back], [back, call]):
        document = [request([user("x")]), response([*parts, {"content": "hi", "part_kind": "text"}])]
        ui, told = convert("pydantic", "ui", document)
        assert "b1" not in json.dumps(ui) and any(line.startswith("/1/parts/0") for line in told), (ui, told)
        same, _ = convert("pydantic", "pydantic", document)
        assert [p["part_kind"] for p in same[1]["parts"]] == [p["part_kind"] for p in document[1]["parts"]], same


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    bad = 0
    for i, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {i} - {name[5:].replace('_', ' ')}", flush=True)
        except Exception as e:  # pylint: disable=broad-except
            bad += 1
            print(f"# {type(e).__name__}: {e}\nnot ok {i} - {name[5:].replace('_', ' ')}", flush=True)
    print(f"1..{len(tests)}")
    return bad > 0


sys.exit(main())
