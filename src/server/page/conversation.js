// A conversation: pages of its log, the run at work, and the composer. A window of the log is in the page: older entries
// come when one scrolls up, and what is far away is removed.
import { items, keepText, pause, query, request, uniqueKey } from "./api.js";
import { copy, failed, fill, h, icon, iconButton } from "./dom.js";
import { approvalsChanged, callsOf } from "./approvals.js";
import { Composer, messageOf } from "./ask.js";
import { loadBranches, switcher } from "./branches.js";
import { answers, callForm, disable } from "./forms.js";
import { liveStream } from "./live.js";
import { fileOf, releaseMedia } from "./media.js";
import { textOf, Turn, userMessage } from "./message.js";
import { agents, nameOf } from "./roster.js";
import { announce, go, setActions, setTitle, shortcut } from "./shell.js";
import { changed, rename, threadChanged, titleFrom } from "./threads.js";

const PAGE = 40, WINDOW = 160; // entries of a request; groups in the page
const POLL = 2500, STILL = 250; // ms: between looks at a thread; of nothing more, until a run that waits is left alone
const KEPT = ["arguments", "result"]; // shown from their text
const OVER = new Set(["completed", "incomplete", "failed", "cancelled", "expired"]);
const ENDED = { failed: "The run failed", cancelled: "Stopped", expired: "Nobody answered in time", incomplete: "Cut short by a limit" };

/** Actions in the top bar of a conversation: other views add theirs, (thread) => node. */
export const threadActions = [];

/** A message of the user stands alone; the entries of a run after its question belong together. */
const keyOf = (e) => (e.role === "user" && e.origin !== "run" ? e.id : e.run_id || e.id);

class Conversation {
  groups = []; // {key, entries, el, turn?}, oldest first
  live = null; // {run, turn, el, abort}
  older = null; // the id of the oldest entry, if there are older ones
  newer = null; // the id of the newest entry, if newer ones were removed
  branches = null;

  constructor(thread, root, signal) {
    this.thread = thread;
    this.path = `/v1/threads/${thread}`;
    this.signal = signal;
    this.timed = new IntersectionObserver((seen) => { for (const e of seen) if (e.isIntersecting) this.#time(e.target); });
    this.list = h("div", { class: "messages", role: "log", "aria-label": "Messages", "aria-live": "off" });
    this.top = h("div", { class: "edge" });
    this.bottom = h("div", { class: "edge" });
    this.scroller = h("div", { class: "scroller", tabindex: "0", "aria-label": "Conversation" }, h("div", { class: "column" }, this.top, this.list, this.bottom));
    this.latest = h("button", { type: "button", class: "latest", hidden: true, onclick: () => this.toEnd() }, icon("down"), "Latest");
    this.composer = new Composer({ send: (message, agent) => this.send(message, agent), stop: () => this.stop() });
    fill(root, this.scroller, h("div", { class: "dock" }, this.latest, h("div", { class: "column" }, this.composer.el)));
    root.classList.add("conversation");
    const grown = new ResizeObserver(() => this.stick());
    grown.observe(this.list);
    signal.addEventListener("abort", () => { grown.disconnect(); this.timed.disconnect(); }, { once: true });
    this.list.addEventListener("click", (e) => { if (e.target.closest(".show-all")) this.sticky = false; }); // what comes is read from its beginning
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true, signal });
  }

  /* ---- Scrolling ---- */

  get below() { return this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight; }

  /** Keeps the end in view: once per frame, because reading the height lays the page out. */
  stick() {
    if (!this.sticky || this.sticking) return;
    this.sticking = requestAnimationFrame(() => {
      this.sticking = 0;
      if (this.sticky) this.scroller.scrollTop = this.scroller.scrollHeight;
    });
  }

