// live.mjs MAJOR WEFT FOLDER: the real client on real runs of the real server: threads, messages, runs.stream(), and the events of a run once more, where the
// client has no request for them (after answers, and from the beginning).
import { report } from '../ai/client.mjs';
import { Server } from '../ai/server.mjs';

const [major, weft, folder] = process.argv.slice(2);
const { default: OpenAI } = await import(`openai-${major}`);
const { AssistantStream } = await import(`openai-${major}/lib/AssistantStream`);
const server = await Server.start(weft, folder);
const client = new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0 });

// The events of a run, as the client would get them, from behind an id on.
async function events(run, after) {
  const r = await fetch(`${server.url}/v1/runs/${run}/events?as=assistants`, { headers: after ? { 'last-event-id': after } : {} });
  const frames = (await r.text()).split('\n\n').map((f) => Object.fromEntries(f.split('\n').map((l) => [l.slice(0, l.indexOf(':')), l.slice(l.indexOf(':') + 2)])));
  const told = frames.filter((f) => f.event && f.event !== 'done').map((f) => JSON.stringify({ event: f.event, data: JSON.parse(f.data) }) + '\n');
  return { lines: told, last: frames.findLast((f) => f.id)?.id };
}

const streamOf = ({ lines }) => AssistantStream.fromReadableStream(new Blob(lines).stream());

async function held(stream, during) {
  const messages = [], seen = [];
  stream.on('messageDone', (m) => messages.push(m));
  stream.on('event', (e) => { seen.push(e); during?.(e); });
  const run = await stream.finalRun();
  return { run, messages, steps: await stream.finalRunSteps(), seen };
}

const say = async (text, agent = 'main', during) => {
  const thread = await client.beta.threads.create();
  await client.beta.threads.messages.create(thread.id, { role: 'user', content: text });
  return held(client.beta.threads.runs.stream(thread.id, { assistant_id: agent, metadata: { mine: 'yes' } }), during);
};

const texts = (h) => h.messages.map((m) => `${m.status} ${m.content.map((c) => c.text.value).join('|')}`).join('; ');
const calls = (h) => h.steps.filter((s) => s.type === 'tool_calls').flatMap((s) => s.step_details.tool_calls.map((c) => `${c.id} ${c.function.output}`)).join('; ');
const differ = (h, status, said, called = '') =>
  [[h.run.status, status], [texts(h), said], [calls(h), called]].filter(([is, want]) => is !== want).map(([is, want]) => `${is} is not ${want}`).join(', ');
const title = (what) => `openai ${major}, live: ${what}`;

await report(title('text, and what a poll finds'), async () => {
  const h = await say('hello');
  const wrong = differ(h, 'completed', 'completed Hello, "world"\n— ¡olé! 💡');
  if (wrong) return wrong;
  const polled = await (await fetch(`${server.url}/v1/threads/${h.run.thread_id}/runs/${h.run.id}`)).json();
  if (JSON.stringify(polled) !== JSON.stringify(h.run)) return `${JSON.stringify(polled)} was polled, ${JSON.stringify(h.run)} streamed`;
  const listed = (await client.beta.threads.messages.list(h.run.thread_id)).data[0];
  if (listed.id !== h.messages[0].id || listed.run_id !== h.run.id) return `listed as ${listed.id}`;
  const again = await held(streamOf(await events(h.run.id)));
  return JSON.stringify(again.seen) === JSON.stringify(h.seen) ? '' : 'read again, it is another';
});

await report(title('the runs of a thread, page by page'), async () => {
  const thread = await client.beta.threads.create();
  const started = [];
  for (let i = 0; i < 3; i++) {
    await client.beta.threads.messages.create(thread.id, { role: 'user', content: 'hello' });
    started.unshift((await held(client.beta.threads.runs.stream(thread.id, { assistant_id: 'main' }))).run);
  }
  const down = [], up = [];
  for await (const run of client.beta.threads.runs.list(thread.id, { limit: 1 })) down.push(run);
  for await (const run of client.beta.threads.runs.list(thread.id, { limit: 2, order: 'asc' })) up.push(run);
  if (JSON.stringify(down) !== JSON.stringify(started)) return `${JSON.stringify(down)} was listed, ${JSON.stringify(started)} streamed`;
  return JSON.stringify(up.reverse()) === JSON.stringify(started) ? '' : 'upwards they are others';
});

await report(title('calls beside each other'), async () =>
  differ(await say('parallel'), 'completed', 'completed Both.; completed 18 degrees at noon.', 'c1 18; c2 {"time":"12:00"}'));

