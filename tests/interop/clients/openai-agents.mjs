// openai-agents.mjs WEFT FOLDER: OpenAI's Agents SDK of JavaScript, with both of its models, on Weft.
import assert from 'node:assert/strict';
import { Agent, OpenAIChatCompletionsModel, OpenAIConversationsSession, OpenAIResponsesModel, run, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai-7';
import { z } from 'zod';
import { HELLO, check, serve, together } from './clients.mjs';

setTracingDisabled(true);
const server = await serve();
const client = new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0 });
const weather = tool({ name: 'weather', description: 'The weather of a city.', parameters: z.object({ city: z.string() }), execute: ({ city }) => `18 degrees in ${city}` });
const payBack = tool({ name: 'pay_back', description: 'Pays back.', parameters: z.object({ euros: z.number() }), execute: ({ euros }) => `${euros} euros` });
const makers = {
  responses: (name = 'gpt-4.1') => new OpenAIResponsesModel(client, name),
  chat: (name = 'gpt-4.1') => new OpenAIChatCompletionsModel(client, name),
};
const guide = (model) => new Agent({ name: 'guide', instructions: 'Be kind.', model, tools: [weather] });
const count = (text, word) => text.split(word).length - 1;

async function tools(make) {
  assert.equal((await run(new Agent({ name: 'plain', instructions: 'Be kind.', model: make() }), 'hello')).finalOutput, HELLO);
  const one = await run(guide(make()), 'weather in Kyoto');
  assert.equal(one.finalOutput, '18 degrees in Kyoto.');
  const both = await run(guide(make()), 'both');
  assert.deepEqual(both.newItems.filter((i) => i.type === 'tool_call_item').map((i) => i.rawItem.arguments), ['{"city":"Kyoto"}', '{"city":"Nara"}']);
  assert.equal((await run(new Agent({ name: 'plain', model: make(), outputType: z.object({ name: z.string(), people: z.number() }) }), 'the capital of France')).finalOutput.name, 'Paris');
  await assert.rejects(run(new Agent({ name: 'plain', model: make() }), 'overload'), /slow down/);
}

async function streamed(make) {
  const result = await run(guide(make()), 'weather in Kyoto', { stream: true });
  let text = '';
  for await (const piece of result.toTextStream()) text += piece;
  await result.completed;
  assert.equal(text, 'Let me look.18 degrees in Kyoto.');
  assert.equal(result.finalOutput, '18 degrees in Kyoto.');
  assert.deepEqual(result.newItems.filter((i) => i.type === 'tool_call_item').map((i) => i.rawItem.arguments), ['{"city":"Kyoto"}']);
}

async function handoff(make) {
  const billing = new Agent({ name: 'billing', instructions: 'Pay.', model: make(), tools: [payBack] });
  const first = Agent.create({ name: 'first', instructions: 'Hand off.', model: make(), tools: [weather], handoffs: [billing] });
  for (const stream of [false, true]) {
    const result = await run(first, 'refund please', { stream });
    if (stream) await result.completed;
    assert.equal(result.finalOutput, 'Paid back.');
    assert.equal(result.lastAgent.name, 'billing');
  }
}

async function turns(make) {
  const first = await run(guide(make()), 'weather in Kyoto');
  const second = await run(guide(make()), [...first.history, { role: 'user', content: 'hello' }]);
  const seen = (await run(guide(make()), [...second.history, { role: 'user', content: 'what you see' }])).finalOutput;
  assert.equal(count(seen, '"user: '), 3, seen);
  assert.ok(seen.includes('18 degrees in Kyoto'), seen);
  const desk = new Agent({ name: 'plain', model: make('desk') });
  assert.match((await run(desk, 'time')).finalOutput, /It is noon\.$/);
}

async function parallel(make) {
  for (const text of await together(async () => {
    const first = await run(guide(make()), 'weather in Kyoto');
    const second = await run(guide(make()), [...first.history, { role: 'user', content: 'both' }], { stream: true });
    await second.completed;
    return `${first.finalOutput} ${second.newItems.filter((i) => i.type === 'tool_call_output_item').length}`;
  })) assert.equal(text, '18 degrees in Kyoto. 2');
}

async function stored() {
  const make = makers.responses;
  const first = await run(guide(make()), 'weather in Kyoto');
  const second = await run(guide(make()), 'what you see', { previousResponseId: first.lastResponseId });
  assert.equal(count(second.finalOutput, '"user: '), 2, second.finalOutput);
  const session = new OpenAIConversationsSession({ client });
  await run(guide(make()), 'weather in Nara', { session });
  const seen = (await run(guide(make()), 'what you see', { session })).finalOutput;
  assert.ok(count(seen, '"user: ') === 2 && seen.includes('18 degrees in Nara'), seen);
  assert.equal((await session.getItems()).filter((i) => i.type === 'function_call_result').length, 1);
}

for (const [name, make] of Object.entries(makers))
  for (const test of [tools, streamed, handoff, turns, parallel]) await check(`@openai/agents: ${name}: ${test.name}`, () => test(make));
await check('@openai/agents: previous response and conversations', stored);
await server.end('SIGTERM');
