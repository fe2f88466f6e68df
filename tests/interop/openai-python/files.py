"""files.py WEFT: every method of files of the real client, the Python package `openai`, and files in messages.

One line a result: ok or bad, TAB, title, TAB, what was wrong.
"""
import atexit
import io
import os
import pathlib
import shutil
import sys
import tempfile
import traceback
import warnings

import openai

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "server"))
from served import Server  # noqa: E402

warnings.simplefilter("ignore", DeprecationWarning)
WEFT = os.path.abspath(sys.argv[1])
FOLDER = tempfile.mkdtemp(prefix="weft-openai-files-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
CONFIG = """
server: {listen: "127.0.0.1:0"}
store: sqlite:weft.db
log: {level: warn}
models: {echo: {provider: scripted, echo: true}}
agents: {plain: {model: echo}}
"""
PNG = bytes.fromhex("89504e470d0a1a0a") + b"picture"


def check(title, fn, *args):
    wrong = ""
    try:
        fn(*args)
    except Exception:
        wrong = traceback.format_exc().replace("\n", " ").replace("\t", " ")
    print(f"{'bad' if wrong else 'ok'}\topenai {openai.__version__} of Python: {title}\t{wrong}", flush=True)


def uploads(client):
    path = pathlib.Path(FOLDER) / "big.bin"
    path.write_bytes(b"weft" * (1 << 19))
    for file, name, n in ((path, "big.bin", 1 << 21), (open(path, "rb"), "big.bin", 1 << 21), (("gr\u00fc\u00dfe \"1\".md", b"hello"), "gr\u00fc\u00dfe \"1\".md", 5),
                          (("x.txt", io.BytesIO(b"hello"), "text/plain"), "x.txt", 5)):
        f = client.files.create(file=file, purpose="user_data")
        assert f.filename == name and f.bytes == n and f.status == "processed" and f.purpose == "user_data", f
        assert client.files.retrieve(f.id) == f
        assert len(client.files.content(f.id).read()) == n
    f = client.files.create(file=("x.txt", b"x"), purpose="vision", expires_after={"anchor": "created_at", "seconds": 3600})
    assert f.expires_at == f.created_at + 3600, f


def lists(client):
    made = [client.files.create(file=(f"{i}.txt", b"%d" % i), purpose="batch").id for i in range(5)]
    for order in ("asc", "desc"):
        assert sorted(f.id for f in client.files.list(purpose="batch", limit=2, order=order)) == sorted(made)


def deletes(client):
    f = client.files.create(file=("x", b"x"), purpose="assistants")
    gone = client.files.delete(f.id)
    assert gone.deleted and gone.id == f.id and gone.object == "file", gone
    try:
        client.files.retrieve(f.id)
        raise AssertionError("it is there")
    except openai.NotFoundError as e:
        assert f.id in e.message, e


def messages(client):
    image, notes = client.files.create(file=("a.png", PNG), purpose="vision"), client.files.create(file=("a.md", b"# hi"), purpose="assistants")
    thread = client.beta.threads.create()
    m = client.beta.threads.messages.create(thread.id, role="user", content=[
        {"type": "text", "text": "hello"}, {"type": "image_file", "image_file": {"file_id": image.id, "detail": "high"}}],
        attachments=[{"file_id": notes.id}])
    assert m.content[1].image_file.file_id == image.id and m.content[1].image_file.detail == "high", m
    assert m.attachments[0].file_id == notes.id, m
    run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id="plain")
    assert run.status == "completed", run
    try:
        client.beta.threads.messages.create(thread.id, role="user", content="x", attachments=[
            {"file_id": notes.id, "tools": [{"type": "file_search"}]}])
        raise AssertionError("it is taken")
    except openai.BadRequestError as e:
        assert "hosted" in e.message and e.param == "/attachments/0/tools/0/type", e


with Server(WEFT, FOLDER, CONFIG) as server:
    with openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as CLIENT:
        for TITLE, FN in (("uploads", uploads), ("lists of files", lists), ("deleting a file", deletes), ("files of messages", messages)):
            check(TITLE, FN, CLIENT)
