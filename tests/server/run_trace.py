#!/usr/bin/env python3
"""GET /v1/runs/{run}/trace: model calls, tools, sub-agents and waits with their times, tokens and cost; the same after a restart.

usage: run_trace.py WEFT   (TAP)
"""
import json
import os
import sys
import tempfile
import time

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-trace-")

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:trace.db
log: {level: warn}
models:
  boss: {provider: scripted, script: boss.json}
  helper: {provider: scripted, script: helper.json}
  slow: {provider: scripted, script: slow.json}
  fails: {provider: scripted, script: fails.json}
  first: {provider: scripted, script: first.json}
  plan: {provider: scripted, script: plan.json}
  echo: {provider: scripted, echo: true}
tools:
  look: {description: Looks, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; sleep 0.1; echo seen"]}
  remove: {description: Removes, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo gone"], approval: always}
  broken: {description: Breaks, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; exit 3"]}
agents:
  boss: {model: boss, tools: [helper, remove], budget: {max_tokens: 1000000, input_price: 2, output_price: 10}}
  helper: {model: helper, tools: [look, broken]}
  slow: {model: slow}
  fails: {model: fails}
  first: {model: first, handoff: [echo]}
  echo: {model: echo}
  planner: {model: plan, tools: [look, helper, remove], strategy: {plan: {}}, budget: {max_tokens: 1000000, input_price: 2, output_price: 10}}
"""


def call(id, name, **arguments):
    return {"tool_call": {"id": id, "name": name, "arguments": arguments}}


def used(input, output):
    return {"input_tokens": input, "output_tokens": output}


SCRIPTS = {
    "boss": [{"parts": [call("b1", "helper", task="look")], "usage": used(1000, 100)},
             {"parts": [call("b2", "remove")], "usage": used(2000, 10)}, {"parts": [{"text": "Done."}], "usage": used(3000, 1)}],
    "helper": [{"parts": [call("h1", "look"), call("h2", "broken")], "usage": used(500, 50)}, {"parts": [{"text": "Seen."}], "usage": used(600, 5)}],
    "slow": [{"parts": [{"text": "0123456789"}], "delta_bytes": 1, "delay_ms": 20, "usage": used(7, 3)}],
    "fails": [{"error": {"code": "INVALID_REQUEST", "message": "no <b>such</b> thing"}}],
    "plan": [{"when": {"contains": "Make a plan"}, "data": {"steps": [{"id": i, "description": f"do {i}", "tool": t, "dependsOn": d}
                                                                     for i, t, d in (("2/see", "look", []), ("ask", "helper", []), ("think", "", []), ("end", "", ["2/see", "ask", "think"]))]},
              "usage": used(11, 7)},
             {"when": {"contains": "step '2/see'"}, "parts": [call("p1", "look")], "usage": used(100, 10)},
             {"when": {"tool_result": "look"}, "parts": [{"text": "I saw it."}], "usage": used(200, 20)},
             {"when": {"contains": "step 'ask'"}, "parts": [call("p2", "helper", task="look")], "usage": used(300, 30)},
             {"when": {"tool_result": "helper"}, "parts": [{"text": "It was seen."}], "usage": used(400, 40)},
             {"when": {"contains": "step 'think'"}, "parts": [{"text": "0123456789" * 4}], "delta_bytes": 1, "delay_ms": 20, "usage": used(500, 50)},
             {"when": {"contains": "step 'end'"}, "parts": [call("p3", "remove")], "usage": used(600, 60)},
             {"when": {"tool_result": "remove"}, "parts": [{"text": "Done."}], "usage": used(700, 70)}],
    "first": [{"parts": [call("f1", "handoff_to_echo", message="go on")]}],
}


def folder(name):
    path = f"{HERE}/{name}"
    os.makedirs(path, exist_ok=True)
    for script, replies in SCRIPTS.items():
        with open(f"{path}/{script}.json", "w") as f:
            json.dump({"replies": replies, **({"again": True} if script == "plan" else {"at_end": "restart"})}, f)
    with open(f"{path}/weft.yaml", "w") as f:
        f.write(CONFIG)
    return path


def trace(s, run):
    return s.good("GET", f"/v1/runs/{run['id']}/trace")


def spans(t, kind=None):
    return [s for s in t["spans"] if kind in (None, s["kind"])]


def check_times(t):
    """Every span is within its run, and a run within its parent."""
    for s in t["spans"]:
        assert t["started"] <= s["started"], (t, s)
        assert s["ended"] is None or s["started"] <= s["ended"] <= (t["ended"] or s["ended"]), (t, s)
    for c in t["children"]:
        assert t["started"] <= c["started"] and c["ended"] <= (t["ended"] or c["ended"]), (t, c)
        check_times(c)


def test_a_run_with_all_kinds_of_spans():
    path = folder("all")
    with Server(WEFT, path) as s:
        run, thread = s.start("boss")
        assert s.ended(run, thread)["status"] == "requires_action"
        t = trace(s, run)
        assert t["status"] == "waiting" and t["ended"] is None, t
        assert [(x["kind"], x["name"]) for x in t["spans"]] == [("model", "scripted"), ("agent", "helper"), ("model", "scripted"), ("wait", "remove")], t
        assert spans(t, "wait")[0]["ended"] is None and spans(t, "wait")[0]["outcome"] is None, t
        while time.time() * 1000 < spans(t, "wait")[0]["started"] + 60:  # so long it waits at least
            time.sleep(0.005)
        s.good("POST", f"/v1/runs/{run['id']}/answers", {"answers": [{"call_id": spans(t, "wait")[0]["toolCallId"], "approved": True}]})
        run = {**run, "status": "in_progress"}
        assert s.ended(run, thread)["status"] == "completed"
        t = trace(s, run)
        check_times(t)
        assert [(x["kind"], x["name"], x["outcome"]) for x in t["spans"]] == [
            ("model", "scripted", "done"), ("agent", "helper", "done"), ("model", "scripted", "done"), ("wait", "remove", "done"),
            ("tool", "remove", "done"), ("model", "scripted", "done")], t
        wait, (remove,) = spans(t, "wait")[0], spans(t, "tool")
        assert wait["ended"] - wait["started"] >= 60 and remove["started"] >= wait["ended"], (wait, remove)
        first, last = spans(t, "model")[0], spans(t, "model")[-1]
        assert first["usage"]["inputTokens"] == 1000 and first["provider"] == "scripted" and first["step"] == 1, first
        assert abs(first["cost"] - 0.003) < 1e-9, first
        assert abs(t["cost"] - (6000 * 2 + 111 * 10) / 1e6) < 1e-9, t["cost"]
        assert abs(t["totalCost"] - (7100 * 2 + 166 * 10) / 1e6) < 1e-9, t["totalCost"]  # the prices are also those below
        assert t["usage"]["inputTokens"] == 6000 and t["totalUsage"]["inputTokens"] == 7100, t
        (helper,) = t["children"]
        assert spans(t, "agent")[0]["childTurnId"] == helper["turnId"] and helper["parentTurnId"] == t["turnId"], t
        assert [(x["kind"], x["name"], x["outcome"], x["agent"]) for x in helper["spans"]] == [
            ("model", "scripted", "done", "helper"), ("tool", "look", "done", "helper"), ("tool", "broken", "error", "helper"),
            ("model", "scripted", "done", "helper")], helper
        look = spans(helper, "tool")[0]
        assert look["ended"] - look["started"] >= 100, look
        assert last["ended"] <= t["ended"], t
    with Server(WEFT, path) as s:
        assert trace(s, run) == t, "the same after a restart"
        # a child is a run of its own
        assert trace(s, {"id": helper["turnId"]})["spans"] == [{**x, "cost": None} if x["kind"] == "model" else x for x in helper["spans"]]


def test_the_time_of_the_first_output():
    with Server(WEFT, folder("slow")) as s:
        run, thread = s.start("slow")
        s.ended(run, thread)
        (model,) = trace(s, run)["spans"]
        assert model["started"] <= model["firstOutput"] < model["ended"], model
        assert model["ended"] - model["firstOutput"] >= 100, model  # nine pauses of 20 ms
        assert model["cost"] is None and model["usage"]["outputTokens"] == 3, model


def test_a_run_that_failed_says_why():
    with Server(WEFT, folder("fails")) as s:
        run, thread = s.start("fails")
        assert s.ended(run, thread)["status"] == "failed"
        t = trace(s, run)
        assert t["status"] == "failed" and t["error"]["message"] == "no <b>such</b> thing" and t["spans"] == [], t
        assert t["cost"] is None and t["totalCost"] is None, t


def test_the_agent_after_a_handoff():
    with Server(WEFT, folder("handoff")) as s:
        run, thread = s.start("first")
        assert s.ended(run, thread)["status"] == "completed"
        t = trace(s, run)
        assert [(x["name"], x["agent"]) for x in spans(t, "model")] == [("scripted", "first"), ("echo", "echo")], t


def everything(t):
    return [s for s in t["spans"]] + [s for c in t["children"] for s in everything(c)]


def check_sums(t, s, run, thread):
    """Each model call is there once: tokens and cost add up to those of the run."""
    models = [x for x in everything(t) if x["kind"] == "model"]
    for name, theirs in (("inputTokens", "prompt_tokens"), ("outputTokens", "completion_tokens")):
        assert sum(x["usage"][name] for x in models) == t["totalUsage"][name], (name, t["totalUsage"], models)
        usage = s.good("GET", f"/v1/threads/{thread}/runs/{run['id']}")["usage"]
        assert usage is None or usage[theirs] == t["totalUsage"][name], (usage, t["totalUsage"])
    assert abs(sum(x["cost"] for x in models) - t["totalCost"]) < 1e-9 and abs(t["totalCost"] - (t["totalUsage"]["inputTokens"] * 2 + t["totalUsage"]["outputTokens"] * 10) / 1e6) < 1e-9, t
    return len(models)


def test_parallel_steps_of_a_plan_are_counted_once():
    path = folder("plan")
    with Server(WEFT, path) as s:
        run, thread = s.start("planner")
        for _ in range(600):  # while its steps work
            t = trace(s, run)
            if len(t["children"]) == 3:
                break
            time.sleep(0.005)
        assert [c["planStepId"] for c in t["children"]] == ["2/see", "ask", "think"], t
        assert s.ended(run, thread)["status"] == "requires_action"
        t = trace(s, run)
        check_times(t)
        assert check_sums(t, s, run, thread) == 9, t  # before the end of the run, too
        s.good("POST", f"/v1/runs/{run['id']}/answers", {"answers": [{"call_id": spans(t, "wait")[0]["toolCallId"], "approved": True}]})
        assert s.ended({**run, "status": "in_progress"}, thread)["status"] == "completed"
        t = trace(s, run)
        check_times(t)
        assert check_sums(t, s, run, thread) == 10 and t["totalUsage"]["inputTokens"] == 2811 + 1100, t
        assert [(x["kind"], x["name"], x.get("planStepId")) for x in t["spans"]] == [
            ("model", "scripted", None), ("branch", "2/see", "2/see"), ("branch", "ask", "ask"), ("branch", "think", "think"),
            ("model", "scripted", "end"), ("wait", "remove", "end"), ("tool", "remove", "end"), ("model", "scripted", "end")], t["spans"]
        see, ask, think = t["children"]
        assert see["input"].startswith("Carry out step '2/see' of the plan: do 2/see"), see
        assert [(x["kind"], x["name"], x["planStepId"]) for x in see["spans"]] == [("model", "scripted", "2/see"), ("tool", "look", "2/see"), ("model", "scripted", "2/see")], see
        assert spans(see, "tool")[0]["ended"] - spans(see, "tool")[0]["started"] >= 100, see
        assert ask["children"][0]["agent"] == "helper" and ask["totalUsage"]["inputTokens"] == 1800, ask
        assert [x["ended"] for x in spans(t, "branch")] == [see["ended"], ask["ended"], think["ended"]] and spans(t, "branch")[0]["ended"] < think["ended"], t
    with Server(WEFT, path) as s:
        assert trace(s, run) == t, "the same after a restart"


def test_a_long_input_is_cut_and_says_so():
    with Server(WEFT, folder("long")) as s:
        for text, cut in (("x" * (1 << 20), None), ("x" * (1 << 20) + "y", True)):
            thread = s.good("POST", "/v1/threads", {})["id"]
            run = s.good("POST", f"/v1/threads/{thread}/runs", {"assistant_id": "echo", "additional_messages": [{"role": "user", "content": text}]})
            t = trace(s, run)
            assert t["input"] == "x" * (1 << 20) and t.get("inputCut") is cut, (len(t["input"]), t.get("inputCut"))


def test_a_run_that_does_not_exist():
    with Server(WEFT, folder("none")) as s:
        for name in ("run_" + "0" * 32, "nothing"):
            status, answer = s.ask("GET", f"/v1/runs/{name}/trace")
            assert status == 404 and answer["error"]["code"] == "not_found", answer


if __name__ == "__main__":
    main(globals())
