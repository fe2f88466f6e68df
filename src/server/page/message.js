// What people and agents have written, as elements: a user's message, and a turn (all that a run writes), built from the
// log's entries or, while the run works, from its events.
import { duration, fill, h, hue, icon, parsed, timeOf } from "./dom.js";
import { envelopeCard, envelopeOf, sender } from "./envelope.js";
import { FIRST, LongText, longText } from "./long.js";
import { codeBlock, Markdown } from "./markdown.js";
import { media } from "./media.js";
import { Plan, stepOf } from "./plan.js";
import { nameOf } from "./roster.js";
import { exactBox, printed, spelled } from "./exact.js";
import { structured } from "./forms.js";

const LINES = 1 << 20; // of a value that is broken into lines
const BRIEF = 160, PARTS = 100; // characters of arguments in a line; parts of a message that are made at a time
const ROUTER = "weft.router"; // the agent whose calls are envelopes
const DENIED = /^Tool execution denied(?: by approval handler)?(?:: )?/; // what the result of such a call begins with

/* ---- Values ---- */

/** What a kept JSON text shows: the text that it is, or its tokens in lines. */
function readable(kept) {
  const string = kept?.startsWith('"') ? parsed(kept) : undefined;
  if (string !== undefined) return { text: string, kind: "text" };
  return { text: kept === undefined ? "" : kept.length > LINES ? kept : Array.from(printed(kept), (part) => part.text).join(""), kind: "json" };
}

/** JSON or text. `kept`: its JSON text (keepText). */
export function value(kept) {
  const { text, kind } = readable(kept);
  return codeBlock(text, kind);
}

/** A text that is a form, what somebody answered in one, or an envelope; null: it is prose. */
function special(text, hooks) {
  const envelope = envelopeOf(text);
  return envelope ? envelopeCard(envelope) : structured(text, hooks);
}

/* ---- A tool call ---- */

export class ToolCard {
  #status = h("span", { class: "tool-status" });
  #brief = h("span", { class: "tool-brief truncate" });
  #icon = h("span", { class: "tool-icon" }, icon("tool"));
  #body = h("div", { class: "tool-body" });
  #args = "";
  #result;
  form = h("div", { class: "tool-form" });

