// documents.mjs MAJOR FOLDER: the real package over lists of UI messages, FOLDER/NAME.json: it validates them, and makes model
// messages of them that have every text, call and result, in order. Those of FOLDER/ours are UI messages of our own: the
// package is as content with them as the file NAME.valid beside says that we are.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { load, report } from './client.mjs';

const major = Number(process.argv[2]);
const folder = process.argv[3];
const ai = await load(major);

const parse = (path) => JSON.parse(readFileSync(path, 'utf8'));
const named = (dir) => readdirSync(dir).filter((f) => f.endsWith('.json')).sort();
const isTool = (p) => p.type.startsWith('tool-') || p.type === 'dynamic-tool';
const done = ['output-available', 'output-error', 'output-denied'];

// What of a message a model is told.
function wanted(m) {
  const parts = m.parts.filter((p) => p.state !== 'input-streaming' || !isTool(p));
  if (m.role === 'system') return [parts.map((p) => p.text).join('')]; // the package makes one text of them
  return [
    ...parts.filter((p) => p.type === 'text' || (m.role === 'assistant' && p.type === 'reasoning')).map((p) => p.text),
    ...parts.filter(isTool).map((p) => `call ${p.toolCallId}`),
    ...parts.filter((p) => isTool(p) && done.includes(p.state)).map((p) => `result ${p.toolCallId}`),
  ].sort();
}

function told(messages) {
  const parts = messages.flatMap((m) => (typeof m.content === 'string' ? [{ type: 'text', text: m.content }] : m.content));
  return parts.flatMap((p) =>
    p.type === 'text' || p.type === 'reasoning' ? [p.text]
    : p.type === 'tool-call' ? [`call ${p.toolCallId}`]
    : p.type === 'tool-result' ? [`result ${p.toolCallId}`] : []).sort();
}

async function check(messages) {
  // The id of a file that was uploaded to a provider is no address: the package asks for one from version 7 on.
  messages = messages.map((m) => ({ ...m, parts: m.parts.filter((p) => p.type !== 'file' || URL.canParse(p.url)) }));
  messages = messages.filter((m) => m.parts.length > 0);
  if (messages.length === 0) return ''; // the package wants at least one
  await ai.validateUIMessages({ messages });
  const all = [];
  for (const m of messages) {
    const got = told(await ai.convertToModelMessages([m])), want = wanted(m);
    if (!isDeepStrictEqual(got, want)) return `${m.id}: ${JSON.stringify(got)} instead of ${JSON.stringify(want)}`;
    all.push(...want);
  }
  const whole = told(await ai.convertToModelMessages(messages));
  return isDeepStrictEqual(whole, all.sort()) ? '' : `all: ${JSON.stringify(whole)}`;
}

for (const file of named(folder))
  await report(`ai ${major}, document: ${file}`, () => check(parse(`${folder}/${file}`)));

const ours = `${folder}/ours`;
for (const file of existsSync(ours) ? named(ours) : [])
  await report(`ai ${major}, validated: ${file}`, async () => {
    const valid = await ai.validateUIMessages({ messages: parse(`${ours}/${file}`) }).then(() => '', (e) => e.message);
    const want = existsSync(`${ours}/${file}.valid`);
    return want === !valid ? '' : `${want ? 'refused' : 'accepted'}: ${valid.slice(0, 2000)}`;
  });
