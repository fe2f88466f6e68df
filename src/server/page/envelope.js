// Envelopes between agents (multiagent-1.0) as cards: from whom to whom, the task, what it says, how sure its author is.
import { h, icon, parsed } from "./dom.js";
import { codeBlock, markdown } from "./markdown.js";
import { nameOf } from "./roster.js";

const LARGEST = 1 << 20; // characters that are looked at

const text = (value) => (typeof value === "string" ? value.toWellFormed() : value == null ? "" : JSON.stringify(value));

/** A text or value as an envelope, each member as the type that is shown: models and strangers write them. null: it is none. */
export function envelopeOf(data) {
  if (typeof data === "string") data = data.length < LARGEST && data.includes('"multiagent-') ? parsed(data) : null;
  if (typeof data?.protocol !== "string" || !data.protocol.startsWith("multiagent-")) return null;
  const { role, agent, intent, task, content, confidence, trace } = data, score = confidence?.score;
  return { role: text(role), agent: text(agent?.id), intent: text(intent), task: text(task), type: content?.type, body: text(content?.text), data: content?.data,
    score: typeof score === "number" ? score : null, why: text(confidence?.rationale), id: text(trace?.id) };
}

/** Who wrote it. */
export const sender = ({ agent, role }) => (agent ? nameOf(agent) : role === "user" ? "User" : role || "Somebody");

/** `to`: who gets it, `asked`: the envelope that it answers, as far as they are known. */
export function envelopeCard(e, { to, asked } = {}) {
  const { intent, body, score, why, id } = e, task = asked?.task === e.task ? "" : e.task;
  return h("div", { class: ["envelope", e.type === "error" && "bad"] },
    h("div", { class: "row" }, icon("handoff"), h("strong", {}, sender(e), to && ` → ${to}`), intent && h("span", { class: "pill" }, intent),
      score !== null && h("span", { class: "pill", title: why || null }, `${Math.round(score * 100)} % sure`), id && h("a", { class: "push", href: `#/exchange/${encodeURIComponent(id)}` }, "Exchange")),
    task && h("p", { class: "label" }, task.slice(0, 2000)), body && body !== task && markdown(body),
    e.data !== undefined && (e.type !== "text" || !body) && codeBlock(JSON.stringify(e.data, null, 2), "json"));
}
