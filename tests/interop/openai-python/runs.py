"""runs.py WEFT FOLDER: every way in which the real Python client starts, streams, polls, answers, cancels and looks at runs.

One line a result: ok or bad, TAB, title, TAB, what was wrong.
"""
import json
import os
import re
import signal
import subprocess
import sys
import traceback
import urllib.request

import openai
from openai import AssistantEventHandler, OpenAI
from typing_extensions import override

WEFT, FOLDER = sys.argv[1:3]
CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "openai", "runs.yaml")


class Server:
    def __init__(self):
        self.process = subprocess.Popen([WEFT, "serve", "--config", CONFIG, "--store", f"sqlite:{FOLDER}/weft.db"], stdout=subprocess.PIPE,
                                        stderr=open(f"{FOLDER}/log", "a"), text=True)
        line = self.process.stdout.readline()
        self.url = re.fullmatch(r"listening on (\S+)\n", line)[1]
        self.client = OpenAI(api_key="k", base_url=f"{self.url}/v1", max_retries=0)

    def end(self, how):
        self.process.send_signal(how)
        return self.process.wait(timeout=30)

    def ask(self, method, path, body=None, **headers):
        request = urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode(), headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as r:
            return r.read().decode()


server = Server()
executed = []


def beta():
    return server.client.beta.threads


def asked(text):
    return {"assistant_id": "main", "thread": {"messages": [{"role": "user", "content": text}]}}


def thread_with(text):
    return beta().create(messages=[{"role": "user", "content": text}]).id


def approve(run, approved=True):
    server.ask("POST", f"/v1/runs/{run.id}/answers", {"answers": [{"call_id": "c1", "approved": approved}]})


def outputs(calls):
    return [{"tool_call_id": c.id, "output": f"{c.function.name} says so"} for c in calls]


def own_calls(run):
    """The functions that a run asks for, as applications look for them."""
    action = run.required_action if run.status == "requires_action" else None
    return getattr(getattr(action, "submit_tool_outputs", None), "tool_calls", None)


def where(run):
    return {"thread_id": run.thread_id, "run_id": run.id}


def poll(run):
    return beta().runs.poll(run.id, thread_id=run.thread_id)


def said(run):
    return beta().messages.list(run.thread_id).data[0].content[0].text.value


def work(run):
    """What applications do: run the functions that the run asks for, until it asks for none."""
    while own_calls(run):
        executed.extend(c.function.name for c in own_calls(run))
        run = beta().runs.submit_tool_outputs_and_poll(tool_outputs=outputs(own_calls(run)), **where(run))
    return run


class Handler(AssistantEventHandler):
    """As OpenAI's guide has it: functions are run when the stream says that the run requires action."""

    def __init__(self, told):
        super().__init__()
        self.told = told

    @override
    def on_event(self, event):
        self.told["events"].append(event.event)
        if event.event == "thread.run.created":
            self.told["run"] = event.data
        if event.event.startswith("thread.run.") and "step" not in event.event:
            self.told["last"] = event.data
        if event.event == "thread.run.requires_action" and own_calls(event.data):
            executed.extend(c.function.name for c in own_calls(event.data))
            with beta().runs.submit_tool_outputs_stream(tool_outputs=outputs(own_calls(event.data)), event_handler=Handler(self.told), **where(event.data)) as stream:
                stream.until_done()

    @override
    def on_text_delta(self, delta, snapshot):
        self.told["text"] += delta.value

    @override
    def on_run_step_done(self, run_step):
        self.told["steps"].append(run_step)


def told():
    return {"events": [], "text": "", "steps": [], "run": None, "last": None}


def streamed(text):
    t = told()
    with beta().create_and_run_stream(event_handler=Handler(t), **asked(text)) as stream:
        stream.until_done()
    return t


def refused(status, words, function, **arguments):
    try:
        function(**arguments)
    except openai.APIStatusError as e:
        assert e.status_code == status and all(w in str(e) for w in words), (e.status_code, str(e))
        assert status != 400 or isinstance(e, openai.BadRequestError)
        return
    raise AssertionError("it was accepted")


def check_create_and_run_polled():
    run = beta().create_and_run_poll(**asked("hello"))
    assert run.status == "completed" and said(run) == "All done.", run
    assert beta().retrieve(run.thread_id).id == run.thread_id


