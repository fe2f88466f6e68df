// door.mjs MAJOR WEFT FOLDER: /api/chat with the client's own transport, as a page uses it that knows nothing of Weft but its address.
// covers: TP-34/2
import { isDeepStrictEqual } from 'node:util';
import { chatClass, clean, load, report } from './client.mjs';
import { story } from './scenarios.mjs';
import { Server } from './server.mjs';

const major = Number(process.argv[2]);
const [weft, folder] = process.argv.slice(3);
const ai = await load(major);
const Chat = chatClass(ai);
let server = await Server.start(weft, folder);
let chats = 0;

// A page with a chat. `next` is a promise of the next time that a request of it ends.
function page(id = `chat-${++chats}`, init = {}) {
  const errors = [], waiting = [];
  const transport = new ai.DefaultChatTransport({ api: `${server.url}/api/chat`, headers: major === 6 ? {} : { 'weft-ai-sdk': String(major) } });
  const chat = new Chat({ id, transport, onError: (e) => errors.push(e.message), onFinish: () => waiting.splice(0).forEach((f) => f()), ...init });
  return { chat, errors, id, next: () => new Promise((f) => waiting.push(f)) };
}

const stored = (id) => server.ask('GET', `/api/chat/${id}?target=${major}`);
const textOf = (m) => m.parts.filter((p) => p.type === 'text').map((p) => p.text).join('');
const said = (messages) => messages.map((m) => [m.role, textOf(m)]);
const callOf = (m) => m.parts.find((p) => p.type.startsWith('tool-'));

const differ = (what, got, want) =>
  isDeepStrictEqual(clean(got), clean(want)) ? '' : `${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(want)}`;

// The page is well, shows these texts, and a page that is opened now has the same messages.
async function check({ chat, errors, id }, texts) {
  const wrong = differ('errors', errors, []) || differ('status', chat.status, 'ready')
    || differ('texts', said(chat.messages), texts.map((t, i) => [i % 2 ? 'assistant' : 'user', t]));
  if (wrong) return wrong;
  const loaded = await stored(id);
  await ai.validateUIMessages({ messages: loaded });
  const shape = (m) => [m.id, m.role, m.parts.map((p) => [p.type, p.text, p.state, p.toolCallId, p.output, p.errorText].map((v) => v ?? null))];
  const done = (m) => ({ ...m, parts: m.parts.map((p) => (m.role === 'user' ? { ...p, state: undefined } : p)) });
  return differ('stored', loaded.map(done).map(shape), chat.messages.map(done).map(shape));
}

await report(`ai ${major}, door: messages`, async () => {
  const p = page();
  await p.chat.sendMessage({ text: 'hello' });
  await p.chat.sendMessage({ text: 'think' });
  return check(p, ['hello', 'Hello, "world"\n— ¡olé! 💡', 'think', 'Four.']);
});

await report(`ai ${major}, door: a page that is loaded again goes on`, async () => {
  const first = page();
  await first.chat.sendMessage({ text: 'hello' });
  const p = page(first.id);
  p.chat.messages = await stored(first.id);
  await p.chat.resumeStream();
  if (p.chat.status !== 'ready' || p.errors.length) return `status ${p.chat.status}, ${p.errors}`;
  await p.chat.sendMessage({ text: 'think' });
  return check(p, ['hello', 'Hello, "world"\n— ¡olé! 💡', 'think', 'Four.']);
});

await report(`ai ${major}, door: regenerate`, async () => {
  const p = page();
  await p.chat.sendMessage({ text: 'hello' });
  await p.chat.sendMessage({ text: 'think' });
  const ids = p.chat.messages.map((m) => m.id);
  await p.chat.regenerate();
  if (p.chat.messages[3].id === ids[3]) return 'the answer is the same message';
  const wrong = await check(p, ['hello', 'Hello, "world"\n— ¡olé! 💡', 'think', 'Four.']);
  if (wrong) return wrong;
  await p.chat.regenerate({ messageId: ids[1] });
  return (p.chat.messages[1].id === ids[1] ? 'the answer is the same message' : '') || check(p, ['hello', 'Hello, "world"\n— ¡olé! 💡']);
});

await report(`ai ${major}, door: edit`, async () => {
  const p = page();
  await p.chat.sendMessage({ text: 'hello' });
  await p.chat.sendMessage({ text: 'think' });
  await p.chat.sendMessage({ text: 'fortune', messageId: p.chat.messages[2].id });
  const wrong = await check(p, ['hello', 'Hello, "world"\n— ¡olé! 💡', 'fortune', 'Sorry.']);
  if (wrong) return wrong;
  await p.chat.sendMessage({ text: 'think', messageId: p.chat.messages[0].id });
  return check(p, ['think', 'Four.']);
});

