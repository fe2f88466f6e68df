"""openai-agents.py WEFT FOLDER: OpenAI's Agents SDK of Python, with both of its models, on Weft."""
import asyncio
from importlib.metadata import version

from agents import (Agent, GuardrailFunctionOutput, InputGuardrailTripwireTriggered, ModelSettings, OpenAIChatCompletionsModel, OpenAIConversationsSession,
                    OpenAIResponsesModel, RunConfig, Runner, SQLiteSession, function_tool, input_guardrail, set_tracing_disabled)
from openai import AsyncOpenAI, RateLimitError
from pydantic import BaseModel

from clients import HELLO, check, serve, together

set_tracing_disabled(True)
NAME = f"openai-agents {version('openai-agents')}"


class City(BaseModel):
    name: str
    people: int


@function_tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"18 degrees in {city}"


@function_tool
def pay_back(euros: int) -> str:
    """Pays back."""
    return f"{euros} euros"


@input_guardrail
async def no_secrets(context, agent, text):
    judge = Agent(name="judge", model=agent.model, output_type=City)
    city = (await Runner.run(judge, "capital", context=context.context)).final_output
    return GuardrailFunctionOutput(output_info=city, tripwire_triggered="secret" in str(text))


def responses(name="gpt-4.1"):
    return OpenAIResponsesModel(name, client)


def chat(name="gpt-4.1"):
    return OpenAIChatCompletionsModel(name, client)


def guide(model, **more):
    return Agent(name="guide", instructions="Be kind.", model=model, tools=[weather], **more)


def calls_and_outputs(items):
    calls = [i.raw_item for i in items if i.type == "tool_call_item"]
    outputs = [i.raw_item for i in items if i.type == "tool_call_output_item"]
    assert [c.call_id for c in calls] == [o["call_id"] for o in outputs], (calls, outputs)
    return [c.arguments for c in calls]


async def plain(make):
    result = await Runner.run(Agent(name="plain", instructions="Be kind.", model=make()), "hello")
    assert result.final_output == HELLO, result.final_output
    usage = result.context_wrapper.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (10, 5, 15), usage
    seen = (await Runner.run(Agent(name="plain", instructions="Be kind.", model=make()), "what you see")).final_output
    assert '"system":"Be kind."' in seen, seen


async def tools(make):
    result = await Runner.run(guide(make()), "weather in Kyoto")
    assert result.final_output == "18 degrees in Kyoto.", result.final_output
    assert calls_and_outputs(result.new_items) == ['{"city":"Kyoto"}'], result.new_items
    assert result.context_wrapper.usage.requests == 2 and result.context_wrapper.usage.output_tokens == 12, result.context_wrapper.usage
    both = await Runner.run(guide(make()), "both")
    assert calls_and_outputs(both.new_items) == ['{"city":"Kyoto"}', '{"city":"Nara"}'], both.new_items
    forced = guide(make(), model_settings=ModelSettings(tool_choice="required", parallel_tool_calls=False, temperature=0.5, max_tokens=100))
    assert (await Runner.run(forced, "weather in Nara")).final_output == "18 degrees in Nara."


async def streamed(make):
    result = Runner.run_streamed(guide(make()), "weather in Kyoto")
    text, items = "", []
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            text += event.data.delta
        if event.type == "run_item_stream_event":
            items.append(event.name)
    assert result.final_output == "18 degrees in Kyoto." and text == "Let me look." + result.final_output, (text, result.final_output)
    assert sorted(items) == ["message_output_created", "message_output_created", "tool_called", "tool_output"], items
    assert calls_and_outputs(result.new_items) == ['{"city":"Kyoto"}'], result.new_items


async def handoff(make):
    billing = Agent(name="billing", instructions="Pay.", model=make(), tools=[pay_back])
    first = Agent(name="first", instructions="Hand off.", model=make(), tools=[weather], handoffs=[billing])
    result = await Runner.run(first, "refund please")
    assert result.final_output == "Paid back." and result.last_agent.name == "billing", (result.final_output, result.last_agent.name)
    stream = Runner.run_streamed(first, "refund please")
    agents = [e.new_agent.name async for e in stream.stream_events() if e.type == "agent_updated_stream_event"]
    assert agents == ["first", "billing"] and stream.final_output == "Paid back.", agents


async def structured(make):
    result = await Runner.run(Agent(name="plain", model=make(), output_type=City), "capital of France")
    assert result.final_output == City(name="Paris", people=2100000), result.final_output


