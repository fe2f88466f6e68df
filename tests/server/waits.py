#!/usr/bin/env python3
"""What waits for an answer: GET /v1/approvals, the deadlines of `waits:`, a restart in between; and the runs of a thread.

usage: waits.py WEFT   (TAP)
"""
import json
import os
import re
import shutil
import sys
import tempfile
import time
import urllib.parse

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-waits-")

CONFIG = """
server: {{listen: "127.0.0.1:0"}}
store: sqlite:waits.db
log: {{level: warn}}
{waits}
models:
  echo: {{provider: scripted, echo: true}}
  ask: {{provider: scripted, script: ask.json}}
  pick: {{provider: scripted, script: pick.json}}
  both: {{provider: scripted, script: both.json}}
  boss: {{provider: scripted, script: boss.json}}
tools:
  pick_date: {{description: Picks a date, parameters: {{type: object}}}}
  remove: {{description: Removes a file, parameters: {{type: object}}, command: [sh, -c, "cat >/dev/null; echo gone"], approval: always}}
agents:
  echo: {{model: echo}}
  ask: {{model: ask, tools: [remove]}}
  pick: {{model: pick, tools: [pick_date]}}
  both: {{model: both, tools: [remove, pick_date]}}
  boss: {{model: boss, tools: [ask]}}
"""


def call(id, name, **arguments):
    return {"tool_call": {"id": id, "name": name, "arguments": arguments}}


SCRIPTS = {
    "ask": [{"parts": [call("c1", "remove", path="x")]}, {"parts": [{"text": "Done."}]}],
    "pick": [{"parts": [call("p1", "pick_date", month=5)]}, {"parts": [{"text": "Booked."}]}],
    "both": [{"parts": [call("c1", "remove", path="x"), call("c2", "remove", path="y"), call("c3", "pick_date")]},
             {"parts": [{"text": "All done."}]}],
    "boss": [{"parts": [call("b1", "ask", task="remove it")]}, {"parts": [{"text": "It is gone."}]}],
}


def folder(name, waits=""):
    path = f"{HERE}/{name}"
    os.makedirs(path, exist_ok=True)
    for script, replies in SCRIPTS.items():
        with open(f"{path}/{script}.json", "w") as f:
            json.dump({"replies": replies, "at_end": "restart"}, f)
    with open(f"{path}/weft.yaml", "w") as f:
        f.write(CONFIG.format(waits=waits))
    return path


def start(s, agent, thread=None, text="please"):
    thread = thread or s.good("POST", "/v1/threads", {})["id"]
    run = s.good("POST", f"/v1/threads/{thread}/runs",
                 {"assistant_id": agent, "additional_messages": [{"role": "user", "content": text}]})
    return thread, run["id"]


def until(s, thread, run, good):
    """The run when good(run)."""
    end = time.monotonic() + 60
    while True:
        now = s.good("GET", f"/v1/threads/{thread}/runs/{run}")
        if good(now):
            return now
        assert time.monotonic() < end, now
        time.sleep(0.02)


def waiting(s, agent):
    thread, run = start(s, agent)
    until(s, thread, run, lambda r: r["status"] == "requires_action" or "weft_pending" in r["metadata"])
    return thread, run


def ended(s, thread, run):
    return until(s, thread, run, lambda r: r["status"] not in ("queued", "in_progress", "requires_action", "cancelling"))


def waits(s, query=""):
    return s.good("GET", f"/v1/approvals{query}")["data"]


def answer(s, run, **members):
    return s.good("POST", f"/v1/runs/{run}/answers", {"answers": [members]})


def results(s, thread):
    """The texts of the tools' results."""
    return json.dumps(s.good("GET", f"/v1/threads/{thread}/export?as=upp"))