  #scrolled() {
    const top = this.scroller.scrollTop, up = top < this.seenTop; // what grows below is no scrolling away from it
    this.seenTop = top;
    if (this.newer || (up && this.below >= 80)) this.sticky = false;
    else if (this.below < 80) this.sticky = true;
    this.latest.hidden = this.sticky;
    if (this.scroller.scrollTop < 600) this.#more("older");
    if (this.below < 600) this.#more("newer");
  }

  async toEnd() {
    if (this.newer) await this.load();
    this.sticky = true;
    this.stick();
    this.composer.input.focus();
  }

  /* ---- Pages of the log ---- */

  read(path, params) { return request(query(`${this.path}/${path}`, params), { signal: this.signal, kept: KEPT }); }

  entries(params) { return this.read("entries", { limit: PAGE, ...params }); }

  async newestRun() { return (await this.read("runs", { limit: 1 })).data[0]; }

  /** The newest page, and the run at work. `ready`: what else the page needs first. */
  async load(ready) {
    const run = await this.newestRun(), [page] = await Promise.all([this.entries(), ready]); // in this order: else a run that ends between them has no answer
    this.lastRun = run?.id;
    this.#unfollow();
    this.groups = [];
    fill(this.list);
    this.older = page.has_more ? page.last_id : null;
    this.newer = null;
    const working = run && !OVER.has(run.status) ? run : null;
    this.#put(page.data.reverse().filter((e) => !working || keyOf(e) !== working.id), false);
    this.composer.choose(this.#lastAgent() || run?.assistant_id);
    if (run && !working) this.#ending(run);
    this.sticky = true;
    this.stick();
    if (working) this.follow(working);
    setTimeout(() => this.#loadBranches(), 50); // after the first picture
  }

  /** Groups entries and puts them before or after those that are there. A run that a page's edge cuts is joined again. */
  #put(entries, before) {
    const made = [];
    for (const e of entries) {
      if (made.at(-1)?.key === keyOf(e)) made.at(-1).entries.push(e);
      else made.push({ key: keyOf(e), entries: [e] });
    }
    const seam = before ? this.groups[0] : this.groups.at(-1), edge = before ? made.at(-1) : made[0];
    if (seam && edge && seam.key === edge.key) {
      edge.entries = before ? [...edge.entries, ...seam.entries] : [...seam.entries, ...edge.entries];
      seam.el.remove();
      this.groups.splice(before ? 0 : -1, 1);
    }
    for (const group of made) this.#render(group);
    this.groups = before ? [...made, ...this.groups] : [...this.groups, ...made];
    if (before) this.list.prepend(...made.map((g) => g.el));
    else this.list.append(...made.map((g) => g.el));
    this.#decorate();
  }

  #render(group) {
    const [first] = group.entries;
    if (group.key === first.id && first.role === "user") group.el = h("div", { class: "group" }, userMessage(first));
    else {
      group.turn = new Turn({ reply: (text) => this.send(messageOf(text), this.composer.agent) });
      for (const e of group.entries) group.turn.entry(e);
      group.el = h("div", { class: "group" }, group.turn.el);
      if (group.turn.calls.size && first.run_id) this.timed.observe(group.el);
    }
    group.bar = h("div", { class: "bar" });
    group.el.append(group.bar);
  }

  /** How long the calls of a turn took, from the trace of its run, when somebody sees it. */
  async #time(el) {
    this.timed.unobserve(el);
    const group = this.groups.find((g) => g.el === el);
    if (!group) return;
    const trace = await request(`/v1/runs/${group.entries.find((e) => e.run_id).run_id}/trace`, { signal: this.signal }).catch(() => null);
    const longest = new Map(); // of a parallel step: in its branch, and again where the run took it over
    const walk = ({ spans, children }) => {
      for (const { toolCallId: id, kind, started, ended } of spans) if (id && kind !== "wait" && ended) longest.set(id, Math.max(ended - started, longest.get(id) ?? 0));
      children.forEach(walk);
    };
    if (trace) walk(trace);
    for (const [id, ms] of longest) group.turn.calls.get(id)?.took(ms);
  }

  #trim(end) {
    while (this.groups.length > WINDOW) {
      const gone = end ? this.groups.pop() : this.groups.shift();
      gone.el.remove();
    }
    if (end) this.newer = this.groups.at(-1).entries.at(-1).id;
    else this.older = this.groups[0].entries[0].id;
  }

  /** Changes what is above, and what one reads stays where it is. */
  #steady(change) {
    const height = this.scroller.scrollHeight, top = this.scroller.scrollTop;
    change();
    this.scroller.scrollTop = top + this.scroller.scrollHeight - height;
  }

  /** The next page at an edge, "older" or "newer"; what is far from it is removed. */
  async #more(side) {
    if (!this[side] || this.loading) return;
    const older = side === "older";
    this.loading = true;
    try {
      const page = await this.entries({ after: this[side], order: older ? "desc" : "asc" });
      const put = () => this.#put(older ? page.data.reverse() : page.data, older), trim = () => this.groups.length > WINDOW && !(older && this.live) && this.#trim(older);
      this[side] = page.has_more ? page.last_id : null;
      if (older) { this.#steady(put); trim(); } else { put(); this.#steady(trim); }
      requestAnimationFrame(() => this.#scrolled()); // one may have scrolled on meanwhile
    } catch (error) {
      if (!this.signal.aborted) failed(error);
    } finally {
      this.loading = false;
    }
  }

  /* ---- What can be done with a message ---- */

  /** From the first message, if it is here. */
  get title() {
    const [first] = this.older ? [] : this.groups;
    return (first && !first.turn && titleFrom(textOf(first.entries[0]))) || "Conversation";
  }

  #lastAgent() {
    for (let i = this.groups.length - 1; i >= 0; i--) for (const e of [...this.groups[i].entries].reverse()) if (e.role === "assistant" && e.agent) return e.agent;
    return null;
  }

  async #loadBranches() {
    try {
      this.branches = await loadBranches(this.thread, this.signal);
      this.#decorate();
    } catch { /* the conversation is readable without */ }
  }

  /** Requests that have an answer take no other one. */
  #close() {
    const done = new Set(this.groups.filter((g) => !g.turn).map((g) => answers(textOf(g.entries[0]))));
    for (const form of this.list.querySelectorAll("[data-request]"))
      if (done.has(form.dataset.request)) disable(form);
  }

  /** The controls below each group. */
  #decorate() {
    let before = null;
    this.#close();
    for (const group of this.groups) {
      const first = group.entries.find((e) => e.type === "message") || group.entries[0], at = this.branches?.of(first, before);
      const choose = (alternative) => this.#branch(() => this.branches.checkout(this.thread, alternative));
      const controls = group.turn ? [iconButton("copy", "Copy the answer", () => copy(group.turn.plain)), iconButton("again", "Answer again", () => this.again(group))]
        : [iconButton("copy", "Copy the message", () => copy(textOf(first))), iconButton("edit", "Edit the message", () => this.edit(group))];
      fill(group.bar, at && switcher(at, choose), controls);
      before = group.entries.findLast((e) => e.type === "message") || before;
    }
  }

  /** Does something that changes the path, and shows the new one. */
  async #branch(action) {
    try {
      await action();
      changed({ thread: this.thread, moved: true });
      await this.load();
    } catch (error) {
      failed(error);
    }
  }

  /** Who was asked for an answer: the first that spoke in it, whoever took over. */
  #asked(answer) { return answer?.entries.find((e) => e.role === "assistant")?.agent || this.composer.agent; }

  edit(group) {
    const [entry] = group.entries, input = h("textarea", { value: textOf(entry), rows: 3, "aria-label": "Edited message" });
    const shown = group.el.firstChild;
    const close = () => { form.replaceWith(shown); group.bar.hidden = false; };
    const form = h("form", { class: "edit", onkeydown: (e) => {
      if (e.key === "Escape") { e.stopPropagation(); close(); }
      if (e.key === "Enter" && e.target === input && !e.shiftKey && !e.isComposing) { e.preventDefault(); form.requestSubmit(); }
    }, onsubmit: (e) => {
      e.preventDefault();
      const kept = entry.parts.map((part) => ({ id: fileOf(part), image: part.type === "image" })).filter((file) => file.id);
      this.#branch(async () => {
        await request(`${this.path}/restore`, { body: { before: entry.id } });
        await this.#start({ additional_messages: [messageOf(input.value, kept)] }, this.#asked(this.groups[this.groups.indexOf(group) + 1]));
      });
    } }, input, h("div", { class: "row end" }, h("button", { type: "button", class: "quiet", onclick: close }, "Cancel"), h("button", { type: "submit", class: "primary" }, "Send")));
    shown.replaceWith(form);
    group.bar.hidden = true;
    input.focus();
  }

  again(group) {
    const [first] = group.entries, at = this.groups.indexOf(group), question = this.groups.slice(0, at).findLast((g) => !g.turn);
    const agent = this.#asked(group);
    return this.#branch(async () => {
      await request(`${this.path}/restore`, { body: question && at > 0 && this.groups[at - 1] === question ? { after: question.entries[0].id } : { before: first.id } });
      await this.#start({}, agent);
    });
  }

  /* ---- Runs ---- */

  async #start(body, agent) {
    const run = await request(`${this.path}/runs`, { body: { assistant_id: agent, ...body }, headers: { "idempotency-key": uniqueKey() } });
    this.lastRun = run.id;
    changed({ thread: this.thread, run: run.id });
    return run;
  }

  async send(message, agent) {
    if (this.newer) await this.load();
    const run = await this.#start({ additional_messages: [message] }, agent);
    await this.#question(run);
    this.sticky = true;
    this.follow(run);
  }

  /** Puts the message that began a run into the list. */
  async #question(run) {
    const page = await this.entries({ run_id: run.id, order: "asc", limit: 1 });
    const fresh = page.data.filter((e) => keyOf(e) === e.id && !this.groups.some((g) => g.key === e.id));
    this.#put(fresh, false);
  }

  /** Shows a run as it works, also after a reload, a lost connection and a restart of the server. */
  async follow(run) {
    this.#unfollow();
    const abort = new AbortController(), turn = new Turn({ grown: () => this.stick(), reply: (text) => this.send(messageOf(text), this.composer.agent) });
    const state = h("div", { class: "at-work", role: "status" }, h("span", { class: "pulse" }), h("span", {}, "Thinking…"));
    const el = h("div", { class: "group live", "aria-busy": "true" }, turn.el, state);
    this.live = { run, turn, el, abort };
    this.list.append(el);
    this.composer.working(true);
    turn.speaker(run.assistant_id, run.created_at * 1000);
    this.signal.addEventListener("abort", () => abort.abort(), { once: true, signal: abort.signal });
    this.stick();
    let status = null, last;
    try {
      while (!abort.signal.aborted && !OVER.has(status?.status)) {
        // A run that waits is no stream: that would be a connection for hours.
        let timer;
        const still = new AbortController(), left = () => still.abort();
        abort.signal.addEventListener("abort", left, { once: true });
        last = await liveStream(`/v1/runs/${run.id}/events?as=weft`, { signal: still.signal, lastId: last, onState: (s) => { state.lastChild.textContent = s === "open" ? "Working…" : "Reconnecting…"; }, onEvent: ({ id, data }) => {
          const now = turn.frame(Number(/^\d+-(\d+)/.exec(id ?? "")?.[1] ?? 0), JSON.parse(keepText(data, KEPT)));
          clearTimeout(timer);
          if (now) { status = now; state.hidden = now.status === "waiting"; }
          if (now?.status === "waiting") timer = setTimeout(left, STILL);
          this.stick();
          return now && OVER.has(now.status);
        } });
        clearTimeout(timer);
        abort.signal.removeEventListener("abort", left);
        if (status?.status === "waiting" && !abort.signal.aborted) {
          await this.#wait(turn, run, abort.signal);
          state.hidden = false;
        }
      }
    } catch (error) {
      if (!abort.signal.aborted) failed(error);
    }
    if (this.live?.turn !== turn || abort.signal.aborted) return;
    await this.#finish(run, turn, status);
  }

  /** What the run waits for becomes forms at its calls, until it waits for nothing more. */
  async #wait(turn, run, signal) {
    const shown = new Set();
    let wake;
    const answer = async (call, body) => {
      await request(`/v1/runs/${run.id}/answers`, { body: { answers: [{ call_id: call, ...body }] } });
      turn.calls.get(call)?.state("running");
      approvalsChanged();
      wake?.abort();
    };
    for (let first = true; !signal.aborted; first = false) {
      wake = new AbortController();
      const calls = document.hidden && !first ? null : await callsOf(run.id, signal).catch((error) => { if (error.status === 404) return []; return null; }); // null: not now
      const open = new Set(calls?.map((call) => call.call_id) ?? shown);
      for (const id of shown) if (!open.has(id)) { turn.calls.get(id)?.form.replaceChildren(); shown.delete(id); }
      for (const call of calls ?? []) {
        const { call_id: id, function: { name, arguments: args } } = call, card = turn.call(id, name, 0);
        if (shown.has(id)) continue; // somebody may be typing in it
        shown.add(id);
        card.setArguments(args);
        card.state("waiting");
        fill(card.form, callForm(call, (body) => answer(id, body)));
      }
      if (calls) {
        if (first) { approvalsChanged(); announce("The agent waits for your answer."); } // their number is in the navigation
        if (!calls.length) break;
      }
      this.stick();
      signal.addEventListener("abort", () => wake.abort(), { once: true, signal: wake.signal });
      await pause(POLL, wake.signal);
    }
    if (!signal.aborted) approvalsChanged();
  }

  /** The run is over: its entries replace its events, because they have ids. */
  async #finish(run, turn, status) {
    const { el } = this.live;
    this.composer.working(false);
    try {
      const known = new Set(this.groups.flatMap((g) => g.entries.map((e) => e.id))), all = [];
      for await (const e of items(`${this.path}/entries`, { run_id: run.id, order: "asc" }, { signal: this.signal, kept: KEPT })) if (!known.has(e.id)) all.push(e);
      if (this.live?.turn !== turn) return;
      const focused = document.activeElement;
      el.remove();
      this.live = null;
      this.#put(all, false);
      for (const form of el.querySelectorAll("[data-request]")) { // somebody may have typed in it
        this.groups.at(-1)?.el.querySelector(`[data-request="${CSS.escape(form.dataset.request)}"]`)?.replaceWith(form);
        if (form.contains(focused)) focused.focus();
      }
      for (const [id, card] of this.groups.at(-1)?.turn?.calls ?? []) card.took(turn.calls.get(id)?.ms);
    } catch (error) {
      if (this.signal.aborted) return;
      el.removeAttribute("aria-busy");
      failed(error);
    }
    this.#ending({ status: status?.status, last_error: status?.error, usage: status?.usage, incomplete_details: status?.incomplete });
    announce(`${nameOf(this.#lastAgent())}: ${turn.plain.slice(0, 600)}`);
    this.composer.choose(this.#lastAgent());
    this.stick();
    this.#loadBranches();
    threadChanged(this.thread);
  }

  #ending(run) {
    const group = this.groups.at(-1), said = ENDED[run.status];
    group?.turn?.plan?.end(run.status === "failed");
    if (!said || !group) return;
    const why = run.last_error?.message || run.incomplete_details?.reason;
    group.bar.before(h("p", { class: ["event", run.status === "failed" ? "bad" : ""] }, said, why && `: ${why}`));
  }

  #unfollow() {
    this.live?.abort.abort();
    this.live?.el.remove();
    this.live = null;
    this.composer.working(false);
  }

  async stop() {
    if (!this.live) return;
    try { await request(`/v1/runs/${this.live.run.id}/cancel`, { method: "POST" }); } catch (error) { if (error.status !== 400) failed(error); }
  }

  /** Another tab or client has started a run, or moved the thread. */
  async look() {
    if (this.live || this.signal.aborted || document.hidden || this.newer) return;
    const run = await this.newestRun();
    if (!run || run.id === this.lastRun || this.live) return;
    await this.load();
  }
}

