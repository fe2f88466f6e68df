// files.mjs MAJOR WEFT FOLDER: files of the real client on the real server: uploads from streams, bytes and texts, lists, content, and files in messages.
import { createReadStream, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { report } from '../ai/client.mjs';
import { Server } from '../ai/server.mjs';

const [major, weft, folder] = process.argv.slice(2);
const { default: OpenAI, toFile } = await import(`openai-${major}`);
const server = await Server.start(weft, folder);
const client = new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0 });
const title = (what) => `openai ${major}, files: ${what}`;
const same = (is, want) => (isDeepStrictEqual(is, want) ? '' : `${JSON.stringify(is)} is not ${JSON.stringify(want)}`);
const refused = async (request) => request.then(() => 'nothing was refused', (e) => e);

const big = Buffer.alloc(3 << 20, 'weft');
writeFileSync(`${folder}/big.bin`, big);
const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from('picture')]);

await report(title('a stream of a file'), async () => {
  const f = await client.files.create({ file: createReadStream(`${folder}/big.bin`), purpose: 'user_data' });
  if (f.bytes !== big.length || f.filename !== 'big.bin' || f.purpose !== 'user_data' || f.object !== 'file') return JSON.stringify(f);
  const got = Buffer.from(await (await client.files.content(f.id)).arrayBuffer());
  return got.equals(big) ? same(await client.files.retrieve(f.id), f) : `${got.length} other bytes`;
});

await report(title('bytes and texts, and any name'), async () => {
  for (const name of ['a.txt', 'grüße "1".md', 'x y.json']) {
    const f = await client.files.create({ file: await toFile(Buffer.from('hello'), name), purpose: 'assistants' });
    if (f.filename !== name || f.bytes !== 5) return `${name}: ${JSON.stringify(f)}`;
    if ((await (await client.files.content(f.id)).text()) !== 'hello') return `${name}: other content`;
  }
  return '';
});

await report(title('pages of a list'), async () => {
  for (let i = 0; i < 5; i++) await client.files.create({ file: await toFile(Buffer.from(`${i}`), `${i}.txt`), purpose: 'batch' });
  const seen = [];
  for await (const f of client.files.list({ purpose: 'batch', limit: 2 })) seen.push(f.filename);
  return same([...seen].sort(), ['0.txt', '1.txt', '2.txt', '3.txt', '4.txt']);
});

await report(title('deleting'), async () => {
  const f = await client.files.create({ file: await toFile(Buffer.from('x'), 'x.txt'), purpose: 'vision' });
  const gone = await (client.files.delete ?? client.files.del).call(client.files, f.id);
  const wrong = same(gone, { id: f.id, object: 'file', deleted: true });
  if (wrong) return wrong;
  const e = await refused(client.files.retrieve(f.id));
  return e instanceof OpenAI.NotFoundError ? '' : `${e}`;
});

await report(title('what is wrong'), async () => {
  const e = await refused(client.files.create({ file: await toFile(Buffer.from('x'), 'x.txt'), purpose: 'tea' }));
  return e instanceof OpenAI.BadRequestError && e.param === 'purpose' && /assistants_output/.test(e.message) ? '' : `${e}`;
});

await report(title('an image and attachments of a message'), async () => {
  const image = await client.files.create({ file: await toFile(png, 'a.png'), purpose: 'vision' });
  const notes = await client.files.create({ file: await toFile(Buffer.from('# hi'), 'a.md'), purpose: 'assistants' });
  const thread = await client.beta.threads.create();
  const content = [{ type: 'text', text: 'hello' }, { type: 'image_file', image_file: { file_id: image.id, detail: 'low' } }];
  const m = await client.beta.threads.messages.create(thread.id, { role: 'user', content, attachments: [{ file_id: notes.id }] });
  const wrong = same(m.content[1], content[1]) || same(m.attachments, [{ file_id: notes.id }]);
  if (wrong) return wrong;
  const run = await client.beta.threads.runs.stream(thread.id, { assistant_id: 'main' }).finalRun();
  if (run.status !== 'completed') return run.status;
  const e = await refused(client.beta.threads.messages.create(thread.id, { role: 'user', content: 'x', attachments: [{ file_id: 'file-0' }] }));
  return e instanceof OpenAI.BadRequestError && e.param === '/attachments/0/file_id' ? '' : `${e}`;
});

const code = await server.end('SIGTERM');
await report(title('the server ends'), async () => (code === 0 ? '' : `exit ${code}`));
