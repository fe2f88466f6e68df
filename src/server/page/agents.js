// The agents of the server: a list, and a page for each with its prompt, tools and handoffs, and a way to try it.
import { request } from "./api.js";
import { fill, h, hue, icon, toast } from "./dom.js";
import { agents as roster } from "./roster.js";
import { go, setTitle } from "./shell.js";

const link = (id) => `#/agents/${encodeURIComponent(id)}`;

export async function agents(root) {
  const list = h("ul", { class: "plain agent-list" });
  fill(root, h("div", { class: "page" }, list));
  for (const a of (await roster(true)).values())
    list.append(h("li", {}, h("a", { class: ["card", "agent-entry", hue(a.id)], href: link(a.id) }, h("span", { class: "avatar" }, icon("agents")),
      h("span", { class: "agent-text" }, h("strong", { class: "truncate" }, a.name || a.id), h("span", { class: "note" }, a.description || "No description."), h("span", { class: "row" }, h("span", { class: "pill" }, a.model || "no model"), a.name && a.name !== a.id && h("span", { class: "mono note" }, a.id))))));
  if (!list.childElementCount) fill(root, h("p", { class: "empty" }, "The configuration has no agents."));
}

/* ---- A tool's arguments as a table ---- */

function typeOf(s) {
  if (s?.enum) return s.enum.map((v) => JSON.stringify(v)).join(" | ");
  if (s?.const !== undefined) return JSON.stringify(s.const);
  if (Array.isArray(s?.type)) return s.type.join(" | ");
  if (s?.type === "array") return `list of ${typeOf(s.items)}`;
  return s?.type || (s?.anyOf || s?.oneOf || []).map(typeOf).join(" | ") || "any";
}

function parameters(schema) {
  const rows = Object.entries(schema?.properties || {});
  if (!rows.length) return h("p", { class: "note" }, "No arguments.");
  return h("div", { class: "scroll-x", tabindex: "0", role: "group", "aria-label": "Arguments" }, h("table", {}, h("thead", {}, h("tr", {}, ["Argument", "Type", "Meaning"].map((t) => h("th", { scope: "col" }, t)))),
    h("tbody", {}, rows.map(([name, s]) => h("tr", {}, h("th", { scope: "row", class: "mono" }, name, (schema.required || []).includes(name) && h("span", { class: "required", title: "required" }, " *")), h("td", { class: "mono" }, typeOf(s)), h("td", {}, s?.description || ""))))));
}

const RUNS = { server: "runs on the server", client: "the client runs it", agent: "a sub-agent" };

const tool = (t) => h("details", { class: "card tool-card" }, h("summary", {}, icon(t.kind === "agent" ? "agents" : "tool"), h("strong", { class: "mono" }, t.name), h("span", { class: "pill" }, RUNS[t.kind] || t.kind), t.approval && h("span", { class: "pill warn" }, "asks first")),
  h("p", {}, t.description || "No description."), t.agent && h("p", {}, h("a", { href: link(t.agent) }, `The agent ${t.agent}`)), parameters(t.parameters),
  t.parameters && h("details", { class: "schema" }, h("summary", {}, "JSON Schema"), h("pre", { tabindex: "0" }, JSON.stringify(t.parameters, null, 2))));

/* ---- One agent ---- */

function tryIt(agent) {
  const input = h("textarea", { id: "try", rows: 3, required: true, placeholder: "Ask it something" }), button = h("button", { class: "primary", type: "submit" }, icon("send"), "Start a conversation");
  return h("form", { class: "card try", onsubmit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      const run = await request("/v1/threads/runs", { body: { assistant_id: agent, thread: { messages: [{ role: "user", content: input.value }] } } });
      go(`/t/${run.thread_id}`);
    } catch (error) {
      toast(error.message, "bad");
      button.disabled = false;
    }
  }, onkeydown: (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) e.currentTarget.requestSubmit(); } }, h("label", { for: "try" }, "Try it", input), h("div", { class: "row end" }, button));
}

const fromAssistant = (a) => ({ model: a.model, instructions: a.instructions, handoffs: [], tools: a.tools.map((t) => ({ ...t.function, name: t.function?.name || t.type, kind: "client" })) });

export async function agent(root, { agent: id }, signal) {
  const [card, assistant] = await Promise.all([request(`/agents/${encodeURIComponent(id)}`, { signal }), request(`/v1/assistants/${encodeURIComponent(id)}`, { signal })]);
  const shown = card.definition || fromAssistant(assistant), name = card.title || assistant.name || id;
  setTitle(name);
  fill(root, h("div", { class: "page agent" },
    h("section", { class: ["agent-head", hue(id)] }, h("span", { class: "avatar" }, icon("agents")), h("div", { class: "agent-text" }, h("h2", {}, name), h("p", {}, card.description || "No description."),
      h("div", { class: "row" }, h("span", { class: "pill" }, `model ${shown.model || "of its caller"}`), shown.strategy && h("span", { class: "pill" }, `strategy ${shown.strategy}`), h("span", { class: "pill mono" }, id)))),
    tryIt(id),
    h("section", {}, h("h2", {}, "Prompt"), shown.instructions ? h("pre", { class: "prompt", tabindex: "0" }, shown.instructions)
      : h("p", { class: "note" }, card.definition || assistant.instructions === "" ? "It has no system prompt." : "This key may not see it: that needs the scope instructions.")),
    h("section", {}, h("h2", {}, `Tools (${shown.tools.length})`), shown.tools.length ? h("div", { class: "stack" }, shown.tools.map(tool)) : h("p", { class: "note" }, card.definition ? "It has none." : "It has none that the client runs.")),
    shown.handoffs.length > 0 && h("section", {}, h("h2", {}, "Hands over to"), h("ul", { class: "plain stack" }, shown.handoffs.map((t) => h("li", { class: "card row" }, icon("handoff"), h("a", { href: link(t.agent) }, t.agent), t.on_mention && h("span", { class: "pill" }, "when its title is mentioned"), t.prompt && h("span", { class: "note" }, `“${t.prompt}”`))))),
    card.capabilities.length > 0 && h("section", {}, h("h2", {}, "Capabilities"), h("ul", {}, card.capabilities.map((c) => h("li", { class: "mono" }, c.schema))))));
}
