#!/usr/bin/env python3
"""What a request may change for one run: each option reaches the model or the engine, or is refused with its pointer, and
survives the end of the server in the middle of the run.

usage: settings.py WEFT   (TAP)
"""
import json
import os
import shutil
import sys
import tempfile
import time

from served import Server, main

WEFT = os.path.abspath(sys.argv[1])
HERE = tempfile.mkdtemp(prefix="weft-settings-")

CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:settings.db
log: {level: warn}
models:
  show: {provider: scripted, script: show.json, params: {top_k: 7, temperature: 0.9}}
  call: {provider: scripted, script: call.json}
  long: {provider: scripted, script: long.json}
  slow: {provider: scripted, script: slow.json}
  keen: {provider: scripted, script: keen.json}
  claude: {provider: anthropic, model: claude-x, api_key: none, base_url: "http://127.0.0.1:9"}
  gpt: {provider: openai, model: gpt-x, api_key: none, base_url: "http://127.0.0.1:9"}
  gemini: {provider: google, model: gemini-x, api_key: none, base_url: "http://127.0.0.1:9"}
  llama: {provider: ollama, model: llama-x, base_url: "http://127.0.0.1:9"}
tools:
  clock: {description: The time, parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo noon"]}
  pick: {description: Picks, parameters: {type: object}}
agents:
  show: {model: show, system: Be brief.}
  both: {model: show, tools: [clock, pick]}
  call: {model: call}
  long: {model: long, tools: [clock]}
  slow: {model: slow}
  keen: {model: keen, tools: [clock]}
  claude: {model: claude, tools: [clock]}
  gpt: {model: gpt}
  gemini: {model: gemini, tools: [clock]}
  llama: {model: llama, tools: [clock]}
"""

SHOW = {"parts": [{"request": True}], "usage": {"input_tokens": 10, "output_tokens": 5}}
SCRIPTS = {
    "show": [SHOW],
    "call": [{"when": {"tool_result": "get_weather"}, "parts": [{"request": True}]},
             {"parts": [{"tool_call": {"id": "w1", "name": "get_weather", "arguments": {"city": "Oslo"}}}]}],
    "long": [{"when": {"tool_result": "clock"}, "parts": [{"text": "It is noon."}], "usage": {"input_tokens": 10, "output_tokens": 6}},
             {"parts": [{"text": "Let me look."}, {"tool_call": {"id": "t1", "name": "clock", "arguments": {}}}],
              "usage": {"input_tokens": 10, "output_tokens": 6}}],
    "slow": [{"parts": [{"text": "one"}, {"request": True}], "delay_ms": 700}],
    "keen": [{"when": {"contains": "noon"}, "parts": [{"request": True}]},
             {"parts": [{"tool_call": {"id": "k1", "name": "clock", "arguments": {}}}]}],
}
FUNCTION = {"type": "function", "function": {"name": "get_weather", "description": "The weather",
                                             "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}


def folder(name):
    path = f"{HERE}/{name}"
    os.makedirs(path, exist_ok=True)
    for script, replies in SCRIPTS.items():
        with open(f"{path}/{script}.json", "w") as f:
            json.dump({"replies": replies, "again": True}, f)
    with open(f"{path}/weft.yaml", "w") as f:
        f.write(CONFIG)
    os.chmod(f"{path}/weft.yaml", 0o600)
    return path


def start(s, agent, thread=None, text="please", **options):
    thread = thread or s.good("POST", "/v1/threads", {})["id"]
    more = {"additional_messages": [{"role": "user", "content": text}]} if text else {}
    return thread, s.ask("POST", f"/v1/threads/{thread}/runs", {"assistant_id": agent, **more, **options})


def over(s, run):
    end = time.monotonic() + 60
    while run["status"] in ("queued", "in_progress", "cancelling"):
        assert time.monotonic() < end, run
        time.sleep(0.02)
        run = s.good("GET", f"/v1/threads/{run['thread_id']}/runs/{run['id']}")
    return run


def started(s, agent, text="please", thread=None, **options):
    thread, (status, run) = start(s, agent, thread, text, **options)
    assert status == 200, run
    return run


def texts(s, run):
    page = s.good("GET", f"/v1/threads/{run['thread_id']}/messages?limit=100&order=asc")
    return [m["content"][0]["text"]["value"] for m in page["data"] if m["role"] == "assistant" and m["content"]]


def shown(s, run, status="completed"):
    """What the model received in its last call."""
    run = over(s, run)
    assert run["status"] == status, run
    return json.loads(texts(s, run)[-1].removeprefix("one"))


def refused(s, agent, pointer, status=400, **options):
    _, (got, answer) = start(s, agent, **options)
    assert got == status, (options, got, answer)
    assert answer["error"]["param"] == f"/{pointer}", (options, answer)
    return answer["error"]["message"]


VALUES = {  # each with what the model receives
    "temperature": 0.25, "top_p": 0.5, "stop": ["END"], "seed": 7, "frequency_penalty": -1.5, "presence_penalty": 2,
    "reasoning_effort": "low", "max_completion_tokens": 100,
}


def test_values_reach_the_model_over_its_own():
    with Server(WEFT, folder("values")) as s:
        run = started(s, "show", **VALUES)
        got = shown(s, run)
        assert got["params"] == {"top_k": 7, **VALUES}, got
        assert got["system"] == "Be brief." and got["tools"] == [], got
        for name in ("temperature", "top_p", "max_completion_tokens"):
            assert run[name] == VALUES[name], run
        assert shown(s, started(s, "show"))["params"] == {"top_k": 7, "temperature": 0.9}


def test_values_out_of_range_are_refused_with_their_pointer():
    bad = [("temperature", -0.1), ("temperature", 2.1), ("temperature", "hot"), ("top_p", 1.01), ("top_p", -1), ("seed", 1.5),
           ("seed", "x"), ("frequency_penalty", 2.5), ("presence_penalty", -3), ("max_completion_tokens", 0),
           ("max_completion_tokens", 1.5), ("max_prompt_tokens", -1), ("max_prompt_tokens", "10"), ("stop", ""),
           ("stop", []), ("stop", ["a"] * 5), ("reasoning_effort", "extreme"), ("parallel_tool_calls", "no"),
           ("tool_choice", "maybe"), ("tool_choice", 1), ("response_format", "json"), ("truncation_strategy", "auto"),
           ("tools", {}), ("tools", [FUNCTION] * 129), ("metadata", []), ("metadata", {str(i): "" for i in range(17)}),
           ("instructions", 3)]
    deep = [("stop", ["a", 1], "stop/1"), ("metadata", {"a": "x" * 513}, "metadata/a"), ("metadata", {"a": 1}, "metadata/a"),
            ("response_format", {"type": "xml"}, "response_format/type"),
            ("response_format", {"type": "json_schema", "json_schema": {"name": "a b", "schema": {}}}, "response_format/json_schema/name"),
            ("truncation_strategy", {"type": "first"}, "truncation_strategy/type"),
            ("truncation_strategy", {"type": "last_messages", "last_messages": 0}, "truncation_strategy/last_messages"),
            ("tools", [FUNCTION, {"type": "function", "function": {"name": "a b"}}], "tools/1/function/name"),
            ("tools", [FUNCTION, FUNCTION], "tools/1/function/name"),
            ("tools", [{"type": "file_search"}], "tools/0"), ("tools", [{"type": "code_interpreter"}], "tools/0"),
            ("tool_choice", {"type": "function", "function": {"name": "nobody"}}, "tool_choice/function/name"),
            ("tools", [{"type": "function", "function": {"name": "f", "parameters": {"type": "objekt"}}}],
             "tools/0/function/parameters/type")]
    with Server(WEFT, folder("ranges")) as s:
        for name, value in bad:
            refused(s, "show", name, **{name: value})
        for name, value, pointer in deep:
            refused(s, "show", pointer, **{name: value})
        refused(s, "both", "tools/0/function/name", tools=[{"type": "function", "function": {"name": "clock"}}])
        refused(s, "show", "tool_choice", tool_choice="required")
        run = started(s, "show", metadata={"k" * 64: "é" * 512})
        assert run["metadata"] == {"k" * 64: "é" * 512}, run


def test_what_is_refused_leaves_nothing_behind():
    with Server(WEFT, folder("nothing")) as s:
        thread = s.good("POST", "/v1/threads", {})["id"]
        status, _ = s.ask("POST", f"/v1/threads/{thread}/runs",
                          {"assistant_id": "claude", "seed": 1, "additional_messages": [{"role": "user", "content": "a"},
                                                                                         {"role": "user", "content": "b"}]})
        assert status == 400
        assert s.good("GET", f"/v1/threads/{thread}/messages")["data"] == []
        assert s.good("GET", f"/v1/threads/{thread}/runs")["data"] == []


def test_what_a_provider_cannot_do_is_refused_by_name():
    cannot = [("claude", "seed", 1), ("claude", "frequency_penalty", 1), ("claude", "presence_penalty", 1),
              ("claude", "temperature", 1.5), ("claude", "reasoning_effort", "minimal"),
              ("claude", "response_format", {"type": "json_object"}), ("gpt", "seed", 1), ("gpt", "stop", "x"),
              ("gpt", "presence_penalty", 1), ("gemini", "parallel_tool_calls", False), ("gemini", "reasoning_effort", "xhigh"),
              ("llama", "parallel_tool_calls", False), ("llama", "tool_choice", "required")]
    with Server(WEFT, folder("cannot")) as s:
        for agent, name, value in cannot:
            message = refused(s, agent, name, **{name: value})
            assert f"'{name}'" in message, message


def test_client_tools_of_a_run():
    with Server(WEFT, folder("tools")) as s:
        got = shown(s, started(s, "both", tools=[FUNCTION]))
        assert got["tools"] == ["clock", "pick", "get_weather"], got
        run = over(s, started(s, "call", tools=[FUNCTION]))
        assert run["status"] == "requires_action" and run["tools"] == [FUNCTION], run
        call = run["required_action"]["submit_tool_outputs"]["tool_calls"][0]
        assert call["function"] == {"name": "get_weather", "arguments": '{"city":"Oslo"}'}, call
        status, _ = s.ask("POST", f"/v1/runs/{run['id']}/answers", {"answers": [{"tool_call_id": "w1", "output": "sunny"}]})
        assert status == 200
        end = time.monotonic() + 60
        while run["status"] != "completed":
            assert time.monotonic() < end, run
            time.sleep(0.02)
            run = s.good("GET", f"/v1/threads/{run['thread_id']}/runs/{run['id']}")
        assert json.loads(texts(s, run)[-1])["tools"] == ["get_weather"]


def test_arguments_are_checked_with_the_schema_of_the_request():
    tool = json.loads(json.dumps(FUNCTION))
    tool["function"]["parameters"]["properties"]["city"] = {"type": "integer"}
    with Server(WEFT, folder("schema")) as s:
        got = shown(s, started(s, "call", tools=[tool]))  # the model received the mistake, and nobody was asked
        assert any(m.startswith("tool:") and "city" in m for m in got["messages"]), got


def test_a_tool_of_the_agents_own_client_may_be_described():
    pick = {"type": "function", "function": {"name": "pick", "description": "Other"}}
    with Server(WEFT, folder("pick")) as s:
        assert shown(s, started(s, "both", tools=[pick]))["tools"] == ["clock", "pick"]


if __name__ == "__main__":
    try:
        main(globals())
    finally:
        shutil.rmtree(HERE, ignore_errors=True)
