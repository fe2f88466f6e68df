// models.mjs MAJOR WEFT FOLDER: agents as models of the real client: chat.completions and responses, whole, streamed, and with the client's helpers for tools.
import { report } from '../ai/client.mjs';
import { Server } from '../ai/server.mjs';

const [major, weft, folder] = process.argv.slice(2);
const { default: OpenAI } = await import(`openai-${major}`);
const server = await Server.start(weft, folder);
const client = new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0 });
const title = (what) => `openai ${major}, an agent as a model: ${what}`;
const HELLO = 'Hello, "world"\n— ¡olé! 💡';
const user = (content) => ({ role: 'user', content });
const differ = (is, want) => (JSON.stringify(is) === JSON.stringify(want) ? '' : `${JSON.stringify(is)} is not ${JSON.stringify(want)}`);
const threads = async () => (await (await fetch(`${server.url}/v1/threads?limit=100`)).json()).data.length;

await report(title('a completion'), async () => {
  const a = await client.chat.completions.create({ model: 'main', messages: [user('hello')] });
  return differ([a.choices[0].message.content, a.choices[0].finish_reason, a.usage.total_tokens], [HELLO, 'stop', 15]);
});

await report(title('chunks, and what they add up to'), async () => {
  const stream = await client.chat.completions.create({ model: 'main', messages: [user('hello')], stream: true, stream_options: { include_usage: true } });
  let text = '', usage, chunks = 0;
  for await (const c of stream) {
    chunks++;
    text += c.choices[0]?.delta?.content ?? '';
    usage = c.usage ?? usage;
  }
  return differ([text, usage?.total_tokens, chunks > 5], [HELLO, 15, true]);
});

await report(title('a stream of the helper'), async () => {
  const api = Number(major) < 5 ? client.beta.chat.completions : client.chat.completions;
  const stream = api.stream({ model: 'main', messages: [user('think')] });
  const a = await stream.finalChatCompletion();
  return differ([a.choices[0].message.content, a.choices[0].finish_reason], ['Four.', 'length']);
});

await report(title('tools that the helper runs'), async () => {
  const before = await threads();
  const api = Number(major) < 5 ? client.beta.chat.completions : client.chat.completions;
  const asked = [];
  const locate = { type: 'function', function: { name: 'locate', parameters: { type: 'object' }, parse: JSON.parse, function: (a) => { asked.push(a); return 'Kyoto'; } } };
  const runner = api.runTools({ model: 'main', messages: [user('where am I?')], tools: [locate] });
  const text = await runner.finalContent();
  return differ([text, asked.length, (await threads()) - before], ['There.', 1, 1]);
});

await report(title('an error is an error'), async () => {
  const e = await client.chat.completions.create({ model: 'nobody', messages: [user('x')] }).catch((e) => e);
  return differ([e.status, e.code], [404, 'model_not_found']);
});

await report(title('a response'), async () => {
  const a = await client.responses.create({ model: 'main', input: 'hello' });
  if (a.output_text !== HELLO) return `it said ${a.output_text}`;
  const again = await client.responses.retrieve(a.id);
  return differ([again.id, again.output, again.usage.total_tokens], [a.id, a.output, 15]);
});

await report(title('events of a response, and the helper that adds them up'), async () => {
  const types = new Set();
  const stream = await client.responses.create({ model: 'main', input: 'parallel', stream: true });
  for await (const e of stream) types.add(e.type);
  for (const t of ['response.created', 'response.output_text.delta', 'response.mcp_call.completed', 'response.completed'])
    if (!types.has(t)) return `no ${t}`;
  const whole = await client.responses.stream({ model: 'main', input: 'hello' }).finalResponse();
  if (whole.status !== 'completed' || whole.output[0].content[0].text !== HELLO) return `it said ${JSON.stringify(whole.output)}`;
  if (Number(major) < 6) return ''; // their helpers do not know response.incomplete
  const last = await client.responses.stream({ model: 'main', input: 'think' }).finalResponse();
  return differ([last.output_text, last.status, last.output.map((i) => i.type)], ['Four.', 'incomplete', ['reasoning', 'message']]);
});