def check_create_and_run_streamed():
    t = streamed("weather")
    assert t["events"][:2] == ["thread.created", "thread.run.created"], t["events"]
    assert t["last"].status == "completed" and t["text"] == "Let me see.All done.", t
    raw = [e.event for e in beta().create_and_run(stream=True, **asked("hello"))]
    assert raw[0] == "thread.created" and raw[-1] == "thread.run.completed", raw


def check_neither_thread_nor_run_where_it_is_refused():
    count = lambda: len(json.loads(server.ask("GET", "/v1/threads?limit=100"))["data"])
    before = count()
    refused(404, ["nobody"], beta().create_and_run, **{**asked("hello"), "assistant_id": "nobody"})
    assert count() == before


def check_a_stream_gives_the_text():
    thread = thread_with("weather")
    with beta().runs.stream(thread_id=thread, assistant_id="main") as stream:
        text = "".join(stream.text_deltas)
        assert text == "Let me see.All done.", text
    with beta().runs.stream(thread_id=thread_with("weather"), assistant_id="main") as stream:
        stream.until_done()
        assert [m.content[0].text.value for m in stream.get_final_messages()] == ["Let me see.", "All done."]
        assert stream.get_final_run().status == "completed" and len(stream.get_final_run_steps()) == 3


def check_two_calls_in_one_step():
    executed.clear()
    run = work(beta().runs.create_and_poll(thread_id=thread_with("both"), assistant_id="main"))
    assert run.status == "completed" and executed == ["locate", "clock"], (run.status, executed)
    calls = beta().runs.steps.list(order="asc", **where(run)).data[1].step_details.tool_calls
    assert [c.function.output for c in calls] == ["locate says so", "clock says so"], calls
    executed.clear()
    t = streamed("both")
    assert t["last"].status == "completed" and t["text"] == "Both.All done." and executed == ["locate", "clock"], (t, executed)


def check_outputs_that_are_wrong_late_or_for_nobody():
    run = beta().create_and_run_poll(**asked("both"))
    submit = lambda status, words, *ids: refused(status, words, beta().runs.submit_tool_outputs, tool_outputs=[{"tool_call_id": i, "output": "x"} for i in ids], **where(run))
    submit(400, ["'c2'", "requires_action"], "c1")
    submit(400, ["'c3'", "requires_action"], "c1", "c2", "c3")
    submit(400, ["'c1'", "requires_action"], "c1", "c2", "c1")
    beta().runs.submit_tool_outputs(tool_outputs=[{"tool_call_id": i, "output": "x"} for i in ("c1", "c2")], **where(run))
    assert poll(run).status == "completed"
    submit(400, ["'c1'", "completed"], "c1", "c2")


def check_an_approval_is_nobodys_function():
    executed.clear()
    run = work(beta().create_and_run_poll(**asked("remove")))
    assert run.status == "requires_action" and run.required_action.type == "approval" and not executed, (run, executed)
    (call,) = run.required_action.approval["calls"]
    assert call == {"id": "c1", "name": "remove", "arguments": '{"path":"x"}'}, call
    refused(400, ["'c1'", "approval"], beta().runs.submit_tool_outputs_and_poll, tool_outputs=[{"tool_call_id": "c1", "output": "gone"}], **where(run))
    approve(run)
    run = poll(run)
    assert run.status == "completed" and said(run) == "All done." and not executed, run
    t = streamed("remove")
    assert t["events"][-1] == "thread.run.requires_action" and t["last"].required_action.type == "approval" and not executed, (t, executed)
    approve(t["last"], False)
    assert poll(t["last"]).status == "completed"


def check_a_function_and_an_approval_at_once():
    executed.clear()
    run = work(beta().create_and_run_poll(**asked("mixed")))
    assert executed == ["locate"] and run.required_action.type == "approval", (executed, run)
    approve(run)
    assert poll(run).status == "completed"
    t = streamed("mixed")
    assert executed == ["locate", "locate"] and t["last"].required_action.type == "approval", (executed, t)
    approve(t["last"])
    assert poll(t["last"]).status == "completed"


def check_steps_are_those_of_the_stream():
    t = streamed("weather")
    at = where(t["last"])
    listed = list(beta().runs.steps.list(order="asc", include=["step_details.tool_calls[*].file_search.results[*].content"], **at))
    paged = list(beta().runs.steps.list(limit=1, **at))[::-1]
    shown = lambda steps: [s.to_dict() for s in steps]
    assert len(listed) == 3 and shown(paged) == shown(listed), listed
    ids = lambda steps: [(s.id, s.status, s.type) for s in steps]
    assert ids(t["steps"]) == ids(listed), (ids(t["steps"]), ids(listed))
    assert beta().runs.steps.retrieve(listed[1].id, **at).to_dict() == listed[1].to_dict()


