// types.mjs — tsc and the validator are of one mind, as far as types can tell: an envelope that lacks a member, or has one
// of another type, does not compile. (Empty texts, numbers out of range and times are not a matter of types.)
// covers: ENV-17/2
import ts from 'typescript';
import { cases, good, isBroken, report, typesFile } from './files.mjs';

const beyondTypes = /empty$|^timestamp '|^timestamp of|^score -?[0-9.]+$|^cost negative|^action without a task|^unknown members$/;
const typed = cases.filter((c) => !beyondTypes.test(c.what));

// Members that envelopes may have and the types do not name are no mistake: a value is checked, not a literal.
const name = (i) => `/envelope-${i}.ts`;
const literal = (v) =>
  v === null || typeof v !== 'object' ? `${JSON.stringify(v)}${v === null ? '' : ' as const'}`
  : Array.isArray(v) ? `[${v.map(literal).join(', ')}]`
  : `{${Object.entries(v).map(([k, x]) => `${JSON.stringify(k)}: ${literal(x)}`).join(', ')}}`;
const text = (v) => `import type { Envelope } from ${JSON.stringify(typesFile.replace(/\.d\.ts$/, ''))};
const value = ${literal(v)};
export const envelope: Envelope = value;
`;

const all = [...good.map(([title, v]) => [`the types take ${title}`, v, true]),
  ...typed.map((c) => [`the types ${isBroken(c) ? 'refuse' : 'take'}: ${c.what}`, c.envelope, !isBroken(c)])];
const sources = new Map(all.map(([, v], i) => [name(i), text(v)]));
const options = { strict: true, noEmit: true, skipLibCheck: false, types: [], module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler, target: ts.ScriptTarget.ES2022 };
const host = ts.createCompilerHost(options);
const { fileExists, readFile, getSourceFile } = host;
host.fileExists = (path) => sources.has(path) || fileExists(path);
host.readFile = (path) => sources.get(path) ?? readFile(path);
host.getSourceFile = (path, ...rest) =>
  sources.has(path) ? ts.createSourceFile(path, sources.get(path), options.target) : getSourceFile(path, ...rest);

const program = ts.createProgram([typesFile, ...sources.keys()], options, host);
const said = (file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
  .map((d) => ts.flattenDiagnosticMessageText(d.messageText, ' ')).join('; ').replace(/\s+/g, ' ');
report('the types compile', said(program.getSourceFile(typesFile)));
all.forEach(([title, , taken], i) => {
  const wrong = said(program.getSourceFile(name(i)));
  report(title, taken === !wrong ? '' : wrong || 'it was taken');
});
