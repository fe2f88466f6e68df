// crud.mjs MAJOR WEFT FOLDER: every method of beta.assistants, beta.threads, beta.threads.messages and models that makes, reads, changes, lists and
// covers: AITP-25/1
// deletes, against a server with the API keys of two tenants. Majors differ in names and arguments (4: del, and ids in a row), not in requests.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { report } from '../ai/client.mjs';
import { Server } from '../ai/server.mjs';

const [major, program, folder] = process.argv.slice(2);
const weft = resolve(program);
const { default: OpenAI } = await import(`openai-${major}`);
process.env.WEFT_CONFIG = `${folder}/weft.yaml`;
writeFileSync(process.env.WEFT_CONFIG, `
server: {listen: "127.0.0.1:0"}
store: sqlite:weft.db
log: {level: warn}
models: {echo: {provider: scripted, echo: true}, other: {provider: scripted, echo: true}}
agents: {plain: {model: echo}}
`);
const key = (tenant) => execFileSync(weft, ['keys', 'add', tenant, '--tenant', tenant, '--scope', 'run,instructions'], { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
const keys = { one: key('one'), two: key('two') };
const server = await Server.start(weft, folder);

// What an application wrote against one major, in the spelling of all.
class Client {
  constructor(tenant) {
    const c = this.openai = new OpenAI({ apiKey: keys[tenant], baseURL: `${server.url}/v1`, maxRetries: 0 });
    const del = (o) => (o.delete ?? o.del).bind(o);
    const inThread = (fn, ...more) => (thread, message) => major === '4' ? fn(thread, message, ...more) : fn(message, { thread_id: thread, ...more[0] });
    const { assistants, threads } = c.beta, { messages } = threads;
    this.assistants = { create: (b) => assistants.create(b), retrieve: (i) => assistants.retrieve(i), update: (i, b) => assistants.update(i, b), list: (q) => assistants.list(q), delete: del(assistants) };
    this.threads = { create: (b) => threads.create(b), retrieve: (i) => threads.retrieve(i), update: (i, b) => threads.update(i, b), delete: del(threads) };
    this.messages = { create: (t, b) => messages.create(t, b), retrieve: inThread(messages.retrieve.bind(messages)), update: (t, m, b) => inThread(messages.update.bind(messages), b)(t, m),
      list: (t, q) => messages.list(t, q), delete: inThread(del(messages)) };
    this.models = { list: () => c.models.list(), retrieve: (m) => c.models.retrieve(m), delete: del(c.models) };
  }
}
const one = new Client('one'), two = new Client('two');

const title = (what) => `openai ${major}, live: ${what}`;
const same = (got, want) => { if (!isDeepStrictEqual(JSON.parse(JSON.stringify(got)), want)) throw new Error(`${JSON.stringify(got)} instead of ${JSON.stringify(want)}`); };
const all = async (list) => { const found = []; for await (const x of list) found.push(x); return found; };
const ids = async (list) => (await all(list)).map((x) => x.id);
async function refused(status, code, promise) {
  const e = await promise.then(() => { throw new Error('it was not refused'); }, (e) => e);
  if (!(e instanceof OpenAI.APIError) || e.status !== status || e.code !== code || !e.message) throw e;
  const id = e.request_id ?? e.requestID ?? e.headers?.['x-request-id'];
  if (!id) throw new Error('the error has no request id');
}

await report(title('assistants'), async () => {
  const tools = [{ type: 'function', function: { name: 'locate', description: 'd', parameters: { type: 'object', properties: {} } } }];
  const a = await one.assistants.create({ model: 'echo', name: 'Guide', instructions: 'Be kind.', tools, temperature: 0.5, metadata: { a: 'b' } });
  if (!/^asst_[0-9a-f]{32}$/.test(a.id) || a.object !== 'assistant' || Math.abs(a.created_at - Date.now() / 1000) > 60) return JSON.stringify(a);
  same(a.tools, tools);
  same(await one.assistants.retrieve(a.id), JSON.parse(JSON.stringify(a)));
  const b = await one.assistants.update(a.id, { model: 'other', metadata: { c: 'd' }, temperature: null });
  same(b, { ...JSON.parse(JSON.stringify(a)), model: 'other', metadata: { c: 'd' }, temperature: null });
  const more = [a.id];
  for (let i = 0; i < 6; i++) more.push((await one.assistants.create({ model: 'echo' })).id);
  for (const limit of [1, 3, 100]) {
    same(await ids(one.assistants.list({ limit, order: 'asc' })), ['plain', ...more]);
    same(await ids(one.assistants.list({ limit })), ['plain', ...more].reverse());
  }
  same((await one.assistants.list({ order: 'asc', before: more[3], limit: 2 })).data.map((x) => x.id), more.slice(1, 3));
  same((await one.assistants.list({ order: 'asc', after: more[3], limit: 2 })).data.map((x) => x.id), more.slice(4, 6));
  for (const id of more) same(await one.assistants.delete(id), { id, object: 'assistant.deleted', deleted: true });
  await refused(404, 'not_found', one.assistants.retrieve(a.id));
  await refused(404, 'model_not_found', one.assistants.create({ model: 'gpt-4o' }));
  await refused(400, 'invalid_request', one.assistants.create({ model: 'echo', tools: [{ type: 'file_search' }] }));
  const agent = await one.assistants.retrieve('plain');
  if (agent.id !== 'plain' || agent.model !== 'echo') return JSON.stringify(agent);
  await refused(400, 'refused', one.assistants.update('plain', { name: 'x' }));
  await refused(400, 'refused', one.assistants.delete('plain'));
});

await report(title('models'), async () => {
  const models = await all(one.models.list());
  same(models.map((m) => m.id), ['echo', 'other', 'plain']);
  same(await one.models.retrieve('plain'), { id: 'plain', object: 'model', created: 0, owned_by: 'weft' });
  await refused(404, 'model_not_found', one.models.retrieve('gpt-4o'));
  await refused(405, 'method_not_allowed', one.models.delete('echo'));
});

await report(title('threads'), async () => {
  const t = await one.threads.create({ messages: [{ role: 'user', content: 'hello', metadata: { x: 'y' } }], metadata: { a: 'b' }, tool_resources: { code_interpreter: { file_ids: [] } } });
  same(t, { id: t.id, object: 'thread', created_at: t.created_at, metadata: { a: 'b' }, tool_resources: { code_interpreter: { file_ids: [] } } });
  same(await one.threads.retrieve(t.id), JSON.parse(JSON.stringify(t)));
  same(await one.threads.update(t.id, { metadata: { c: 'd' } }), { ...JSON.parse(JSON.stringify(t)), metadata: { c: 'd' } });
  same((await one.threads.update(t.id, {})).metadata, { c: 'd' });
  const empty = await one.threads.create();
  same([empty.metadata, empty.tool_resources], [{}, null]);
  same(await one.threads.delete(t.id), { id: t.id, object: 'thread.deleted', deleted: true });
  await refused(404, 'not_found', one.threads.retrieve(t.id));
  await refused(400, 'invalid_request', one.threads.create({ metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v'])) }));
});

await report(title('messages'), async () => {
  const t = (await one.threads.create()).id;
  const m = await one.messages.create(t, { role: 'user', content: [{ type: 'text', text: 'hello' }, { type: 'image_url', image_url: { url: 'https://example.com/x.png' } }], metadata: { a: 'b' } });
  same(m.content.map((c) => c.type), ['text', 'image_url']);
  same(await one.messages.retrieve(t, m.id), JSON.parse(JSON.stringify(m)));
  same(await one.messages.update(t, m.id, { metadata: { c: 'd' } }), { ...JSON.parse(JSON.stringify(m)), metadata: { c: 'd' } });
  same((await one.messages.retrieve(t, m.id)).metadata, { c: 'd' });
  same((await one.messages.list(t)).data.map((x) => x.metadata), [{ c: 'd' }]);
  same(await one.messages.delete(t, m.id), { id: m.id, object: 'thread.message.deleted', deleted: true });
  await refused(404, 'not_found', one.messages.retrieve(t, m.id));
  await refused(400, 'invalid_request', one.messages.list(t, { limit: 101 }).then((p) => p));
  await refused(400, 'invalid_request', one.messages.list(t, { after: m.id.replace(/./g, '0') }).then((p) => p));
});

// 1,000 messages in four requests: most of them have the same second.
await report(title('a thousand messages, page by page'), async () => {
  const text = (i) => ({ role: 'user', content: `${i}` });
  const t = (await one.threads.create({ messages: Array.from({ length: 250 }, (_, i) => text(i)) })).id;
  const started = [];
  for (let k = 1; k < 4; k++) {
    const run = await one.openai.beta.threads.runs.createAndPoll(t, { assistant_id: 'plain', additional_messages: Array.from({ length: 250 }, (_, i) => text(k * 250 + i)) });
    if (run.status !== 'completed') return JSON.stringify(run);
    started.push(run.id);
  }
  const up = await all(one.messages.list(t, { limit: 100, order: 'asc' }));
  const asked = up.filter((m) => m.role === 'user').map((m) => m.content[0].text.value);
  same(asked, Array.from({ length: 1000 }, (_, i) => `${i}`));
  for (const limit of [7, 100]) {
    same(await ids(one.messages.list(t, { limit })), up.map((m) => m.id).reverse());
    same(await ids(one.messages.list(t, { limit, order: 'asc' })), up.map((m) => m.id));
  }
  const before = await one.messages.list(t, { order: 'asc', before: up[500].id, limit: 5 });
  same(before.data.map((m) => m.id), up.slice(495, 500).map((m) => m.id));
  const ofRun = await all(one.messages.list(t, { run_id: started[1], order: 'asc' }));
  if (!ofRun.length || ofRun.some((m) => m.run_id !== started[1]) || ofRun.at(-1).role !== 'assistant') return JSON.stringify(ofRun);
});

await report(title('two tenants do not see each other'), async () => {
  const a = await one.assistants.create({ model: 'echo' });
  const t = await one.threads.create({ messages: [{ role: 'user', content: 'mine' }] });
  const m = (await one.messages.list(t.id)).data[0];
  await refused(404, 'not_found', two.assistants.retrieve(a.id));
  await refused(404, 'not_found', two.assistants.update(a.id, { name: 'x' }));
  await refused(404, 'not_found', two.assistants.delete(a.id));
  same(await ids(two.assistants.list()), ['plain']);
  await refused(404, 'not_found', two.threads.retrieve(t.id));
  await refused(404, 'not_found', two.threads.update(t.id, { metadata: {} }));
  await refused(404, 'not_found', two.threads.delete(t.id));
  await refused(404, 'not_found', two.messages.retrieve(t.id, m.id));
  await refused(404, 'not_found', two.messages.update(t.id, m.id, { metadata: {} }));
  await refused(404, 'not_found', two.messages.delete(t.id, m.id));
  same(await ids(one.assistants.list()), [a.id, 'plain']);
});

const code = await server.end('SIGTERM');
await report(title('the server ends'), async () => (code === 0 ? '' : `exit ${code}`));