/* ---- Views ---- */

export async function conversation(root, { thread: given, query: search }, signal) {
  const thread = encodeURIComponent(given);
  const view = new Conversation(thread, root, signal);
  signal.addEventListener("abort", releaseMedia, { once: true });
  const ready = Promise.all([agents().catch(() => {}), view.composer.load(search?.get("agent")).catch(() => {})]);
  const [info] = await Promise.all([request(`/v1/threads/${thread}`, { signal }), view.load(ready)]);
  setTitle(info.title || view.title);
  setActions(threadActions.map((action) => action(thread)), iconButton("edit", "Rename", () => rename(info.id, document.title.replace(/ · Weft$/, ""))));
  if (!matchMedia("(max-width: 760px)").matches) view.composer.input.focus({ preventScroll: true });
  const timer = setInterval(() => view.look().catch(() => {}), POLL), channel = new BroadcastChannel("weft");
  channel.onmessage = ({ data }) => { if (data.thread === thread) (data.moved ? view.load() : view.look()).catch(() => {}); };
  signal.addEventListener("abort", () => { clearInterval(timer); channel.close(); }, { once: true });
  shortcut("e", "Edit your last message", () => { const g = view.groups.findLast((one) => !one.turn); if (g && !view.live) view.edit(g); }, signal);
  shortcut("r", "Answer again", () => { const g = view.groups.at(-1); if (g?.turn && !view.live) view.again(g); }, signal);
  shortcut("c", "Copy the last answer", () => view.groups.findLast((one) => one.turn)?.bar.querySelector("button[aria-label^=Copy]")?.click(), signal);
  for (const [key, label] of [["[", "Previous"], ["]", "Next"]])
    shortcut(key, `${label} branch`, () => [...root.querySelectorAll(`.switcher [aria-label="${label} branch"]`)].findLast((b) => !b.disabled)?.click(), signal);
  shortcut("Escape", "Stop the answer", () => view.stop(), signal);
  shortcut("m", "Write a message", () => view.composer.input.focus(), signal);
}

