// peer.mjs PEER — one line of JSON: nanoseconds of CPU for what bench_agent and bench_session measure of Weft.
import { median, cpuUs, usPerCall } from './measure.mjs';

const AGENTS = 10000, WARM = 200, ROUNDS = 10, DELTAS = 10000, MESSAGES = 1000;
const peer = await import(`./${process.argv[2]}.mjs`);
const few = peer.slow ? 10 : 1;

// First of all, as in a program that has just begun; all that is made stays alive.
function makeUs() {
  const n = AGENTS / few;
  for (let i = 0; i < WARM; i++) peer.make();
  const once = () => { // a function, so that nothing of the round before is kept by accident
    const kept = new Array(n);
    const from = cpuUs();
    for (let i = 0; i < n; i++) kept[i] = peer.make();
    const us = (cpuUs() - from) / n;
    globalThis.kept = kept;
    return us;
  };
  return median(Array.from({ length: 5 }, once));
}

const make = makeUs();
const run = await usPerCall(peer.runner(0), { times: 200 / few });
const rounds = await usPerCall(peer.runner(ROUNDS), { times: 20 / (peer.slow ? 5 : 1) });
const stream = await usPerCall(peer.streamer(DELTAS), { times: 1, rounds: 5 });
const kept = await peer.keeper(MESSAGES); // a conversation: as text, and back from it
const write = await usPerCall(kept.write, { times: 20 / (peer.slow ? 5 : 1) });
const read = await usPerCall(kept.read, { times: 10 / (peer.slow ? 5 : 1) });
const ns = (us) => Math.round(us * 1000);
console.log(JSON.stringify({
  peer: peer.name, node: process.version, make: ns(make), run: ns(run), round: ns((rounds - run) / ROUNDS), delta: ns(stream / DELTAS),
  write: ns(write), read: ns(read),
}));
process.exit(0);