def check_metadata_and_lists():
    first = beta().create_and_run_poll(metadata={"a": "1"}, **asked("hello"))
    assert beta().runs.update(first.id, thread_id=first.thread_id, metadata={"b": "2"}).metadata == {"b": "2"}
    assert beta().runs.retrieve(first.id, thread_id=first.thread_id).metadata == {"b": "2"}
    second = beta().runs.create_and_poll(thread_id=first.thread_id, assistant_id="main", additional_messages=[{"role": "user", "content": "hi"}])
    assert [r.id for r in beta().runs.list(first.thread_id, limit=1, order="asc")] == [first.id, second.id]


def check_cancel_in_each_state():
    cancel = lambda run: beta().runs.cancel(run.id, thread_id=run.thread_id)
    slow = beta().runs.create(thread_id=thread_with("slow"), assistant_id="main")
    queued = beta().runs.create(thread_id=slow.thread_id, assistant_id="main", extra_body={"on_busy": "enqueue"}, additional_messages=[{"role": "user", "content": "hi"}])
    assert queued.status == "queued" and cancel(queued).status == "cancelled"
    assert cancel(slow).status in ("cancelling", "cancelled") and poll(slow).status == "cancelled"
    waits = beta().create_and_run_poll(**asked("both"))
    cancel(waits)
    assert poll(waits).status == "cancelled"
    done, failed = beta().create_and_run_poll(**asked("hello")), beta().create_and_run_poll(**asked("half"))
    for run, status in ((done, "completed"), (failed, "failed"), (waits, "cancelled")):
        refused(400, [f"Cannot cancel run with status '{status}'."], beta().runs.cancel, **where(run))


def check_what_a_run_that_ended_early_has_said():
    class Canceller(Handler):
        @override
        def on_text_delta(self, delta, snapshot):
            if not self.told["text"]:
                beta().runs.cancel(self.told["run"].id, thread_id=self.told["run"].thread_id)
            self.told["text"] += delta.value

    t = told()
    with beta().create_and_run_stream(event_handler=Canceller(t), **asked("slow")) as stream:
        stream.until_done()
    failed = streamed("half")["last"]
    for run, status, reason, step in ((t["last"], "cancelled", "run_cancelled", "cancelled"), (failed, "failed", "run_failed", "failed")):
        message = beta().messages.list(run.thread_id).data[0]
        assert run.status == status and message.status == "incomplete" and message.incomplete_details.reason == reason, (run, message)
        assert beta().runs.steps.list(**where(run)).data[0].status == step


def check_the_server_is_killed_in_the_middle():
    global server
    waits = beta().create_and_run_poll(**asked("both"))
    before = [s.to_dict() for s in beta().runs.steps.list(**where(waits))]
    run, seen = None, 0
    try:
        for event in beta().create_and_run(stream=True, **asked("slow")):
            run = run or (event.data if event.event == "thread.run.created" else None)
            seen += event.event == "thread.message.delta"
            if seen == 2:
                server.end(signal.SIGKILL)
    except Exception:  # the connection is gone, and how the client says so is not the point
        pass
    server = Server()
    run = poll(run)
    assert run.status == "completed" and re.fullmatch(r"Once .* thread\.", said(run)), run
    events = re.findall(r"^event: (.*)$", server.ask("GET", f"/v1/runs/{run.id}/events?as=assistants"), re.M)
    assert events[0] == "thread.run.created" and events[-2:] == ["thread.run.completed", "done"], events
    assert [s.to_dict() for s in beta().runs.steps.list(**where(waits))] == before
    assert work(beta().runs.retrieve(waits.id, thread_id=waits.thread_id)).status == "completed"


for name, check in list(globals().items()):
    if name.startswith("check_"):
        wrong = ""
        try:
            check()
        except Exception:
            wrong = traceback.format_exc().replace("\n", " ")
        print(f"{'bad' if wrong else 'ok'}\truns: {name[6:].replace('_', ' ')}\t{wrong}", flush=True)
code = server.end(signal.SIGTERM)
print(f"{'bad' if code else 'ok'}\truns: the server ends\t{code}")
