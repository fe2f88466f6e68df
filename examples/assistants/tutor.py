"""A stored assistant, a thread, a run that is polled. OPENAI_BASE_URL and OPENAI_API_KEY say where the server is."""
from openai import OpenAI

beta = OpenAI().beta
tutor = beta.assistants.create(model="tutor", name="Tutor", instructions="You teach mathematics.")
thread = beta.threads.create(messages=[{"role": "user", "content": "Solve 3x + 11 = 14."}])
run = beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=tutor.id)
answer = beta.threads.messages.list(thread.id).data[0]
print(run.status, answer.content[0].text.value)
