// check.mjs MAJOR FOLDER: the real client over the streams FOLDER/NAME.sse, in three ways:
//   reader  readUIMessageStream over the whole stream
//   chat    the chat class: one request for each segment, with the user's answers between them
//   resume  the chat class that reconnects and is given everything from the beginning
// One line a result: ok or bad, TAB, title, TAB, what was wrong.
import { readdirSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { expect } from './expect.mjs';

const major = Number(process.argv[2]);
const folder = process.argv[3];
const ai = await import(`./${major}/client.mjs`);

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

function part(p) {
  if (p.type === 'step-start') return 'step';
  if (p.type === 'text') return { text: p.text, state: p.state };
  if (p.type === 'reasoning') return { reasoning: p.text, state: p.state };
  if (p.type === 'file') return { file: p.mediaType, url: p.url };
  if (!p.type.startsWith('tool-')) return p;
  const all = { tool: p.type.slice(5), id: p.toolCallId, state: p.state, input: p.input, rawInput: p.rawInput, output: p.output,
    errorText: p.errorText, approval: p.approval };
  // Where an input was read, its text is no news: the client keeps it or not as it likes.
  if (all.input !== undefined) delete all.rawInput;
  return all;
}

const clean = (parts) => JSON.parse(JSON.stringify(parts)); // without what is undefined

async function compare(message, errors, want) {
  const parts = clean((message?.parts ?? []).map(part));
  const usage = message?.metadata?.usage?.totalTokens === 15;
  if (!isDeepStrictEqual(parts, clean(want.parts)))
    return `parts ${JSON.stringify(parts)} instead of ${JSON.stringify(clean(want.parts))}`;
  if (!isDeepStrictEqual(errors, want.error ? [want.error] : [])) return `errors ${JSON.stringify(errors)}`;
  if (want.usage && !usage) return `metadata ${JSON.stringify(message?.metadata)}`;
  // What an application does with it next: check it after loading, and give it to a model.
  const valid = await ai.validateUIMessages({ messages: clean([message]) }).then(() => true, () => false);
  if (valid === !!want.invalid) return `valid: ${valid}`;
  await ai.convertToModelMessages([message]);
  return '';
}

async function byReader(sse, want) {
  const errors = [];
  const stream = await transport([sse]).sendMessages({ chatId: 'c', messages: [], trigger: 'submit-message' });
  let last;
  for await (const m of ai.readUIMessageStream({ stream, onError: (e) => errors.push(e.message) })) last = m;
  return compare(last, errors, want);
}

class Chat extends ai.AbstractChat {
  constructor(init) {
    super({
      ...init,
      state: {
        status: 'ready', error: undefined, messages: [],
        pushMessage(m) { this.messages = [...this.messages, m]; },
        popMessage() { this.messages = this.messages.slice(0, -1); },
        replaceMessage(i, m) { this.messages = [...this.messages.slice(0, i), m, ...this.messages.slice(i + 1)]; },
        snapshot: (x) => structuredClone(x),
      },
    });
  }
}

function checkChat(chat, errors, users, want) {
  if (chat.messages.length !== users + 1) return `${chat.messages.length} messages`;
  if (chat.status !== (want.error ? 'error' : 'ready')) return `status ${chat.status}`;
  const usage = want.usage && !want.error;
  return compare(chat.messages.at(-1), errors, { ...want, usage });
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
    let wrong = 'nobody expects anything of it';
    try {
      if (expect[name]) wrong = await run(sse, expect[name](major, way === 'chat'));
    } catch (e) {
      wrong = String(e?.stack ?? e).replaceAll('\n', ' ');
    }
    console.log(`${wrong ? 'bad' : 'ok'}\tai ${major}, ${way}: ${name}\t${wrong}`);
  }
}