def test_what_waits_is_listed():
    with Server(WEFT, folder("list")) as s:
        assert s.good("GET", "/v1/approvals") == {"object": "list", "data": [], "first_id": None, "last_id": None,
                                                  "has_more": False}
        began = int(time.time())
        thread, run = waiting(s, "ask")
        (a,) = waits(s)
        assert a["id"] == f"appr_{run[4:]}_c1" and a["object"] == "approval" and a["kind"] == "approval", a
        assert a["run_id"] == run and a["thread_id"] == thread and a["assistant_id"] == "ask" and a["call_id"] == "c1", a
        assert a["function"]["name"] == "remove" and json.loads(a["function"]["arguments"]) == {"path": "x"}, a
        assert a["description"] == "Removes a file", a
        assert began <= a["created_at"] <= time.time() and abs(a["expires_at"] - a["created_at"] - 7 * 86400) <= 1, a

        picks = waiting(s, "pick")[1]
        assert len(waits(s)) == 1 and [w["run_id"] for w in waits(s, "?kind=tool")] == [picks]
        (t,) = waits(s, "?kind=tool")
        assert t["kind"] == "tool" and abs(t["expires_at"] - t["created_at"] - 86400) <= 1, t
        assert [w["run_id"] for w in waits(s, "?kind=any")] == [run, picks]
        assert [w["call_id"] for w in waits(s, f"?kind=any&run={picks}")] == ["p1"]
        assert waits(s, f"?run={picks}") == []

        # What is answered waits no more.
        answer(s, run, call_id="c1", approved=True)
        assert ended(s, thread, run)["status"] == "completed"
        assert waits(s) == []


def test_a_call_of_a_sub_agent_is_listed_with_its_agent():
    with Server(WEFT, folder("child")) as s:
        thread, run = waiting(s, "boss")
        (a,) = waits(s)
        assert a["run_id"] == run and a["thread_id"] == thread and a["assistant_id"] == "ask", a
        answer(s, run, call_id=a["call_id"], approved=True)
        assert ended(s, thread, run)["status"] == "completed"


def test_the_list_has_pages():
    with Server(WEFT, folder("pages")) as s:
        runs = [waiting(s, agent)[1] for agent in ("both", "ask", "pick", "both")]
        want = [(runs[0], "c1"), (runs[0], "c2"), (runs[0], "c3"), (runs[1], "c1"), (runs[2], "p1"),
                (runs[3], "c1"), (runs[3], "c2"), (runs[3], "c3")]
        for limit in (1, 2, 3, 100):
            got, after = [], ""
            while True:
                page = s.good("GET", f"/v1/approvals?kind=any&limit={limit}{after}")
                got += [(a["run_id"], a["call_id"]) for a in page["data"]]
                assert page["first_id"] == page["data"][0]["id"] and page["last_id"] == page["data"][-1]["id"], page
                if not page["has_more"]:
                    break
                assert len(page["data"]) == limit
                after = "&after=" + urllib.parse.quote(page["last_id"])
            assert got == want, (limit, got)
        assert [(a["run_id"], a["call_id"]) for a in waits(s, f"?kind=any&after={runs[0]}")] == want[3:]
        for query in ("kind=x", "limit=0", "limit=101", "after=x", "after=appr_1_2", f"after=run_{'1' * 32}", "order=desc"):
            status, body = s.ask("GET", f"/v1/approvals?{query}")
            assert status == 400, (query, status, body)
        assert s.ask("GET", f"/v1/approvals?run=run_{'1' * 32}")[0] == 404


def test_a_restart_keeps_what_waits():
    where = folder("restart")
    with Server(WEFT, where) as s:
        yes, no = waiting(s, "ask"), waiting(s, "ask")
        before = waits(s)
        s.process.kill()
        s.process.wait()
    with Server(WEFT, where) as s:
        assert waits(s) == before
        answer(s, yes[1], call_id="c1", approved=True)
        answer(s, no[1], call_id="c1", approved=False, reason="it is \"mine\"")
        assert ended(s, *yes)["status"] == "completed" and ended(s, *no)["status"] == "completed"
        assert "gone" in results(s, yes[0]) and "denied" not in results(s, yes[0])
        assert "gone" not in results(s, no[0]) and "denied by approval handler: it is" in results(s, no[0])
        assert waits(s, "?kind=any") == []
        status, body = s.ask("POST", f"/v1/runs/{no[1]}/answers", {"answers": [{"call_id": "c1", "approved": True}]})
        assert status == 400, body


