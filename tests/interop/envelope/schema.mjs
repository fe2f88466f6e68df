// schema.mjs — ajv and the validator are of one mind about every envelope.
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { cases, good, isBroken, parse, report, schemaFile } from './files.mjs';

const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true });
addFormats.default(ajv);
const check = ajv.compile(parse(schemaFile));

for (const [title, envelope] of good) report(`the schema takes ${title}`, check(envelope) ? '' : ajv.errorsText(check.errors));
for (const c of cases) {
  const taken = check(c.envelope);
  report(`the schema ${isBroken(c) ? 'refuses' : 'takes'}: ${c.what}`,
    taken === !isBroken(c) ? '' : taken ? 'it was taken' : ajv.errorsText(check.errors));
}
