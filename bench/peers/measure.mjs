// CPU time of the whole process, its collector and compiler threads included: on shared cores the wall clock measures
// the neighbours.
export const cpuUs = () => {
  const c = process.cpuUsage();
  return c.user + c.system;
};

export const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

/** Microseconds of one call: the median of `rounds` means over `times` calls. */
export async function usPerCall(call, { times, rounds = 5, warm = times }) {
  for (let i = 0; i < warm; i++) await call();
  const means = [];
  for (let round = 0; round < rounds; round++) {
    const from = cpuUs();
    for (let i = 0; i < times; i++) await call();
    means.push((cpuUs() - from) / times);
  }
  return median(means);
}

/** Fails loudly where a peer did not do what is measured. */
export function must(ok, what) {
  if (!ok) throw new Error(`expected ${what}`);
}

export const TOOLS = ['noop_a', 'noop_b'];
export const callsOf = (round) => TOOLS.map((name, i) => ({ name, id: `c${round}_${i}` }));

// About 240 bytes of chat, with some escapes and some letters beyond ASCII: as bench_session's.
const WORDS = ('the agent read file src/main.c and found two calls that never free the buffer; next step: "patch" the '
  + 'caller, run tests, then report. na\u00efve caf\u00e9 \u2014 ok? path\\to\\x\n').split(' ');
export function textOf(i) {
  let text = `msg ${i}: `;
  for (let k = i * 7; text.length < 240; k++) text += `${WORDS[k % WORDS.length]} `;
  return text;
}
