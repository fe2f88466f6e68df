#!/usr/bin/env python3
"""Dumps of the Assistants API (tests/fixtures/dumps): imported, looked at, exported again.

usage: dumps.py WEFT   (TAP)
"""
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
import served  # noqa: E402

WEFT = os.path.abspath(sys.argv[1])
DUMPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "dumps")
HERE = tempfile.mkdtemp(prefix="weft-dumps-")
atexit.register(shutil.rmtree, HERE, ignore_errors=True)


def weft(*args, code=0):
    r = subprocess.run([WEFT, *args], cwd=HERE, capture_output=True, text=True, timeout=60)
    assert r.returncode == code, (args, r.returncode, r.stdout, r.stderr)
    return r.stdout, r.stderr


def imported(what, store):
    out, err = weft("import", "--from", "assistants", "--store", f"sqlite:{store}.db", f"{DUMPS}/{what}")
    return out.split(), [line.replace(os.path.abspath(DUMPS) + "/", "").replace(DUMPS + "/", "") for line in err.splitlines()]


def exported(store, thread, dialect="assistants"):
    return json.loads(weft("export", "--store", f"sqlite:{store}.db", "--as", dialect, thread)[0])


def load(name):
    with open(f"{DUMPS}/folder/{name}") as f:
        return json.load(f)


# covers: AITP-10/3
def test_a_folder_comes_back_as_it_was_with_its_files():
    (thread,), notes = imported("folder", "folder")
    doc = exported("folder", thread)
    assert doc["messages"] == load("messages.json")["data"][::-1]
    assert doc["runs"] == load("runs.json")["data"] and doc["steps"] == load("steps/run_r1.json")["data"][::-1]
    assert {k: v for k, v in doc.items() if k not in ("messages", "runs", "steps")} == load("thread.json")
    assert notes == ["weft import: folder/vector_stores.json: vector_store is no object of a thread, and is not taken",
                     "weft import: folder/files/stray.bin: no message has this file: it is not taken",
                     "weft import: the dump: file-Gone99 is not there: messages keep its id, models are told that it is gone"], notes


