"""A function of the client: the run waits for its output, and the rest is streamed."""
from openai import OpenAI

threads = OpenAI().beta.threads
temperature = {"name": "temperature", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
thread = threads.create(messages=[{"role": "user", "content": "How is the weather in Lisbon?"}])
run = threads.runs.create_and_poll(thread_id=thread.id, assistant_id="helper", tools=[{"type": "function", "function": temperature}])
outputs = [{"tool_call_id": c.id, "output": "21 degrees"} for c in run.required_action.submit_tool_outputs.tool_calls]
with threads.runs.submit_tool_outputs_stream(run_id=run.id, thread_id=thread.id, tool_outputs=outputs) as stream:
    print("".join(stream.text_deltas))
