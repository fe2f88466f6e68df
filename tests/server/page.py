#!/usr/bin/env python3
"""The web page as the server sends it, and the routes that it needs: entries of the log, titles, positions before and after a message.

usage: page.py WEFT   (TAP)
"""
import gzip
import json
import os
import re
import sys
import tempfile

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/server/page")
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:page.db
log: {level: warn}
models: {main: {provider: scripted, script: script.json}, echo: {provider: scripted, echo: true}}
tools: {look: {description: d, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; printf 'no {json'"]}}
agents:
  main: {model: main, tools: [look], handoff: [{agent: echo, on_mention: true, prompt: "And you?"}]}
  echo: {model: echo, title: Echo Agent}
  thinker: {model: echo, strategy: react}
"""
SCRIPT = {"again": True, "replies": [
    {"when": {"tool_result": "look"}, "parts": [{"text": "Seen. Echo Agent, go on."}]},
    {"when": {"contains": "look"}, "parts": [{"reasoning": "Let me see."}, {"text": "I look."}, {"tool_call": {"id": "c1", "name": "look", "arguments": {"at": "sky"}}}]},
    {"parts": [{"text": "Hello."}]}]}
FOLDER = tempfile.TemporaryDirectory()
with open(f"{FOLDER.name}/script.json", "w") as f:
    json.dump(SCRIPT, f)
SERVER = Server(WEFT, FOLDER.name, CONFIG)


def ask(method, path, body=None, **headers):
    c = SERVER.connection()
    c.request(method, path, None if body is None else json.dumps(body), {k.replace("_", "-"): v for k, v in headers.items()})
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, {k.lower(): v for k, v in r.getheaders()}, data


def good(method, path, body=None):
    status, _, data = ask(method, path, body)
    assert status == 200, (status, data)
    return json.loads(data)


def bad(status, method, path, body, says):
    got, _, data = ask(method, path, body)
    assert got == status and says in json.loads(data)["error"]["message"], (got, data)


def talk(text, thread=None, agent="main"):
    thread = thread or good("POST", "/v1/threads", {})["id"]
    run = good("POST", f"/v1/threads/{thread}/runs", {"assistant_id": agent, **({"additional_messages": [{"role": "user", "content": text}]} if text else {})})
    ask("GET", f"/v1/runs/{run['id']}/events?as=upp")
    return thread


def entries(thread, query="order=asc&limit=100"):
    return good("GET", f"/v1/threads/{thread}/entries?{query}")


def texts(thread):
    return [p["text"] for e in entries(thread)["data"] for p in e.get("parts", []) if p.get("type") == "text"]


def names():
    return sorted(os.listdir(PAGE))


def test_every_file_is_served_with_type_tag_and_policy():
    for name in names():
        if name == "index.html":
            continue
        path = f"/page/{name}"
        status, headers, data = ask("GET", path)
        with open(f"{PAGE}/{name}", "rb") as f:
            assert status == 200 and data == f.read(), (name, "is it listed in src/server/meson.build?")
        kind = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}[name.rsplit(".", 1)[1]]
        assert headers["content-type"] == f"{kind}; charset=utf-8" and headers["cache-control"] == "no-cache", headers
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer", headers
        again = ask("GET", path, if_none_match=headers["etag"])
        assert again[0] == 304 and again[2] == b"" and again[1]["etag"] == headers["etag"], again
        status, small, packed = ask("GET", path, accept_encoding="gzip, deflate, br")
        assert status == 200 and small["content-encoding"] == "gzip" and gzip.decompress(packed) == data, small
        assert "content-encoding" not in ask("GET", path, accept_encoding="gzip;q=0")[1]
    assert ask("GET", "/page/none.js")[0] == 404 and ask("GET", "/page/..%2fops.c")[0] == 404
    assert ask("HEAD", "/")[0] == 200 and ask("POST", "/", {})[0] == 405


def test_documents_have_a_nonce_that_nobody_else_has():
    """A file that somebody uploads is of this origin, too: no script is ours for that."""
    seen = set()
    for path, name in (("/", f"{PAGE}/index.html"), ("/docs", f"{PAGE}/../ops/docs.html"), ("/docs", f"{PAGE}/../ops/docs.html")):
        status, headers, data = ask("GET", path, accept_encoding="gzip")
        policy = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
        nonce = re.fullmatch(r"'nonce-([0-9a-f]{32})'", policy["script-src"])[1]
        with open(name) as f:
            source = f.read()
        assert status == 200 and headers["content-type"] == "text/html; charset=utf-8" and headers["cache-control"] == "no-store", headers
        assert source.count('nonce=""') == len(re.findall(r"<script|<link (?!rel=.icon)", source)) and data.decode() == source.replace('nonce=""', f'nonce="{nonce}"'), data
        assert policy["style-src"] == policy["script-src"] and policy["default-src"] == "'none'", policy
        assert policy["connect-src"] == "'self'" and policy["frame-ancestors"] == "'none'" and policy["base-uri"] == "'none'", policy
        assert policy["require-trusted-types-for"] == "'script'" and policy["trusted-types"] == "'none'", policy
        assert not re.search(r"unsafe|https?:|\*", json.dumps(policy)), policy
        assert headers["referrer-policy"] == "no-referrer" and headers["cross-origin-opener-policy"] == "same-origin", headers
        seen.add(nonce)
    assert len(seen) == 3, seen
    for name in ("docs.js", "docs.css"):
        status, headers, data = ask("GET", f"/docs/{name}")
        with open(f"{PAGE}/../ops/{name}", "rb") as f:
            assert status == 200 and data == f.read() and "sandbox" in headers["content-security-policy"] and headers["etag"], headers
    assert ask("GET", "/docs/docs.html")[0] == 200 and ask("GET", "/docs/none.js")[0] == 404


def test_answers_are_kept_by_nobody_and_are_no_resource_of_other_sites():
    for path in ("/v1/threads", "/v1/threads/none", "/nowhere", "/health", "/", "/page/app.js", "/docs", "/v1/files"):
        headers = ask("GET", path)[1]
        assert headers["cross-origin-resource-policy"] == "same-origin" and headers["x-content-type-options"] == "nosniff", (path, headers)
        assert headers["cache-control"] == ("no-cache" if path.startswith("/page") else "no-store"), (path, headers)
    thread = talk("hi")
    run = good("GET", f"/v1/threads/{thread}/runs")["data"][0]["id"]
    assert ask("GET", f"/v1/runs/{run}/events")[1]["cache-control"] == "no-store, no-transform"


def test_the_page_has_no_inline_script_no_markup_from_text_and_no_other_host():
    for name in names():
        with open(f"{PAGE}/{name}") as f:
            text = f.read()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|setHTML|srcdoc|createContextualFragment", text), name
        for url in re.findall(r"https?://[\w.-]+", text):
            assert url == "http://www.w3.org", (name, url)  # SVG's namespace
        if name.endswith(".html"):
            assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|style=", text), name


def test_the_page_is_small():
    """What a browser loads, as it is sent (docs/page.md says so); and readable sources that stay surveyable."""
    sent = sum(len(ask("GET", "/" if n == "index.html" else f"/page/{n}", accept_encoding="gzip")[2]) for n in names())
    files = sum(os.path.getsize(f"{PAGE}/{n}") for n in names())
    assert sent <= 150_000 and files <= 240_000, (sent, files)


def test_entries_are_the_whole_path():
    thread = talk("look up")
    data = entries(thread)["data"]
    kinds = [(e["type"], e["role"], e["origin"], e["agent"]) for e in data]
    assert kinds == [("message", "user", "client", None), ("message", "assistant", "run", "main"), ("message", "tool", "run", None), ("message", "assistant", "run", "main"),
                     ("event", None, "run", "main"), ("message", "user", "run", "echo"), ("message", "assistant", "run", "echo")], kinds
    call = data[1]["parts"]
    assert [p.get("type") for p in call] == ["reasoning", "text", None] and call[2] == {"toolCallId": "c1", "toolName": "look", "arguments": {"at": "sky"}}, call
    assert data[2]["parts"] == [{"toolCallId": "c1", "result": "no {json", "isError": False}], data[2]
    assert data[4]["event"]["type"] == "agent.handoff" and data[4]["event"]["data"]["to"] == "echo", data[4]
    assert len({e["node_id"] for e in data}) == 1 and [e["index"] for e in data] == sorted(e["index"] for e in data)
    assert data[0]["run_id"] == data[6]["run_id"] and entries(thread, f"run_id={data[0]['run_id']}&limit=100")["data"] == data[::-1]
    first = entries(thread, "limit=3")
    rest = entries(thread, f"limit=100&after={first['last_id']}")
    assert first["has_more"] and not rest["has_more"] and first["data"] + rest["data"] == data[::-1]
    newer = entries(thread, f"order=asc&limit=2&after={data[1]['id']}")
    assert newer["data"] == data[2:4] and newer["has_more"]
    assert ask("GET", f"/v1/threads/{thread}/entries?limit=101")[0] == 400 and ask("GET", "/v1/threads/thread_x/entries")[0] == 404


def test_what_a_strategy_uses_internally_is_marked():
    thread = talk("look up", agent="thinker")
    shown = [(e["internal"], e["phase"]) for e in entries(thread)["data"] if e["role"] == "assistant"]
    assert (True, "reason") in shown and (False, "act") in shown, shown
    assert len(good("GET", f"/v1/threads/{thread}/messages")["data"]) < len(entries(thread)["data"])


def test_deleted_entries_have_no_content():
    thread = talk("hi")
    message = entries(thread)["data"][0]["id"]
    good("DELETE", f"/v1/threads/{thread}/messages/{message}")
    assert all(e["id"] != message or (e["deleted"] and not e["parts"]) for e in entries(thread)["data"])


def test_titles_are_shown_changed_and_removed():
    t = good("POST", "/v1/threads", {"title": "One"})
    assert t["title"] == "One" and good("GET", "/v1/threads?limit=1")["data"][0]["title"] == "One"
    where = f"/v1/threads/{t['id']}"
    changed = good("POST", where, {"title": "Two \u00e9"})
    assert changed["title"] == "Two \u00e9" and changed["metadata"] == {}, changed
    both = good("POST", where, {"title": "Three", "metadata": {"a": "b"}})
    assert both["title"] == "Three" and both["metadata"] == {"a": "b"} and good("GET", where) == both
    assert good("POST", where, {"metadata": {"c": "d"}})["title"] == "Three"
    bad(400, "POST", where, {"title": "x" * 1025}, "at most 1024 bytes")
    document = good("GET", f"{where}/export?as=thread")
    assert document["title"] == "Three", document
    for path, body in (("/v1/threads", {"title": "x" * 1025}), ("/v1/thread", {"title": "x" * 1025, "actors": [{"id": "a"}]}),
                       ("/v1/threads/runs", {"assistant_id": "main", "thread": {"title": "x" * 1025}}),
                       ("/v1/threads/import?from=thread&on_conflict=copy", {**document, "title": "x" * 1025})):
        bad(400, "POST", path, body, "at most 1024 bytes")
    assert good("POST", "/v1/threads", {"title": "x" * 1024})["title"] == "x" * 1024
    long = good("POST", where, {"title": "\u00e9" * 512})
    listed = good("GET", "/v1/threads?limit=1")["data"][0]
    assert len(long["title"]) == 512 and listed["title"] == "\u00e9" * 128, listed
    assert "title" not in good("POST", where, {"title": ""}) and "title" not in good("GET", where)


def test_a_message_has_a_content():
    thread = good("POST", "/v1/threads", {})["id"]
    for content in ("", []):
        bad(400, "POST", f"/v1/threads/{thread}/messages", {"role": "user", "content": content}, "the content is empty")
        bad(400, "POST", "/v1/threads", {"messages": [{"role": "user", "content": content}]}, "the content is empty")
    bad(400, "POST", "/v1/threads", {"messages": [""]}, "the content is empty")
    assert good("GET", f"/v1/threads/{thread}/messages")["data"] == []


def test_a_thread_goes_back_to_before_and_after_a_message():
    thread = talk("first")
    talk("second", thread)
    assert texts(thread) == ["first", "Hello.", "second", "Hello."]
    data = entries(thread)["data"]
    where = f"/v1/threads/{thread}/restore"
    place = good("POST", where, {"before": data[2]["id"]})
    assert place["put_back"] and texts(thread) == ["first", "Hello."]
    talk("other", thread)
    assert texts(thread) == ["first", "Hello.", "other", "Hello."]
    tree = good("GET", f"/v1/threads/{thread}/tree")
    branch = tree["nodes"][1]
    assert branch["branch_point"] == 2 and branch["branch_entries"] <= data[2]["index"], tree
    good("POST", where, {"after": entries(thread)["data"][2]["id"]})  # once more: the same question, another answer
    assert texts(thread) == ["first", "Hello.", "other"]
    talk(None, thread)
    assert texts(thread) == ["first", "Hello.", "other", "Hello."] and len(good("GET", f"/v1/threads/{thread}/tree")["nodes"]) == 3
    good("POST", where, {"before": data[0]["id"]})
    assert texts(thread) == []
    good("POST", f"/v1/threads/{thread}/checkout", {"node_id": tree["root_id"]})
    assert texts(thread) == ["first", "Hello.", "second", "Hello."]
    bad(404, "POST", where, {"before": "msg_" + "0" * 32}, "no message")
    bad(400, "POST", where, {"before": data[0]["id"], "after": data[0]["id"]}, "not both")
    bad(400, "POST", where, {}, "checkpoint_id, before or after")
    other = talk("elsewhere")
    bad(404, "POST", where, {"after": entries(other)["data"][0]["id"]}, "no message")


try:
    main(globals())
finally:
    SERVER.__exit__()
    FOLDER.cleanup()
