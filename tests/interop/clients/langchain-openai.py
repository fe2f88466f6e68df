"""langchain-openai.py WEFT FOLDER: LangChain's ChatOpenAI, with both APIs, and LangGraph's agents, on Weft; then LangChain's standard tests of a chat model."""
import asyncio
import os
from importlib.metadata import version

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from openai import RateLimitError
from pydantic import BaseModel

from clients import HELLO, check, serve, together

NAME = f"langchain-openai {version('langchain-openai')}"


class City(BaseModel):
    """A city."""
    name: str
    people: int


PARIS = City(name="Paris", people=2100000)


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"18 degrees in {city}"


def chat(name="gpt-4.1", **more):
    return ChatOpenAI(model=name, base_url=f"{server.url}/v1", api_key="k", max_retries=0, **more)


def responses(name="gpt-4.1", **more):
    return chat(name, use_responses_api=True, output_version="responses/v1", **more)


async def summed(stream):
    total, n = None, 0
    async for chunk in stream:
        total, n = chunk if total is None else total + chunk, n + 1
    return total, n


async def plain(make):
    answer = await make().ainvoke([SystemMessage("Be kind."), HumanMessage("hello")])
    assert answer.text == HELLO and answer.usage_metadata["total_tokens"] == 15, answer
    assert answer.response_metadata["model_name"] == "gpt-4.1", answer.response_metadata
    seen = (await make().ainvoke([("system", "Be kind."), ("user", "what you see")])).text
    assert '"system":"Be kind."' in seen, seen
    total, n = await summed(make(stream_usage=True).astream("hello"))
    assert total.text == HELLO and n > 4 and total.usage_metadata["total_tokens"] == 15, total


async def tools(make):
    model = make().bind_tools([weather])
    for how in ("whole", "streamed"):
        messages = [HumanMessage("weather in Kyoto")]
        answer = await model.ainvoke(messages) if how == "whole" else (await summed(model.astream(messages)))[0]
        assert answer.text == "Let me look." and [(c["name"], c["args"]) for c in answer.tool_calls] == [("weather", {"city": "Kyoto"})], answer
        assert not answer.invalid_tool_calls, answer
        messages += [answer, *[await weather.ainvoke(c) for c in answer.tool_calls]]
        answer = await model.ainvoke(messages) if how == "whole" else (await summed(model.astream(messages)))[0]
        assert answer.text == "18 degrees in Kyoto.", answer
    answer, _ = await summed(make().bind_tools([weather], tool_choice="required", strict=True).astream("both"))
    assert [c["args"] for c in answer.tool_calls] == [{"city": "Kyoto"}, {"city": "Nara"}], answer.tool_calls


async def structured(make):
    for how in ("json_schema", "function_calling", "json_mode"):
        model = make().with_structured_output(City, method=how)
        assert await model.ainvoke("the capital of France") == PARIS, how
        chunks = [c async for c in model.astream("the capital of France")]
        assert chunks[-1] == PARIS, (how, chunks)


async def agents(make):
    agent = create_agent(make(), [weather], system_prompt="Be kind.", checkpointer=InMemorySaver())
    at = {"configurable": {"thread_id": "1"}}
    for text in ("weather in Kyoto", "both", "what you see"):
        state = await agent.ainvoke({"messages": [("user", text)]}, at)
    seen = state["messages"][-1].text
    assert seen.count('"user: ') == 3 and "18 degrees in Nara" in seen, seen
    calls = [c["id"] for m in state["messages"] if isinstance(m, AIMessage) for c in m.tool_calls]
    assert calls == [m.tool_call_id for m in state["messages"] if isinstance(m, ToolMessage)] and len(calls) == 3, state
    text = ""
    async for message, _ in agent.astream({"messages": [("user", "weather in Nara")]}, {"configurable": {"thread_id": "2"}}, stream_mode="messages"):
        text += message.text if isinstance(message, AIMessage) else ""
    assert text == "Let me look.18 degrees in Nara.", text
    answer = await create_agent(make(), [weather], response_format=City).ainvoke({"messages": [("user", "the capital of France")]})
    assert answer["structured_response"] == PARIS, answer


async def parallel(make):
    agent = create_agent(make(), [weather])

    async def one():
        state = await agent.ainvoke({"messages": [("user", "weather in Kyoto")]})
        return (await agent.ainvoke({"messages": [*state["messages"], ("user", "both")]}))["messages"]

    for messages in await together(one):
        assert [type(m).__name__ for m in messages].count("ToolMessage") == 3, messages


async def failures(make):
    try:
        await make().ainvoke("overload")
    except RateLimitError as e:
        assert "slow down" in str(e), e
        return
    raise AssertionError("it did not fail")


async def server_tools(make):
    answer = await make("desk").ainvoke("time")
    assert answer.text.endswith("It is noon.") and not answer.tool_calls, answer
    streamed, _ = await summed(make("desk").astream("time"))
    assert streamed.text.endswith("It is noon."), streamed
    again = await make("desk").ainvoke([("user", "time"), streamed, ("user", "what you see")])
    assert again.text.count('"user: ') == 2, again


async def previous_response():
    first = await responses().ainvoke("hello")
    second = await responses().ainvoke("what you see", previous_response_id=first.response_metadata["id"])
    assert second.text.count('"user: ') == 2, second
    model = responses(use_previous_response_id=True)
    second = await model.ainvoke([("user", "hello"), await model.ainvoke("hello"), ("user", "what you see")])
    assert second.text.count('"user: ') == 2, second




async def reasoning():
    """A reasoning item has the members of OpenAI's, as langchain-openai's own tests want, and goes back."""
    model = responses(reasoning={"effort": "low", "summary": "auto"})
    for answer, members in ((await model.ainvoke("think"), {"id", "type", "summary"}), ((await summed(model.astream("think")))[0], {"id", "type", "summary", "index"})):
        assert set(answer.content[0]) == members and answer.content[0]["summary"][0]["text"] == "Two and two.", answer.content
        again = await model.ainvoke([("user", "think"), answer, ("user", "what you see")])
        assert again.text.count('"user: ') == 2, again


async def main():
    for make in (chat, responses):
        for test in (plain, tools, structured, agents, parallel, failures, server_tools):
            await check(NAME, f"{make.__name__}: {test.__name__.replace('_', ' ')}", test(make))
    for test in (previous_response, reasoning):
        await check(NAME, test.__name__.replace("_", " "), test())


with serve() as server:
    asyncio.run(main())
    os.environ["WEFT_URL"] = f"{server.url}/v1"
    import langchain_standard
    langchain_standard.run()
