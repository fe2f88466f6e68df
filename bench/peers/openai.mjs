// The OpenAI Agents SDK, without its tracing.
import { Agent, RunState, Runner, Usage, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';
import { TOOLS, callsOf, must, textOf } from './measure.mjs';

setTracingDisabled(true);
const tokens = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const says = (text) => ({
  type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }],
});

class Model {
  constructor(rounds, deltas) { Object.assign(this, { rounds, deltas, asked: 0 }); }

  async getResponse() {
    const round = this.asked++;
    const output = round < this.rounds
      ? callsOf(round).map(({ name, id }) =>
        ({ type: 'function_call', callId: id, name, status: 'completed', arguments: '{"x":1}' }))
      : [says('hello to you')];
    return { usage: new Usage(tokens), output };
  }

  async* getStreamedResponse() {
    yield { type: 'response_started' };
    for (let i = 0; i < this.deltas; i++) yield { type: 'output_text_delta', delta: 'word ' };
    yield { type: 'response_done', response: { id: 'r', usage: tokens, output: [says('said')] } };
  }
}

const tools = TOOLS.map((name) => tool({
  name, description: 'does nothing', parameters: z.object({ x: z.number() }), execute: async () => 'ok',
}));
const runs = new Runner({ tracingDisabled: true });
const agent = (model, own = tools) => new Agent({ name: 'a', instructions: 'You do nothing.', model, tools: own });

export const name = 'OpenAI Agents SDK';
const shared = new Model(0, 0);
export const make = () => agent(shared);

export function runner(rounds) {
  const m = new Model(rounds, 0);
  const a = agent(m);
  return async () => {
    m.asked = 0;
    await runs.run(a, 'hello there', { maxTurns: 32 });
    must(m.asked === rounds + 1, `${rounds + 1} answers, not ${m.asked}`);
  };
}

export function streamer(deltas) {
  const a = agent(new Model(0, deltas), []);
  return async () => {
    const s = await runs.run(a, 'hello there', { stream: true });
    let heard = 0;
    for await (const e of s) heard += e.type === 'raw_model_stream_event' && e.data.type === 'output_text_delta';
    await s.completed;
    must(heard === deltas, `${deltas} deltas, not ${heard}`);
  };
}

/** The state of a run, which is what it has for going on later. */
export async function keeper(n) {
  const a = agent(new Model(0, 0), []);
  const history = Array.from({ length: n }, (_, i) => (
    i % 2 ? says(textOf(i)) : { type: 'message', role: 'user', content: textOf(i) }));
  const { state } = await runs.run(a, history);
  const text = state.toString();
  return {
    write: () => must(state.toString().length === text.length, 'the same text'),
    read: async () => must(await RunState.fromString(a, text), 'a state'),
  };
}
