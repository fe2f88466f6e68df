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
  cut: {provider: scripted, script: cut.json}
  boss: {provider: scripted, script: boss.json}
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
  shape: {model: show, structure: {type: object}}
  cut: {model: cut}
  boss: {model: boss, tools: [show]}
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
    "cut": [{"parts": [{"text": "As I was say"}], "stop": "max_tokens", "usage": {"input_tokens": 1, "output_tokens": 3}}],
    "boss": [{"when": {"tool_result": "show"}, "parts": [{"request": True}]},
             {"parts": [{"tool_call": {"id": "b1", "name": "show", "arguments": {"task": "look"}}}]}],
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
    return [m["content"][-1]["text"]["value"] for m in page["data"] if m["role"] == "assistant" and m["content"]]


def shown(s, run, status="completed"):
    """What the model received in its last call."""
    run = over(s, run)
    assert run["status"] == status, run
    return json.loads(texts(s, run)[-1])


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


def test_tool_choice():
    named = {"type": "function", "function": {"name": "clock"}}
    with Server(WEFT, folder("choice")) as s:
        for choice in ("auto", "none"):
            run = started(s, "both", tool_choice=choice)
            assert shown(s, run)["params"]["tool_choice"] == choice and run["tool_choice"] == choice, run
        for choice in ("required", named):  # holds until the model has made its call
            run = started(s, "both", tool_choice=choice)
            assert shown(s, run)["params"]["tool_choice"] == choice, run
            assert "tool_choice" not in (shown(s, started(s, "keen", tool_choice=choice))["params"] or {})
        assert shown(s, started(s, "show", tool_choice="none"))["params"].get("tool_choice") is None  # it has no tools
        run = over(s, started(s, "keen", tool_choice="none"))  # the model calls nevertheless: nobody runs it
        assert run["status"] == "completed" and texts(s, run) == [], run


def test_parallel_tool_calls():
    with Server(WEFT, folder("parallel")) as s:
        run = started(s, "both", parallel_tool_calls=False)
        assert run["parallel_tool_calls"] is False
        assert shown(s, run)["params"]["parallel_tool_calls"] is False
        assert "parallel_tool_calls" not in shown(s, started(s, "show", parallel_tool_calls=False))["params"]


def test_response_format():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    with Server(WEFT, folder("format")) as s:
        run = started(s, "show", response_format={"type": "json_object"})
        assert shown(s, run)["params"]["response_format"] == {"type": "json_object"}
        assert run["response_format"] == {"type": "json_object"}
        got = shown(s, started(s, "show", response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}))
        assert got["structure"] == schema and "response_format" not in got["params"], got
        assert shown(s, started(s, "shape"))["structure"] == {"type": "object"}
        assert shown(s, started(s, "shape", response_format="auto"))["structure"] == {"type": "object"}
        assert shown(s, started(s, "shape", response_format={"type": "text"}))["structure"] is None


def history(s, n):
    """A thread with n questions and answers."""
    thread = s.good("POST", "/v1/threads", {})["id"]
    for i in range(n):
        s.good("POST", f"/v1/threads/{thread}/messages", {"role": "user", "content": f"question {i}"})
        s.good("POST", f"/v1/threads/{thread}/messages", {"role": "assistant", "content": f"answer {i}"})
    return thread


def test_truncation_strategy():
    def got(s, thread, n, text="please"):
        strategy = {"type": "last_messages", "last_messages": n}
        run = started(s, "show", text=text, thread=thread, truncation_strategy=strategy)
        assert run["truncation_strategy"] == strategy, run
        return shown(s, run)["messages"]
    with Server(WEFT, folder("truncation")) as s:
        assert got(s, history(s, 3), 1) == ["user: please"]
        assert got(s, history(s, 3), 2) == ["user: please"]  # a list begins with a user's message
        assert got(s, history(s, 3), 3) == ["user: question 2", "assistant: answer 2", "user: please"]
        assert len(got(s, history(s, 3), 100)) == 7
        thread = history(s, 2)
        s.good("POST", f"/v1/threads/{thread}/messages", {"role": "user", "content": "newest"})
        assert got(s, thread, 1, text=None) == ["user: newest"]
        assert len(shown(s, started(s, "show", thread=history(s, 3), truncation_strategy={"type": "auto"}))["messages"]) == 7


