// check.mjs MAJOR FOLDER: the real client over the streams FOLDER/NAME.sse, in three ways:
//   reader  readUIMessageStream over the whole stream
//   chat    the chat class: one request for each segment, with the user's answers between them
//   resume  the chat class that reconnects and is given everything from the beginning
// covers: TP-60/4
import { readdirSync, readFileSync } from 'node:fs';
import { chatClass, compare, load, report } from './client.mjs';
import { expect } from './expect.mjs';

const major = Number(process.argv[2]);
const folder = process.argv[3];
const ai = await load(major);
const Chat = chatClass(ai);

// The bytes come in small pieces, which cut characters and events anywhere.
function response(text) {
  const bytes = new TextEncoder().encode(text);
  return new Response(
    new ReadableStream({
      start(c) {
        for (let i = 0; i < bytes.length; i += 7) c.enqueue(bytes.slice(i, i + 7));
        c.close();
      },
    }),
    { headers: { 'content-type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1' } },
  );
}

const transport = (bodies, seen = []) =>
  new ai.DefaultChatTransport({
    api: 'http://localhost/api/chat',
    fetch: async (url, init) => {
      seen.push(init?.body ? JSON.parse(init.body) : null);
      if (bodies.length === 0) throw new Error('one request too many');
      return response(bodies.shift());
    },
  });

const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15, cacheReadTokens: 0, cacheWriteTokens: 0 };
const told = (want, usageToo) => (usageToo ? { ...want, metadata: { ...want.more, usage } } : want);

async function byReader(sse, want) {
  const errors = [];
  const stream = await transport([sse]).sendMessages({ chatId: 'c', messages: [], trigger: 'submit-message' });
  let last;
  for await (const m of ai.readUIMessageStream({ stream, onError: (e) => errors.push(e.message) })) last = m;
  return compare(ai, last, errors, told(want, want.usage));
}

function checkChat(chat, errors, users, want) {
  if (chat.messages.length !== users + 1) return `${chat.messages.length} messages`;
  if (chat.status !== (want.error ? 'error' : 'ready')) return `status ${chat.status}`;
  return compare(ai, chat.messages.at(-1), errors, told(want, want.usage && !want.error));
}

// One request for each segment: a segment ends with [DONE].
async function byChat(sse, want) {
  const segments = sse.split(/(?<=data: \[DONE\]\n\n)/);
  const errors = [], calls = [];
  const seen = [];
  const chat = new Chat({ transport: transport(segments, seen), onError: (e) => errors.push(e.message),
    onToolCall: ({ toolCall }) => { calls.push(toolCall.toolCallId); } });
  await chat.sendMessage({ text: 'hi' });
  if (want.answer) {
    const a = want.answer;
    if (chat.status !== 'ready') return `status ${chat.status} when it waits`;
    if (a.approve) await chat.addToolApprovalResponse({ id: a.approve, approved: a.approved });
    else {
      if (!calls.includes(a.id)) return `onToolCall was not called for ${a.id}, but for ${calls}`;
      await (chat.addToolOutput ?? chat.addToolResult).call(chat, { tool: a.tool, toolCallId: a.id, output: a.output });
    }
    await chat.sendMessage();
    if (seen.at(-1)?.messageId !== chat.messages.at(-1).id) return 'the second request is not about the same message';
  }
  if (segments.length) return `${segments.length} segments were not asked for`;
  return checkChat(chat, errors, 1, want);
}

async function byResume(sse, want) {
  const errors = [];
  const chat = new Chat({ transport: transport([sse]), onError: (e) => errors.push(e.message) });
  await chat.resumeStream();
  return checkChat(chat, errors, 0, want);
}

for (const file of readdirSync(folder).sort()) {
  const name = file.replace(/\.sse$/, '');
  const sse = readFileSync(`${folder}/${file}`, 'utf8');
  for (const [way, run] of Object.entries({ reader: byReader, chat: byChat, resume: byResume })) {
    await report(`ai ${major}, ${way}: ${name}`, () =>
      expect[name] ? run(sse, expect[name](major, way === 'chat')) : 'nobody expects anything of it');
  }
}
