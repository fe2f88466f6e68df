// The sidebar's list of threads: newest first, page by page; search; rename and delete.
import { pause, query, request } from "./api.js";
import { ask, failed, fill, h, hue, icon, iconButton } from "./dom.js";
import { envelopeOf } from "./envelope.js";
import { go, setTitle, shortcut } from "./shell.js";
import { agents, nameOf } from "./roster.js";

const PAGE = 30, AT_ONCE = 4, EVERY = 4000;
const channel = new BroadcastChannel("weft");
const WORKING = new Set(["queued", "in_progress", "cancelling"]);

let current = null;
const rows = new Map(); // id: {el, link, title, info}
const list = h("nav", { class: "threads", "aria-label": "Threads" });
const more = h("div", { class: "edge" });
const found = h("div", { class: "threads", role: "region", "aria-label": "Search results", hidden: true });
const input = h("input", { type: "search", id: "search", placeholder: "Search", "aria-label": "Search conversations", autocomplete: "off" });

/** A run has begun, or a thread was moved: tells other tabs, and shows it here. */
export function changed(what) {
  channel.postMessage(what);
  return threadChanged(what.thread);
}

/** A title for a thread that has none, from its first message. */
export const titleFrom = (text) => String(envelopeOf(text)?.task || text).slice(0, 90);

/* ---- What a row shows besides the title: looked up when it is seen, a few at a time ---- */

let busy = 0;
const queue = [];

function lookAt(row) {
  if (row && !queue.includes(row)) queue.push(row);
  work();
}

function work() {
  for (const row of queue.filter((r) => !r.looking).slice(0, AT_ONCE - busy)) { // of one that is looked at now, more may be new afterwards
    queue.splice(queue.indexOf(row), 1);
    row.looking = true;
    busy++;
    look(row).catch(() => {}).finally(() => { row.looking = false; busy--; work(); });
  }
}

async function look(row) {
  const id = row.info.id, run = (await request(`/v1/threads/${id}/runs?limit=1`)).data[0];
  if (!row.info.title && !row.named) {
    const first = (await request(`/v1/threads/${id}/messages?order=asc&limit=1`)).data[0];
    row.named = true;
    const text = first?.content.find((p) => p.text)?.text.value;
    if (text) row.title.textContent = titleFrom(text);
  }
  const state = run?.status === "requires_action" ? "waiting" : WORKING.has(run?.status) ? "working" : run?.status === "failed" ? "failed" : "";
  row.agent.textContent = run ? nameOf(run.assistant_id) : "";
  row.dot.className = `dot ${hue(run?.assistant_id)} ${state}`;
  row.state.textContent = state && `· ${state === "waiting" ? "waits for you" : state}`;
  row.state.className = `thread-state ${state}`;
  row.open = state === "working" || state === "waiting"; // it will change
}

const seen = new IntersectionObserver((entries) => {
  for (const e of entries) if (e.isIntersecting) {
    seen.unobserve(e.target);
    lookAt(rows.get(e.target.dataset.id));
  }
});

/* ---- Rows ---- */

/** Asks for another title of a thread. */
export async function rename(id, value) {
  const given = await ask({ title: "Rename the conversation", fields: [{ name: "title", label: "Title", value, max: 200 }], action: "Rename" });
  if (!given) return;
  try {
    const { title = "Conversation" } = await request(`/v1/threads/${id}`, { body: { title: given.title } }), row = rows.get(id);
    if (row) row.title.textContent = title;
    if (current === id) setTitle(title);
    changed({ thread: id });
  } catch (error) { failed(error); }
}

function forget(row) {
  row.el.remove();
  rows.delete(row.info.id);
}

async function remove(row) {
  if (!await ask({ title: "Delete this conversation?", text: `“${row.title.textContent}” and its messages are deleted for good.`, action: "Delete", danger: true })) return;
  try {
    await request(`/v1/threads/${row.info.id}`, { method: "DELETE" });
    forget(row);
    if (current === row.info.id) go("/");
  } catch (error) { failed(error); }
}

function makeRow(info) {
  const row = { info, named: false };
  row.title = h("span", { class: "thread-title" }, info.title || "Conversation");
  row.agent = h("span", {});
  row.state = h("span", {});
  row.dot = h("span", { class: "dot", "aria-hidden": "true" });
  row.link = h("a", { href: `#/t/${info.id}`, "aria-current": info.id === current ? "page" : null }, row.title, h("span", { class: "thread-note" }, row.dot, row.agent, row.state));
  row.el = h("div", { class: "thread", data: { id: info.id } }, row.link, h("div", { class: "thread-tools" }, iconButton("edit", `Rename ${info.title || "conversation"}`, () => rename(info.id, row.title.textContent)), iconButton("trash", `Delete ${info.title || "conversation"}`, () => remove(row))));
  rows.set(info.id, row);
  seen.observe(row.el);
  return row;
}

