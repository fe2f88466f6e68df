"""What the programs of this folder share: the server, the checks, what the scripted model says.

One line a result: ok or bad, TAB, title, TAB, what was wrong.
"""
import asyncio
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "server"))
from served import Server  # noqa: E402

HELLO = 'Hello, "world"\n— ¡olé! 💡'


def serve():
    """The server of `PROGRAM WEFT FOLDER`."""
    weft, folder = sys.argv[1:3]
    with open(f"{HERE}/weft.yaml") as f:
        config = f.read().replace("script: script.json", f"script: {HERE}/script.json")
    return Server(os.path.abspath(weft), folder, config + f"store: sqlite:{folder}/weft.db\n")


async def check(name, title, test):
    """A coroutine that fails where something is wrong."""
    wrong = ""
    try:
        await asyncio.wait_for(test, 60)
    except Exception:
        wrong = traceback.format_exc().replace("\n", " ").replace("\t", " ")
    print(f"{'bad' if wrong else 'ok'}\t{name}: {title}\t{wrong}", flush=True)


async def together(test, n=12):
    """The same, so many times at once."""
    return await asyncio.gather(*(test() for _ in range(n)))
