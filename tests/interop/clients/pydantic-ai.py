"""pydantic-ai.py WEFT FOLDER: Pydantic AI, with both of its models of OpenAI, on Weft."""
import asyncio
from importlib.metadata import version

from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, ModelHTTPError, NativeOutput, PromptedOutput
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

from clients import HELLO, check, serve, together

NAME = f"pydantic-ai {version('pydantic-ai-slim')}"


class City(BaseModel):
    name: str
    people: int


PARIS = City(name="Paris", people=2100000)


def responses(name="gpt-4.1"):
    return OpenAIResponsesModel(name, provider=OpenAIProvider(openai_client=client))


def chat(name="gpt-4.1"):
    return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client))


def guide(model, **more):
    agent = Agent(model, instructions="Be kind.", **more)

    @agent.tool_plain
    async def weather(city: str) -> str:
        """The weather of a city."""
        return f"18 degrees in {city}"

    return agent


def calls_of(messages):
    parts = [p for m in messages for p in m.parts]
    calls, returns = ([p for p in parts if isinstance(p, kind)] for kind in (ToolCallPart, ToolReturnPart))
    assert [c.tool_call_id for c in calls] == [r.tool_call_id for r in returns], (calls, returns)
    return [c.args_as_dict() for c in calls]


async def plain(make):
    result = await Agent(make(), instructions="Be kind.").run("hello")
    assert result.output == HELLO, result.output
    assert (result.usage.input_tokens, result.usage.output_tokens) == (10, 5), result.usage
    seen = (await Agent(make(), system_prompt="Be kind.").run("what you see")).output
    assert '"system":"Be kind."' in seen, seen


async def tools(make):
    result = await guide(make()).run("weather in Kyoto")
    assert result.output == "18 degrees in Kyoto." and calls_of(result.all_messages()) == [{"city": "Kyoto"}], result.all_messages()
    assert result.usage.requests == 2 and result.usage.output_tokens == 12, result.usage
    both = await guide(make()).run("both", model_settings={"temperature": 0.5, "max_tokens": 100, "parallel_tool_calls": True})
    assert calls_of(both.all_messages()) == [{"city": "Kyoto"}, {"city": "Nara"}], both.all_messages()


async def streamed(make):
    async with guide(make()).run_stream("hello") as result:
        texts = [t async for t in result.stream_text(delta=True, debounce_by=None)]
    assert "".join(texts) == HELLO and len(texts) > 2, texts
    kinds, agent = [], guide(make())
    async with agent.iter("weather in Kyoto") as run:
        async for node in run:
            kinds.append(type(node).__name__)
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as events:
                    kinds.extend([e.event_kind async for e in events])
    assert run.result.output == "18 degrees in Kyoto." and "part_delta" in kinds, kinds
    assert calls_of(run.result.all_messages()) == [{"city": "Kyoto"}], run.result.all_messages()


async def structured(make):
    for output in (City, NativeOutput(City), PromptedOutput(City)):
        result = await Agent(make(), output_type=output).run("the capital of France")
        assert result.output == PARIS, (output, result.output)
    async with Agent(make(), output_type=NativeOutput(City)).run_stream("the capital of France") as stream:
        assert await stream.get_output() == PARIS


async def turns(make):
    agent, messages = guide(make()), []
    for text in ("weather in Kyoto", "hello", "what you see"):
        result = await agent.run(text, message_history=messages)
        messages = result.all_messages()
    assert result.output.count('"user: ') == 3 and "18 degrees in Kyoto" in result.output, result.output


async def parallel(make):
    async def one():
        first = await guide(make()).run("weather in Kyoto")
        return first.output, calls_of((await guide(make()).run("both", message_history=first.all_messages())).new_messages())

    for text, calls in await together(one):
        assert text == "18 degrees in Kyoto." and calls == [{"city": "Kyoto"}, {"city": "Nara"}], (text, calls)


async def thinking(make):
    agent = Agent(make())
    first = await agent.run("think")
    assert first.output == "Four.", first
    second = await agent.run("what you see", message_history=first.all_messages())
    assert second.output.count('"user: ') == 2, second.output


async def failures(make):
    try:
        await Agent(make()).run("overload")
    except ModelHTTPError as e:
        assert e.status_code == 429 and "slow down" in str(e), e
        return
    raise AssertionError("it did not fail")


async def server_tools(make):
    result = await Agent(make("desk")).run("time")
    assert result.output.endswith("It is noon."), result.all_messages()
    async with Agent(make("desk")).run_stream("time") as stream:
        assert (await stream.get_output()).endswith("It is noon.")
    again = await Agent(make("desk")).run("what you see", message_history=result.all_messages())
    assert again.output.count('"user: ') == 2, again.output


async def previous_response():
    agent = guide(responses())
    first = await agent.run("weather in Kyoto")
    settings = OpenAIResponsesModelSettings(openai_previous_response_id=first.all_messages()[-1].provider_response_id)
    second = await agent.run("what you see", model_settings=settings)
    assert second.output.count('"user: ') == 2 and "18 degrees in Kyoto" in second.output, second.output
    auto = OpenAIResponsesModelSettings(openai_previous_response_id="auto")
    first = await agent.run("weather in Nara", model_settings=auto)
    second = await agent.run("what you see", model_settings=auto, message_history=first.all_messages())
    assert second.output.count('"user: ') == 2 and "18 degrees in Nara" in second.output, second.output


async def main():
    global client
    async with AsyncOpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as client:
        for make in (responses, chat):
            for test in (plain, tools, streamed, structured, turns, parallel, thinking, failures, server_tools):
                await check(NAME, f"{make.__name__}: {test.__name__.replace('_', ' ')}", test(make))
        await check(NAME, "previous response", previous_response())


with serve() as server:
    asyncio.run(main())
