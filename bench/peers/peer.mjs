// peer.mjs PEER — one line of JSON: nanoseconds of CPU for what bench_agent and bench_session measure of Weft.
import { median, cpuUs, usPerCall } from './measure.mjs';

const AGENTS = 10000, ROUNDS = 10, DELTAS = 10000, MESSAGES = 1000;
const peer = await import(`./${process.argv[2]}.mjs`);
const few = peer.slow ? 10 : 1;

function makeUs() {
  const means = [];
  const n = AGENTS / few;
  for (let round = 0; round < 5; round++) {
    const kept = new Array(n);
    const from = cpuUs();
    for (let i = 0; i < n; i++) kept[i] = peer.make();
    means.push((cpuUs() - from) / n);
  }
  return median(means);
}

const run = await usPerCall(peer.runner(0), { times: 200 / few });
const rounds = await usPerCall(peer.runner(ROUNDS), { times: 20 / (peer.slow ? 5 : 1) });
const stream = await usPerCall(peer.streamer(DELTAS), { times: 1, rounds: 5 });
const kept = await peer.keeper(MESSAGES); // a conversation: as text, and back from it
const write = await usPerCall(kept.write, { times: 20 / (peer.slow ? 5 : 1) });
const read = await usPerCall(kept.read, { times: 10 / (peer.slow ? 5 : 1) });
const ns = (us) => Math.round(us * 1000);
console.log(JSON.stringify({
  peer: peer.name, make: ns(makeUs()), run: ns(run), round: ns((rounds - run) / ROUNDS), delta: ns(stream / DELTAS),
  write: ns(write), read: ns(read),
}));
process.exit(0);
