"""A server of agentscope-runtime with a trivial agent. usage: app.py PORT

It says what it was asked, how often its session was asked before, and waits where the text says `wait` until it is stopped.
"""
import asyncio
import sys

from agentscope_runtime.engine.app import AgentApp
from agentscope_runtime.engine.runner import Runner
from agentscope_runtime.engine.schemas.agent_schemas import AgentRequest

asked = {}


class Echo(Runner):
    def __init__(self):
        super().__init__()
        self.framework_type = "text"

    async def query_handler(self, request: AgentRequest = None, **kwargs):
        text = "".join(c.text for c in request.input[-1].content if c.type == "text")
        n = asked[request.session_id] = asked.get(request.session_id, 0) + 1
        if text == "break":
            yield "half"
            raise RuntimeError("the agent broke")
        for piece in (f"{n}: ", *(text[i:i + 3] for i in range(0, len(text), 3)), f" ({len(request.input)})"):
            yield piece
        if text == "wait":
            await asyncio.sleep(30)


app = AgentApp(app_name="echo", app_description="echoes", runner=Echo())


@app.post("/stop")
async def stop(request: AgentRequest):
    await app.stop_chat(user_id=request.user_id, session_id=request.session_id)
    print("stopped", flush=True)
    return {"status": "ok"}


app.run(host="127.0.0.1", port=int(sys.argv[1]))