def test_assistants_are_stored_once():
    """With a new id and their old one in the metadata; a model that is not there is named, and the rest is taken."""
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write("server: {listen: '127.0.0.1:0'}\nstore: sqlite:kept.db\nmodels: {echo: {provider: scripted, echo: true}}\nagents: {base: {model: echo}}\n")
    tutor = {"id": "asst_abc123", "object": "assistant", "created_at": 1700000000, "name": "Tutor", "description": None, "model": "echo", "instructions": "Teach.",
             "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}], "top_p": 1.0, "temperature": 0.5, "metadata": {"k": "v"}, "response_format": "auto"}
    with open(f"{HERE}/kept.json", "w") as f:
        json.dump({"assistants": {"object": "list", "data": [tutor, {"id": "asst_gone", "object": "assistant", "model": "gpt-9", "name": "x"}]}}, f)
    said = [weft("import", "--from", "assistants", "kept.json")[1] for _ in range(2)]
    assert "assistant asst_abc123 is asst_" in said[0] and "asst_abc123 is" not in said[1], said
    assert all("not taken: assistant asst_gone: " in s and "gpt-9" in s for s in said), said
    with served.Server(WEFT, HERE) as s:
        stored = [a for a in s.good("GET", "/v1/assistants")["data"] if a["metadata"].get("imported_id")]
        assert len(stored) == 1, stored
        assert {k: stored[0][k] for k in ("name", "model", "instructions", "temperature", "tools")} == {k: tutor[k] for k in ("name", "model", "instructions", "temperature", "tools")}, stored
        assert stored[0]["metadata"] == {"k": "v", "imported_id": "asst_abc123"}, stored
    os.remove(f"{HERE}/weft.yaml")


def test_what_a_dump_says_cannot_move_the_cursor():
    """Neither the ids that are in it, nor the places of mistakes."""
    with open(f"{HERE}/weft.yaml", "w") as f:
        f.write("server: {listen: '127.0.0.1:0'}\nstore: sqlite:moves.db\nmodels: {echo: {provider: scripted, echo: true}}\nagents: {base: {model: echo}}\n")
    with open(f"{HERE}/moves.json", "w") as f:
        json.dump({"assistants": {"object": "list", "data": [{"id": "asst_\x1b[2J\u202e", "object": "assistant", "model": "echo", "name": "x"}]}}, f)
    said = weft("import", "--from", "assistants", "moves.json")[1]
    assert "assistant asst_?[2J? is asst_" in said, said
    with open(f"{HERE}/moves.json", "w") as f:
        json.dump({"version": "2.0.0", "thread_id": "t", "created_at": "2026-02-03T04:05:06Z", "updated_at": "2026-02-03T04:05:06Z", "agents": {"a\u202eb\u009b31m": 3}, "turns": []}, f)
    said = weft("import", "--from", "thread", "moves.json", code=1)[1]
    assert said.startswith("weft import: moves.json: /agents/a?b?31m: "), said
    os.remove(f"{HERE}/weft.yaml")


def test_show_names_the_files():
    (thread,), _ = imported("folder", "shown")
    assert "[file-Gone99]" in weft("show", "--store", "sqlite:shown.db", thread)[0]


def test_runs_and_steps_become_calls_and_results():
    (thread,), _ = imported("folder", "calls")
    messages = exported("calls", thread, "upp")["messages"]
    calls = [c for m in messages for c in m.get("toolCalls", [])]
    assert [(c["toolCallId"], c["toolName"], c["arguments"]) for c in calls] == [
        ("call_1", "where", {"q": "park"}), ("call_2", "code_interpreter", {"input": "print(1)"})], calls
    results = [r for m in messages for r in m.get("results", [])]
    assert [(r["toolCallId"], r["result"]) for r in results] == [
        ("call_1", "Vienna"), ("call_2", [{"type": "logs", "logs": "1"}])], results


def test_files_are_in_the_store_under_their_old_ids():
    (thread,), _ = imported("folder", "served")
    config = """
server: {listen: "127.0.0.1:0"}
store: sqlite:served.db
models: {echo: {provider: scripted, echo: true}}
agents: {echo: {model: echo}}
"""
    with served.Server(WEFT, HERE, config) as s:
        f = s.good("GET", "/v1/files/file-Notes02")
        assert f["filename"] == "notes.md" and f["purpose"] == "assistants" and f["bytes"] == 13, f
        assert s.good("GET", "/v1/files/file-Pic001")["purpose"] == "vision"
        assert s.ask("GET", "/v1/files/file-Gone99")[0] == 404
        first = s.good("GET", f"/v1/threads/{thread}/messages?order=asc")["data"][0]
        want = load("messages.json")["data"][-1]
        assert first["content"] == want["content"] and first["attachments"] == want["attachments"], first
        assert s.good("GET", "/v1/threads/thread_abc123/messages")["data"][-1]["id"] == first["id"]
        s.good("DELETE", "/v1/files/file-Notes02")  # its old id is free again
        assert s.ask("GET", "/v1/files/file-Notes02")[0] == 404
    imported_again = weft("import", "--from", "assistants", "--store", "sqlite:served.db", "--on-conflict", "copy", f"{DUMPS}/folder")
    assert imported_again[0].startswith("thread_")


def test_lines_in_any_order_and_several_threads():
    threads, notes = imported("lines.jsonl", "lines")
    assert len(threads) == 2 and len(notes) == 3, (threads, notes)
    one, other = exported("lines", threads[0]), exported("lines", threads[1])
    assert one["messages"] == load("messages.json")["data"][::-1]
    assert one["steps"] == load("steps/run_r1.json")["data"][::-1]
    assert one["id"] == "thread_abc123" and other["id"] == "thread_other" and len(other["messages"]) == 1


def test_one_object_with_everything():
    (thread,), notes = imported("one.json", "one")
    doc = exported("one", thread)
    assert doc["messages"] == load("messages.json")["data"][::-1] and doc["steps"] == load("steps/run_r1.json")["data"][::-1]
    assert "weft import: one.json: exported_by is not taken" in notes, notes


def test_what_is_no_dump_is_refused():
    os.mkdir(f"{HERE}/empty")
    for name, text in (("empty", None), ("a.json", '{"object":"vector_store"}'), ("b.jsonl", '{"a":1}\n{"b":\n'), ("c.json", "3")):
        if text:
            with open(f"{HERE}/{name}", "w") as f:
                f.write(text)
        _, err = weft("import", "--from", "assistants", "--store", "sqlite:none.db", f"{HERE}/{name}", code=1)
        assert err.startswith("weft import: "), err
    _, err = weft("import", "--store", "sqlite:none.db", f"{HERE}/empty", code=1)
    assert "--from assistants" in err, err


served.main(globals())
