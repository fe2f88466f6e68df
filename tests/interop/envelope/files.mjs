// files.mjs — what is held against the schema and the types: good envelopes, and those of broken.json.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
export const schemaFile = at('../../../docs/schemas/envelope.schema.json');
export const typesFile = at('../../../docs/schemas/envelope.d.ts');
export const parse = (path) => JSON.parse(readFileSync(path, 'utf8'));

// [title, envelope]; odd.json is what a reader has to bear, and no example.
export const good = ['planner', 'decomposer', 'executor', 'handshake', 'exchange', 'made'].flatMap((name) => {
  const document = parse(at(`../../golden/envelope/${name}.json`));
  return Array.isArray(document) ? document.map((e, i) => [`${name} ${i}`, e]) : [[name, document]];
});

// What a schema can know of: JSON.parse has forgotten that a member came twice, and a schema sees one envelope.
export const cases = parse(at('broken.json')).filter((c) => c.schema !== false);
export const isBroken = (c) => c.problems.some((p) => p.startsWith('error'));

export function report(title, wrong) {
  console.log([wrong ? 'bad' : 'ok', title, wrong].join('\t'));
}
