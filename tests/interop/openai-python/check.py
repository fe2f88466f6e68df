"""check.py WEFT: every method of beta.assistants, beta.threads, beta.threads.messages and models of the real client, the Python package `openai`.

One line a result: ok or bad, TAB, title, TAB, what was wrong.
"""
import asyncio
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

import openai

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "server"))
from served import Server  # noqa: E402

warnings.simplefilter("ignore", DeprecationWarning)
WEFT = os.path.abspath(sys.argv[1])
FOLDER = tempfile.mkdtemp(prefix="weft-openai-python-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:weft.db
log: {level: warn}
models: {echo: {provider: scripted, echo: true}, other: {provider: scripted, echo: true}}
agents: {plain: {model: echo}}
"""


def check(title, fn):
    wrong = ""
    try:
        fn()
    except Exception:
        wrong = traceback.format_exc().replace("\n", " ").replace("\t", " ")
    print(f"{'bad' if wrong else 'ok'}\topenai {openai.__version__} of Python: {title}\t{wrong}", flush=True)


def add_key(tenant):
    r = subprocess.run([WEFT, "keys", "add", tenant, "--tenant", tenant, "--scope", "run,instructions"], cwd=FOLDER, capture_output=True,
                       text=True, check=True)
    return r.stdout.strip()


def refused(kind, status, code, fn, *args, **more):
    try:
        fn(*args, **more)
    except kind as e:
        assert e.status_code == status and e.code == code and e.request_id and e.message, e
        return
    raise AssertionError("it was not refused")


def missing(fn, *args, **more):
    refused(openai.NotFoundError, 404, "not_found", fn, *args, **more)


def wrong(fn, *args, **more):
    refused(openai.BadRequestError, 400, "invalid_request", fn, *args, **more)


def assistants():
    api = one.beta.assistants
    tools = [{"type": "function", "function": {"name": "locate", "description": "d", "parameters": {"type": "object", "properties": {}}}}]
    a = api.create(model="echo", name="Guide", instructions="Be kind.", tools=tools, temperature=0.5, metadata={"a": "b"})
    assert a.id.startswith("asst_") and a.object == "assistant" and abs(a.created_at - time.time()) < 60, a
    assert a.tools[0].function.name == "locate" and a.temperature == 0.5 and a.metadata == {"a": "b"}, a
    assert api.retrieve(a.id) == a
    b = api.update(a.id, model="other", metadata={"c": "d"}, temperature=None)
    assert b == a.model_copy(update={"model": "other", "metadata": {"c": "d"}, "temperature": None}), b
    made = [a.id] + [api.create(model="echo").id for _ in range(6)]
    for limit in (1, 3, 100):
        assert [x.id for x in api.list(limit=limit, order="asc")] == ["plain", *made]
        assert [x.id for x in api.list(limit=limit)] == [*made[::-1], "plain"]
    assert [x.id for x in api.list(order="asc", before=made[3], limit=2).data] == made[1:3]
    assert [x.id for x in api.list(order="asc", after=made[3], limit=2).data] == made[4:6]
    for i in made:
        gone = api.delete(i)
        assert (gone.id, gone.object, gone.deleted) == (i, "assistant.deleted", True), gone
    missing(api.retrieve, a.id)
    refused(openai.NotFoundError, 404, "model_not_found", api.create, model="gpt-4o")
    wrong(api.create, model="echo", tools=[{"type": "code_interpreter"}])
    assert api.retrieve("plain").model == "echo"
    refused(openai.BadRequestError, 400, "refused", api.update, "plain", name="x")
    refused(openai.BadRequestError, 400, "refused", api.delete, "plain")


def models():
    assert [m.id for m in one.models.list()] == ["echo", "other", "plain"]
    m = one.models.retrieve("plain")
    assert (m.id, m.object, m.created, m.owned_by) == ("plain", "model", 0, "weft"), m
    refused(openai.NotFoundError, 404, "model_not_found", one.models.retrieve, "gpt-4o")
    refused(openai.APIStatusError, 405, "method_not_allowed", one.models.delete, "echo")


def threads():
    api = one.beta.threads
    t = api.create(messages=[{"role": "user", "content": "hello", "metadata": {"x": "y"}}], metadata={"a": "b"},
                   tool_resources={"code_interpreter": {"file_ids": []}})
    assert t.object == "thread" and t.metadata == {"a": "b"} and t.tool_resources.code_interpreter.file_ids == [], t
    assert api.retrieve(t.id) == t
    assert api.update(t.id, metadata={"c": "d"}) == t.model_copy(update={"metadata": {"c": "d"}})
    assert api.update(t.id).metadata == {"c": "d"}
    assert api.create().metadata == {}
    gone = api.delete(t.id)
    assert (gone.id, gone.object, gone.deleted) == (t.id, "thread.deleted", True), gone
    missing(api.retrieve, t.id)
    wrong(api.create, metadata={str(i): "x" for i in range(17)})


def messages():
    api, t = one.beta.threads.messages, one.beta.threads.create().id
    m = api.create(t, role="user", content=[{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}}],
                   metadata={"a": "b"})
    assert [c.type for c in m.content] == ["text", "image_url"] and m.status == "completed", m
    assert api.retrieve(m.id, thread_id=t) == m
    changed = api.update(m.id, thread_id=t, metadata={"c": "d"})
    assert changed == m.model_copy(update={"metadata": {"c": "d"}}) == api.retrieve(m.id, thread_id=t) == api.list(t).data[0], changed
    gone = api.delete(m.id, thread_id=t)
    assert (gone.id, gone.object, gone.deleted) == (m.id, "thread.message.deleted", True), gone
    missing(api.retrieve, m.id, thread_id=t)
    wrong(api.list, t, limit=101)
    wrong(api.list, t, after="msg_" + "0" * 32)


def pages():
    t = one.beta.threads.create(messages=[{"role": "user", "content": str(i)} for i in range(250)]).id
    runs = []
    for k in range(1, 4):
        run = one.beta.threads.runs.create_and_poll(thread_id=t, assistant_id="plain", additional_messages=[
            {"role": "user", "content": str(k * 250 + i)} for i in range(250)])
        assert run.status == "completed", run
        runs.append(run.id)
    api = one.beta.threads.messages
    up = list(api.list(t, limit=100, order="asc"))
    assert [m.content[0].text.value for m in up if m.role == "user"] == [str(i) for i in range(1000)]
    ids = [m.id for m in up]
    for limit in (7, 100):
        assert [m.id for m in api.list(t, limit=limit)] == ids[::-1]
        assert [m.id for m in api.list(t, limit=limit, order="asc")] == ids
    assert [m.id for m in api.list(t, limit=5, order="asc", before=ids[500]).data] == ids[495:500]
    found = list(api.list(t, run_id=runs[1], order="asc"))
    assert found and found[-1].role == "assistant" and all(m.run_id == runs[1] for m in found), found


def without_threads():
    """The client that is asynchronous."""
    async def all_of_it():
        async with openai.AsyncOpenAI(api_key=KEYS["one"], base_url=f"{server.url}/v1", max_retries=0) as c:
            a = await c.beta.assistants.create(model="echo")
            t = await c.beta.threads.create()
            made = [await c.beta.threads.messages.create(t.id, role="user", content=str(i)) for i in range(5)]
            assert [m.id async for m in c.beta.threads.messages.list(t.id, limit=2)] == [m.id for m in made][::-1]
            assert (await c.beta.assistants.delete(a.id)).deleted
    asyncio.run(all_of_it())


def tenants():
    a = one.beta.assistants.create(model="echo")
    t = one.beta.threads.create(messages=[{"role": "user", "content": "mine"}])
    m = one.beta.threads.messages.list(t.id).data[0]
    theirs = two.beta
    missing(theirs.assistants.retrieve, a.id)
    missing(theirs.assistants.update, a.id, name="x")
    missing(theirs.assistants.delete, a.id)
    missing(theirs.threads.retrieve, t.id)
    missing(theirs.threads.update, t.id, metadata={})
    missing(theirs.threads.delete, t.id)
    for fn in (theirs.threads.messages.retrieve, theirs.threads.messages.delete):
        missing(fn, m.id, thread_id=t.id)
    missing(theirs.threads.messages.update, m.id, thread_id=t.id, metadata={})
    assert [x.id for x in theirs.assistants.list()] == ["plain"] and [x.id for x in one.beta.assistants.list()] == [a.id, "plain"]


with open(f"{FOLDER}/weft.yaml", "w") as f:
    f.write(CONFIG)
KEYS = {tenant: add_key(tenant) for tenant in ("one", "two")}
with Server(WEFT, FOLDER) as server:
    one, two = (openai.OpenAI(api_key=KEYS[k], base_url=f"{server.url}/v1", max_retries=0) for k in ("one", "two"))
    check("assistants", assistants)
    check("models", models)
    check("threads", threads)
    check("messages", messages)
    check("a thousand messages, page by page", pages)
    check("without threads", without_threads)
    check("two tenants do not see each other", tenants)