def test_truncation_keeps_calls_and_results_together():
    with Server(WEFT, folder("together")) as s:
        run = over(s, started(s, "long", text="the time"))
        assert run["status"] == "completed", run
        for n in range(1, 6):
            messages = shown(s, started(s, "show", thread=run["thread_id"], model="show",
                                        truncation_strategy={"type": "last_messages", "last_messages": n}))["messages"]
            assert messages[0].startswith("user:"), messages
            calls = sum("calls clock" in m for m in messages)
            assert calls == sum(m.startswith("tool:") for m in messages), messages


def test_max_prompt_tokens():
    with Server(WEFT, folder("prompt")) as s:
        thread = history(s, 20)  # of about 7 tokens each
        run = started(s, "show", thread=thread, max_prompt_tokens=60)
        messages = shown(s, run)["messages"]
        assert run["max_prompt_tokens"] == 60
        assert messages[-1] == "user: please" and 3 <= len(messages) <= 9 and messages[0].startswith("user:"), messages
        run = over(s, started(s, "show", text="long " * 100, max_prompt_tokens=20))
        assert run["status"] == "incomplete", run
        assert run["incomplete_details"] == {"reason": "max_prompt_tokens"}, run
        assert texts(s, run) == [], run
        run = over(s, started(s, "long", max_prompt_tokens=30))  # the second call does not fit any more
        assert run["status"] == "incomplete" and texts(s, run) == ["Let me look."], run


def test_max_completion_tokens():
    with Server(WEFT, folder("completion")) as s:
        run = over(s, started(s, "long", max_completion_tokens=6))
        assert run["status"] == "incomplete", run
        assert run["incomplete_details"] == {"reason": "max_completion_tokens"}, run
        assert texts(s, run) == ["Let me look."], texts(s, run)
        run = over(s, started(s, "long", max_completion_tokens=100))
        assert run["status"] == "completed" and run["incomplete_details"] is None, run
        assert shown(s, started(s, "show", max_completion_tokens=7))["params"]["max_completion_tokens"] == 7
        run = over(s, started(s, "cut", max_completion_tokens=50))  # the vendor stopped there, whatever it counted
        assert run["status"] == "incomplete" and texts(s, run) == ["As I was say"], run
        assert over(s, started(s, "cut"))["status"] == "completed"


def test_an_incomplete_run_in_a_stream():
    with Server(WEFT, folder("stream")) as s:
        thread = s.good("POST", "/v1/threads", {})["id"]
        c = s.connection()
        c.request("POST", f"/v1/threads/{thread}/runs", json.dumps(
            {"assistant_id": "long", "stream": True, "max_completion_tokens": 6,
             "additional_messages": [{"role": "user", "content": "the time"}]}))
        text = c.getresponse().read().decode()
        c.close()
        assert "event: thread.run.incomplete\n" in text and "thread.run.completed" not in text, text[-1000:]
        last = [line for line in text.splitlines() if line.startswith("data: {")][-1]
        assert json.loads(last[6:])["incomplete_details"] == {"reason": "max_completion_tokens"}, last


def test_a_stored_assistant_has_its_settings_in_the_options():
    with Server(WEFT, folder("assistant")) as s:
        name = s.good("POST", "/v1/assistants", {"model": "show", "instructions": "Be a pirate.", "tools": [FUNCTION], "temperature": 0.1})["id"]
        run = started(s, name, temperature=0.5)
        got = shown(s, run)
        assert got["system"] == "Be a pirate." and got["tools"] == ["get_weather"], got
        assert got["params"] == {"top_k": 7, "temperature": 0.5}, got
        assert run["assistant_id"] == name and run["model"] == "show", run
        _, (status, answer) = start(s, "asst_" + "0" * 32)
        assert status == 404, answer


