// Two branches of a thread side by side, from the last message that they share.
import { request } from "./api.js";
import { ago, fill, h } from "./dom.js";
import { steps } from "./long.js";
import { agents } from "./roster.js";
import { go, setActions, setTitle } from "./shell.js";
import { author, colour, messageText, pathMessages, short, threadBar } from "./threadbar.js";

const MESSAGES = 500, WORDS = 1500, PAIR = 15000; // read of a branch; compared word by word; what a pair costs at least (long.js)

/** Words that both have, by the longest common subsequence: [[text, "same" | "left" | "right"], ...]. */
export function diffWords(a, b) {
  const x = a.match(/\s+|[^\s]+/g) || [], y = b.match(/\s+|[^\s]+/g) || [];
  if (a === b) return [[a, "same"]];
  if (x.length > WORDS || y.length > WORDS) return [[a, "left"], [b, "right"]];
  const width = y.length + 1, table = new Uint16Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--)
    for (let j = y.length - 1; j >= 0; j--)
      table[i * width + j] = x[i] === y[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
  const out = [];
  const push = (text, side) => (out.at(-1)?.[1] === side ? (out.at(-1)[0] += text) : out.push([text, side]));
  let i = 0, j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) { push(x[i++], "same"); j++; }
    else if (j >= y.length || (i < x.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) push(x[i++], "left");
    else push(y[j++], "right");
  }
  return out;
}

/** A side's own words; the space between two of them is theirs. */
function ofSide(parts, side) {
  const own = parts.filter(([, s]) => s === "same" || s === side), out = [];
  own.forEach(([text, s], i) => {
    const marked = s === side || (!text.trim() && own[i - 1]?.[1] === side && own[i + 1]?.[1] === side);
    if (out.at(-1)?.[1] === marked) out.at(-1)[0] += text;
    else out.push([text, marked]);
  });
  return out;
}

function messageCell(m, side, parts) {
  if (!m) return h("div", { class: "cell none" }, h("span", { class: "note" }, "—"));
  return h("div", { class: "cell" }, h("div", { class: "row between" }, h("strong", { class: ["speaker", colour(m)] }, author(m)), h("span", { class: "note" }, ago(m.created_at))),
    h("div", { class: "cell-text" }, ofSide(parts, side).map(([text, marked]) => (marked ? h(side === "left" ? "del" : "ins", {}, text) : text))));
}

/** `text`: what it begins with. */
const nodeLabel = (n, tree, text = n.text) => `${n.name || (text ? `“${text.replace(/\s+/g, " ").slice(0, 48)}”` : `Branch ${short(n.id)}`)}${n.id === tree.current_id ? " (current)" : ""}`;

export async function compare(root, { thread, query }, signal) {
  setActions(...threadBar(thread, "/compare"));
  setTitle("Compare branches");
  const [tree] = await Promise.all([request(`/v1/threads/${thread}/tree`, { signal }), agents().catch(() => {})]);
  const nodes = tree.nodes.filter((n) => n.messages > 0).sort((a, b) => b.created_at - a.created_at);
  const known = (id) => nodes.some((n) => n.id === id) && id;
  const a = known(query.get("a")) || known(tree.current_id) || nodes[0]?.id, b = known(query.get("b")) || nodes.find((n) => n.id !== a)?.id;
  if (!a || !b) return fill(root, h("p", { class: "empty" }, "This conversation has no branches yet. Edit or regenerate a message to make one."));
  const choice = (name, value, label) => h("label", {}, label, h("select", { onchange: (e) => go(`/t/${thread}/compare?${new URLSearchParams({ a, b, [name]: e.target.value })}`) },
    nodes.map((n) => h("option", { value: n.id, selected: n.id === value }, nodeLabel(n, tree)))));
  const out = h("div", { class: "compare" });
  fill(root, h("div", { class: "page" }, h("div", { class: "choices" }, choice("a", a, "Left branch"), choice("b", b, "Right branch")), out));

  const left = await pathMessages(thread, { node: a, limit: MESSAGES, signal });
  const ids = new Set(left.messages.map((m) => m.id));
  const right = await pathMessages(thread, { node: b, limit: MESSAGES, signal, until: (m) => ids.has(m.id) });
  const others = new Set(right.messages.map((m) => m.id));
  const last = left.messages.findLastIndex((m) => others.has(m.id));
  const shared = left.messages.slice(0, last + 1), ours = left.messages.slice(last + 1);
  const theirs = right.messages.slice(shared.length ? right.messages.findIndex((m) => m.id === shared.at(-1).id) + 1 : 0);
  const own = { [a]: ours[0], [b]: theirs[0] }; // a branch is named by what the other one has not
  for (const option of root.querySelectorAll("option")) if (own[option.value]) option.textContent = nodeLabel(nodes.find((n) => n.id === option.value), tree, messageText(own[option.value]));
  const count = Math.max(ours.length, theirs.length);
  function* rows() {
    for (let i = 0; i < count && !signal.aborted; i++) {
      const parts = ours[i] && theirs[i] ? diffWords(messageText(ours[i]), messageText(theirs[i])) : [[messageText(ours[i] || theirs[i]), ours[i] ? "left" : "right"]];
      out.append(h("div", { class: "pair" }, messageCell(ours[i], "left", parts), messageCell(theirs[i], "right", parts)));
      yield parts.length === 1 ? 100 : PAIR + 20 * parts.length;
    }
  }
  fill(out,
    shared.length ? h("details", { class: "shared" }, h("summary", {}, `${shared.length}${left.more ? "+" : ""} shared ${shared.length === 1 ? "message" : "messages"}, up to ${author(shared.at(-1))}: “${messageText(shared.at(-1)).slice(0, 80)}”`),
      shared.slice(-20).map((m) => messageCell(m, "left", [[messageText(m), "same"]]))) : h("p", { class: "note" }, "They share no message."),
    !count && h("p", { class: "empty" }, "Both branches are the same."));
  steps(rows());
}
