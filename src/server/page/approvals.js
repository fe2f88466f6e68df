// Calls that wait for a person, over all threads: approved, denied or answered in place. Their number is in the navigation.
import { pause, query, request } from "./api.js";
import { ago, fill, h, hue, icon } from "./dom.js";
import { callForm } from "./forms.js";
import { agents, nameOf } from "./roster.js";
import { announce, setBadge } from "./shell.js";
import { short } from "./threadbar.js";

const EVERY = 5000, PAGE = 100;
const changed = new EventTarget();
let stale = false; // since the last count began

const list = (signal, after) => request(query("/v1/approvals", { kind: "any", limit: PAGE, after }), { signal });

/** What a run waits for. */
export const callsOf = (run, signal) => request(query("/v1/approvals", { kind: "any", limit: PAGE, run }), { signal }).then((page) => page.data);

/** Counts what waits while the page is open and visible. */
export async function watchApprovals(signal) {
  for (;;) {
    stale = false;
    if (!document.hidden) {
      try {
        const page = await list(signal);
        setBadge("/approvals", page.has_more ? 100 : page.data.length);
        changed.dispatchEvent(Object.assign(new Event("list"), { page }));
      } catch { /* the shell shows that the server cannot be reached */ }
    }
    if (stale) continue;
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

/** Something waits, or was answered: counts again at once. */
export const approvalsChanged = () => { stale = true; changed.dispatchEvent(new Event("now")); };

function card(item, gone) {
  const { name } = item.function;
  const answer = async (members, said) => {
    await request(`/v1/runs/${item.run_id}/answers`, { body: { answers: [{ call_id: item.call_id, ...members }] } });
    announce(said);
    gone(item);
    approvalsChanged();
  };
  const form = callForm(item, (members) => answer(members, `${"output" in members ? "Sent the result of" : members.approved ? "Approved" : "Denied"} ${name}`), short(item.run_id)); // one of several
  return h("li", { class: "card approval", data: { id: item.id } },
    h("div", { class: "row" }, h("strong", { class: "mono" }, name), h("span", { class: ["pill", "speaker", hue(item.assistant_id)] }, nameOf(item.assistant_id)), h("span", { class: "note push" }, "asked ", ago(item.created_at))),
    form, h("div", { class: "row between" }, h("a", { href: `#/t/${item.thread_id}` }, "Open the conversation"), item.expires_at && h("span", { class: "note" }, "expires ", ago(item.expires_at))));
}

export async function approvals(root, _, signal) {
  const cards = new Map(), place = h("ul", { class: "plain stack" }), none = h("p", { class: "empty" }, icon("approvals"), h("br"), "Nothing waits for you.");
  const more = h("button", { type: "button", hidden: true, onclick: () => { pages++; refresh(); } }, `Show ${PAGE} more`);
  let pages = 1, last = 0; // pages that are shown; the newest update
  fill(root, h("div", { class: "page narrow" }, place, more, none));
  const remove = (id) => { cards.get(id)?.remove(); cards.delete(id); none.hidden = cards.size > 0; };
  /** All pages that are shown, of which the first one may be there. What is there stays as it is: somebody may be typing in it. */
  const refresh = async (first) => {
    const mine = ++last, data = [];
    let page = first ?? await list(signal);
    for (let i = 1; ; i++) {
      data.push(...page.data);
      if (i >= pages || !page.has_more) break;
      page = await list(signal, page.last_id);
    }
    if (mine !== last) return;
    const seen = new Set(data.map((i) => i.id));
    for (const id of [...cards.keys()]) if (!seen.has(id)) remove(id);
    for (const item of data) if (!cards.has(item.id)) { cards.set(item.id, card(item, (i) => remove(i.id))); place.append(cards.get(item.id)); }
    none.hidden = cards.size > 0;
    more.hidden = !page.has_more;
  };
  changed.addEventListener("list", (e) => refresh(e.page).catch(() => {}), { signal });
  await agents().catch(() => {}); // their names
  await refresh();
}