await report(title('a response continues another, with tools and approvals'), async () => {
  const a = await client.responses.create({ model: 'main', input: 'where am I?' });
  const call = a.output.find((i) => i.type === 'function_call');
  const b = await client.responses.create({ model: 'main', previous_response_id: a.id, input: [{ type: 'function_call_output', call_id: call.call_id, output: 'Kyoto' }] });
  if (b.output_text !== 'There.') return `it said ${b.output_text}`;
  const c = await client.responses.create({ model: 'main', previous_response_id: b.id, input: 'remove it' });
  const asked = c.output.find((i) => i.type === 'mcp_approval_request');
  const d = await client.responses.create({ model: 'main', previous_response_id: c.id, input: [{ type: 'mcp_approval_response', approval_request_id: asked.id, approve: true }] });
  return differ([d.output_text, d.conversation?.id], ['Gone.', a.conversation?.id]);
});

await report(title('in the background, and cancelled'), async () => {
  const a = await client.responses.create({ model: 'main', input: 'nap', background: true });
  const b = client.responses.cancel ? await client.responses.cancel(a.id) : await (await fetch(`${server.url}/v1/responses/${a.id}/cancel`, { method: 'POST' })).json();
  return differ([b.id, b.status], [a.id, 'cancelled']);
});

// Older clients do not have all of these: they are asked the same by hand.
const raw = async (method, path, body) => (await fetch(`${server.url}/v1${path}`, { method, body: body && JSON.stringify(body) })).json();

await report(title('the input of a response, and deleting it'), async () => {
  const a = await client.responses.create({ model: 'main', input: 'hello' });
  const b = await client.responses.create({ model: 'main', previous_response_id: a.id, input: 'hello' });
  const items = [];
  for await (const i of client.responses.inputItems.list(b.id, { limit: 1, order: 'asc' })) items.push([i.type, i.role]);
  if (differ(items, [['message', 'user'], ['message', 'assistant'], ['message', 'user']])) return JSON.stringify(items);
  if (client.responses.delete) await client.responses.delete(a.id);
  else if (client.responses.del) await client.responses.del(a.id);
  const e = await client.responses.retrieve(a.id).catch((e) => e);
  const left = await client.responses.inputItems.list(b.id);
  return differ([e.status, e.code, left.data.length], [404, 'not_found', 1]);
});

await report(title('a conversation: metadata, items, deleting'), async () => {
  const api = client.conversations;
  const c = api ? await api.create({ items: [{ role: 'user', content: 'one' }, { role: 'user', content: 'two' }] }) : await raw('POST', '/conversations', { items: [{ role: 'user', content: 'one' }, { role: 'user', content: 'two' }] });
  const updated = api ? await api.update(c.id, { metadata: { topic: 'parks' } }) : await raw('POST', `/conversations/${c.id}`, { metadata: { topic: 'parks' } });
  const list = api ? await api.items.list(c.id, { order: 'asc' }) : await raw('GET', `/conversations/${c.id}/items?order=asc`);
  const first = list.data[0].id;
  const after = api ? await api.items.delete(first, { conversation_id: c.id }) : await raw('DELETE', `/conversations/${c.id}/items/${first}`);
  const left = api ? await api.items.list(c.id) : await raw('GET', `/conversations/${c.id}/items`);
  const gone = api ? await api.delete(c.id) : await raw('DELETE', `/conversations/${c.id}`);
  return differ([updated.metadata, after.id, left.data.map((i) => i.content[0].text), gone.deleted], [{ topic: 'parks' }, c.id, ['two'], true]);
});

await report(title('a client that times out asks again, and joins its run'), async () => {
  const before = await threads();
  const hasty = new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 9, timeout: 300 });
  const a = await hasty.chat.completions.create({ model: 'main', messages: [user('doze')] });
  const b = await hasty.responses.create({ model: 'main', input: 'doze' });
  return differ([a.choices[0].message.content, b.output_text, (await threads()) - before], ['A moment.\n\nAwake.', 'A moment.Awake.', 2]);
});

await server.end('SIGTERM');
