// The stream of a run, as few of them as can be: browsers allow six connections to a server, over all tabs. A tab that
// nobody sees has none; tabs that show the same run share one; and over all tabs there are at most SLOTS, and one that changes hands.
import { stream } from "./api.js";

const SLOTS = 4, SLICE = 1000, PATIENCE = 5000; // a turn ends with the first event after a second
const channel = new BroadcastChannel("weft.streams"), locks = navigator.locks; // there are no locks without TLS, but for localhost

/** Is the event `a` after `b`? EPOCH-NUMBER.PART: numbers go on over epochs. */
function after(a, b) {
  const [x, y] = [a, b].map((id) => /-(\d+)\.?(\d*)$/.exec(id)?.slice(1).map(Number) ?? [0, 0]);
  return x[0] > y[0] || (x[0] === y[0] && x[1] > y[1]);
}

/** An AbortController that aborts with the signal, and what ends that. */
function below(signal) {
  const own = new AbortController(), pass = () => own.abort();
  if (signal.aborted) own.abort();
  signal.addEventListener("abort", pass, { once: true });
  return [own, () => signal.removeEventListener("abort", pass)];
}

const seen = (signal) => new Promise((done) => {
  const check = () => { if (document.hidden && !signal.aborted) return; document.removeEventListener("visibilitychange", check); signal.removeEventListener("abort", check); done(); };
  document.addEventListener("visibilitychange", check);
  signal.addEventListener("abort", check);
  check();
});

/** Runs `read` with one of the slots of all tabs. Those without a free one take turns: one of them reads for a moment. */
async function inSlot(read, signal) {
  for (let i = 0; i < SLOTS; i++) {
    let got = false;
    await locks.request(`weft.slot.${i}`, { ifAvailable: true }, (lock) => { got = !!lock; return lock && read(signal); });
    if (got || signal.aborted) return;
  }
  const turn = async () => {
    const [slice, end] = below(signal), from = Date.now(), timer = setTimeout(() => slice.abort(), PATIENCE);
    await read(slice.signal, () => { if (Date.now() - from > SLICE) slice.abort(); }).finally(() => { clearTimeout(timer); end(); });
  };
  await locks.request("weft.turn", { signal }, turn).catch((error) => { if (!signal.aborted) throw error; });
}

/** Like stream(): each event once and in order, whichever tab reads it. Returns the id of the last one. */
export async function liveStream(path, { onEvent, signal, lastId, onState }) {
  let id = lastId, over = false, reading = false, known; // where the tab that reads is
  const [all, end] = below(signal), early = []; // events of that tab for which this one is not ready
  const take = (event) => {
    if (over || all.signal.aborted || (event.id && id && !after(event.id, id))) return over;
    if (event.id) id = event.id;
    over = onEvent(event) === true;
    if (over) all.abort();
    return over;
  };
  const read = (within, each = () => {}) => stream(path, { signal: within, lastId: id, onState, onEvent: (event) => {
    if (reading) channel.postMessage({ path, ...event });
    const last = take(event);
    each();
    return last;
  } });
  const listen = ({ data }) => {
    if (data.path !== path) return;
    if (data.ask) { if (reading) channel.postMessage({ path, at: id }); return; }
    if (reading) return;
    known ??= data.at ?? data.id;
    if (data.id) early.push(data);
    join();
  };
  let own = null; // a stream, until this tab has all that came before the first event of the other one
  const join = () => {
    if (reading || (own && (!known || !id || after(known, id)))) return;
    own?.abort();
    for (const event of early.splice(0)) take(event);
  };
  channel.addEventListener("message", listen);
  try {
    while (!over && !signal.aborted) {
      if (document.hidden) { await seen(signal); continue; }
      const [part, done] = below(all.signal), hide = () => document.hidden && part.abort();
      document.addEventListener("visibilitychange", hide);
      try {
        if (!locks) await read(part.signal);
        else await follow(part.signal);
      } finally {
        document.removeEventListener("visibilitychange", hide);
        done();
      }
    }
  } finally {
    channel.removeEventListener("message", listen);
    end();
  }
  return id;

  async function follow(within) {
    const lead = async () => {
      reading = true;
      try { await inSlot(read, within); } finally { reading = false; }
    };
    let got = false;
    await locks.request(`weft.run.${path}`, { ifAvailable: true }, (lock) => { got = !!lock; return lock && lead(); });
    if (got) return;
    // Another tab reads. Until this one has what that one has, it reads too, which also asks the server if it may.
    const [until, done] = below(within);
    own = until;
    known = undefined;
    early.length = 0;
    channel.postMessage({ path, ask: true });
    const turn = locks.request(`weft.run.${path}`, { signal: within }, () => { until.abort(); return within.aborted ? null : lead(); }).catch((error) => { if (!within.aborted) throw error; });
    try {
      await read(until.signal, join);
    } catch (error) {
      all.abort();
      throw error;
    } finally {
      done();
    }
    own = null;
    if (!within.aborted) join();
    await turn;
  }
}
