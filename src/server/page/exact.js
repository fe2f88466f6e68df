// Text about which a person decides, as it is: no parser has changed it, and nothing in it can hide. Runs of blanks and
// characters that draw nothing, or draw others elsewhere, are written out; what is long comes piece by piece.
import { h } from "./dom.js";
import { spare, steps } from "./long.js";

const PIECE = 6000, ODDITY = 16; // cost of a piece: a character costs 1, a node of its own more
const DEEPEST = 16; // indentation
const MARKED = 3; // combining marks on a character that are drawn

const HIDDEN = String.raw`[\p{C}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{13441}\u{13442}\u{1d159}]|[^\S ]`; // no property has the last ones: blank, or drawn as something else
const RIGHT = String.raw`[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]`;
const ODD = new RegExp(String.raw`(?<blanks> {2,})|(?<marks>\p{M}{${MARKED},})|(?<hidden>(?:${HIDDEN})+)|(?<right>${RIGHT}+)`, "gu");

const point = (c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** "U+202E U+2066 × 3" */
function points(text) {
  const out = [];
  for (const c of text) {
    if (out.at(-1)?.c === c) out.at(-1).n++;
    else out.push({ c, n: 1 });
  }
  return out.map(({ c, n }) => (n > 1 ? `${point(c)} × ${n}` : point(c))).join(" ");
}

const mark = (text) => h("span", { class: "odd" }, text);

/** A text as [node, how many characters it is of]. Letters from right to left keep their order among themselves, and move nothing else. */
function* runs(text) {
  let from = 0;
  for (const { 0: all, index, groups: { blanks, marks, right } } of text.matchAll(ODD)) {
    if (index > from) yield [text.slice(from, index), index - from];
    if (blanks) yield [mark(blanks.length > 8 ? `${blanks.length} blanks` : "·".repeat(blanks.length)), all.length];
    else if (right) yield [h("bdi", { dir: "rtl" }, right), all.length];
    else if (marks) yield [mark(points(marks)), all.length];
    else if (all === "\n") { yield [mark("↵"), 1]; yield ["\n", 0]; }
    else yield [mark(points(all)), all.length];
    from = index + all.length;
  }
  if (from < text.length) yield [text.slice(from), text.length - from];
}

/** The same as nodes. */
export const exact = (text) => Array.from(runs(text), ([node]) => node);

/** Is it drawn as it is, all of it? */
export const isPlain = (text) => text.search(ODD) < 0;

/** The same as a text, for what takes no elements. */
export const spelled = (text) => exact(text).map((node) => (typeof node === "string" ? node : node.localName === "bdi" ? `\u2067${node.textContent}\u2069` : `[${node.textContent}]`)).join("");

/* ---- JSON by its tokens ---- */

const BLANK = /[ \t\r\n]+/y, WORD = /[^\s"{}[\]:,]+/y;

/** Where the string that begins at `i` ends. */
export function stringEnd(text, i) {
  for (let at = text.indexOf('"', i + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let from = at;
    while (text[from - 1] === "\\") from--;
    if ((at - from) % 2 === 0) return at + 1;
  }
  return text.length;
}

/** A JSON text in lines, {text, ours}: every token as it was written, in its order. `ours`: blanks between them. What is no
 *  object or list is its text. */
export function* printed(text) {
  if (!/^\s*[[{]/.test(text)) { yield { text }; return; }
  const line = (depth) => ({ text: `\n${"  ".repeat(Math.min(depth, DEEPEST))}`, ours: true });
  let depth = 0, word = false; // after a word
  for (let i = 0; i < text.length;) {
    const c = text[i], next = /\S/y;
    if (c === "{" || c === "[") {
      depth++;
      yield { text: c };
      BLANK.lastIndex = ++i;
      if (BLANK.test(text)) i = BLANK.lastIndex;
      if (text[i] === "}" || text[i] === "]") { yield { text: text[i++] }; depth--; } else yield line(depth);
      word = false;
    } else if (c === "}" || c === "]") {
      depth = Math.max(0, depth - 1);
      yield line(depth);
      yield { text: c };
      i++;
      word = false;
    } else if (c === "," || c === ":") {
      yield { text: c };
      yield c === "," ? line(depth) : { text: " ", ours: true };
      i++;
      word = false;
    } else if (c === '"') {
      const end = stringEnd(text, i);
      yield { text: text.slice(i, end) };
      i = end;
      word = true;
    } else {
      BLANK.lastIndex = WORD.lastIndex = i;
      const blank = BLANK.exec(text)?.[0], found = blank ?? WORD.exec(text)?.[0] ?? c;
      i += found.length;
      next.lastIndex = i;
      if (blank === undefined) yield { text: found };
      else if (word && next.test(text) && !/[}\],:]/.test(text[i])) yield { text: blank }; // it is no JSON: nothing is left out
      word = blank === undefined || word;
    }
  }
}

/** The same in pieces that cost about as much, as nodes. */
function* pieces(text) {
  let nodes = [], size = 0;
  const add = (node) => {
    if (typeof node === "string" && typeof nodes.at(-1) === "string") nodes[nodes.length - 1] += node;
    else nodes.push(node);
  };
  for (const { text: all, ours } of printed(text)) {
    for (let i = 0; i < all.length;) {
      let end = Math.min(all.length, i + PIECE - size);
      if (end < all.length && /[\ud800-\udbff]/.test(all[end - 1])) end++; // not within a pair
      const part = all.slice(i, end);
      for (const [node, length] of ours ? [[part, part.length]] : runs(part)) {
        add(node);
        size += length + (typeof node === "string" ? 0 : ODDITY);
        i += length;
        if (size >= PIECE) break;
      }
      if (size >= PIECE) { yield nodes; nodes = []; size = 0; }
    }
  }
  if (nodes.length) yield nodes;
}

/** A box with a text that scrolls. The first piece comes at once if the task has time, and any when the end of what is there is
 *  seen; onEnd() when the end of all is. */
export function exactBox(label, text, onEnd = () => {}) {
  const rest = pieces(text), end = h("div", { class: "exact-end" }), body = h("div", { class: "exact", tabindex: "0", role: "group", "aria-label": label, dir: "ltr" }, end);
  let all = false;
  const seen = new IntersectionObserver((entries) => {
    if (!entries.at(-1).isIntersecting) return;
    seen.unobserve(end);
    if (!all) return steps(more());
    seen.disconnect();
    onEnd();
  });
  const more = function* () {
    const { done, value } = rest.next();
    all = done;
    if (!done) end.before(h("div", {}, value));
    yield PIECE;
    seen.observe(end); // says again whether it is seen
  };
  if (spare()) steps(more());
  else seen.observe(end);
  return body;
}
