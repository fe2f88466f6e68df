// Markdown as DOM nodes: headings, lists, tables, quotes, code, links. Markup in the text stays text, and a link leads
// only to http, https or mailto. What grows at its end is rendered block by block: only the last block changes.
import { copy, h, icon } from "./dom.js";

const DEEP = 8; // nesting; deeper text is a paragraph
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

const isTable = (lines, i) => lines[i].includes("|") && i + 1 < lines.length && lines[i + 1].includes("-") && /^[-|: \t]+$/.test(lines[i + 1]) && cells(lines[i + 1]).every((cell) => /^:?-+:?$/.test(cell));
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

/** The top-level blocks of a text: {kind, lines}. */
export function blocks(text, depth = 0) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n"), found = [];
  for (let i = 0; i < lines.length;) {
    if (lines[i].trim() === "") { i++; continue; }
    const kind = kindOf(lines, i, depth), next = end(lines, i, kind);
    found.push({ kind, lines: lines.slice(i, next) });
    i = next;
  }
  return found;
}

/* ---- Blocks as nodes ---- */

export function codeBlock(code, language = "") {
  return h("div", { class: "code" }, h("div", { class: "code-head" }, h("span", {}, language || "text"), h("button", { type: "button", class: "copy quiet", onclick: () => copy(code) }, icon("copy"), "Copy")), h("pre", { tabindex: "0", "aria-label": `Code${language && `, ${language}`}` }, h("code", {}, code)));
}

function fence(lines) {
  const [, mark, language] = FENCE.exec(lines[0]), closed = lines.length > 1 && closes(lines.at(-1), mark);
  return codeBlock(lines.slice(1, closed ? -1 : undefined).join("\n"), language);
}

const cells = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

function table(lines) {
  const head = cells(lines[0]), align = cells(lines[1]).map((c) => (/^:-+:$/.test(c) ? "centre-cell" : /-:$/.test(c) ? "right-cell" : null));
  const row = (line, tag) => { const found = cells(line); return h("tr", {}, head.map((_, i) => h(tag, { class: align[i] }, inline(found[i] ?? "")))); };
  return h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Table" }, h("table", {}, h("thead", {}, row(lines[0], "th")), h("tbody", {}, lines.slice(2).map((line) => row(line, "td")))));
}

function list(lines, depth) {
  const [, indent, mark] = ITEM.exec(lines[0]), ordered = /\d/.test(mark), items = [];
  for (const line of lines) {
    const found = ITEM.exec(line);
    if (found && found[1].length <= indent.length + 1) items.push({ width: found[1].length + found[2].length + Math.max(1, Math.min(found[3].length, 4)), lines: [found[4]] });
    else items.at(-1).lines.push(line.slice(Math.min(items.at(-1).width, line.length - line.trimStart().length)));
  }
  const nodes = items.map((item) => {
    const task = /^\[([ xX])\] /.exec(item.lines[0]);
    if (task) item.lines[0] = item.lines[0].slice(4);
    const inner = blocks(item.lines.join("\n"), depth + 1);
    const content = inner.map((block, i) => (block.kind === "paragraph" && (inner.length === 1 || i === 0) ? inline(block.lines.join("\n")) : node(block, depth + 1)));
    return h("li", { class: task && "task" }, task && h("input", { type: "checkbox", disabled: true, checked: task[1] !== " ", "aria-label": "done" }), content);
  });
  return h(ordered ? "ol" : "ul", { start: ordered && parseInt(mark, 10) !== 1 ? parseInt(mark, 10) : null }, nodes);
}

function node({ kind, lines }, depth = 0) {
  if (kind === "fence") return fence(lines);
  if (kind === "rule") return h("hr");
  if (kind === "table") return table(lines);
  if (kind === "list") return list(lines, depth);
  if (kind === "quote") return h("blockquote", {}, blocks(lines.map((l) => l.replace(QUOTE, "")).join("\n"), depth + 1).map((b) => node(b, depth + 1)));
  if (kind === "heading") {
    const [, marks] = HEADING.exec(lines[0]), text = heading(lines[0].trim().slice(marks.length).trim());
    return h("h2", { class: `size-${marks.length}` }, inline(text)); // one level: an answer is no outline of the page
  }
  return h("p", {}, inline(lines.map((l) => l.trimStart()).join("\n")));
}

/* ---- Inline ---- */

