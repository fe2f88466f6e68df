// check.mjs MAJOR FOLDER: the real client over the streams FOLDER/NAME.sse. A server on loopback answers runs.stream() with the first segment of a stream
// and submitToolOutputsStream() with the next ones, as they are on the wire, in pieces of 7 bytes.
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { report } from '../ai/client.mjs';
import { expect } from './expect.mjs';

const major = Number(process.argv[2]);
const folder = process.argv[3];
const { default: OpenAI } = await import(`openai-${major}`);

let segments = [];
const seen = [];
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  seen.push({ url: request.url, body: body ? JSON.parse(body) : null });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const bytes = Buffer.from(segments.shift() ?? 'event: error\ndata: {"error":{"message":"one request too many"}}\n\n');
  for (let i = 0; i < bytes.length; i += 7) response.write(bytes.subarray(i, i + 7));
  response.end();
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const client = new OpenAI({ apiKey: 'k', baseURL: `http://127.0.0.1:${server.address().port}/v1`, maxRetries: 0 });

const text = (m) => m.content.map((c) => (c.type === 'text' ? c.text.value : `<${c.image_url.url}>`)).join('|');
const calls = (s) => s.step_details.tool_calls.map((c) => `${c.id} ${c.function.name} ${c.function.arguments} ${c.function.output}`).join('; ');

// What the client holds when the stream is over.
async function read(stream, have) {
  const messages = [];
  stream.on('messageDone', (m) => messages.push(m));
  const run = await stream.finalRun();
  const last = await stream.finalMessages(); // 4 to 6 have their own, of deltas alone, which are never "completed"
  if (last.length !== messages.length) throw new Error(`${last.length} messages in the end`);
  if (major >= 7 && JSON.stringify(last) !== JSON.stringify(messages)) throw new Error('other messages in the end');
  const steps = await stream.finalRunSteps();
  have.runs.push(run);
  have.messages.push(...messages.map((m) => `${m.status} ${text(m)}`));
  for (const s of steps) if (s.type === 'tool_calls') have.steps.set(s.id, `${s.status} ${calls(s)}`);
  have.who.push(...messages.map((m) => m.assistant_id));
  return run;
}

const submit = (run, outputs) =>
  major === 4
    ? client.beta.threads.runs.submitToolOutputsStream(run.thread_id, run.id, { tool_outputs: outputs })
    : client.beta.threads.runs.submitToolOutputsStream(run.id, { thread_id: run.thread_id, tool_outputs: outputs });

async function check(sse, want) {
  segments = sse.split(/(?<=data: \[DONE\]\n\n)/);
  const have = { runs: [], messages: [], steps: new Map(), who: [] };
  let run = await read(client.beta.threads.runs.stream('thread_1', { assistant_id: 'main' }), have);
  while (run.status === 'requires_action') {
    const asked = run.required_action.submit_tool_outputs?.tool_calls ?? run.required_action.approval.calls; // who approves reads the rest in the same way
    run = await read(submit(run, asked.map((c) => ({ tool_call_id: c.id, output: 'x' }))), have);
  }
  const got = {
    status: have.runs.map((r) => r.status).join(' '), messages: have.messages, calls: [...have.steps.values()],
    asked: have.runs.flatMap((r) => r.required_action?.submit_tool_outputs?.tool_calls.map((c) => `${c.id} ${c.function.name} ${c.function.arguments}`) ?? []),
    approvals: have.runs.flatMap((r) => r.required_action?.approval?.calls.map((c) => `${c.id} ${c.name} ${c.arguments}`) ?? []),
    error: run.last_error?.message ?? null,
  };
  const full = { status: 'completed', messages: [], calls: [], asked: [], approvals: [], error: null, ...want };
  delete full.who;
  if (JSON.stringify(got) !== JSON.stringify(full)) return `${JSON.stringify(got)} is not ${JSON.stringify(full)}`;
  if (want.who && want.who !== have.who.join(' ')) return `said by ${have.who}`;
  if (segments.length) return `${segments.length} segments were not asked for`;
  if (!run.usage || run.usage.total_tokens !== 15) return `usage ${JSON.stringify(run.usage)}`;
}

for (const file of readdirSync(folder).sort()) {
  const name = file.replace(/\.sse$/, '');
  const sse = readFileSync(`${folder}/${file}`, 'utf8');
  await report(`openai ${major}: ${name}`, () => (expect[name] ? check(sse, expect[name]) : 'nobody expects anything of it'));
}
server.close();
server.closeAllConnections();
