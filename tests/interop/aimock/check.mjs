// check.mjs CLIENT FOLDER: every case of cases.mjs by every API, streamed and whole: what the program saw, what aimock was
// told, and what went over the wire. The bodies of all requests are left in FOLDER for types.mjs.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { LLMock } from '@copilotkit/aimock';
import { apis, cases, faults } from './cases.mjs';
import { wire } from './wire.mjs';

const [client, folder] = process.argv.slice(2);
const mock = new LLMock({ port: 0, logLevel: 'silent', auth: { apiKeys: ['KEY'] } });
await mock.start();
const line = await wire(mock.port);

function run(words) {
  return new Promise((done) =>
    execFile(client, words, { timeout: 60000, maxBuffer: 1 << 26 }, (failed, stdout, stderr) => {
      const seen = { events: [], failed, stderr };
      for (const l of stdout.split('\n').filter(Boolean)) {
        const word = l.slice(0, l.indexOf(' ')), rest = l.slice(l.indexOf(' ') + 1);
        if (word === 'event') seen.events.push(JSON.parse(rest));
        else seen[word] = word === 'where' ? rest : JSON.parse(rest);
      }
      done(seen);
    }),
  );
}

const same = (what, got, want) => (isDeepStrictEqual(got, want) ? [] : [`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}`]);
const textOf = (content, type) => (content ?? []).filter((b) => b.type === type).map((b) => b.text).join('');
const deltas = (events, type) => events.filter((e) => e.type === type).map((e) => e.delta.text ?? '').join('');
const parsed = (v) => (typeof v === 'string' ? JSON.parse(v) : v);

function checkError(seen, want) {
  const [code, status, message] = want.error;
  if (!seen.error) return ['it did not fail'];
  return [
    ...same('code', seen.error.code, code),
    ...(status ? same('status', seen.error.statusCode, status) : []),
    ...(message && !seen.error.message.includes(message) ? [`message: ${seen.error.message}`] : []),
    ...(want.retry !== undefined ? same('retry', seen.retry, want.retry) : []),
  ];
}

function checkEvents(events, want) {
  const wrong = [];
  const open = new Map();
  for (const e of events) {
    if (e.type === 'content_block_start') open.set(e.index, true);
    else if (e.type === 'content_block_stop' && !open.delete(e.index)) wrong.push(`block ${e.index} is stopped and was not open`);
  }
  if (open.size) wrong.push('a block was not stopped');
  wrong.push(...same('starts', events.filter((e) => e.type === 'message_start').length, events.filter((e) => e.type === 'message_stop').length));
  if (want.text !== undefined && !want.calls) wrong.push(...same('text of the events', deltas(events, 'text_delta'), want.text));
  if (want.reasoning) wrong.push(...same('reasoning of the events', deltas(events, 'reasoning_delta'), want.reasoning));
  if (want.calls) wrong.push(...same('executions begun', events.filter((e) => e.type === 'tool_execution_start').length, want.calls.length));
  return wrong;
}

function checkTurn(seen, want) {
  if (!seen.turn) return [`no turn: ${JSON.stringify(seen.error)}`];
  const { messages, data } = seen.turn;
  const wrong = [];
  const answers = messages.filter((m) => m.type === 'assistant');
  if (want.text !== undefined) wrong.push(...same('text', textOf(answers.at(-1)?.content, 'text'), want.text));
  if (want.reasoning) wrong.push(...same('reasoning', textOf(answers.at(-1)?.content, 'reasoning'), want.reasoning));
  if (want.data) wrong.push(...same('data', data, want.data));
  if (want.calls) {
    const calls = answers[0]?.toolCalls ?? [];
    wrong.push(...same('calls', calls.map((c) => [c.toolName, c.arguments]), want.calls.map((c) => [c.name, JSON.parse(c.arguments)])));
    const results = messages.filter((m) => m.type === 'tool_result').flatMap((m) => m.results);
    wrong.push(...same('results', results.map((r) => r.result), want.results));
    wrong.push(...same('ids of results', results.map((r) => r.toolCallId), calls.map((c) => c.toolCallId)));
    if (new Set(calls.map((c) => c.toolCallId)).size !== calls.length) wrong.push('two calls have one id');
  }
  return wrong;
}

