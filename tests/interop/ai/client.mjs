// What the checks of streams (check.mjs) and of runs (live.mjs) share: the chat class with its state, and the comparing.
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

export const load = (major) => import(`ai-${major}`);

// The client's chat class, with the state that useChat would keep.
export const chatClass = (ai) => class extends ai.AbstractChat {
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
};

function part(p) {
  const { type, ...rest } = p;
  if (type === 'step-start') return 'step';
  if (type === 'text') return rest;
  if (type === 'reasoning') return { ...rest, id: undefined, text: undefined, reasoning: p.text }; // 7 keeps the block's id
  if (type === 'file') return { ...rest, mediaType: undefined, file: p.mediaType };
  if (!type.startsWith('tool-')) return p;
  const tool = { ...rest, toolCallId: undefined, tool: type.slice(5), id: p.toolCallId };
  // Where an input was read, its text is no news: the client keeps it or not as it likes.
  if (tool.input !== undefined) delete tool.rawInput;
  return tool;
}

export const clean = (x) => x === undefined ? x : JSON.parse(JSON.stringify(x)); // without what is undefined

const differ = (what, got, want) =>
  isDeepStrictEqual(clean(got), clean(want)) ? '' : `${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(want)}`;

// A live message says which agent and run it is of; the rest of its metadata; undefined: none.
function withoutRun(metadata) {
  const { weft, ...rest } = metadata ?? {};
  if (weft && !(weft.agent && weft.run)) return metadata;
  return Object.keys(rest).length ? rest : undefined;
}

// compare(ai, message, errors, want): '' or what is wrong.
export async function compare(ai, message, errors, want) {
  const wrong = differ('parts', (message?.parts ?? []).map(part), want.parts)
    || differ('errors', errors, want.error ? [want.error] : [])
    || ('metadata' in want && differ('metadata', withoutRun(message?.metadata), want.metadata))
    || differ('role', message?.role, 'assistant');
  if (wrong) return wrong;
  // What an application does with it next: check it after loading, and give it to a model.
  const valid = await ai.validateUIMessages({ messages: clean([message]) }).then(() => true, () => false);
  if (valid === !!want.invalid) return `valid: ${valid}`;
  await ai.convertToModelMessages([message]);
  return '';
}

// report(title, check): one line a result: ok or bad, TAB, title, TAB, what was wrong.
export async function report(title, check) {
  let wrong;
  try {
    wrong = await Promise.race([check(), sleep(60000, 'it did not end within a minute', { ref: false })]);
  } catch (e) {
    wrong = String(e?.stack ?? e);
  }
  console.log(`${wrong ? 'bad' : 'ok'}\t${title}\t${(wrong ?? '').replaceAll('\n', ' ')}`);
}
