// Calls that wait for a person, over all threads: approved, denied or answered in place. Their number is in the navigation.
import { pause, query, request } from "./api.js";
import { ago, fill, h, hue, icon, toast } from "./dom.js";
import { announce, setBadge } from "./shell.js";

const EVERY = 5000, PAGE = 100;
const changed = new EventTarget();

const list = (signal) => request(query("/v1/approvals", { kind: "any", limit: PAGE }), { signal });

/** Counts what waits while the page is open and visible. */
export async function watchApprovals(signal) {
  for (;;) {
    if (!document.hidden) {
      try {
        const page = await list(signal);
        setBadge("/approvals", page.has_more ? 100 : page.data.length);
        changed.dispatchEvent(Object.assign(new Event("list"), { page }));
      } catch { /* the shell shows that the server cannot be reached */ }
    }
    const wake = new AbortController();
    const visible = () => wake.abort();
    document.addEventListener("visibilitychange", visible, { once: true });
    changed.addEventListener("now", visible, { once: true });
    await pause(EVERY, wake.signal);
    document.removeEventListener("visibilitychange", visible);
    changed.removeEventListener("now", visible);
    if (signal?.aborted) return;
  }
}

/** Something was answered: counts again at once. */
export const approvalsChanged = () => changed.dispatchEvent(new Event("now"));

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

function card(item, gone) {
  const tool = item.kind === "tool", field = h("textarea", { rows: 2, id: `f-${item.id}`, required: tool }), buttons = [];
  const answer = async (members, said) => {
    for (const b of buttons) b.disabled = true;
    try {
      await request(`/v1/runs/${item.run_id}/answers`, { body: { answers: [{ call_id: item.call_id, ...members }] } });
      announce(said);
      gone(item);
      approvalsChanged();
    } catch (error) {
      toast(error.message, "bad");
      for (const b of buttons) b.disabled = false;
    }
  };
  const output = () => { try { return JSON.parse(field.value); } catch { return field.value; } };
  if (tool) buttons.push(h("button", { type: "submit", class: "primary" }, icon("send"), "Send the result"));
  else buttons.push(h("button", { type: "submit", class: "primary" }, icon("check"), "Approve"),
    h("button", { type: "button", class: "danger", onclick: () => answer({ approved: false, ...(field.value && { reason: field.value }) }, `Denied ${item.function.name}`) }, "Deny"));
  return h("li", { class: "card approval", data: { id: item.id } },
    h("div", { class: "row" }, h("strong", { class: "mono" }, item.function.name), h("span", { class: ["pill", "who", hue(item.assistant_id)] }, item.assistant_id), h("span", { class: "pill" }, tool ? "needs a result" : "needs approval"), h("span", { class: "note push" }, "waits since ", ago(item.created_at))),
    item.description && h("p", {}, item.description), h("pre", { tabindex: "0" }, pretty(item.function.arguments)),
    h("form", { onsubmit: (e) => { e.preventDefault(); answer(tool ? { output: output() } : { approved: true }, tool ? "Sent" : `Approved ${item.function.name}`); } },
      h("label", { for: `f-${item.id}` }, tool ? "Result, text or JSON" : "Reason, if you deny it (the model reads it)", field),
      h("div", { class: "row" }, buttons, h("a", { class: "push", href: `#/t/${item.thread_id}` }, "Open the conversation"))),
    item.expires_at && h("p", { class: "note" }, "Expires ", ago(item.expires_at)));
}

export async function approvals(root, _, signal) {
  const cards = new Map(), place = h("ul", { class: "plain stack" }), none = h("p", { class: "empty" }, icon("approvals"), h("br"), "Nothing waits for you.");
  fill(root, h("div", { class: "page narrow" }, place, none));
  const remove = (id) => { cards.get(id)?.remove(); cards.delete(id); none.hidden = cards.size > 0; };
  // What is there stays as it is: somebody may be typing in it.
  const update = (page) => {
    const seen = new Set(page.data.map((i) => i.id));
    for (const id of [...cards.keys()]) if (!seen.has(id)) remove(id);
    for (const item of page.data) if (!cards.has(item.id)) { cards.set(item.id, card(item, (i) => remove(i.id))); place.append(cards.get(item.id)); }
    none.hidden = cards.size > 0;
  };
  changed.addEventListener("list", (e) => update(e.page), { signal });
  update(await list(signal));
}
