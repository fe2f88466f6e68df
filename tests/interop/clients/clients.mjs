// What the programs of this folder share: the server, the checks, what the scripted model says.
import { Server } from '../ai/server.mjs';

export const HELLO = 'Hello, "world"\n— ¡olé! 💡';

// The server of `PROGRAM WEFT FOLDER`.
export function serve() {
  process.env.WEFT_CONFIG = new URL('weft.yaml', import.meta.url).pathname;
  return Server.start(...process.argv.slice(2, 4));
}

// One line a result: ok or bad, TAB, title, TAB, what was wrong. A failure that is the client's own (README.md) has a pattern, and is expected.
export async function check(title, test, known) {
  let wrong = known ? `README.md says that it fails with ${known}` : '';
  try {
    await test();
  } catch (e) {
    wrong = known?.test(e) ? '' : `${e?.stack ?? e} ${JSON.stringify(e?.responseBody ?? '')}`.replace(/[\n\t]/g, ' ');
  }
  console.log(`${wrong ? 'bad' : 'ok'}\t${title}\t${wrong}`);
}

// The same, so many times at once.
export const together = (test, n = 12) => Promise.all(Array.from({ length: n }, test));