export function markThread(id) {
  current = id || null;
  for (const [key, { link }] of rows) {
    if (key === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/* ---- Pages ---- */

let last = null, loading = false;

async function loadMore() {
  if (loading || (last === null && rows.size)) return;
  loading = true;
  try {
    const page = await request(query("/v1/threads", { limit: PAGE, after: last }));
    for (const info of page.data) if (!rows.has(info.id)) list.append(makeRow(info).el);
    last = page.has_more ? page.last_id : null;
    more.hidden = !page.has_more;
    if (!rows.size) fill(list, h("p", { class: "note pad" }, "No conversations yet."));
  } catch (error) {
    fill(list, h("p", { class: "note pad" }, error.message));
  } finally {
    loading = false;
  }
}

/** Puts new and changed threads to the top. The newest, what has moved and what is at work is looked at again. */
async function refresh() {
  const page = await request(query("/v1/threads", { limit: 10 })).catch(() => null);
  if (!page) return;
  if (!rows.size && page.data.length) fill(list);
  const held = (el) => el?.contains(document.activeElement); // moving it would take the focus away
  let next = list.firstElementChild;
  for (const info of page.data) {
    const row = rows.get(info.id) || makeRow(info);
    row.info = info;
    if (info.title) row.title.textContent = info.title;
    if (held(next) && next !== row.el) next = next.nextElementSibling;
    if (next === row.el) next = next.nextElementSibling;
    else if (!held(row.el)) { list.insertBefore(row.el, next); lookAt(row); }
  }
  if (!page.has_more) for (const [id, row] of rows) if (!page.data.some((info) => info.id === id)) forget(row);
  lookAt(rows.get(page.data[0]?.id));
  for (const row of rows.values()) if (row.open) lookAt(row);
}

/** A thread is new, or its run has begun or ended. */
export async function threadChanged(id) {
  await refresh();
  lookAt(rows.get(id));
}

/** Others work, too: while somebody looks, the list follows. */
async function watch() {
  for (;;) {
    await pause(EVERY);
    if (!document.hidden) await refresh();
  }
}

/* ---- Search ---- */

let searching;

async function search() {
  const text = input.value.trim();
  searching?.abort();
  searching = new AbortController();
  const { signal } = searching;
  found.hidden = !text;
  list.hidden = more.hidden = !!text;
  if (!text) { more.hidden = last === null; return; }
  await pause(180, signal);
  if (signal.aborted) return;
  const titles = [...rows.values()].filter((row) => row.title.textContent.toLowerCase().includes(text.toLowerCase())).slice(0, 8);
  const shown = titles.map((row) => h("a", { class: "hit", href: `#/t/${row.info.id}` }, h("span", { class: "thread-title" }, row.title.textContent)));
  try {
    const page = await request(query("/v1/search", { q: text, limit: 20 }), { signal });
    for (const hit of page.data) {
      const thread = hit.threads.find((t) => !t.abandoned) || hit.threads[0], s = hit.snippet;
      if (thread) shown.push(h("a", { class: "hit", href: `#/t/${thread.id}` }, h("span", { class: "thread-note" }, hit.agent ? nameOf(hit.agent) : hit.role), h("span", { class: "snippet" }, s.before.slice(-40), h("mark", {}, s.match), s.after.slice(0, 60))));
    }
  } catch (error) {
    if (signal.aborted) return;
    shown.push(h("p", { class: "note pad" }, error.message));
  }
  fill(found, shown.length ? shown : h("p", { class: "note pad" }, "Nothing found."));
}

/** The next or previous thread of the list. */
function step(by) {
  const all = [...list.querySelectorAll("a")], at = all.findIndex((a) => a.hash === `#/t/${current}`);
  all[Math.max(0, Math.min(all.length - 1, at + by))]?.click();
}

export function threadList() {
  input.addEventListener("input", search);
  input.addEventListener("keydown", (e) => { if (e.key === "Escape") { input.value = ""; search(); input.blur(); } });
  agents().catch(() => {}).finally(() => loadMore().then(watch));
  new IntersectionObserver((e) => e[0].isIntersecting && rows.size && loadMore()).observe(more);
  channel.addEventListener("message", ({ data }) => threadChanged(data.thread));
  window.addEventListener("focus", refresh);
  shortcut("/", "Search", () => input.focus());
  shortcut("j", "Next conversation", () => step(1));
  shortcut("k", "Previous conversation", () => step(-1));
  return h("div", { class: "threads-panel" }, h("div", { class: "threads-head" }, h("div", { class: "search" }, icon("search"), input), h("a", { class: "button primary new", href: "#/", title: "New conversation (n)", "aria-label": "New conversation" }, icon("plus"))),
    h("div", { class: "threads-scroll" }, list, found, more));
}