  /** `router`: its arguments and result are envelopes. Those of others are shown as they are, whatever they look like. */
  constructor(name, router) {
    this.called = name;
    this.router = router;
    this.name = h("span", { class: "tool-name" }, name);
    this.el = h("div", { class: "tool" }, h("details", { ontoggle: () => this.#draw() }, h("summary", {}, this.#icon, this.name, this.#brief, this.#status), this.#body), this.form);
    this.details = this.el.firstChild;
    this.state("calling");
  }

  state(kind, text) {
    const spinner = h("span", { class: "spinner" }), said = { waiting: "waits for you", denied: "denied", failed: "failed" }[kind];
    this.el.dataset.state = kind;
    fill(this.#status, kind === "calling" ? spinner : kind === "running" ? [spinner, "running"] : said ? [said, text && ` · ${text}`] : text || icon("check"));
  }

  /** Their JSON text. */
  setArguments(args = "{}") {
    const envelope = this.router && envelopeOf(args);
    this.#args = args;
    fill(this.#brief, envelope ? [envelope.intent, envelope.task].filter(Boolean).join(": ").slice(0, BRIEF) : spelled(args.slice(0, BRIEF).replace(/^\{|\}$/g, "")));
    if (envelope) {
      this.name.textContent = `${sender(envelope)} → ${nameOf(this.called)}`;
      fill(this.#icon, icon("handoff"));
    }
    this.#draw();
  }

  addArguments(piece) {
    const before = this.#args.length; // once it is long, nobody puts it together for each piece
    this.#args += piece;
    if (before < BRIEF) fill(this.#brief, spelled(this.#args.slice(0, BRIEF)));
  }

  start(time) {
    this.started = time;
    this.state("running");
  }

  /** `result`: its JSON text. */
  end(result, isError, time) {
    const text = isError && result?.startsWith('"') && result.length < FIRST ? parsed(result) : undefined;
    this.#result = { result, isError, denied: DENIED.test(text) ? text.replace(DENIED, "") : undefined };
    this.form.replaceChildren();
    if (time && this.started) this.ms = time - this.started;
    this.took(this.ms);
    this.#draw();
  }

  /** How long it took: events and traces say that, entries do not. Calls of parallel steps are logged when all have ended,
   *  with one time for both: nothing is said then. */
  took(ms) {
    if (!this.#result) return;
    const { isError, denied } = this.#result;
    this.state(denied !== undefined ? "denied" : isError ? "failed" : "done", denied?.slice(0, 80) ?? (ms ? duration(ms) : ""));
  }

  get failed() { return !!this.#result?.isError; }

  /** The body is made when somebody looks at it. */
  #draw() {
    if (!this.details.open) return;
    const { result, isError } = this.#result ?? {}, answer = this.router && result && envelopeOf(readable(result).text), asked = this.router && envelopeOf(this.#args);
    const part = (label, node) => h("div", {}, h("p", { class: "label" }, label), node);
    this.#body.classList.toggle("exchanged", !!asked);
    fill(this.#body, asked ? envelopeCard(asked, { to: nameOf(this.called) }) : part("Arguments", exactBox("Arguments", this.#args || "{}")),
      this.#result && (answer ? envelopeCard(answer, { asked }) : part(isError ? "Error" : "Result", value(result))));
  }
}

/* ---- A turn ---- */

const EVENTS = { "agent.handoff": ({ from, to }) => ["handoff", `${nameOf(from)} handed over to ${nameOf(to)}`], "actor.joined": (d) => ["agents", `${d.id || d.actor || "Somebody"} joined`], "actor.left": (d) => ["agents", `${d.id || d.actor || "Somebody"} left`] };

/** A text that grows. draw(piece) shows what has come, at most once per frame. Only its beginning is at hand: nobody puts a long
 *  text together for each of its pieces. */
class Growing {
  head = ""; // its first characters, as many as are shown
  length = 0;
  #all = "";
  #fresh = [];

  get text() { return this.#all; }

  append(piece) {
    if (!piece) return;
    this.#all += piece;
    this.length += piece.length;
    if (!this.#fresh.length) requestAnimationFrame(() => this.#show());
    this.#fresh.push(piece);
  }

  #show() {
    const piece = this.#fresh.join("");
    this.#fresh = [];
    if (this.head.length <= FIRST) this.head += piece;
    this.draw(piece);
  }

  set(text) {
    this.#all = text;
    this.length = text.length;
    this.#fresh = [text];
    this.#show();
    return this;
  }
}

class Text extends Growing {
  #view = new Markdown();
  el = this.#view.el;

  constructor(turn, asker) {
    super();
    this.turn = turn;
    this.asker = asker;
  }

  draw(piece) {
    const shown = this.head.startsWith("{") && piece.trimEnd().endsWith("}") && special(this.text, { ...this.turn.hooks, asker: this.asker });
    if (shown) this.#view.show(shown);
    else this.#view.set(this.head, this.length, () => this.text);
    this.turn.hooks.grown?.();
  }
}

class Reasoning extends Growing {
  #body = new LongText("div", { class: "reasoning-body" });

  constructor(label = "Reasoning") {
    super();
    this.el = h("details", { class: "reasoning" }, h("summary", {}, icon("bulb"), label), this.#body.el);
  }

  draw(piece) { this.#body.append(piece); }
}

/** All that a run writes. hooks: {answer(call, ...), reply(text), grown()}. */
export class Turn {
  el = h("section", { class: "turn" });
  texts = [];
  calls = new Map();
  #placed = []; // {from, el, call}: what came with which event
  #open = new Map();
  #agent = null;
  #step; // of the plan
  plan = null;

  constructor(hooks = {}) { this.hooks = hooks; }

  /** Who writes from here on. */
  speaker(agent, ms) {
    if (this.body && this.#agent === agent) return;
    this.#agent = agent;
    this.body = h("div", { class: "said" });
    this.el.append(h("article", { class: ["answer", hue(agent)], "aria-label": `${nameOf(agent)} says` },
      h("header", { class: "who" }, h("span", { class: "dot", "aria-hidden": "true" }), h("span", { class: "name" }, nameOf(agent)),
        ms && timeOf(new Date(ms))), this.body));
  }

  #place(view, from = 0, call) {
    if (!this.body) this.speaker(this.#agent);
    this.body.append(view.el);
    this.#placed.push({ from, el: view.el, view, call });
    return view;
  }

  text(from) {
    const view = this.#place(new Text(this, nameOf(this.#agent)), from);
    this.texts.push(view);
    return view;
  }

  reasoning(from, label) { return this.#place(new Reasoning(label), from); }

  /** The steps that a text names; one that names none is shown folded. A new plan takes the place of the old one. */
  #planned(from, text) {
    const plan = new Plan();
    if (text !== undefined && !plan.set(text)) return this.reasoning(from, "Plan").set(text);
    this.plan?.end(true);
    this.#step = undefined;
    return (this.plan = this.#place(plan, from));
  }

  /** What follows belongs to a step of the plan: its name stands above. */
  step(id, from = 0) {
    if (id === undefined || id === this.#step) return;
    const { number, name } = this.plan?.find(id) ?? { name: id };
    this.#step = id;
    this.#place({ el: h("p", { class: "step" }, number && h("span", { class: "plan-mark" }, String(number)), name) }, from);
  }

  /** Its step is over; `live`: others go on. */
  #stepEnd(id, live) {
    const mine = [...this.calls.values()].filter((card) => card.step === id);
    this.plan?.state(id, mine.some((card) => card.failed) ? "failed" : "done");
    if (live) this.plan?.ready();
  }

  call(id, name, from) {
    if (!this.calls.has(id)) this.calls.set(id, Object.assign(this.#place(new ToolCard(name, this.#agent === ROUTER), from, id), { step: this.#step }));
    return this.calls.get(id);
  }

  note(symbol, text, kind = "") {
    this.el.append(h("p", { class: ["event", kind] }, icon(symbol), text));
    this.body = null;
  }

  system(type, data) {
    const [symbol, text] = (Object.hasOwn(EVENTS, type) ? EVENTS[type](data || {}) : ["more", type]);
    this.note(symbol, text);
    if (type === "agent.handoff") this.#agent = data?.to ?? null;
  }

  /** Takes back what came after event number `last`: a provider's stream broke, or the server died. */
  void(last) {
    this.#placed = this.#placed.filter((one) => {
      if (one.from <= last) return true;
      one.el.remove();
      if (one.call) this.calls.delete(one.call);
      if (one.view === this.plan) this.plan = null;
      this.texts = this.texts.filter((text) => text !== one.view);
      return false;
    });
    this.#open.clear();
    this.#step = undefined;
  }

  /* From events ------------------------------------------------------------------------------------ */

  #piece(number, { type, index, delta }, aside) {
    if (type === "message_start") return this.#open.clear();
    if (type === "message_stop" && aside === "plan") return this.plan?.ready();
    if (type === "tool_execution_start") return this.call(delta.toolCallId, delta.toolName, number).start(delta.timestamp);
    if (type === "tool_execution_end") return this.call(delta.toolCallId, delta.toolName, number).end(delta.result, delta.isError, delta.timestamp);
    if (type === "tool_call_delta") return aside || this.call(delta.toolCallId, delta.toolName, number).addArguments(delta.argumentsJson || "");
    if (type !== "text_delta" && type !== "reasoning_delta") return;
    const quiet = aside || type === "reasoning_delta", key = `${index}${quiet}`;
    if (!this.#open.has(key)) this.#open.set(key, type === "text_delta" && aside === "plan" ? this.#planned(number) : quiet ? this.reasoning(number) : this.text(number));
    this.#open.get(key).append(delta.text);
  }

  /** A frame of the stream. Returns the run's state if it is one. */
  frame(number, { source, upp, uap, aside, depth }) {
    if (depth || uap?.data?.depth) return null; // of a sub-agent: its call shows it
    const step = uap?.data?.planStepId;
    if (source === "upp") this.#piece(number, upp, aside);
    else if (uap.type === "step_start") { this.step(step, number); this.plan?.state(step, "running"); }
    else if (uap.type === "step_end") this.#stepEnd(step, true);
    else if (uap.type === "attempt_void") this.void(uap.data.last);
    else if (uap.type === "system_event") this.system(uap.data.eventType, uap.data.eventData);
    else if (uap.type === "action") for (const c of uap.data.toolCalls) this.call(c.toolCallId, c.toolName, number).setArguments(c.argumentsJson ?? c.arguments);
    else if (uap.type === "run") return uap.data;
    return null;
  }

  /* From entries ----------------------------------------------------------------------------------- */

  entry(e) {
    if (e.type === "event") return this.system(e.event.type, e.event.data);
    if (e.role === "user") return; // what a handoff asked
    if (e.role === "assistant") this.speaker(e.agent, e.time_ms);
    if (e.role === "assistant") this.step(stepOf(e.phase));
    if (e.deleted) return this.#place({ el: h("p", { class: "note" }, "This message was deleted.") });
    for (const part of e.parts.slice(0, PARTS)) this.part(part, e);
    if (e.parts.length > PARTS) this.#more(e, PARTS);
    if (!e.internal && this.#step !== undefined) this.#stepEnd(this.#step);
    if (e.status === "incomplete") this.#place({ el: h("p", { class: "note" }, "Stopped here.") });
  }

  /** The parts of an entry that has very many, when somebody wants them. */
  #more(e, from) {
    if (!this.body) this.speaker(this.#agent);
    const rest = h("div", {}), body = this.body;
    const button = h("button", { type: "button", class: "quiet show-all", onclick: () => {
      const last = this.body;
      this.body = h("div", { class: "said" });
      rest.append(this.body);
      for (const part of e.parts.slice(from, from + PARTS)) this.part(part, e);
      this.body = last;
      from += PARTS;
      if (from >= e.parts.length) button.remove();
      else { button.textContent = label(); rest.after(button); }
    } });
    const label = () => `Show ${Math.min(PARTS, e.parts.length - from)} of ${(e.parts.length - from).toLocaleString()} more parts`;
    button.textContent = label();
    body.append(rest, button);
  }

  part(part, e) {
    if (e.internal && part.type !== "text" && part.type !== "reasoning") return; // calls of such a message never run
    if (part.type === "text" && e.internal && /^(\d+\/)?plan$/.test(e.phase)) this.#planned(0, part.text);
    else if (part.type === "reasoning" || e.internal) this.reasoning(0).set(part.text);
    else if (part.type === "text") this.text(0).set(part.text);
    else if (part.toolCallId && "isError" in part) this.call(part.toolCallId, "tool", 0).end(part.result, part.isError);
    else if (part.toolCallId) this.call(part.toolCallId, part.toolName, 0).setArguments(part.arguments);
    else this.#place({ el: media(part) });
  }

  get plain() { return this.texts.map((text) => text.text).join("\n\n"); }
}

/* ---- A user's message ---- */

export function userMessage(entry) {
  const text = textOf(entry), others = entry.parts.filter((p) => p.type !== "text"), shown = special(text, {});
  return h("article", { class: "user", "aria-label": `${entry.agent || "You"} said` }, entry.agent && h("span", { class: "note" }, entry.agent),
    h("div", { class: "bubble" }, entry.deleted ? h("span", { class: "note" }, "This message was deleted.") : shown || longText(text),
      others.length ? h("div", { class: "attached" }, others.slice(0, PARTS).map(media), others.length > PARTS && h("span", { class: "note" }, `and ${others.length - PARTS} more`)) : null));
}

export const textOf = (entry) => entry.parts.filter((p) => p.type === "text").map((p) => p.text).join("\n");
