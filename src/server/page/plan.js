// The plan of a run (strategy `plan`): its steps in order, what each waits for, and how far they are.
import { fill, h, icon } from "./dom.js";

const STATES = { pending: "not begun", running: "at work", done: "done", failed: "failed" };

const LARGEST = 200000, STEPS = 200; // characters that are looked at; steps that are shown

/** The steps of a plan: the text from its first brace to the last one, as the server reads it. Undefined: it is none. */
function stepsOf(text) {
  if (text.length > LARGEST) return undefined;
  try {
    const { steps } = JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
    return steps.slice(0, STEPS).map((s) => ({ id: String(s.id), name: String(s.description || s.id), tool: s.tool ? String(s.tool) : "", after: (s.dependsOn || []).map(String), state: "pending" }));
  } catch { return undefined; }
}

/** The step that a phase of the log belongs to: "step:ID", or "2/step:ID" for its second round. */
export const stepOf = (phase) => /^(?:\d+\/)?step:(.*)$/s.exec(phase ?? "")?.[1];

export class Plan {
  #text = "";
  #queued = false;
  #steps = [];
  el = h("div", { class: "plan" }, h("p", { class: "note" }, "Planning…"));

  append(piece) {
    this.#text += piece;
    if (!piece.includes("}") || this.#queued) return;
    this.#queued = true;
    requestAnimationFrame(() => this.#read());
  }

  /** Looks at what has come: once per picture, or when the plan is needed. */
  #read() {
    if (!this.#queued) return;
    this.#queued = false;
    this.set(this.#text);
  }

  /** False: the text is no plan (yet). */
  set(text) {
    const steps = stepsOf(text);
    if (!steps) return false;
    this.#steps = steps;
    this.#draw();
    return true;
  }

  /** {number, name} of a step; one of an earlier plan is only known by its id. */
  find(id) {
    this.#read();
    const at = this.#steps.findIndex((s) => s.id === id);
    return at < 0 ? { name: id } : { number: at + 1, ...this.#steps[at] };
  }

  state(id, kind) {
    this.#read();
    const step = this.#steps.find((s) => s.id === id);
    if (!step || step.state === kind || (step.state === "failed" && kind === "done")) return;
    step.state = kind;
    this.#draw();
  }

  /** The run works: what waits for nothing is at work, also in parallel, where nothing is heard of it until it is done. */
  ready() {
    this.#read();
    const open = new Set(this.#steps.filter((s) => s.state !== "done").map((s) => s.id));
    for (const s of this.#steps) if (s.state === "pending" && !s.after.some((id) => open.has(id))) s.state = "running";
    this.#draw();
  }

  /** Nothing of it happens any more. */
  end(failed) {
    this.#read();
    for (const s of this.#steps) if (s.state === "running") s.state = failed ? "failed" : "pending";
    this.#draw();
  }

  #draw() {
    if (!this.#steps.length) return;
    const number = new Map(this.#steps.map((s, i) => [s.id, i + 1]));
    const mark = { done: () => icon("check"), failed: () => icon("close"), running: () => h("span", { class: "spinner" }) };
    fill(this.el, h("p", { class: "label" }, "Plan"), h("ol", { "aria-label": "Plan" }, this.#steps.map((s, i) => h("li", { class: s.state },
      h("span", { class: "plan-mark", title: STATES[s.state] }, mark[s.state]?.() ?? String(i + 1), h("span", { class: "unseen" }, STATES[s.state])),
      h("span", { class: "plan-name" }, s.name), h("span", { class: "note" }, s.tool && h("code", {}, s.tool), s.after.length > 0 && ` after ${s.after.map((id) => number.get(id) ?? id).join(", ")}`)))));
  }
}