// What aimock understood: its journal has every request in the form of OpenAI's chat.
function checkJournal(journal, api, c, want) {
  const wrong = [];
  const first = journal[0]?.body;
  if (!first) return c.key ? [] : ['nothing is in the journal'];
  const user = first.messages?.filter((m) => m.role === 'user').at(-1)?.content;
  const text = typeof user === 'string' ? user : (user ?? []).map((p) => p.text ?? '').join('');
  wrong.push(...same('user text in the journal', text, c.ask));
  wrong.push(...same('model in the journal', first.model, api.model));
  if (want.system) wrong.push(...same('system text in the journal', first.messages.filter((m) => m.role === 'system' || m.role === 'developer').map((m) => m.content).join(''), want.system));
  if (want.calls) {
    const second = journal[1]?.body?.messages ?? [];
    wrong.push(...same('tools in the journal', first.tools?.map((t) => t.function.name), ['get_weather', 'get_time']));
    const calls = second.flatMap((m) => m.tool_calls ?? []);
    wrong.push(...same('calls in the journal', calls.map((t) => [t.function.name, parsed(t.function.arguments)]), want.calls.map((t) => [t.name, JSON.parse(t.arguments)])));
    const told = second.filter((m) => m.role === 'tool').map((m) => m.content);
    if (told.length !== want.calls.length || !told[0].includes('18 degrees in Zürich')) wrong.push(`results in the journal: ${JSON.stringify(told)}`);
  }
  return wrong;
}

function checkWire(sent, api, c, way) {
  const wrong = same('requests', sent.length, c.requests ?? 1);
  for (const { method, path, headers } of sent) {
    if (method !== 'POST' || (api.path instanceof RegExp ? !api.path.test(path) : path !== api.path)) wrong.push(`${method} ${path}`);
    wrong.push(...same('key', headers[api.auth[0]], api.auth[1].replace('KEY', c.key ?? 'KEY')));
    if (!headers['content-type']?.startsWith('application/json')) wrong.push(`content-type: ${headers['content-type']}`);
  }
  return wrong;
}

let number = 0;
for (const api of apis)
  for (const one of cases)
    for (const way of one.ways ?? ['stream', 'whole']) {
      // The way is in the text too: aimock counts how often an answer was given, for sequenceIndex.
      const c = { ...one, ask: `${one.name} / ${api.name} / ${way}` };
      const fault = faults.find((f) => f.api(api) && f.case === c.name && (f.way ?? way) === way);
      const want = { ...c.want, ...fault?.want };
      mock.reset();
      for (const [match, response, opts] of c.answers) mock.on({ userMessage: c.ask, ...match }, response, opts);
      const seen = await run([api.provider, api.model, line.url + api.base, `key=${c.key ?? 'KEY'}`, `ask=${c.ask}`, ...api.words, ...(c.words ?? []), ...(way === 'stream' ? ['stream'] : [])]);
      const sent = line.take();
      const wrong = [
        ...(seen.failed ? [`exit: ${seen.failed.message} ${seen.stderr}`] : []),
        ...(seen.stderr && !seen.failed ? [seen.stderr] : []),
        ...(want.error ? checkError(seen, want) : [...checkTurn(seen, want), ...(way === 'stream' ? checkEvents(seen.events, want) : [])]),
        ...(JSON.stringify(seen.error ?? '').includes(c.key ?? '\0') ? ['the key is in the error'] : []),
        ...checkWire(sent, api, c, way),
        ...checkJournal(mock.getRequests(), api, c, want),
      ];
      for (const { body } of sent) writeFileSync(`${folder}/${String(number++).padStart(4, '0')}.json`, JSON.stringify({ title: c.ask, type: api.type, body }));
      console.log([wrong.length ? 'bad' : 'ok', `aimock: ${c.ask}${fault ? ` (${fault.why})` : ''}`, wrong.join('; ').replaceAll(/\s/g, ' ')].join('\t'));
    }
line.close();
await mock.stop();
