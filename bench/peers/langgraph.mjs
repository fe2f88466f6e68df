// LangGraph's prebuilt agent.
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';
import { TOOLS, callsOf, must, textOf } from './measure.mjs';

process.env.LANGSMITH_TRACING = process.env.LANGCHAIN_TRACING_V2 = 'false';

class Model extends BaseChatModel {
  constructor(rounds, deltas) { super({}); Object.assign(this, { rounds, deltas, asked: 0 }); }
  _llmType() { return 'bench'; }
  bindTools() { return this; }

  async _generate() {
    const round = this.asked++;
    const message = round < this.rounds
      ? new AIMessage({ content: '', tool_calls: callsOf(round).map((c) => ({ ...c, args: { x: 1 }, type: 'tool_call' })) })
      : new AIMessage('hello to you');
    return { generations: [{ text: '', message }] };
  }
}

class Talker extends Model {
  async* _streamResponseChunks(_messages, _options, told) {
    for (let i = 0; i < this.deltas; i++) {
      const chunk = new ChatGenerationChunk({ text: 'word ', message: new AIMessageChunk('word ') });
      yield chunk;
      await told?.handleLLMNewToken('word ', undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

const tools = TOOLS.map((name) =>
  tool(async () => 'ok', { name, description: 'does nothing', schema: z.object({ x: z.number() }) }));
const asks = () => ({ messages: [new HumanMessage('hello there')] });

export const name = 'LangGraph';
const shared = new Model(0, 0);
export const make = () => createReactAgent({ llm: shared, tools, prompt: 'You do nothing.' });
export const slow = true; // fewer times are enough

export function runner(rounds) {
  const m = new Model(rounds, 0);
  const g = createReactAgent({ llm: m, tools });
  return async () => {
    m.asked = 0;
    await g.invoke(asks(), { recursionLimit: 100 });
    must(m.asked === rounds + 1, `${rounds + 1} answers, not ${m.asked}`);
  };
}

export function streamer(deltas) {
  const g = createReactAgent({ llm: new Talker(0, deltas), tools: [] });
  return async () => {
    let heard = 0;
    for await (const _ of await g.stream(asks(), { streamMode: 'messages' })) heard++;
    must(heard >= deltas, `${deltas} deltas, not ${heard}`);
  };
}

/** As its checkpoints are written and read. */
export async function keeper(n) {
  const { serde } = new MemorySaver();
  const messages = Array.from({ length: n }, (_, i) => (
    i % 2 ? new AIMessage({ content: textOf(i), id: `m${i}` }) : new HumanMessage({ content: textOf(i), id: `m${i}` })));
  const [type, text] = await serde.dumpsTyped(messages);
  return {
    write: async () => must((await serde.dumpsTyped(messages))[1].length === text.length, 'the same text'),
    read: async () => must((await serde.loadsTyped(type, text)).length === n, `${n} messages`),
  };
}