def test_settings_survive_the_end_of_the_server():
    where = folder("kill")
    options = {**VALUES, "tool_choice": "none", "tools": [FUNCTION], "instructions": "Be kind.",
               "response_format": {"type": "json_object"}, "truncation_strategy": {"type": "last_messages", "last_messages": 1}}
    with Server(WEFT, where) as s:
        name = s.good("POST", "/v1/assistants", {"model": "slow"})["id"]
        runs = [started(s, "slow", thread=history(s, 2), **options),
                started(s, name, thread=history(s, 2), **options)]
        waits = over(s, started(s, "call", tools=[FUNCTION], temperature=0.5))
        assert waits["status"] == "requires_action", waits
        s.process.kill()
        s.process.wait()
    with Server(WEFT, where) as s:
        for run in runs:
            got = shown(s, run)
            assert got["messages"] == ["user: please"] and got["tools"] == ["get_weather"], got
            assert got["system"] == "Be kind.", got
            assert got["params"] == {**VALUES, "tool_choice": "none", "response_format": {"type": "json_object"}}, got
            now = s.good("GET", f"/v1/threads/{run['thread_id']}/runs/{run['id']}")
            assert now["assistant_id"] == run["assistant_id"] and now["tools"] == [FUNCTION], now
        status, _ = s.ask("POST", f"/v1/runs/{waits['id']}/answers", {"answers": [{"tool_call_id": "w1", "output": "sunny"}]})
        assert status == 200
        end = time.monotonic() + 60
        while waits["status"] != "completed":
            assert time.monotonic() < end, waits
            time.sleep(0.02)
            waits = s.good("GET", f"/v1/threads/{waits['thread_id']}/runs/{waits['id']}")
        assert json.loads(texts(s, waits)[-1])["params"] == {"temperature": 0.5}


def test_a_queued_run_has_its_settings():
    with Server(WEFT, folder("queue")) as s:
        first = started(s, "slow")
        run = started(s, "show", thread=first["thread_id"], on_busy="enqueue", temperature=0.5, tools=[FUNCTION])
        assert run["status"] == "queued" and run["temperature"] == 0.5, run
        got = shown(s, run)
        assert got["params"]["temperature"] == 0.5 and got["tools"] == ["get_weather"], got
        first = started(s, "slow")
        refused(s, "claude", "seed", thread=first["thread_id"], on_busy="enqueue", seed=1)
        stored = s.good("POST", "/v1/assistants", {"model": "slow"})["id"]
        run = started(s, stored, thread=first["thread_id"], on_busy="enqueue", model="show", temperature=0.5)
        assert run["status"] == "queued", run
        run = over(s, s.good("POST", f"/v1/runs/{run['id']}/cancel"))
        assert run["status"] == "cancelled" and run["temperature"] == 0.5 and run["model"] == "show", run


def test_a_run_whose_settings_are_no_longer_possible_fails():
    where = folder("gone")
    with Server(WEFT, where) as s:
        runs = [(started(s, "show", model="slow"), "model 'slow' is not defined any more"),
                (started(s, "slow", tools=[FUNCTION]), "the agent has a tool of this name, which the server runs")]
        answered, cancelled = (over(s, started(s, "call", tools=[FUNCTION])) for _ in range(2))
        s.process.kill()
        s.process.wait()
    with open(f"{where}/weft.yaml", "w") as f:
        f.write(CONFIG.replace("  slow: {model: slow}\n", "  slow: {model: show, tools: [get_weather]}\n")
                .replace("  slow: {provider: scripted, script: slow.json}\n", "")
                .replace("  call: {model: call}\n", "  call: {model: call, tools: [get_weather]}\n")
                .replace("\ntools:\n", '\ntools:\n  get_weather: {parameters: {type: object}, command: ["true"]}\n'))
    with Server(WEFT, where) as s:
        for run, why in runs:
            run = over(s, run)
            assert run["status"] == "failed" and why in run["last_error"]["message"], run
        answers = {"answers": [{"tool_call_id": "w1", "output": "sunny"}]}
        assert s.ask("POST", f"/v1/runs/{answered['id']}/answers", answers)[0] == 200
        end = time.monotonic() + 60
        while answered["status"] != "failed":
            assert time.monotonic() < end, answered
            time.sleep(0.02)
            answered = s.good("GET", f"/v1/threads/{answered['thread_id']}/runs/{answered['id']}")
        run = s.good("POST", f"/v1/runs/{cancelled['id']}/cancel")
        assert over(s, run)["status"] == "cancelled", run


def test_sub_agents_and_handed_over_ones_have_their_own():
    with Server(WEFT, folder("below")) as s:
        got = shown(s, started(s, "boss", temperature=0.5, tools=[FUNCTION], instructions="Be the boss."))
        below = [m for m in got["messages"] if m.startswith("tool:")]
        assert got["params"]["temperature"] == 0.5 and len(below) == 1, got
        child = json.loads(below[0].removeprefix("tool: ")) if below[0].startswith('tool: {') else json.loads(json.loads(below[0][6:]))
        assert child["params"] == {"top_k": 7, "temperature": 0.9} and child["tools"] == [] and child["system"] == "Be brief.", child


if __name__ == "__main__":
    try:
        main(globals())
    finally:
        shutil.rmtree(HERE, ignore_errors=True)
