// A stored assistant, a thread, a run that is polled. OPENAI_BASE_URL and OPENAI_API_KEY say where the server is.
import OpenAI from 'openai';

const { assistants, threads } = new OpenAI().beta;
const tutor = await assistants.create({ model: 'tutor', name: 'Tutor', instructions: 'You teach mathematics.' });
const thread = await threads.create({ messages: [{ role: 'user', content: 'Solve 3x + 11 = 14.' }] });
const run = await threads.runs.createAndPoll(thread.id, { assistant_id: tutor.id });
const [answer] = (await threads.messages.list(thread.id)).data;
console.log(run.status, answer.content[0].text.value);