// The client runs its tool, and the chat class sends the output by itself.
const give = (chat, output) => (chat.addToolOutput ?? chat.addToolResult).call(chat, { tool: 'locate', toolCallId: callOf(chat.messages.at(-1)).toolCallId, ...output });
for (const [name, output, text] of [['an output', { output: { lat: 1 } }, 'There.'], ['an error', { state: 'output-error', errorText: 'no signal' }, 'Lost.']])
  await report(`ai ${major}, door: ${name} of the client's tool`, async () => {
    const p = page(undefined, { sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithToolCalls });
    await p.chat.sendMessage({ text: 'where' });
    const over = p.next();
    await give(p.chat, output);
    await over;
    return check(p, ['where', `Where are you?${text}`]);
  });

await report(`ai ${major}, door: a tool of the client after the page was loaded again`, async () => {
  const first = page();
  await first.chat.sendMessage({ text: 'where' });
  const p = page(first.id, { sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithToolCalls });
  p.chat.messages = await stored(first.id);
  await p.chat.resumeStream(); // 204: it waits
  const over = p.next();
  await give(p.chat, { output: 'here' });
  await over;
  return check(p, ['where', 'Where are you?There.']);
});

await report(`ai ${major}, door: another message instead of an output`, async () => {
  const p = page();
  await p.chat.sendMessage({ text: 'where' });
  await p.chat.sendMessage({ text: 'hello' });
  const loaded = await stored(p.id);
  return differ('texts', said(loaded).at(-1), ['assistant', 'Hello, "world"\n— ¡olé! 💡']) || differ('ids', loaded.map((m) => m.id), p.chat.messages.map((m) => m.id));
});

if (major > 5)
  for (const [approved, text] of [[true, 'Gone.'], [false, 'As you wish.']])
    for (const again of [false, true])
      await report(`ai ${major}, door: ${approved ? 'approved' : 'denied'}${again ? ' after the page was loaded again' : ''}`, async () => {
        const init = { sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses };
        let p = page(undefined, init);
        await p.chat.sendMessage({ text: 'remove' });
        if (again) {
          p = page(p.id, init);
          p.chat.messages = await stored(p.id);
          await p.chat.resumeStream();
        }
        const call = callOf(p.chat.messages.at(-1));
        if (call.state !== 'approval-requested') return `the call is ${call.state}`;
        const over = p.next();
        await p.chat.addToolApprovalResponse({ id: call.approval.id, approved });
        await over;
        return check(p, ['remove', text]);
      });

// A page whose answer has come as far as the text.
async function until(p, text, act) {
  const read = p.chat.state.replaceMessage;
  let acted;
  p.chat.state.replaceMessage = function (i, m) {
    read.call(this, i, m);
    if (!acted && textOf(m).includes(text)) acted = act();
  };
  await p.chat.sendMessage({ text: 'story' });
  if (!acted) throw new Error(`it never said ${text}`);
  await acted;
}

await report(`ai ${major}, door: stop ends the request, and the server's stop the run`, async () => {
  const p = page();
  await until(p, 'weaver', async () => { await p.chat.stop(); });
  const end = await server.ask('POST', `/api/chat/${p.id}/stop`);
  if (!end.stopped) return 'there was nothing to stop';
  await p.chat.resumeStream();
  if (textOf(p.chat.messages.at(-1)).length >= story.length) return 'it went on to its end';
  await p.chat.sendMessage({ text: 'hello' });
  return differ('last', said(await stored(p.id)).at(-1), ['assistant', 'Hello, "world"\n— ¡olé! 💡']);
});

await report(`ai ${major}, door: a page that goes, and two that come in the middle`, async () => {
  const p = page();
  await until(p, 'weaver', async () => { await p.chat.stop(); });
  const other = page(p.id);
  other.chat.messages = await stored(p.id);
  await Promise.all([p.chat.resumeStream(), other.chat.resumeStream()]);
  return await check(p, ['story', story]) || check(other, ['story', story]);
});

await report(`ai ${major}, door: busy`, async () => {
  const p = page(), other = page(p.id);
  await until(p, 'weaver', async () => { await other.chat.sendMessage({ text: 'hello' }); });
  if (other.chat.status !== 'error' || !/active run/.test(other.errors[0])) return `status ${other.chat.status}: ${other.errors}`;
  const wrong = await check(p, ['story', story]);
  if (wrong) return wrong;
  await other.chat.regenerate(); // the way to try again after an error: the message that was refused is sent
  return differ('last', said(await stored(p.id)).at(-1), ['assistant', 'Hello, "world"\n— ¡olé! 💡']);
});

await report(`ai ${major}, door: SIGKILL in the middle of the text`, async () => {
  const p = page();
  await until(p, 'weaver', async () => { await server.end('SIGKILL'); });
  server = await Server.start(weft, folder);
  const next = page(p.id);
  next.chat.messages = await stored(p.id);
  await next.chat.resumeStream();
  return differ('id', next.chat.messages.at(-1).id, p.chat.messages.at(-1).id) || check(next, ['story', story]);
});

await report(`ai ${major}, door: the server stops`, async () => {
  const code = await server.end('SIGTERM');
  return code === 0 ? '' : `exit code ${code}`;
});
process.exit(0);