def test_runs_with_long_options_keep_nobody_from_working():
    f = folder("long")

    def metrics(s):
        c = s.connection()
        c.request("GET", "/metrics")
        r = c.getresponse()
        text = r.read().decode()
        assert r.status == 200, text
        return int(re.search(r'^weft_runs\{state="waiting"\} (\d+)', text, re.M)[1])

    with Server(WEFT, f) as s:
        for _ in range(20):
            t = s.good("POST", "/v1/threads", {})["id"]
            run = s.good("POST", f"/v1/threads/{t}/runs", {"assistant_id": "pick", "instructions": "x" * 4000000,
                                                           "additional_messages": [{"role": "user", "content": "go"}]})
            until(s, t, run["id"], lambda r: r["status"] == "requires_action")
        assert metrics(s) == 20
    with Server(WEFT, f) as s:
        assert metrics(s) == 20


def test_a_reason_is_a_denials():
    with Server(WEFT, folder("reason")) as s:
        _, run = waiting(s, "ask")
        for wrong in ({"approved": True, "reason": "x"}, {"approved": False, "reason": 1}, {"output": 1, "reason": "x"}):
            status, body = s.ask("POST", f"/v1/runs/{run}/answers", {"answers": [{"call_id": "c1", **wrong}]})
            assert status == 400, (wrong, body)


def test_the_configuration_ends_waits():
    where = folder("short", "waits: {approval: 1s, tool: 7d}")
    with Server(WEFT, where) as s:
        tool, approval = waiting(s, "pick"), waiting(s, "ask")
        assert ended(s, *approval)["status"] == "expired"
        assert [w["run_id"] for w in waits(s, "?kind=any")] == [tool[1]]
        status, body = s.ask("POST", f"/v1/runs/{approval[1]}/answers", {"answers": [{"call_id": "c1", "approved": True}]})
        assert status == 400, body
        down = waiting(s, "ask")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:  # it expires while no server runs; its deadline is in the store
        with Server(WEFT, where) as s:
            if s.good("GET", f"/v1/threads/{down[0]}/runs/{down[1]}")["status"] == "expired":
                break
    else:
        raise AssertionError("it never expired")


def test_the_runs_of_a_thread_are_listed():
    with Server(WEFT, folder("runs")) as s:
        thread, first = start(s, "echo")
        ended(s, thread, first)
        runs = [first]
        for i in range(9):
            runs.append(start(s, "echo", thread, f"n{i}")[1])
            ended(s, thread, runs[-1])
        other = start(s, "echo")[1]

        def ids(query):
            page = s.good("GET", f"/v1/threads/{thread}/runs{query}")
            got = [r["id"] for r in page["data"]]
            assert page["first_id"] == (got[0] if got else None) and page["last_id"] == (got[-1] if got else None), page
            return got, page["has_more"]

        down = runs[::-1]
        assert ids("") == (down, False)
        assert ids("?order=asc") == (runs, False)
        assert ids("?limit=3") == (down[:3], True)
        assert ids(f"?limit=3&after={down[2]}") == (down[3:6], True)
        assert ids(f"?limit=3&after={down[6]}") == (down[7:], False)
        assert ids(f"?limit=2&before={down[5]}") == (down[3:5], True)
        assert ids(f"?limit=9&before={down[2]}") == (down[:2], False)
        assert ids(f"?after={down[1]}&before={down[4]}") == (down[2:4], False)
        assert ids(f"?order=asc&limit=9&after={runs[0]}") == (runs[1:], False)
        assert ids(f"?order=asc&limit=2&before={runs[4]}") == (runs[2:4], True)
        page = s.good("GET", f"/v1/threads/{thread}/runs?limit=1")["data"][0]
        assert page == s.good("GET", f"/v1/threads/{thread}/runs/{runs[-1]}"), page
        for query in ("order=x", "limit=x", f"after={other}", f"before=run_{'1' * 32}", "after=x"):
            assert s.ask("GET", f"/v1/threads/{thread}/runs?{query}")[0] == 400, query
        assert s.ask("GET", f"/v1/threads/thread_{'1' * 32}/runs")[0] == 404

        waits_thread, run = waiting(s, "pick")
        (r,) = s.good("GET", f"/v1/threads/{waits_thread}/runs")["data"]
        assert r["id"] == run and r["status"] == "requires_action" and r["required_action"], r


try:
    main(globals())
finally:
    shutil.rmtree(HERE, ignore_errors=True)