await report(title('a tool of the client'), async () => {
  const h = await say('where');
  const wrong = differ(h, 'requires_action', 'completed Where are you?', 'c1 null');
  if (wrong) return wrong;
  const before = await events(h.run.id);
  await server.ask('POST', `/v1/runs/${h.run.id}/answers`, { answers: [{ call_id: 'c1', output: 'here' }] });
  return differ(await held(streamOf(await events(h.run.id, before.last))), 'completed', 'completed There.', 'c1 here');
});

await report(title('an approval'), async () => {
  const h = await say('remove');
  const wrong = differ(h, 'requires_action', '', 'c1 null');
  if (wrong || h.run.required_action.type !== 'approval') return wrong || JSON.stringify(h.run.required_action);
  const before = await events(h.run.id);
  await server.ask('POST', `/v1/runs/${h.run.id}/answers`, { answers: [{ call_id: h.run.required_action.approval.calls[0].id, approved: true }] });
  return differ(await held(streamOf(await events(h.run.id, before.last))), 'completed', 'completed Gone.', 'c1 gone');
});

await report(title('a run that fails'), async () => {
  const h = await say('overload', 'once');
  return differ(h, 'failed', '') || (h.run.last_error?.message.includes('overloaded') ? '' : JSON.stringify(h.run.last_error));
});

await report(title('a cancel'), async () => {
  let asked, run;
  const h = await say('story', 'main', (e) => {
    if (!asked && e.event === 'thread.message.delta') asked = server.ask('POST', `/v1/runs/${run.id}/cancel`);
    if (e.event === 'thread.run.created') run = e.data;
  });
  await asked;
  return h.run.status === 'cancelled' && h.messages[0].status === 'incomplete' && h.messages[0].content[0].text.value.startsWith('Onc')
    ? '' : `${h.run.status} ${texts(h)}`;
});

// An agent's own URL is a base URL: no assistant has to be named.
await report(title('under the URL of an agent'), async () => {
  const own = new OpenAI({ apiKey: 'k', baseURL: `${server.url}/agents/main/v1`, maxRetries: 0 });
  const thread = await own.beta.threads.create({ messages: [{ role: 'user', content: 'hello' }], metadata: { actors: [{ id: 'me', capabilities: [] }, { id: 'main', capabilities: [] }] } });
  const h = await held(own.beta.threads.runs.stream(thread.id, { assistant_id: 'main' }));
  const page = await own.beta.threads.messages.list(thread.id, { order: 'asc' });
  const actors = page.data.map((m) => m.metadata.actor).join();
  const refused = await own.beta.threads.runs.create(thread.id, { assistant_id: 'once' }).then(() => 0, (e) => e.status);
  return h.run.status === 'completed' && actors === 'me,main' && refused === 400 ? '' : `${h.run.status} ${actors} ${refused}`;
});

await report(title('what a run sets'), async () => {
  const mine = { type: 'function', function: { name: 'mine', description: 'Mine', parameters: { type: 'object', properties: {} } } };
  const sets = {
    temperature: 0.5, top_p: 0.25, tools: [mine], tool_choice: 'none', parallel_tool_calls: false, max_prompt_tokens: 1000, max_completion_tokens: 50,
    response_format: { type: 'json_object' }, truncation_strategy: { type: 'last_messages', last_messages: 1 },
  };
  const thread = await client.beta.threads.create({ messages: [{ role: 'user', content: 'hello' }, { role: 'user', content: 'settings' }] });
  const run = await client.beta.threads.runs.createAndPoll(thread.id, { assistant_id: 'once', ...sets }, { pollIntervalMs: 20 });
  if (run.status !== 'completed') return JSON.stringify(run);
  const got = JSON.parse((await client.beta.threads.messages.list(thread.id)).data[0].content[0].text.value);
  const { temperature, top_p, tool_choice, parallel_tool_calls, response_format } = sets;
  const want = { temperature, top_p, parallel_tool_calls, max_completion_tokens: 50, tool_choice, response_format };
  if (JSON.stringify(got.params) !== JSON.stringify(want)) return `the model received ${JSON.stringify(got.params)}`;
  if (got.tools.join() !== 'mine' || got.messages.join() !== 'user: settings') return JSON.stringify(got);
  for (const [name, value] of Object.entries(sets))
    if (JSON.stringify(run[name]) !== JSON.stringify(value)) return `${name} is shown as ${JSON.stringify(run[name])}`;
  try {
    await client.beta.threads.runs.create(thread.id, { assistant_id: 'once', temperature: 3 });
    return 'a temperature of 3 was taken';
  } catch (e) {
    return e.status === 400 && e.param === '/temperature' ? '' : `${e}`;
  }
});

const code = await server.end('SIGTERM');
await report(title('the server ends'), async () => (code === 0 ? '' : `exit ${code}`));
