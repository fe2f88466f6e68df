// types.mjs BODIES TALKS: every request body of check.mjs and of the talk files against the request type of the vendor's own
// client, by the TypeScript compiler: `const body: T = {...}`, so that members nobody knows are errors too.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { known } from './known.mjs';

const [bodies, talks] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));

// The client of Google has no type for the body that it sends; it has one for each member, with enums for its words.
const head = `
import type { MessageCreateParams as Anthropic } from '@anthropic-ai/sdk/resources/messages';
import type { MessageCreateParams as Anthropic2023 } from 'anthropic-2023/resources/messages';
import type { ResponseCreateParams as Responses } from 'openai-6/resources/responses/responses';
import type { ChatCompletionCreateParams as Chat } from 'openai-6/resources/chat/completions';
import type { ChatRequest as Ollama } from 'ollama';
import type { Content, GenerationConfig, SafetySetting, Tool, ToolConfig } from '@google/genai';
type Words<T> = T extends string ? \`\${T}\` : T extends (infer E)[] ? Words<E>[] : T extends object ? { [K in keyof T]: Words<T[K]> } : T;
type Google = Words<{ contents: Content[]; systemInstruction?: Content; tools?: Tool[]; toolConfig?: ToolConfig;
  generationConfig?: GenerationConfig; safetySettings?: SafetySetting[]; cachedContent?: string }>;
`;
const names = { anthropic: 'Anthropic', 'anthropic-2023': 'Anthropic2023', responses: 'Responses', chat: 'Chat', ollama: 'Ollama', google: 'Google' };

// The type of a body in a talk file: by the address, and by the version that is asked for.
function typeOf(first, headers) {
  if (/\/messages\/?(\?|$)/.test(first)) return headers.includes('anthropic-version: 2023-06-01') ? 'anthropic-2023' : 'anthropic';
  if (/\/responses(\?|$)/.test(first)) return 'responses';
  if (/\/chat\/completions(\?|$)/.test(first)) return 'chat';
  if (/\/api\/chat(\?|$)/.test(first)) return 'ollama';
  return /[gG]enerateContent(\?|$)/.test(first) ? 'google' : undefined;
}

function* ofTalks() {
  for (const provider of readdirSync(talks))
    for (const file of readdirSync(join(talks, provider)).filter((f) => f.endsWith('.talk'))) {
      let round = 0;
      for (const section of readFileSync(join(talks, provider, file), 'utf8').split(/^(?=>> )/m).filter((s) => s.startsWith('>> sends'))) {
        const [, ...lines] = section.split('\n');
        const empty = lines.indexOf('');
        const title = `${provider}/${file.replace('.talk', '')}${round++ ? ` ${round}` : ''}`;
        yield { title, type: typeOf(lines[0], lines.slice(1, empty)), body: lines.slice(empty + 1).join('\n') };
      }
    }
}

function* ofCalls() {
  const seen = new Set();
  for (const file of readdirSync(bodies).sort()) {
    const one = JSON.parse(readFileSync(join(bodies, file), 'utf8'));
    if (!seen.has(one.title + one.body)) yield one; // tried again
    seen.add(one.title + one.body);
  }
}

// A body with a member that nobody knows must be refused, or the judge is asleep.
const planted = Object.entries({
  anthropic: { model: 'm', max_tokens: 1, messages: [] },
  'anthropic-2023': { model: 'm', max_tokens: 1, messages: [] },
  responses: { model: 'm', input: 'x' },
  chat: { model: 'm', messages: [] },
  ollama: { model: 'm', messages: [] },
  google: { contents: [] },
}).map(([type, body]) => ({ title: 'a planted member is refused', planted: true, type, body: JSON.stringify({ ...body, planted: 1 }) }));

const all = [...ofCalls(), ...ofTalks(), ...planted];
const file = join(here, 'bodies.ts'); // in memory only
const starts = [];
let source = head;
for (const [i, { type, body }] of all.entries()) {
  starts.push(source.length);
  source += `const body${i}: ${names[type] ?? 'never'} = ${body.trim() || '{}'};\nvoid body${i};\n`;
}

const options = { strict: true, noEmit: true, skipLibCheck: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext, types: [] };
const host = ts.createCompilerHost(options);
const { getSourceFile, fileExists, readFile } = host;
host.getSourceFile = (name, ...rest) => (name === file ? ts.createSourceFile(name, source, rest[0]) : getSourceFile.call(host, name, ...rest));
host.fileExists = (name) => name === file || fileExists.call(host, name);
host.readFile = (name) => (name === file ? source : readFile.call(host, name));
const program = ts.createProgram([file], options, host);
const wrong = all.map(() => []);
for (const d of ts.getPreEmitDiagnostics(program)) {
  const text = ts.flattenDiagnosticMessageText(d.messageText, ' ');
  if (d.file?.fileName !== file) throw new Error(`${d.file?.fileName}: ${text}`);
  const i = starts.findLastIndex((s) => s <= d.start);
  if (i < 0) throw new Error(text); // an import that is not there
  wrong[i].push(`${source.slice(d.start, d.start + 60)}: ${text}`);
}

// What is known to differ must still differ: a line of known.mjs that fits nothing is wrong itself.
const used = new Set();
for (const [i, { title, type, planted }] of all.entries()) {
  if (planted) {
    const ok = wrong[i].length === 1 && wrong[i][0].includes(`'"planted"' does not exist`);
    console.log([ok ? 'ok' : 'bad', `types: ${title} (${names[type]})`, wrong[i].join(' | ').replaceAll(/\s+/g, ' ')].join('\t'));
    continue;
  }
  const left = wrong[i].filter((w) => {
    const k = known.find((k) => k.type.test(type) && k.title.test(title) && k.says.test(w));
    if (k) used.add(k);
    return !k;
  });
  console.log([left.length ? 'bad' : 'ok', `types: ${title} (${names[type] ?? 'no type'})`, left.join(' | ').replaceAll(/\s+/g, ' ').slice(0, 2000)].join('\t'));
}
for (const k of known) console.log([used.has(k) ? 'ok' : 'bad', `types: still so: ${k.why}`, 'no body differs in this way'].join('\t'));