const LINK = /^(https?:\/\/|mailto:)[^\s<>]+$/i;
const BARE = /https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}*_~]/giy;
const SPECIAL = /[\\`*_~[!<\nh]/g;
const NEAR = 4000; // how far the end of a link is looked for

const link = (url, children) => (LINK.test(url) ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, children) : null);

/** The end of a [bracket] that begins at `i`, or -1. */
function closing(text, i, open, close) {
  for (let k = i, level = 0; k < text.length && k < i + NEAR; k++) {
    if (text[k] === "\\") k++;
    else if (text[k] === open) level++;
    else if (text[k] === close && --level === 0) return k;
  }
  return -1;
}

function bracket(text, i, depth) {
  const stop = closing(text, i, "[", "]");
  if (stop < 0 || text[stop + 1] !== "(") return null;
  const last = closing(text, stop + 1, "(", ")");
  if (last < 0) return null;
  const url = text.slice(stop + 2, last).trim().replace(/\s+("[^"]*"|'[^']*')$/, "").replace(/^<(.*)>$/, "$1");
  const label = text.slice(i + 1, stop), made = link(url, label ? inline(label, depth + 1) : url);
  return { end: last + 1, nodes: made ? [made] : [label || url] };
}

const MARKS = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];

function emphasis(text, i, depth, missing) {
  for (const [mark, tag] of MARKS) {
    if (!text.startsWith(mark, i) || missing.has(mark)) continue;
    const inside = i + mark.length;
    if (/\s/.test(text[inside] ?? " ") || (mark[0] === "_" && /\w/.test(text[i - 1] ?? ""))) continue;
    let stop = text.indexOf(mark, inside + 1);
    if (mark.length === 1) while (stop > 0 && (text[stop + 1] === mark || text[stop - 1] === mark)) stop = text.indexOf(mark, stop + 2);
    if (stop < 0) { missing.add(mark); continue; }
    if (/\s/.test(text[stop - 1]) || (mark[0] === "_" && /\w/.test(text[stop + mark.length] ?? ""))) continue;
    return { end: stop + mark.length, nodes: [h(tag, {}, inline(text.slice(inside, stop), depth + 1))] };
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
  return { end: stop + mark.length, nodes: [h("code", {}, /^ .*[^ ].* $/.test(inner) ? inner.slice(1, -1) : inner)] };
}

function special(text, i, depth, missing) {
  const c = text[i];
  if (c === "\\") return /[!-/:-@[-`{-~]/.test(text[i + 1] ?? "") ? { end: i + 2, nodes: [text[i + 1]] } : text[i + 1] === "\n" ? { end: i + 2, nodes: [h("br")] } : null;
  if (c === "`") return code(text, i, missing);
  if (c === "[") return bracket(text, i, depth);
  if (c === "!") return text[i + 1] === "[" ? bracket(text, i + 1, depth) : null; // an image elsewhere is not loaded
  if (c === "\n") return text.slice(Math.max(0, i - 2), i) === "  " ? { end: i + 1, nodes: [h("br")] } : null;
  if (c === "<" || c === "h") {
    BARE.lastIndex = c === "<" ? i + 1 : i;
    if (c === "h" && /\w/.test(text[i - 1] ?? "")) return null;
    const url = BARE.exec(text)?.[0];
    if (!url || (c === "<" && text[BARE.lastIndex] !== ">")) return null;
    return { end: i + url.length + (c === "<" ? 2 : 0), nodes: [link(url, url)] };
  }
  return emphasis(text, i, depth, missing);
}

/** The nodes of a paragraph's text. */
export function inline(text, depth = 0) {
  if (depth > DEEP) return [text];
  const nodes = [], missing = new Set();
  let from = 0;
  SPECIAL.lastIndex = 0;
  for (let found; (found = SPECIAL.exec(text));) {
    const at = found.index, made = special(text, at, depth, missing);
    SPECIAL.lastIndex = made ? made.end : at + 1; // calls below have moved it
    if (!made) continue;
    if (at > from) nodes.push(text.slice(from, at));
    nodes.push(...made.nodes);
    from = made.end;
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

/** A text that may grow: set() renders the blocks that have changed. */
export class Markdown {
  el = h("div", { class: "markdown" });
  #sources = [];

  set(text) {
    const now = blocks(text), sources = now.map((b) => b.kind + b.lines.join("\n"));
    let same = 0;
    while (same < sources.length && sources[same] === this.#sources[same]) same++;
    while (this.el.childElementCount > same) this.el.lastElementChild.remove();
    for (const b of now.slice(same)) this.el.append(node(b));
    this.#sources = sources;
    return this;
  }
}

export const markdown = (text) => new Markdown().set(text).el;
