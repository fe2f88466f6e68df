// Markdown as DOM nodes: headings, lists, tables, quotes, code, links. Markup in the text stays text, and a link leads
// only to http, https or mailto. What grows at its end is rendered block by block: only the last block changes. The work for a
// text is linear in its length: blocks have a largest size, and inside of one no character is looked at for each other.
import { copy, h, icon } from "./dom.js";
import { cut, drop, FIRST, height, longText, showRest, sized, steps } from "./long.js";

const DEEP = 8; // nesting; deeper text is a paragraph
const BLOCK = 4000, COLUMNS = 100; // characters of a block, but for code and single items; columns of a table
const LINES = 1000, GROUP = 40; // lines that are shown at first, for each may be a block; lines of the blocks that the browser draws together
const LINE = 16, ELEMENT = 24; // what a line counts besides its characters; what making an element costs
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)/;
const HEADING = /^ {0,3}(#{1,6})[ \t]/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)(.*)$/;
const QUOTE = /^ {0,3}> ?/;

/* ---- Blocks ---- */

/** Its marks and language; null: it begins no code. */
function fenceOf(line) {
  const found = FENCE.exec(line);
  return found && !line.includes("`", found[0].length) ? found : null;
}

/** The text of a heading without the #s that may close it. By hand: an expression would try every run of blanks. */
function heading(text) {
  let end = text.length;
  while (end && text[end - 1] === "#") end--;
  return !end ? "" : end < text.length && /\s/.test(text[end - 1]) ? text.slice(0, end).trimEnd() : text;
}

const isTable = (lines, i) => lines[i].includes("|") && i + 1 < lines.length && lines[i + 1].includes("-") && /^[-|: \t]+$/.test(lines[i + 1]) && cells(lines[i + 1]).every((cell) => /^:?-+:?$/.test(cell)) && cells(lines[i]).length <= COLUMNS;
const begins = (lines, i) => kindOf(lines, i, 0) !== "paragraph";

const closes = (line, mark) => line.trim().startsWith(mark) && /^(`+|~+)$/.test(line.trim());

function fenceEnd(lines, i) {
  const [, mark] = FENCE.exec(lines[i]);
  let k = i + 1;
  while (k < lines.length && !closes(lines[k], mark)) k++; // without an end it is still being written
  return Math.min(k + 1, lines.length);
}

function listEnd(lines, i) {
  let k = i + 1;
  for (; k < lines.length; k++) {
    if (lines[k].trim() === "") {
      const next = lines[k + 1];
      if (next === undefined || !(ITEM.test(next) || /^ {2,}\S/.test(next))) break;
    } else if (!ITEM.test(lines[k]) && !/^ {2,}/.test(lines[k]) && (begins(lines, k) || lines[k - 1].trim() === "")) break;
  }
  return k;
}

function end(lines, i, kind) {
  if (kind === "fence") return fenceEnd(lines, i);
  if (kind === "heading" || kind === "rule") return i + 1;
  if (kind === "list") return listEnd(lines, i);
  let k = i + 1;
  if (kind === "quote") while (k < lines.length && QUOTE.test(lines[k])) k++;
  else if (kind === "table") while (k < lines.length && lines[k].includes("|")) k++;
  else while (k < lines.length && lines[k].trim() !== "" && !begins(lines, k)) k++;
  return k;
}

function kindOf(lines, i, depth) {
  const line = lines[i];
  if (fenceOf(line)) return "fence";
  if (HEADING.test(line)) return "heading";
  if (RULE.test(line)) return "rule";
  if (depth < DEEP && QUOTE.test(line)) return "quote";
  if (depth < DEEP && ITEM.test(line)) return "list";
  return isTable(lines, i) ? "table" : "paragraph";
}

/** A line of a paragraph, cut where it is too long. */
function cutLine(line) {
  const parts = [];
  for (let from = 0; from < line.length;) { const end = cut(line, from, BLOCK); parts.push(line.slice(from, end)); from = end; }
  return parts;
}

/** The blocks of a text: {kind, lines, head?}. A block that is too large goes on in another: a list at an item, a table at a row
 *  (`head` is then its first two lines), others at a line. */
export function blocks(text, depth = 0) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n"), found = [];
  for (let i = 0; i < lines.length;) {
    if (lines[i].trim() === "") { i++; continue; }
    const kind = kindOf(lines, i, depth), next = end(lines, i, kind), own = lines.slice(i, next);
    if (kind === "fence") found.push({ kind, lines: own });
    else found.push(...split(kind, kind === "paragraph" ? own.flatMap(cutLine) : own));
    i = next;
  }
  return found;
}

function* split(kind, lines) {
  const indent = kind === "list" ? ITEM.exec(lines[0])[1].length + 1 : 0, head = kind === "table" ? lines.slice(0, 2) : null;
  for (let from = 0, k = 0, size = 0; k < lines.length; k++) {
    size += lines[k].length + LINE;
    const last = k + 1 === lines.length, item = kind === "list" && !last && ITEM.exec(lines[k + 1]);
    if (!last && (size < BLOCK || (head && k < 2) || (kind === "list" && !(item && item[1].length <= indent)))) continue;
    yield { kind, lines: lines.slice(from, k + 1), ...(head && from > 0 && { head }) };
    from = k + 1;
    size = 0;
  }
}

/* ---- Blocks as nodes ---- */

export function codeBlock(code, language = "") {
  return h("div", { class: "code" }, h("div", { class: "code-head" }, h("span", {}, language || "text"), h("button", { type: "button", class: "copy quiet", onclick: () => copy(code) }, icon("copy"), "Copy")),
    h("pre", { tabindex: "0", "aria-label": `Code${language && `, ${language.slice(0, 40)}`}` }, longText(code, "code")));
}

function fence(lines) {
  const [, mark, language] = FENCE.exec(lines[0]), closed = lines.length > 1 && closes(lines.at(-1), mark);
  return codeBlock(lines.slice(1, closed ? -1 : undefined).join("\n"), language);
}

const cells = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

const cost = (element, text = 0) => ELEMENT * (1 + element.getElementsByTagName("*").length) + text;

function* table(into, { lines, head }) {
  const first = head ?? lines, titles = cells(first[0]), align = cells(first[1]).map((c) => (/^:-+:$/.test(c) ? "centre-cell" : /-:$/.test(c) ? "right-cell" : null));
  const row = (line, tag) => {
    const found = cells(line).slice(0, titles.length), missing = titles.length - found.length;
    return h("tr", {}, found.map((cell, i) => h(tag, { class: align[i] }, inline(cell))), missing > 0 && h(tag, { colspan: missing }));
  };
  const body = h("tbody");
  into.append(h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Table" }, h("table", {}, !head && h("thead", {}, row(lines[0], "th")), body)));
  for (const line of head ? lines : lines.slice(2)) {
    const made = row(line, "td");
    body.append(made);
    yield cost(made, line.length);
  }
}

function* list(into, lines, depth) {
  const [, indent, mark] = ITEM.exec(lines[0]), ordered = /\d/.test(mark), items = [];
  for (const line of lines) {
    const found = ITEM.exec(line);
    if (found && found[1].length <= indent.length + 1) items.push({ width: found[1].length + found[2].length + Math.max(1, Math.min(found[3].length, 4)), lines: [found[4]] });
    else items.at(-1).lines.push(line.slice(Math.min(items.at(-1).width, line.length - line.trimStart().length)));
  }
  const all = h(ordered ? "ol" : "ul", { start: ordered && parseInt(mark, 10) !== 1 ? parseInt(mark, 10) : null });
  into.append(all);
  for (const item of items) {
    const task = /^\[([ xX])\] /.exec(item.lines[0]);
    if (task) item.lines[0] = item.lines[0].slice(4);
    const inner = blocks(item.lines.join("\n"), depth + 1), li = h("li", { class: task && "task" }, task && h("input", { type: "checkbox", disabled: true, checked: task[1] !== " ", "aria-label": "done" }));
    all.append(li);
    for (const [i, block] of inner.entries()) {
      if (block.kind !== "paragraph" || i > 0) { yield* node(li, block, depth + 1); continue; }
      li.append(...inline(block.lines.join("\n")));
      yield cost(li);
    }
    yield ELEMENT;
  }
}

/** Makes the node of a block, in steps that yield what they cost. */
function* node(into, block, depth = 0) {
  const { kind, lines } = block;
  if (kind === "table") return yield* table(into, block);
  if (kind === "list") return yield* list(into, lines, depth);
  if (kind === "quote") {
    const quote = h("blockquote");
    into.append(quote);
    for (const b of blocks(lines.map((l) => l.replace(QUOTE, "")).join("\n"), depth + 1)) yield* node(quote, b, depth + 1);
    return yield ELEMENT;
  }
  let made;
  if (kind === "fence") made = fence(lines);
  else if (kind === "rule") made = h("hr");
  else if (kind === "heading") {
    const [, marks] = HEADING.exec(lines[0]), text = heading(lines[0].trim().slice(marks.length).trim());
    made = h("h2", { class: `size-${marks.length}` }, inline(text)); // one level: an answer is no outline of the page
  } else made = h("p", {}, inline(lines.map((l) => l.trimStart()).join("\n")));
  into.append(made);
  yield cost(made, lines.length);
}

/* ---- Inline ---- */

const LINK = /^(https?:\/\/|mailto:)[^\s<>]+$/i;
const BARE = /https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}*_~]/giy;
const SPECIAL = /[\\`*_~[!<\nh]/g;
const NEAR = 2000; // characters of a link's address

const link = (url, children) => (LINK.test(url) ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow", title: url.slice(0, 500) }, children) : null);

/** Where a link leads, if its label does not say that. */
function destination(url, label) {
  let place = url;
  try { const { protocol, host, pathname } = new URL(url); place = protocol === "mailto:" ? pathname : host; } catch { /* as it is */ }
  return label === url ? null : h("span", { class: "leads" }, ` (${place.slice(0, 100)})`);
}

/** Where the brackets of a text end, {from: to}, and where marks can end emphasis; each is found when it is needed first. */
class Ends {
  #pairs = new Map();
  #closers = new Map();

  constructor(text) { this.text = text; }

  pair(open, close, at) {
    if (!this.#pairs.has(open)) {
      const found = new Map(), stack = [], either = new RegExp(`\\\\[^]|\\${open}|\\${close}`, "g");
      for (let one; (one = either.exec(this.text));) {
        if (one[0] === open) stack.push(one.index);
        else if (one[0] === close && stack.length) found.set(stack.pop(), one.index);
      }
      this.#pairs.set(open, found);
    }
    return this.#pairs.get(open).get(at) ?? -1;
  }

  /** The next place from `from` on, which never goes back, where `mark` can end something. */
  closer(mark, from) {
    if (!this.#closers.has(mark)) {
      const c = mark[0] === "_" || mark[0] === "~" ? mark[0] : `\\${mark[0]}`, runs = mark.length === 2 ? `${c}{2}` : `(?<!${c})${c}(?!${c})`;
      this.#closers.set(mark, { at: 0, all: Array.from(this.text.matchAll(new RegExp(`(?<=\\S)${runs}${mark[0] === "_" ? "(?!\\w)" : ""}`, "g")), (m) => m.index) });
    }
    const found = this.#closers.get(mark);
    while (found.all[found.at] < from) found.at++;
    return found.all[found.at] ?? -1;
  }
}

function bracket(text, i, depth, ends) {
  const stop = ends.pair("[", "]", i);
  if (stop < 0 || text[stop + 1] !== "(") return null;
  const last = ends.pair("(", ")", stop + 1);
  if (last < 0 || last - stop > NEAR) return null;
  const url = text.slice(stop + 2, last).trim().replace(/\s+("[^"]*"|'[^']*')$/, "").replace(/^<(.*)>$/, "$1");
  const label = text.slice(i + 1, stop), made = link(url, label ? [inline(label, depth + 1, true), destination(url, label)] : url);
  return { end: last + 1, nodes: made ? [made] : [label || url] };
}

const MARKS = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];

function emphasis(text, i, depth, ends, linked) {
  for (const [mark, tag] of MARKS) {
    if (!text.startsWith(mark, i)) continue;
    const inside = i + mark.length;
    if (/\s/.test(text[inside] ?? " ") || (mark[0] === "_" && /\w/.test(text[i - 1] ?? ""))) continue;
    const stop = ends.closer(mark, inside + 1);
    if (stop < 0) continue;
    return { end: stop + mark.length, nodes: [h(tag, {}, inline(text.slice(inside, stop), depth + 1, linked))] };
  }
  return null;
}

function code(text, i, missing) {
  const mark = /^`+/.exec(text.slice(i, i + 64))[0];
  if (missing.has(mark)) return null;
  let stop = text.indexOf(mark, i + mark.length);
  while (stop >= 0 && (text[stop + mark.length] === "`" || text[stop - 1] === "`")) stop = text.indexOf(mark, stop + mark.length + 1);
  if (stop < 0) { missing.add(mark); return null; }
  const inner = text.slice(i + mark.length, stop).replaceAll("\n", " ");
  return { end: stop + mark.length, nodes: [h("code", {}, inner.trim() && inner.startsWith(" ") && inner.endsWith(" ") ? inner.slice(1, -1) : inner)] };
}

function special(text, i, depth, missing, ends, linked) {
  const c = text[i];
  if (c === "\\") return /[!-/:-@[-`{-~]/.test(text[i + 1] ?? "") ? { end: i + 2, nodes: [text[i + 1]] } : text[i + 1] === "\n" ? { end: i + 2, nodes: [h("br")] } : null;
  if (c === "`") return code(text, i, missing);
  if (linked && /[[!<h]/.test(c)) return null; // no link in a link
  if (c === "[") return bracket(text, i, depth, ends);
  if (c === "!") return text[i + 1] === "[" ? bracket(text, i + 1, depth, ends) : null; // an image elsewhere is not loaded
  if (c === "\n") return text.slice(Math.max(0, i - 2), i) === "  " ? { end: i + 1, nodes: [h("br")] } : null;
  if (c === "<" || c === "h") {
    BARE.lastIndex = c === "<" ? i + 1 : i;
    if (c === "h" && /\w/.test(text[i - 1] ?? "")) return null;
    const url = BARE.exec(text)?.[0];
    if (!url || (c === "<" && text[BARE.lastIndex] !== ">")) return null;
    return { end: i + url.length + (c === "<" ? 2 : 0), nodes: [link(url, url)] };
  }
  return emphasis(text, i, depth, ends, linked);
}

/** The nodes of a paragraph's text. */
export function inline(text, depth = 0, linked = false) {
  if (depth > DEEP) return [text];
  const nodes = [], missing = new Set(), ends = new Ends(text);
  let from = 0;
  SPECIAL.lastIndex = 0;
  for (let found; (found = SPECIAL.exec(text));) {
    const at = found.index, made = special(text, at, depth, missing, ends, linked);
    SPECIAL.lastIndex = made ? made.end : at + 1; // calls below have moved it
    if (!made) continue;
    if (at > from) nodes.push(text.slice(from, at));
    nodes.push(...made.nodes);
    from = made.end;
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

/** Where the first lines of a text end, empty ones not counted; Infinity: it has no more. */
function linesEnd(text) {
  let end = 0;
  for (let n = 0; n < LINES;) {
    const next = text.indexOf("\n", end) + 1;
    if (!next) return Infinity;
    if (next > end + 1) n++;
    end = next;
  }
  return end;
}

/** Where the first part of a long text ends: between blocks, if it can be. */
function part(text) {
  const lines = linesEnd(text.slice(0, FIRST)), most = Math.min(FIRST, lines), half = most >> 1;
  if (text.length <= most) return text.length;
  const at = text.slice(half, most).lastIndexOf("\n\n");
  if (at >= 0) return half + at + 2;
  return lines < FIRST ? lines : cut(text, 0, FIRST);
}

/** What a part after these blocks begins with: the code that they end in goes on. */
const carry = (block) => (block?.kind === "fence" && !(block.lines.length > 1 && closes(block.lines.at(-1), FENCE.exec(block.lines[0])[1])) ? `${FENCE.exec(block.lines[0])[0]}\n` : "");

/** A text that may grow: set() renders the blocks that have changed. Of a long one the rest is behind a button. */
export class Markdown {
  el = h("div", { class: "markdown" });
  #sources = [];
  #made = 0; // blocks that are there as a whole
  #heights = []; // of each of them
  #groups = []; // the first block of each element with blocks
  #work = null;
  #first = null; // {end, open, all}: the first part, once there are others
  #rest = null;

  /** `text`: at least the first part; `length` and all(): of the whole. */
  set(text, length = text.length, all = () => text) {
    if (this.#first) return this.#grow(length, all);
    const end = part(text), now = blocks(text.slice(0, end)), sources = now.map((b) => b.kind + b.lines.join("\n"));
    let same = 0;
    while (same < this.#made && sources[same] === this.#sources[same]) same++;
    this.#keep(same);
    this.#sources = sources;
    this.el.classList.toggle("large", end > FIRST / 4);
    this.#work = steps(this.#draw(now, same));
    this.open = carry(now.at(-1));
    if (end < length) {
      this.#first = { end, open: this.open };
      this.#grow(length, all);
    }
    return this;
  }

  /** Something else instead of the text. */
  show(node) {
    this.#keep(0);
    this.el.append(node);
  }

  #keep(blocks) {
    if (this.#work) drop(this.#work);
    while (this.#groups.at(-1) >= blocks) this.#groups.pop();
    while (this.el.childElementCount > this.#groups.length) this.el.lastElementChild.remove();
    const last = this.el.lastElementChild;
    while (last?.childElementCount > blocks - this.#groups.at(-1)) last.lastElementChild.remove();
    this.#made = blocks;
  }

  #put(made, lines) {
    const sum = (from, to) => this.#heights.slice(from, to).reduce((all, one) => all + one, 0);
    if (!this.#groups.length || sum(this.#groups.at(-1), this.#made) >= GROUP) {
      this.#groups.push(this.#made);
      this.el.insertBefore(h("div", { class: "blocks" }), this.#rest?.edge ?? null);
    }
    const group = this.el.children[this.#groups.length - 1];
    group.append(made);
    this.#heights[this.#made] = height(lines);
    sized(group, sum(this.#groups.at(-1), this.#made + 1));
  }

  *#draw(all, from) {
    for (const block of all.slice(from)) {
      yield* node({ append: (made) => this.#put(made, block.lines) }, block);
      this.#made++;
    }
  }

  /** The first part stays as it is. */
  #grow(length, all) {
    this.#first.all = all;
    this.#rest ??= showRest(this.el, length, (edge) => this.#section(edge));
    this.#rest.grow(length);
    return this;
  }

  #section(edge) {
    const { all, end, open } = this.#first, source = open + all().slice(end), more = part(source), next = new Markdown().set(source.slice(0, more));
    sized(next.el, height(source.slice(0, more).split("\n")));
    edge.before(next.el);
    this.#first = { all, end: end + more - open.length, open: next.open };
    if (more < source.length) return true;
    this.#rest = null;
    return false;
  }
}

export const markdown = (text) => new Markdown().set(text).el;
