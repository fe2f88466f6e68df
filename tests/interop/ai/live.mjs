// live.mjs MAJOR WEFT FOLDER: the real client on real runs of the real server, in these ways:
//   chat    the chat class starts the run and reads along, with the user's answers between its requests
//   again   the stream is read once more, from the beginning, by readUIMessageStream: the same chunks, the same message
//   resume  another chat class that reconnects, and is given everything from the beginning
// covers: TP-34/2
import { setTimeout as sleep } from 'node:timers/promises';
import { chatClass, clean, compare, load, report } from './client.mjs';
import { scenarios, story } from './scenarios.mjs';
import { S, T, done, failed } from './expect.mjs';
import { Server, Session } from './server.mjs';

const major = Number(process.argv[2]);
const [weft, folder] = process.argv.slice(3);
const ai = await load(major);
const Chat = chatClass(ai);
let server = await Server.start(weft, folder);

function chatOf(session) {
  const errors = [], calls = [], ends = [];
  const chat = new Chat({ transport: session.transport, onError: (e) => errors.push(e.message), onFinish: (e) => ends.push(e),
    onToolCall: ({ toolCall }) => { calls.push(toolCall.toolCallId); } });
  return { chat, errors, calls, ends };
}

// The user's answer: told to the client, as a page would, and to the server.
async function give(session, { chat, calls }, a) {
  if (chat.status !== 'ready') return `status ${chat.status} when it waits`;
  const status = await session.status();
  if (status !== ('approved' in a ? 'approval' : 'requires_action')) return `the run is ${status}`;
  if ('approved' in a) {
    await chat.addToolApprovalResponse({ id: a.id, approved: a.approved });
    await session.answer([{ call_id: a.id, approved: a.approved }]);
  } else {
    if (!calls.includes(a.id)) return `onToolCall was not called for ${a.id}, but for ${calls}`;
    await (chat.addToolOutput ?? chat.addToolResult).call(chat, a.errorText
      ? { tool: a.tool, toolCallId: a.id, state: 'output-error', errorText: a.errorText }
      : { tool: a.tool, toolCallId: a.id, output: a.output });
    await session.answer([{ call_id: a.id, output: a.errorText ?? a.output, is_error: !!a.errorText }]);
  }
  return '';
}

function checkChat({ chat, errors, ends }, users, want) {
  const end = ends.at(-1);
  if (chat.messages.length !== users + 1) return `${chat.messages.length} messages`;
  if (chat.status !== (want.error ? 'error' : 'ready')) return `status ${chat.status}`;
  if (end.isError !== !!want.error || end.isAbort || end.isDisconnect) return `ended ${JSON.stringify(end)}`;
  if (end.finishReason !== want.finish) return `finishReason ${end.finishReason} instead of ${want.finish}`;
  return compare(ai, chat.messages.at(-1), errors, want);
}

async function byChat(session, sc, want) {
  const c = chatOf(session);
  sc.during?.(session);
  await c.chat.sendMessage({ text: sc.say });
  const answer = sc.answer;
  if (answer) {
    const wrong = await give(session, c, answer);
    if (wrong) return wrong;
    if (sc.between) await sc.between(session);
    c.chat.transport = session.transport;
    await c.chat.sendMessage();
  }
  await session.settled();
  session.message = c.chat.messages.at(-1);
  await session.findRun();
  if (answer && !sc.between && session.requests !== 2) return `${session.requests} requests`;
  return checkChat(c, 1, await want());
}

const same = (a, b) => (a === b ? '' : `the id is ${b} instead of ${a}`);

async function byReader(session, sc, want) {
  const errors = [];
  const response = await fetch(session.events);
  const text = await response.text();
  const piped = new ai.DefaultChatTransport({ api: session.events, fetch: async () => new Response(text, response) });
  const stream = await piped.sendMessages({ chatId: 'c', messages: [], trigger: 'submit-message' });
  let last;
  for await (const m of ai.readUIMessageStream({ stream, onError: (e) => errors.push(e.message) })) last = m;
  return (sc.lost || text === session.sent ? '' : `it was sent ${JSON.stringify(session.sent)} and then ${JSON.stringify(text)}`)
    || same(session.message.id, last?.id) || compare(ai, last, errors, want);
}

async function byResume(session, want) {
  const c = chatOf(session);
  await c.chat.resumeStream();
  return same(session.message.id, c.chat.messages[0]?.id) || checkChat(c, 0, want);
}

const mine = scenarios.filter((s) => !s.majors || s.majors.includes(major));
for (const sc of mine) {
  const session = await new Session(ai, major, sc.agent ?? 'main').open(server);
  const want = async (way) => ({ finish: 'stop', ...await sc.want(major, way, session) });
  await report(`ai ${major}, chat: ${sc.name}`, () => byChat(session, sc, () => want('chat')));
  if (!session.run) continue;
  await report(`ai ${major}, again: ${sc.name}`, async () => byReader(session, sc, await want('again')));
  await report(`ai ${major}, resume: ${sc.name}`, async () => byResume(session, await want('resume')));
}

// ---- Readers that go, and servers that die -----------------------------------------------------------------------------

const whole = { parts: [S, T(story)], metadata: { usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 } },
  finish: 'stop' };

