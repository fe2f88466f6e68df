// The envelope specification's orchestrator as it is used: text in, JSON.parse, the agent of the intent, a new trace, text
// out. It checks nothing. mux.mjs QUESTION REPLY prints microseconds for one envelope.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { must, usPerCall } from './measure.mjs';

const question = readFileSync(process.argv[2], 'utf8');
const reply = readFileSync(process.argv[3], 'utf8');

const agents = Object.fromEntries(['plan', 'decompose', 'execute', 'reflect'].map((intent) => [intent, async () => JSON.parse(reply)]));

async function route(envelope) {
  const answer = await (agents[envelope.intent] ?? agents.reflect)(envelope);
  const trace = { ...answer.trace, parents: [...(envelope.trace?.parents ?? []), envelope.trace.id], id: randomUUID() };
  return { ...answer, protocol: 'multiagent-1.0', trace };
}

const once = async () => JSON.stringify(await route(JSON.parse(question)));
must(JSON.parse(await once()).trace.parents.length === 2, 'two parents');
console.log((await usPerCall(once, { times: 50000 })).toFixed(3));