/** A thread is made with its first message. */
export async function start(root, { query: search }, signal) {
  const composer = new Composer({ stop() {}, placeholder: "What would you like to know?", send: async (message, agent) => {
    const text = typeof message.content === "string" ? message.content : message.content.find((p) => p.type === "text")?.text || "Files";
    const title = text.split("\n")[0].slice(0, 80);
    const run = await request("/v1/threads/runs", { body: { assistant_id: agent, thread: { title }, additional_messages: [message] }, headers: { "idempotency-key": uniqueKey() } });
    changed({ thread: run.thread_id, made: true });
    threadChanged(run.thread_id);
    go(`/t/${run.thread_id}`);
  } });
  const cards = h("div", { class: "agent-cards" });
  fill(root, h("div", { class: "welcome" }, h("img", { src: "/page/icon.svg", alt: "", width: 44, height: 44 }), h("h2", {}, "What shall we talk about?"), h("div", { class: "column" }, composer.el), cards));
  await composer.load(search?.get("agent"));
  if (signal.aborted) return;
  fill(cards, [...(await agents()).values()].slice(0, 6).map((a) => h("button", { type: "button", class: "agent-card", onclick: () => { composer.choose(a.id); composer.choice.dispatchEvent(new Event("change")); composer.input.focus(); } }, h("strong", {}, a.name || a.id), a.description && h("span", { class: "note" }, a.description))));
  if (!matchMedia("(max-width: 760px)").matches) composer.input.focus();
}