async def turns(make):
    first = await Runner.run(guide(make()), "weather in Kyoto")
    second = await Runner.run(guide(make()), [*first.to_input_list(), {"role": "user", "content": "hello"}])
    third = await Runner.run(guide(make()), [*second.to_input_list(), {"role": "user", "content": "what you see"}])
    seen = third.final_output
    assert seen.count('"user: ') == 3 and seen.count("weather in Kyoto") == 1 and "18 degrees in Kyoto" in seen, seen
    session = SQLiteSession("s")
    for text in ("weather in Nara", "hello"):
        await Runner.run(guide(make()), text, session=session)
    seen = (await Runner.run(guide(make()), "what you see", session=session)).final_output
    assert seen.count('"user: ') == 3 and "18 degrees in Nara" in seen, seen


async def guarded(make):
    agent = guide(make(), input_guardrails=[no_secrets])
    assert (await Runner.run(agent, "weather in Kyoto")).final_output == "18 degrees in Kyoto."
    try:
        await Runner.run(agent, "weather in secret")
    except InputGuardrailTripwireTriggered:
        return
    raise AssertionError("the guardrail did not trip")


async def parallel(make):
    async def one():
        result = await Runner.run(guide(make()), "weather in Kyoto")
        stream = Runner.run_streamed(guide(make()), [*result.to_input_list(), {"role": "user", "content": "both"}])
        async for _ in stream.stream_events():
            pass
        return result.final_output, calls_and_outputs(stream.new_items)

    for text, arguments in await together(one):
        assert text == "18 degrees in Kyoto." and len(arguments) == 2, (text, arguments)


async def failures(make):
    try:
        await Runner.run(Agent(name="plain", model=make()), "overload")
    except RateLimitError as e:
        assert "slow down" in str(e), e
        return
    raise AssertionError("it did not fail")


async def server_tools(make):
    model = make("desk")
    result = await Runner.run(Agent(name="plain", model=model), "time")
    assert result.final_output.endswith("It is noon."), result.new_items
    stream = Runner.run_streamed(Agent(name="plain", model=model), "time")
    async for _ in stream.stream_events():
        pass
    assert stream.final_output.endswith("It is noon."), stream.new_items


async def previous_response():
    first = await Runner.run(guide(responses()), "weather in Kyoto")
    second = await Runner.run(guide(responses()), "hello", previous_response_id=first.last_response_id)
    third = await Runner.run(guide(responses()), "what you see", previous_response_id=second.last_response_id)
    assert third.final_output.count('"user: ') == 3 and "18 degrees in Kyoto" in third.final_output, third.final_output
    auto = await Runner.run(guide(responses()), "weather in Nara", auto_previous_response_id=True)
    assert auto.final_output == "18 degrees in Nara.", auto.final_output
    refunds = Agent(name="first", model=responses(), handoffs=[Agent(name="billing", model=responses(), tools=[pay_back])])
    assert (await Runner.run(refunds, "refund", auto_previous_response_id=True)).final_output == "Paid back."


async def conversations():
    session = OpenAIConversationsSession(openai_client=client)
    for text in ("weather in Kyoto", "hello"):
        await Runner.run(guide(responses()), text, session=session)
    seen = (await Runner.run(guide(responses()), "what you see", session=session)).final_output
    assert seen.count('"user: ') == 3 and "18 degrees in Kyoto" in seen, seen
    items = await session.get_items()
    assert [i.get("type") for i in items].count("function_call_output") == 1, items
    assert (await session.get_items(limit=2)) == items[-2:]
    last = await session.pop_item()
    assert last == items[-1] and await session.get_items() == items[:-1]
    await session.clear_session()
    conversation = (await client.conversations.create(items=[])).id
    await Runner.run(guide(responses()), "weather in Nara", conversation_id=conversation)
    seen = (await Runner.run(guide(responses()), "what you see", conversation_id=conversation)).final_output
    assert seen.count('"user: ') == 2 and "18 degrees in Nara" in seen, seen


async def not_kept():
    settings = RunConfig(model_settings=ModelSettings(store=False))
    before = len(server.good("GET", "/v1/threads?limit=100")["data"])
    result = await Runner.run(guide(responses()), "weather in Kyoto", run_config=settings)
    assert result.final_output == "18 degrees in Kyoto." and len(server.good("GET", "/v1/threads?limit=100")["data"]) == before


async def main():
    global client
    async with AsyncOpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as client:
        for make in (responses, chat):
            for test in (plain, tools, streamed, handoff, structured, turns, guarded, parallel, failures, server_tools):
                await check(NAME, f"{make.__name__}: {test.__name__.replace('_', ' ')}", test(make))
        for test in (previous_response, conversations, not_kept):
            await check(NAME, test.__name__.replace("_", " "), test())


with serve() as server:
    asyncio.run(main())
