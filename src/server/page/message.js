// What people and agents have written, as elements: a user's message, and a turn (all that a run writes), built from the
// log's entries or, while the run works, from its events.
import { duration, fill, h, hue, icon } from "./dom.js";
import { codeBlock, Markdown } from "./markdown.js";
import { media } from "./media.js";
import { nameOf } from "./roster.js";
import { structured } from "./forms.js";

const LONG = 12000; // characters of a value that are shown at first

/* ---- Values ---- */

const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "");

/** JSON or text, folded if it is long. */
export function value(data, label) {
  const text = pretty(data), kind = typeof data === "string" ? "text" : "json";
  if (text.length <= LONG) return codeBlock(text, kind);
  const box = h("div", {}, codeBlock(`${text.slice(0, LONG)}\n…`, kind));
  box.append(h("button", { type: "button", class: "quiet", onclick: () => fill(box, codeBlock(text, kind)) }, `Show all of the ${label} (${text.length.toLocaleString()} characters)`));
  return box;
}

/** The arguments of a call in a few words. */
function brief(args) {
  if (args == null || typeof args !== "object") return String(args ?? "");
  return Object.entries(args).map(([name, v]) => `${name}: ${typeof v === "string" ? v : JSON.stringify(v)}`).join(", ").slice(0, 160);
}

/* ---- A tool call ---- */

export class ToolCard {
  #status = h("span", { class: "tool-status" });
  #brief = h("span", { class: "tool-brief truncate" });
  #body = h("div", { class: "tool-body" });
  #args = "";
  #result;
  form = h("div", { class: "tool-form" });

