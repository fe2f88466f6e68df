// What the views of one thread share: their controls in the top bar, the export menu, and its messages as text.
import { blob, query, request } from "./api.js";
import { dialog, failed, fill, h, heading, hue, icon, iconButton, save } from "./dom.js";
import { nameOf } from "./roster.js";

const VIEWS = [["", "chat", "Conversation"], ["/tree", "tree", "Tree"], ["/compare", "branch", "Compare branches"], ["/trace", "trace", "Trace"]];

/** For the top bar: the views of the thread, and its export. */
export function threadBar(thread, current) {
  return [
    h("nav", { class: "thread-views", "aria-label": "Views of this conversation" }, VIEWS.map(([path, symbol, label]) =>
      h("a", { class: "icon-button button quiet", href: `#/t/${thread}${path}`, title: label, "aria-label": label, "aria-current": path === current ? "page" : null }, icon(symbol)))),
    iconButton("export", "Export", () => showExport(thread)),
  ];
}

/** "…" of an id that is too long to read. */
export const short = (id) => String(id).replace(/^[a-z]+_/, "").slice(0, 8);

const SAID = 20000;

/** What a message says, for pictures and comparisons: its beginning. */
export function messageText(m) {
  const all = m.content.slice(0, 100).map((part) => part.text?.value.slice(0, SAID) ?? `[${part.type.replace(/_.*/, "")}]`).join("\n");
  return all.length > SAID ? `${all.slice(0, SAID)}…` : all;
}

/** Whose colour it has: as everywhere, by the agent's id. */
export const colour = (m) => (m.role === "user" ? "user" : hue(m.assistant_id || "Assistant"));

/** Who wrote it. */
export const author = (m) => (m.role === "user" ? "You" : m.assistant_id ? nameOf(m.assistant_id) : "Assistant");

/** The newest messages of a path, oldest first: those of the thread, or up to the end of a node of its tree. `until`:
 *  stops at a message that it returns true for. */
export async function pathMessages(thread, { node, limit, signal, until = () => false } = {}) {
  const found = [];
  for (let after; found.length < limit;) {
    const page = await request(query(`/v1/threads/${thread}/messages`, { node_id: node, limit: Math.min(100, limit), after }), { signal });
    for (const m of page.data) {
      found.unshift(m);
      if (until(m)) return { messages: found, more: page.has_more };
    }
    if (!page.has_more) return { messages: found, more: false };
    after = page.last_id;
  }
  return { messages: found, more: true };
}

/* ---- Export ---- */

const DIALECTS = [
  ["uap", "UAP session", "the tree, the checkpoints and all branches"], ["thread", "ThreadProtocol", "turns, agents and usage"],
  ["ui", "AI SDK", "UI messages, as useChat has them"], ["assistants", "OpenAI Assistants", "threads, runs and messages"],
  ["pydantic", "Pydantic AI", "model requests and responses"], ["agentapi", "Agent API", "AgentScope's messages"],
  ["aitp", "AITP", "a thread of several actors"], ["envelope", "Envelopes", "an exchange between agents"], ["upp", "UPP", "messages as models get them"],
];

function losses(thread, dialect) {
  const list = h("div", { class: "losses" }, h("p", { class: "note" }, "…"));
  const box = h("details", { class: "loss", ontoggle: async () => {
    if (!box.open || box.dataset.read) return;
    box.dataset.read = "yes";
    try {
      const { data, more } = await request(query(`/v1/threads/${thread}/export`, { as: dialect, losses: true }));
      fill(list, data.length ? h("ul", {}, group(data).map(([text, n]) => h("li", {}, text, n > 1 && h("span", { class: "pill" }, `× ${n}`)))) : h("p", { class: "note" }, "Nothing is lost."),
        more > 0 && h("p", { class: "note" }, `And ${more} more.`));
    } catch (error) {
      fill(list, h("p", { class: "error" }, error.message));
    }
  } }, h("summary", {}, "What is lost?"), list);
  return box;
}

function group(data) {
  const counts = new Map();
  for (const { what, why } of data) counts.set(`${what}: ${why}`, (counts.get(`${what}: ${why}`) || 0) + 1);
  return [...counts];
}

export function showExport(thread) {
  const download = (dialect) => blob(query(`/v1/threads/${thread}/export`, { as: dialect })).then((data) => save(data, `${short(thread)}.${dialect}.json`)).catch(failed);
  dialog({ class: "export" }, heading("Export this conversation"),
    h("ul", { class: "plain" }, DIALECTS.map(([dialect, name, about]) => h("li", { class: "dialect" },
      h("button", { type: "button", class: "quiet", onclick: () => download(dialect), "aria-label": `Download as ${name}` }, icon("export"), h("span", {}, h("strong", {}, name), h("span", { class: "note" }, about))),
      losses(thread, dialect)))));
}

/** A tile: a small heading, a large value, and what explains it. */
export const tile = (label, value, note, more) => h("div", { class: "tile" }, h("div", { class: "tile-label" }, label), h("div", { class: "tile-value" }, value), note && h("div", { class: "note" }, note), more);

export const tokens = (n) => (n < 1000 ? String(Math.round(n)) : n < 1e6 ? `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)} k` : `${(n / 1e6).toFixed(1)} M`);
