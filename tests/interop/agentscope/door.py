#!/usr/bin/env python3
"""door.py WEFT: AgentScope Runtime's own client talks to `weft serve`.

Prints lines "ok or bad, TAB, title, TAB, what was wrong".
"""
import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import types
from importlib.metadata import distribution

import aiohttp

WEFT = os.path.abspath(sys.argv[1])
CONFIG = """
server: {listen: "127.0.0.1:0", ping: 1s, heartbeat: message}
store: sqlite:door.db
log: {level: warn}
default_agent: echo
models:
  echo: {provider: scripted, echo: true}
  ask: {provider: scripted, script: ask.json}
  slow: {provider: scripted, script: slow.json}
tools:
  ask: {parameters: {type: object}}
agents:
  echo: {model: echo}
  asks: {model: ask, tools: [ask]}
  slow: {model: slow}
"""
ASK = {"replies": [{"parts": [{"reasoning": "hm"}, {"tool_call": {"id": "c1", "name": "ask", "arguments": {"q": 1}}}]}, {"parts": [{"text": "done"}]}]}
SLOW = {"replies": [{"parts": [{"text": "ab"}], "delta_bytes": 1, "delay_ms": 1300}]}


def load(path, name):
    """One file of the package, without the rest of it and what that needs."""
    where = distribution("agentscope-runtime").locate_file(path)
    spec = importlib.util.spec_from_file_location(name, where)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


for name in ("openai", "openai.types", "openai.types.chat", "agentscope_runtime", "agentscope_runtime.engine", "agentscope_runtime.engine.schemas"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["openai.types.chat"].ChatCompletionChunk = dict
S = load("agentscope_runtime/engine/schemas/agent_schemas.py", "agentscope_runtime.engine.schemas.agent_schemas")
C = load("agentscope_runtime/engine/helpers/agent_api_client.py", "agent_api_client")


def user(text):
    return S.Message(role="user", content=[S.TextContent(text=text)])


def judge(title, test):
    try:
        test()
        print("ok", title, "", sep="\t")
    except Exception as e:
        print("bad", title, repr(e).replace("\t", " ").replace("\n", " ")[:600], sep="\t")


folder = tempfile.mkdtemp(prefix="weft-door-")
for name, value in (("weft.yaml", CONFIG), ("ask.json", json.dumps(ASK)), ("slow.json", json.dumps(SLOW))):
    with open(f"{folder}/{name}", "w") as f:
        f.write(value)
server = subprocess.Popen([WEFT, "serve", "--config", "weft.yaml"], cwd=folder, stdout=subprocess.PIPE, text=True)
url = re.fullmatch(r"listening on (\S+)\n", server.stdout.readline())[1]
client = C.HTTPAgentAPIClient(f"{url}/process")


def text_of(response):
    return "".join(c.text for m in response.output if m.type == "message" for c in m.content)


def check(events):
    assert [e.sequence_number for e in events] == list(range(len(events))), [e.sequence_number for e in events]
    last = events[-1]
    assert isinstance(last, S.AgentResponse) and last.status == "completed", last
    assert "".join(e.text for e in events if isinstance(e, S.TextContent) and e.delta and e.text) == text_of(last) or last.output[0].type == "reasoning"
    return last


def plain():
    assert text_of(check(list(client.stream(S.AgentRequest(input=[user("hello")]))))) == "hello"


def sessions():
    first = check(list(client.stream(S.AgentRequest(input=[user("one")], session_id="py", user_id="ann"))))
    history = [user("one"), *first.output]
    history[0].id = "msg_unknown"
    last = check(list(client.stream(S.AgentRequest(input=[*first.output, user("two")], session_id="py", user_id="ann"))))
    assert last.session_id == "py" and text_of(last) == "two", last


def tools():
    last = check(list(client.stream(S.AgentRequest(input=[user("x")], model="asks", session_id="tools"))))
    assert [m.type for m in last.output] == ["reasoning", "function_call"], last.output
    call = last.output[1].content[0].data["call_id"]
    out = S.Message(type="function_call_output", role="tool", content=[S.DataContent(data={"call_id": call, "output": "42"})])
    assert text_of(check(list(client.stream(S.AgentRequest(input=[out], model="asks", session_id="tools"))))) == "done"


def heartbeats():
    events = list(client.stream(S.AgentRequest(input=[user("x")], model="slow")))
    assert any(getattr(e, "type", "") == "heartbeat" for e in events), events
    assert text_of(check(events)) == "ab"


def asynchronous():
    async def all_of():
        return [e async for e in client.astream(S.AgentRequest(input=[user("later")]))]
    assert text_of(check(asyncio.run(all_of()))) == "later"


def chunks():
    """As AgentScope Runtime's integration tests read a stream: a chunk of HTTP is a frame."""
    async def read(path, **body):
        seen = []
        async with aiohttp.ClientSession() as session, session.post(f"{url}{path}", json=body) as response:
            assert response.status == 200 and response.headers["Content-Type"].startswith("text/event-stream"), response
            async for chunk, _ in response.content.iter_chunks():
                line = chunk.decode().strip()
                assert line.startswith("data:"), line
                seen.append(json.loads(line[5:]))
        return seen

    seen = asyncio.run(read("/process", input=[{"role": "user", "content": [{"type": "text", "text": "hello"}]}], session_id="chunks"))
    assert [e["sequence_number"] for e in seen] == list(range(len(seen))), seen
    assert "hello" in [e["output"][0]["content"][0]["text"] for e in seen if e.get("output")], seen


def tasks():
    """As they poll a task."""
    async def poll():
        async with aiohttp.ClientSession() as session:
            async with session.post(f"{url}/process/task", json={"input": [{"role": "user", "type": "message", "content": [{"type": "text", "text": "Hello"}]}]}) as r:
                task = await r.json()
            assert task["status"] == "submitted" and "queue" in task and "message" in task, task
            while True:
                async with session.get(f"{url}/process/task/{task['task_id']}") as r:
                    state = await r.json()
                if state["status"] not in ("pending", "running"):
                    return state
                await asyncio.sleep(0.02)

    state = asyncio.run(asyncio.wait_for(poll(), 60))
    assert state["status"] == "finished" and state["result"]["object"] == "response" and state["result"]["status"] == "completed", state


def refusals():
    try:
        list(client.stream(S.AgentRequest(input=[user("x")], model="nobody")))
    except Exception as e:
        assert "422" in str(e), e
    else:
        raise AssertionError("it was not refused")


try:
    for title, test in (("its client reads a response", plain), ("its sessions go on, with its messages sent back", sessions), ("its client runs a tool", tools),
                        ("it passes over heartbeats", heartbeats), ("its asynchronous client too", asynchronous),
                        ("a frame is a chunk, as its tests read it", chunks), ("a task is polled, as its tests do", tasks), ("it says what was refused", refusals)):
        judge(title, test)
finally:
    server.terminate()
    server.wait()
    server.stdout.close()
    subprocess.run(["rm", "-rf", folder])
