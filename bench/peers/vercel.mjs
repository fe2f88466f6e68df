// The AI SDK of Vercel. The model is a plain object: the SDK's own mock keeps every call it gets.
import * as ai from 'ai';
import { z } from 'zod';
import { TOOLS, callsOf, must, textOf } from './measure.mjs';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const because = (reason) => ({ unified: reason, raw: reason });

function model(rounds, deltas) {
  let asked = 0;
  return {
    specificationVersion: 'v3', provider: 'bench', modelId: 'bench', supportedUrls: {},
    again() { asked = 0; },
    async doGenerate() {
      const round = asked++;
      const content = round < rounds
        ? callsOf(round).map(({ name, id }) => ({ type: 'tool-call', toolCallId: id, toolName: name, input: '{"x":1}' }))
        : [{ type: 'text', text: 'hello to you' }];
      return { content, finishReason: because(round < rounds ? 'tool-calls' : 'stop'), usage, warnings: [] };
    },
    async doStream() {
      let at = 0;
      const before = [{ type: 'stream-start', warnings: [] }, { type: 'text-start', id: 't' }];
      const after = [{ type: 'text-end', id: 't' }, { type: 'finish', finishReason: because('stop'), usage }];
      return { stream: new ReadableStream({
        pull(out) {
          const i = at++ - before.length;
          out.enqueue(i < 0 ? before[i + before.length] : i < deltas ? { type: 'text-delta', id: 't', delta: 'word ' }
            : after[i - deltas]);
          if (i === deltas + after.length - 1) out.close();
        },
      }) };
    },
  };
}

const tools = Object.fromEntries(TOOLS.map((name) => [name, ai.tool({
  description: 'does nothing', inputSchema: z.object({ x: z.number() }), execute: async () => 'ok',
})]));
const stopWhen = (ai.isStepCount ?? ai.stepCountIs)(32);

export const name = 'Vercel AI SDK';
const shared = model(0, 0);
export const make = () => new ai.ToolLoopAgent({ model: shared, instructions: 'You do nothing.', tools });

export function runner(rounds) {
  const m = model(rounds, 0);
  return async () => {
    m.again();
    const done = await ai.generateText({ model: m, prompt: 'hello there', tools, stopWhen });
    must(done.steps.length === rounds + 1, `${rounds + 1} steps, not ${done.steps.length}`);
  };
}

export function streamer(deltas) {
  const m = model(0, deltas);
  return async () => {
    let heard = 0;
    for await (const _ of ai.streamText({ model: m, prompt: 'hello there' }).textStream) heard++;
    must(heard === deltas, `${deltas} deltas, not ${heard}`);
  };
}

/** UI messages, which is what its documentation says to store; read with its check, and made the model's. */
export function keeper(n) {
  const messages = Array.from({ length: n }, (_, i) => (
    { id: `m${i}`, role: i % 2 ? 'assistant' : 'user', parts: [{ type: 'text', text: textOf(i) }] }));
  const text = JSON.stringify(messages);
  return {
    write: () => must(JSON.stringify(messages).length === text.length, 'the same text'),
    read: async () => {
      const back = await ai.convertToModelMessages(await ai.validateUIMessages({ messages: JSON.parse(text) }));
      must(back.length === n, `${n} messages, not ${back.length}`);
    },
  };
}
