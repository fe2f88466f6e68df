// Envelopes between agents (multiagent-1.0) as cards: from whom to whom, the task, what it says, how sure its author is.
import { h, icon, parsed } from "./dom.js";
import { codeBlock, markdown } from "./markdown.js";
import { nameOf } from "./roster.js";

const LARGEST = 1 << 20; // characters that are looked at

/** A text or value as an envelope; null: it is none. */
export function envelopeOf(data) {
  if (typeof data === "string") data = data.length < LARGEST && data.includes('"multiagent-') ? parsed(data) : null;
  return data && typeof data === "object" && String(data.protocol).startsWith("multiagent-") ? data : null;
}

/** Who wrote it. */
export const sender = ({ agent, role }) => (agent?.id ? nameOf(agent.id) : role === "user" ? "User" : String(role ?? "Somebody"));

const text = (value) => (typeof value === "string" ? value : value == null ? "" : JSON.stringify(value));

/** `to`: who gets it, `asked`: the envelope that it answers, as far as they are known. */
export function envelopeCard(e, { to, asked } = {}) {
  const { content = {}, confidence, trace } = e, score = Number(confidence?.score), body = text(content?.text), task = asked && asked.task === e.task ? "" : text(e.task), id = trace?.id;
  const sure = confidence?.score != null && Number.isFinite(score) ? `${Math.round(score * 100)} % sure` : null;
  return h("div", { class: ["envelope", content?.type === "error" && "bad"] },
    h("div", { class: "row" }, icon("handoff"), h("strong", {}, sender(e), to && ` → ${to}`), e.intent && h("span", { class: "pill" }, text(e.intent)),
      sure && h("span", { class: "pill", title: text(confidence.rationale) || null }, sure), id && h("a", { class: "push", href: `#/exchange/${encodeURIComponent(id)}` }, "Exchange")),
    task && h("p", { class: "label" }, task), body && body !== task && markdown(body),
    content?.data !== undefined && (content.type !== "text" || !body) && codeBlock(JSON.stringify(content.data, null, 2), "json"));
}