// The reader goes in the middle. The same page, and another one, then read it from the beginning, while it goes on.
await report(`ai ${major}, a reader that goes and comes back`, async () => {
  const session = await new Session(ai, major, 'main').open(server);
  const c = chatOf(session), other = chatOf(session);
  session.when('weaver', async () => { await session.findRun(); await c.chat.stop(); });
  await c.chat.sendMessage({ text: 'story' });
  await session.settled();
  const part = c.chat.messages.at(-1);
  if (part.parts.at(-1).text.length >= story.length) return 'it had everything when it went';
  if (await session.status() !== 'in_progress') return `the run is ${await session.status()}`;
  await Promise.all([c.chat.resumeStream(), other.chat.resumeStream()]);
  return same(part.id, c.chat.messages.at(-1).id) || same(part.id, other.chat.messages.at(-1).id)
    || await checkChat(c, 1, whole) || checkChat(other, 0, whole);
});

// The server is killed when `text` has come. The next one goes on with the run; the client reads it from the beginning.
async function killed(say, text, signal, want) {
  const session = await new Session(ai, major, 'main').open(server);
  const c = chatOf(session);
  let code;
  session.when(text, async () => { await session.findRun(); await sleep(50); code = await server.end(signal); });
  await c.chat.sendMessage({ text: say });
  await session.settled();
  const part = c.chat.messages.at(-1);
  if (signal === 'SIGTERM' && code !== 0) return `exit code ${code}`;
  server = await Server.start(weft, folder);
  session.server = server;
  const next = chatOf(session);
  await next.chat.resumeStream();
  const wrong = same(part.id, next.chat.messages[0]?.id) || await checkChat(next, 0, want);
  if (wrong) return wrong;
  const later = chatOf(session); // and the same again when it is over
  await later.chat.resumeStream();
  return JSON.stringify(later.chat.messages) === JSON.stringify(next.chat.messages) ? checkChat(later, 0, want)
    : `then it was ${JSON.stringify(clean(later.chat.messages))}`;
}

for (const signal of ['SIGKILL', 'SIGTERM']) {
  await report(`ai ${major}, ${signal} in the middle of the text`, () => killed('story', 'weaver', signal, whole));
  await report(`ai ${major}, ${signal} in the middle of a tool that may run again`, () => killed('doze', 'tool-input-available', signal,
    { ...whole, parts: [S, T('A moment.'), done('doze', 'c1', {}, ''), S, T('Awake.')] }));
  await report(`ai ${major}, ${signal} in the middle of a tool that may not`, () => killed('nap', 'tool-input-available', signal,
    { ...whole, parts: [S, T('Good night.'), failed('nap', 'c1', {}, 'outcome unknown: the server stopped while this ran'), S, T('What happened?')] }));
}
// Killed while the run waits for the client: the answer goes to the next server, and the same page goes on.
for (const sc of mine.filter((s) => s.answer)) {
  await report(`ai ${major}, SIGKILL while it waits: ${sc.name}`, async () => {
    const session = await new Session(ai, major, 'main').open(server);
    const c = chatOf(session);
    await c.chat.sendMessage({ text: sc.say });
    await session.findRun();
    await server.end('SIGKILL');
    session.server = server = await Server.start(weft, folder);
    const wrong = await give(session, c, sc.answer);
    if (wrong) return wrong;
    await c.chat.sendMessage();
    return checkChat(c, 1, { finish: 'stop', ...await sc.want(major, 'chat', session) });
  });
}
// Killed at the N-th place of the engine where that could matter, for each N; then answered, if it still waits, and read.
async function killedAt(n, sc) {
  await server.end('SIGTERM');
  server = await Server.start(weft, folder, { WEFT_CRASHPOINT: `any:${n}` }).catch(() => null);
  const session = server && await new Session(ai, major, 'main').open(server).catch(() => null);
  if (!session) { // while it started, or made the thread
    await server?.end('SIGTERM');
    server = await Server.start(weft, folder);
    return { code: null, wrong: '' };
  }
  const c = chatOf(session);
  await c.chat.sendMessage({ text: sc.say });
  if (sc.answer && c.chat.status === 'ready') {
    const wrong = await give(session, c, sc.answer).catch(() => '');
    if (wrong) throw new Error(wrong);
    await c.chat.sendMessage();
  }
  const code = await server.end('SIGTERM');
  session.server = server = await Server.start(weft, folder);
  const said = (await server.ask('GET', `/v1/threads/${session.thread}/messages`)).data;
  if (said.length === 0) return { code, wrong: '' }; // before the run was taken
  session.run = said[0].run_id;
  let next = chatOf(session);
  await next.chat.resumeStream();
  if (await session.status() === 'requires_action') {
    await session.answer([{ call_id: sc.answer.id, output: sc.answer.output }]);
    next = chatOf(session);
    await next.chat.resumeStream();
  }
  return { code, wrong: await checkChat(next, 0, { finish: 'stop', ...await sc.want(major, 'resume', session) }) };
}

// (Not one in a child run: a call of a child that is said again after a crash has an id of its own.)
const swept = { 5: 'two tools at once', 6: 'a tool of the server and one of the client', 7: 'a tool of the server and one of the client' }[major];
for (let n = 1, code = null; code === null; n++)
  await report(`ai ${major}, killed at place ${n}: ${swept}`, async () => {
    let wrong = '';
    code = 0; // whatever happens now, it ends
    ({ code, wrong } = await killedAt(n, mine.find((s) => s.name === swept)));
    if (n > 200) code = 0;
    return wrong || (n > 200 ? 'there is no end' : code === 0 && n < 8 ? `there were only ${n - 1} places` : '');
  });

await report(`ai ${major}, the server stops`, async () => {
  const code = await server.end('SIGTERM');
  return code === 0 ? '' : `exit code ${code}`;
});
process.exit(0);
