#!/usr/bin/env python3
"""Lineage from outside: GET /v1/envelopes/{id}/lineage, weft lineage, and the price tracker of examples/.

usage: lineage.py WEFT   (TAP)
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = f"{ROOT}/examples/price-tracker"
HERE = tempfile.mkdtemp(prefix="weft-lineage-")
TREE = f"{HERE}/tree"
LOG = f"{HERE}/log.jsonl"


def weft(*args, status=0, folder=TREE, **more):
    r = subprocess.run([WEFT, *args], cwd=folder, capture_output=True, text=True, timeout=120, **more)
    assert r.returncode == status, (args, r.returncode, r.stdout, r.stderr)
    return r.stdout if status == 0 else r.stderr


def get(s, path):
    """Status, type, text."""
    c = s.connection()
    c.request("GET", path)
    r = c.getresponse()
    text = r.read().decode()
    c.close()
    return r.status, r.headers, text


def order():
    with open(f"{EXAMPLE}/order.json") as f:
        return json.load(f)


def serve():
    if not os.path.exists(TREE):
        shutil.copytree(EXAMPLE, TREE)
    return Server(WEFT, TREE)


def envelope(id, *parents, **more):
    return {"protocol": "multiagent-1.0", "role": "user", "timestamp": "2025-10-10T12:39:00Z", "intent": "plan", "task": f"Do {id}",
            "content": {"type": "text", "text": "t"}, "trace": {"id": id, "parents": list(parents), **more}}


def write_log(*envelopes, list=False):
    with open(LOG, "w") as f:
        f.write(json.dumps(envelopes) if list else "".join(json.dumps(e) + "\n" for e in envelopes))


# covers: ENV-10/1
def test_ancestors_descendants_and_costs():
    with serve() as s:
        answer = s.good("POST", "/v1/envelopes", order())
        all = s.good("GET", "/v1/envelopes/order-1/lineage")
        nodes = {n["id"]: n for n in all["nodes"]}
        assert len(nodes) == 12 and all["unknown"] == [] and all["circles"] == []
        assert all["nodes"][0]["id"] == "order-1" and nodes["order-1"]["relation"] == "self"
        # On the wire the answer has a chain; its direct parent is the reflection, whose parent is the doubted summary.
        assert len(answer["trace"]["parents"]) == 2
        reflection = nodes[answer["trace"]["id"]]["parents"]
        assert reflection == answer["trace"]["parents"][1:]
        doubted = nodes[reflection[0]]["parents"]
        assert [nodes[d]["score"] for d in doubted] == [0.41], doubted
        # What each envelope cost, and what follows from it.
        assert nodes["order-1"]["cost"] == {"input_tokens": 0, "output_tokens": 0}
        assert nodes["order-1"]["subtree_cost"] == all["cost"] == {"input_tokens": 3670, "output_tokens": 730}
        assert nodes[doubted[0]]["subtree_cost"] == {"input_tokens": 830, "output_tokens": 54}
        above = s.good("GET", f"/v1/envelopes/{answer['trace']['id']}/lineage?which=ancestors")
        assert len(above["nodes"]) == 10 and {n["relation"] for n in above["nodes"]} == {"ancestor", "self"}
        below = s.good("GET", f"/v1/envelopes/{doubted[0]}/lineage?which=descendants")
        assert len(below["nodes"]) == 3 and below["nodes"][-1]["id"] == answer["trace"]["id"], below
        both = s.good("GET", f"/v1/envelopes/{doubted[0]}/lineage")
        assert len(both["nodes"]) == 10  # without what was retrieved
        # Through the server, and from the store when nobody owns it.
        assert json.loads(weft("lineage", "order-1", "--json")) == all
    assert json.loads(weft("lineage", "order-1", "--json")) == all


# covers: ENV-10/2
def test_it_is_drawn():
    with serve() as s:
        s.good("POST", "/v1/envelopes", order())
        status, headers, svg = get(s, "/v1/envelopes/order-1/lineage?as=svg")
        assert status == 200 and headers["content-type"] == "image/svg+xml" and "sandbox" in headers["content-security-policy"]
        root = xml.etree.ElementTree.fromstring(svg)
        assert len(root.findall(".//{*}title")) == 12 and len(root.findall(".//{*}path")) == 11
        status, headers, dot = get(s, "/v1/envelopes/order-1/lineage?as=dot")
        assert status == 200 and headers["content-type"].startswith("text/vnd.graphviz") and dot.count(" -> ") == 11
        status, _, text = get(s, "/v1/envelopes/order-1/lineage?as=text")
        assert status == 200 and text.startswith("* order-1  user, plan: Track") and len(text.splitlines()) == 12
    assert weft("lineage", "order-1", "--svg") == svg
    assert weft("lineage", "order-1", "--dot") == dot
    assert weft("lineage", "order-1").count("`- ") == 10  # ASCII, as this is no terminal


def test_what_is_not_there_is_refused():
    with serve() as s:
        s.good("POST", "/v1/envelopes", order())
        status, answer = s.ask("GET", "/v1/envelopes/nobody/lineage")
        assert status == 404 and answer["content"]["text"] == "there is no envelope 'nobody'", answer
        for query, message in (("as=png", "'as' is json, svg, dot or text"), ("which=none", "'which' is all, ancestors or descendants")):
            status, answer = s.ask("GET", f"/v1/envelopes/order-1/lineage?{query}")
            assert status == 400 and answer["content"]["text"] == message, answer
        assert weft("lineage", "nobody", status=1) == "weft lineage: there is no envelope 'nobody'\n"
    assert "exclude each other" in weft("lineage", "order-1", "--dot", "--svg", status=2)
    assert "needs the id of an envelope, or --log FILE" in weft("lineage", status=2)


def test_through_another_door():
    """An envelope that came to the router as the input of a run is found by its id, like one of POST /v1/envelopes."""
    folder = shutil.copytree(EXAMPLE, f"{HERE}/door")
    with Server(WEFT, folder) as s:
        text = json.dumps(envelope("door-1"))
        first = json.loads(weft("run", "weft.router", text, "--json", folder=folder))
        status, _, shown = get(s, "/v1/envelopes/door-1/lineage?as=text")
        assert status == 200 and shown.startswith("* door-1  user, plan: Do door-1"), shown
        assert weft("lineage", "door-1", folder=folder).startswith("* door-1  user, plan")
        # The same envelope gets the recorded answer, another one with this id is refused.
        threads = len(s.good("GET", "/v1/threads?limit=100")["data"])
        c = s.connection()
        c.request("POST", "/v1/envelopes", text)
        r = c.getresponse()
        assert r.status == 200 and json.loads(r.read())["trace"]["id"] == json.loads(first["text"])["trace"]["id"]
        c.close()
        status, answer = s.ask("POST", "/v1/envelopes", envelope("door-1", "other"))
        assert status == 400 and answer["content"]["data"]["code"] == "id_taken", answer
        assert len(s.good("GET", "/v1/threads?limit=100")["data"]) == threads
        # As a run it works again, and the id stays with the first one.
        again = json.loads(weft("run", "weft.router", text, "--json", folder=folder))
        assert again["run"] != first["run"] and again["thread"] != first["thread"], again
        assert get(s, "/v1/envelopes/door-1/lineage?as=text")[2] == shown
    weft("run", "weft.router", json.dumps(envelope("door-2")), folder=folder)  # without a server
    assert weft("lineage", "door-2", folder=folder).startswith("* door-2  user, plan")


def test_other_tenants_see_nothing():
    with serve() as s:
        s.good("POST", "/v1/envelopes", order())
    assert "there is no envelope" in weft("lineage", "order-1", "--tenant", "other", status=1)


def test_a_log():
    write_log(envelope("a"), envelope("b", "a"), envelope("c", "a", "b", "gone"), envelope("d", "d"))
    all = json.loads(weft("lineage", "--log", LOG, "--json", folder=HERE))
    assert [(n["id"], n["parents"]) for n in all["nodes"]] == [("a", []), ("b", ["a"]), ("c", ["b", "gone"]), ("d", [])], all
    assert all["id"] is None and all["unknown"] == ["gone"] and all["circles"] == [{"child": "d", "parent": "d"}], all
    assert weft("lineage", "--log", LOG, "c", "--ancestors", folder=HERE) == (
        "gone  (not in the log)\n`- * c  user, plan: Do c\na  user, plan: Do a\n`- b  user, plan: Do b\n   `- * c  (see above)\n"
        "circle: d names as its parent d, which follows from it\n")
    write_log(envelope("a"), envelope("b", "a"), list=True)
    with open(LOG) as f:
        assert "`- b  user" in weft("lineage", "--log", "-", folder=HERE, stdin=f)
    assert "there is no envelope 'x'" in weft("lineage", "--log", LOG, "x", status=1, folder=HERE)
    with open(LOG, "w") as f:
        f.write(json.dumps(envelope("a")) + "\nnot JSON\n\n")
    r = subprocess.run([WEFT, "lineage", "--log", LOG], cwd=HERE, capture_output=True, text=True)
    assert r.returncode == 1 and r.stdout == "a  user, plan: Do a\n" and ":2:" in r.stderr, r


# covers: ENV-9/2, ENV-10/2, ENV-7/1
def test_the_price_tracker():
    r = subprocess.run([sys.executable, f"{EXAMPLE}/run", WEFT, f"{HERE}/out"], capture_output=True, text=True, timeout=120)
    assert r.returncode == 0, (r.stdout, r.stderr)
    assert "The same rules: no differences. With another rule for summaries: that one." in r.stdout
    assert os.path.exists(f"{HERE}/out/exchange.svg")
    assert weft("lineage", "--log", "exchange.jsonl", "--svg", "order-1", folder=f"{HERE}/out").count("<title>") == 12


# covers: ENV-11/2
def test_an_exchange_comes_back_through_a_thread_document():
    with serve() as s:
        s.good("POST", "/v1/envelopes", order())
        log = [json.loads(line) for line in get(s, "/v1/envelopes/order-1/exchange")[2].splitlines()]
        thread = s.good("GET", "/v1/threads")["data"][0]["id"]
        document = s.good("GET", f"/v1/threads/{thread}/export?as=thread")
    with open(f"{HERE}/thread.json", "w") as f:
        json.dump(document, f)
    assert json.loads(weft("convert", "--to", "envelope", f"{HERE}/thread.json")) == log
    assert log[1]["outputs"]["artifacts"][0]["name"] == "price_tracker_plan" and log[1]["confidence"]["score"] == 0.78


# covers: ENV-13/3
def test_no_url_is_fetched():
    with socket.create_server(("127.0.0.1", 0)) as trap, serve() as s:
        url = f"http://127.0.0.1:{trap.getsockname()[1]}/secret"
        e = envelope("fetch-1")
        e["inputs"] = {"resources": [{"type": "url", "id": url}, {"type": "file", "id": url, "hint": url}], "parameters": {"url": url}}
        e["outputs"] = {"artifacts": [{"kind": "report", "name": "r", "uri": url}]}
        s.good("POST", "/v1/envelopes", e)
        s.good("GET", "/v1/envelopes/fetch-1/lineage")
        assert url in json.dumps(s.good("GET", "/v1/envelopes/fetch-1"))
        trap.setblocking(False)
        try:
            trap.accept()
            assert False, "somebody came"
        except BlockingIOError:
            pass


def test_the_price_tracker_says_why_there_is_no_server():
    r = subprocess.run([sys.executable, f"{EXAMPLE}/run", "/bin/false"], capture_output=True, text=True, timeout=120)
    assert r.returncode == 1 and r.stderr == "/bin/false serve did not start\n", (r.stdout, r.stderr)


if __name__ == "__main__":
    try:
        main(globals())
    finally:
        shutil.rmtree(HERE, ignore_errors=True)
