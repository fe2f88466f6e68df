"""models.py WEFT FOLDER: agents as models of the real Python client: chat.completions, responses and conversations.

One line a result: ok or bad, TAB, title, TAB, what was wrong.
"""
import os
import sys
import traceback

import openai

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "server"))
from served import Server  # noqa: E402

WEFT, FOLDER = sys.argv[1:3]
AI = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ai")
HELLO = 'Hello, "world"\n— ¡olé! 💡'
with open(f"{AI}/weft.yaml") as f:
    config = f.read().replace("script: script.json", f"script: {AI}/script.json")
server = Server(os.path.abspath(WEFT), FOLDER, config + f"store: sqlite:{FOLDER}/weft.db\n")
client = openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0)
chat, responses = client.chat.completions, client.responses


def check(title, fn):
    wrong = ""
    try:
        fn()
    except Exception:
        wrong = traceback.format_exc().replace("\n", " ").replace("\t", " ")
    print(f"{'bad' if wrong else 'ok'}\topenai {openai.__version__} of Python, an agent as a model: {title}\t{wrong}", flush=True)


def user(text):
    return [{"role": "user", "content": text}]


def threads():
    return len(server.good("GET", "/v1/threads?limit=100")["data"])


def refused(fn, kind, code):
    try:
        fn()
    except kind as e:
        assert e.code == code, e.code
        return e
    raise AssertionError("it was not refused")


def completions():
    a = chat.create(model="main", messages=user("hello"))
    assert (a.choices[0].message.content, a.choices[0].finish_reason, a.usage.total_tokens) == (HELLO, "stop", 15), a
    chunks = list(chat.create(model="main", messages=user("hello"), stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == HELLO and chunks[-1].usage.total_tokens == 15
    refused(lambda: chat.create(model="nobody", messages=user("x")), openai.NotFoundError, "model_not_found")
    assert chat.create(model="main", messages=user("hello"), store=False).choices[0].message.content == HELLO


def tools():
    a = chat.create(model="main", messages=user("where am I?"))
    call = a.choices[0].message.tool_calls[0]
    b = chat.create(model="main", messages=[*user("where am I?"), a.choices[0].message.model_dump(exclude_none=True),
                                            {"role": "tool", "tool_call_id": call.id, "content": "Kyoto"}])
    assert b.choices[0].message.content == "There.", b


def listed():
    a = chat.create(model="main", messages=user("hello"), store=True, metadata={"topic": "parks", "n": "1"})
    b = chat.create(model="main", messages=[*user("hello"), {"role": "assistant", "content": HELLO}, *user("think")], store=True, metadata={"topic": "parks"})
    chat.create(model="main", messages=user("hello"))
    found = list(chat.list(metadata={"topic": "parks"}, limit=1))
    assert [c.id for c in found] == [a.id, b.id] and found[0].choices == a.choices, found
    assert [c.id for c in chat.list(metadata={"topic": "parks", "n": "1"}, model="main", order="desc")] == [a.id]
    got = chat.retrieve(a.id)
    assert got.choices == a.choices and got.usage == a.usage and got.metadata == {"topic": "parks", "n": "1"}, got
    assert chat.update(a.id, metadata={"topic": "seas"}).metadata == {"topic": "seas"}
    assert [c.id for c in chat.list(metadata={"topic": "seas"})] == [a.id]
    messages = list(chat.messages.list(b.id, limit=2))
    assert [(m.role, m.content) for m in messages] == [("user", "hello"), ("assistant", HELLO), ("user", "think")] and len({m.id for m in messages}) == 3, messages
    gone = chat.delete(b.id)
    assert (gone.id, gone.deleted, gone.object) == (b.id, True, "chat.completion.deleted"), gone
    refused(lambda: chat.retrieve(b.id), openai.NotFoundError, "not_found")
    assert [c.id for c in chat.list()] == [a.id]


def events():
    a = responses.create(model="main", input="hello")
    assert a.output_text == HELLO and responses.retrieve(a.id).output == a.output
    types = {e.type for e in responses.create(model="main", input="parallel", stream=True)}
    assert {"response.created", "response.output_text.delta", "response.mcp_call.completed", "response.completed"} <= types, types
    with responses.stream(model="main", input="hello") as stream:
        assert stream.get_final_response().output_text == HELLO


def stored():
    a = responses.create(model="main", input="hello")
    b = responses.create(model="main", previous_response_id=a.id, input="hello")
    items = list(responses.input_items.list(b.id, limit=1, order="asc"))
    assert [(i.type, i.role) for i in items] == [("message", "user"), ("message", "assistant"), ("message", "user")], items
    responses.delete(a.id)
    refused(lambda: responses.retrieve(a.id), openai.NotFoundError, "not_found")
    assert len(responses.input_items.list(b.id).data) == 1
    c = responses.create(model="main", input="nap", background=True)
    assert responses.cancel(c.id).status == "cancelled"


def conversations():
    api = getattr(client, "conversations", None)
    if api is None:
        return
    c = api.create(items=[*user("one"), *user("two")])
    assert api.update(c.id, metadata={"topic": "parks"}).metadata == {"topic": "parks"}
    first = api.items.list(c.id, order="asc").data[0]
    assert api.items.retrieve(first.id, conversation_id=c.id) == first
    assert api.items.delete(first.id, conversation_id=c.id).id == c.id
    assert [i.content[0].text for i in api.items.list(c.id)] == ["two"]
    a = responses.create(model="main", conversation=c.id, input="hello")
    assert a.output_text == HELLO and len(list(api.items.list(c.id))) == 3
    assert api.delete(c.id).deleted
    refused(lambda: api.retrieve(c.id), openai.NotFoundError, "not_found")


def again():
    before = threads()
    hasty = openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=9, timeout=0.3)
    assert hasty.chat.completions.create(model="main", messages=user("doze")).choices[0].message.content == "A moment.\n\nAwake."
    assert hasty.responses.create(model="main", input="doze").output_text == "A moment.Awake."
    assert threads() - before == 2


with server:
    check("completions, whole and streamed", completions)
    check("a tool of the client", tools)
    check("stored completions: list, retrieve, update, delete, messages", listed)
    check("responses, whole and streamed", events)
    check("the input of a response, deleting and cancelling", stored)
    check("conversations and their items", conversations)
    check("a client that times out asks again, and joins its run", again)
