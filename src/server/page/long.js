// Long texts in pieces: how much of one is shown at first, and how much is made at a time. Whatever a message has, no task of the
// page is long.
import { h } from "./dom.js";

export const FIRST = 40000; // characters of a text that are shown at first
const PIECE = 4000; // characters of a piece
const TASK = 30000; // cost of a task: about a microsecond each

/* ---- Work ---- */

const queue = []; // generators that yield what each step has cost
let left = TASK, resting = false, working = false;

function rest() {
  if (resting) return;
  resting = true;
  requestAnimationFrame(() => setTimeout(() => { resting = false; left = TASK; work(); })); // after the picture
}

function work() {
  if (working) return; // a step may begin others
  working = true;
  try {
    while (queue.length && left > 0) {
      const first = queue[0], { done, value } = first.next();
      if (done) drop(first);
      else left -= value;
    }
  } finally {
    working = false;
  }
  if (left < TASK || queue.length) rest();
}

/** Does the steps of a generator: at once as far as the task has time, the others later. */
export function steps(generator) {
  queue.push(generator);
  work();
  return generator;
}

/** Has the task time, with nothing else waiting for it? */
export const spare = () => left > 0 && !queue.length;

/** Does no more of them. */
export function drop(generator) {
  const at = queue.indexOf(generator);
  if (at >= 0) queue.splice(at, 1);
}

/* ---- Text ---- */

/** Where a piece of at most `size` characters that begins at `from` ends: at a line, a blank, or anywhere but in a character. */
export function cut(text, from, size = PIECE) {
  const most = from + size;
  if (most >= text.length) return text.length;
  const half = text.slice(from + size / 2, most);
  for (const c of ["\n", " "]) {
    const at = half.lastIndexOf(c);
    if (at >= 0) return from + size / 2 + at + 1;
  }
  return /[\ud800-\udbff]/.test(text[most - 1]) ? most - 1 : most;
}

/** How high lines are, in lines. */
export const height = (lines) => lines.reduce((n, line) => n + 1 + Math.floor(line.length / 90), 0);

/** How high the browser takes an element to be that it has not laid out: else all of them are near, and laid out at once. */
export const sized = (element, lines) => element.style.setProperty("--lines", lines);

const button = (length) => `Show all (${length.toLocaleString()} characters)`;

/** The rest of a long text: behind a button, then section by section as one comes near. next() puts a section before the node that
 *  it is given, and returns false when there are no more. */
export function showRest(into, length, next) {
  const edge = h("div", { class: "rest" });
  const watch = function* () { near.observe(edge); };
  const near = new IntersectionObserver((entries) => {
    if (!entries.at(-1).isIntersecting) return;
    near.unobserve(edge);
    if (next(edge)) steps(watch()); // when that one is drawn
    else edge.remove();
  }, { rootMargin: "400px" });
  const all = h("button", { type: "button", class: "quiet show-all", onclick: () => { all.remove(); near.observe(edge); } }, button(length));
  edge.append(all);
  into.append(edge);
  return { edge, grow: (n) => { all.textContent = button(n); } };
}

/** A text as it is, that may grow at its end: its first characters in pieces, which the browser lays out when they are seen. */
export class LongText {
  #shown = 0; // characters
  #more = []; // what is not shown
  #length = 0;
  #last = ""; // the last piece
  #node = null; // and its text
  #rest = null;

  constructor(tag = "div", attrs = {}) { this.el = h(tag, attrs); }

  append(text) {
    this.#length += text.length;
    if (this.#shown < FIRST) {
      const end = Math.min(text.length, FIRST - this.#shown);
      this.#put(text.slice(0, end), null);
      text = text.slice(end);
    }
    if (!text) return this;
    this.#more.push(text);
    this.#rest ??= showRest(this.el, this.#length, (edge) => this.#section(edge));
    this.#rest.grow(this.#length);
    return this;
  }

  #put(text, before) {
    this.#shown += text.length;
    text = this.#last + text;
    for (let from = 0; ;) {
      const end = cut(text, from), last = end === text.length;
      this.#node ??= this.el.insertBefore(h("div", { class: "piece" }), before).appendChild(document.createTextNode(""));
      this.#node.data = text.slice(from, !last && text[end - 1] === "\n" ? end - 1 : end); // the next piece is on a line of its own
      sized(this.#node.parentElement, height(this.#node.data.split("\n")));
      if (last) { this.#last = text.slice(from); return; }
      this.#node = null;
      from = end;
    }
  }

  #section(edge) {
    const all = this.#more.join(""), end = Math.min(all.length, FIRST);
    this.#more = end < all.length ? [all.slice(end)] : [];
    this.#put(all.slice(0, end), edge);
    if (!this.#more.length) this.#rest = null;
    return this.#more.length > 0;
  }
}

export const longText = (text, tag, attrs) => new LongText(tag, attrs).append(text).el;