  constructor(name) {
    this.el = h("div", { class: "tool" }, h("details", { ontoggle: () => this.#draw() },
      h("summary", {}, icon("tool"), h("span", { class: "tool-name" }, name), this.#brief, this.#status), this.#body), this.form);
    this.details = this.el.firstChild;
    this.state("calling");
  }

  state(kind, text) {
    this.el.dataset.state = kind;
    fill(this.#status, { calling: h("span", { class: "spinner" }), running: [h("span", { class: "spinner" }), text || "running"], waiting: "waits for you", done: text || icon("check"), failed: text ? `failed · ${text}` : "failed" }[kind]);
  }

  /** Arguments as a value, or a piece of their text. */
  setArguments(args) {
    this.#args = args;
    this.#brief.textContent = brief(args);
    this.#draw();
  }

  addArguments(piece) {
    this.#args = (typeof this.#args === "string" ? this.#args : "") + piece;
    this.#brief.textContent = this.#args.slice(0, 160);
  }

  start(time) {
    this.started = time;
    this.state("running");
  }

  end(result, isError, time) {
    this.#result = { result, isError };
    this.form.replaceChildren();
    if (time && this.started) this.ms = time - this.started;
    this.state(isError ? "failed" : "done", this.ms !== undefined ? duration(this.ms) : "");
    this.#draw();
  }

  /** How long it took: events and traces say that, entries do not. */
  took(ms) {
    if (this.#result) this.state(this.#result.isError ? "failed" : "done", duration(ms));
  }

  /** The body is made when somebody looks at it. */
  #draw() {
    if (!this.details.open) return;
    const args = typeof this.#args === "string" ? safeParse(this.#args) : this.#args;
    fill(this.#body, h("div", {}, h("p", { class: "label" }, "Arguments"), value(args, "arguments")),
      this.#result && h("div", {}, h("p", { class: "label" }, this.#result.isError ? "Error" : "Result"), value(this.#result.result ?? null, "result")));
  }
}

function safeParse(text) {
  try { return JSON.parse(text || "{}"); } catch { return text; }
}

/* ---- A turn ---- */

const EVENTS = { "agent.handoff": ({ from, to }) => ["handoff", `${nameOf(from)} handed over to ${nameOf(to)}`], "actor.joined": (d) => ["agents", `${d.id || d.actor || "Somebody"} joined`], "actor.left": (d) => ["agents", `${d.id || d.actor || "Somebody"} left`] };

class Text {
  #text = "";
  #view = new Markdown();
  #queued = false;
  el = this.#view.el;

  constructor(turn) { this.turn = turn; }

  /** Renders at most once per frame. */
  append(piece) {
    this.#text += piece;
    if (this.#queued) return;
    this.#queued = true;
    requestAnimationFrame(() => { this.#queued = false; this.set(this.#text); });
  }

  set(text) {
    this.#text = text;
    const form = structured(text, this.turn.hooks);
    if (form) fill(this.el, form);
    else this.#view.set(text);
    this.turn.hooks.grown?.();
    return this;
  }

  get text() { return this.#text; }
}

class Reasoning {
  #text = "";
  #body = h("div", { class: "reasoning-body" });
  #queued = false;

  constructor(label = "Reasoning") {
    this.el = h("details", { class: "reasoning" }, h("summary", {}, icon("bulb"), label), this.#body);
  }

  append(piece) {
    this.#text += piece;
    if (this.#queued) return;
    this.#queued = true;
    requestAnimationFrame(() => { this.#queued = false; this.#body.textContent = this.#text; });
  }

  set(text) {
    this.#text = text;
    this.#body.textContent = text;
    return this;
  }
}

/** All that a run writes. hooks: {answer(call, ...), reply(text), grown()}. */
export class Turn {
  el = h("section", { class: "turn" });
  texts = [];
  calls = new Map();
  #placed = []; // {from, el, call}: what came with which event
  #open = new Map();
  #agent = null;

  constructor(hooks = {}) { this.hooks = hooks; }

  /** Who writes from here on. */
  speaker(agent, ms) {
    if (this.body && this.#agent === agent) return;
    this.#agent = agent;
    this.body = h("div", { class: "said" });
    const time = ms && new Date(ms);
    this.el.append(h("article", { class: ["answer", hue(agent)], "aria-label": `${nameOf(agent)} says` },
      h("header", { class: "who" }, h("span", { class: "dot", "aria-hidden": "true" }), h("span", { class: "name" }, nameOf(agent)),
        time && h("time", { datetime: time.toISOString(), title: time.toLocaleString() }, time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }))), this.body));
  }

  #place(view, from = 0, call) {
    if (!this.body) this.speaker(this.#agent);
    this.body.append(view.el);
    this.#placed.push({ from, el: view.el, view, call });
    return view;
  }

  text(from) {
    const view = this.#place(new Text(this), from);
    this.texts.push(view);
    return view;
  }

  reasoning(from, label) { return this.#place(new Reasoning(label), from); }

  call(id, name, from) {
    if (!this.calls.has(id)) this.calls.set(id, this.#place(new ToolCard(name), from, id));
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
      this.texts = this.texts.filter((text) => text !== one.view);
      return false;
    });
    this.#open.clear();
  }

  /* From events ------------------------------------------------------------------------------------ */

  #piece(number, { type, index, delta }, aside) {
    if (type === "message_start") return this.#open.clear();
    if (type === "tool_execution_start") return this.call(delta.toolCallId, delta.toolName, number).start(delta.timestamp);
    if (type === "tool_execution_end") return this.call(delta.toolCallId, delta.toolName, number).end(delta.result, delta.isError, delta.timestamp);
    if (type === "tool_call_delta") return aside || this.call(delta.toolCallId, delta.toolName, number).addArguments(delta.argumentsJson || "");
    if (type !== "text_delta" && type !== "reasoning_delta") return;
    const quiet = aside || type === "reasoning_delta", key = `${index}${quiet}`;
    if (!this.#open.has(key)) this.#open.set(key, quiet ? this.reasoning(number, aside === "plan" ? "Plan" : "Reasoning") : this.text(number));
    this.#open.get(key).append(delta.text);
  }

  /** A frame of the stream. Returns the run's state if it is one. */
  frame(number, { source, upp, uap, aside, depth }) {
    if (depth || uap?.data?.depth) return null; // of a sub-agent: its call shows it
    if (source === "upp") this.#piece(number, upp, aside);
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
    if (e.deleted) return this.#place({ el: h("p", { class: "note" }, "This message was deleted.") });
    for (const part of e.parts) this.part(part, e);
    if (e.status === "incomplete") this.#place({ el: h("p", { class: "note" }, "Stopped here.") });
  }

  part(part, e) {
    if (e.internal && part.type !== "text" && part.type !== "reasoning") return; // calls of such a message never run
    if (part.type === "reasoning" || e.internal) this.reasoning(0, e.phase === "plan" ? "Plan" : "Reasoning").set(part.text);
    else if (part.type === "text") this.text(0).set(part.text);
    else if (part.toolCallId && "isError" in part) this.call(part.toolCallId, "tool", 0).end(part.result, part.isError);
    else if (part.toolCallId) this.call(part.toolCallId, part.toolName, 0).setArguments(part.arguments);
    else this.#place({ el: media(part) });
  }

  get plain() { return this.texts.map((text) => text.text).join("\n\n"); }
}

/* ---- A user's message ---- */

export function userMessage(entry) {
  const text = entry.parts.filter((p) => p.type === "text").map((p) => p.text).join("\n"), others = entry.parts.filter((p) => p.type !== "text");
  const shown = structured(text, {});
  return h("article", { class: "user", "aria-label": `${entry.agent || "You"} said` }, entry.agent && h("span", { class: "note" }, entry.agent),
    h("div", { class: "bubble" }, entry.deleted ? h("span", { class: "note" }, "This message was deleted.") : shown || text, others.length ? h("div", { class: "attached" }, others.map(media)) : null));
}

export const textOf = (entry) => entry.parts.filter((p) => p.type === "text").map((p) => p.text).join("\n");
