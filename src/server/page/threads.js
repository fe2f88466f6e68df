// The sidebar's list of threads.
import { request } from "./api.js";
import { fill, h } from "./dom.js";

const list = h("nav", { class: "threads", "aria-label": "Threads" });

export function markThread(id) {
  for (const link of list.querySelectorAll("a")) link.toggleAttribute("aria-current", link.hash === `#/t/${id}`);
}

export function threadList() {
  request("/v1/threads?limit=30").then((page) => fill(list, page.data.map((t) => h("a", { href: `#/t/${t.id}` }, t.title || "Conversation"))));
  return list;
}
