// Branches of a conversation: which alternatives a message has, and how to get to them. A thread is a path in a tree of
// nodes; a message that was edited, or an answer that was made again, begins a node.
import { request } from "./api.js";
import { h, iconButton } from "./dom.js";

export class Branches {
  constructor(tree) {
    this.nodes = tree.nodes;
    this.byId = new Map(tree.nodes.map((n, i) => [n.id, { ...n, order: i }]));
    this.path = new Set();
    for (let n = this.byId.get(tree.current_id); n; n = this.byId.get(n.parent_id)) this.path.add(n.id);
    this.current = tree.current_id;
  }

  /** Where a node branches off: {node, entries, point}; one that begins with its parent begins where that does. */
  #origin(id) {
    const n = this.byId.get(id), parent = this.byId.get(n?.parent_id);
    if (!parent) return null;
    return n.branch_point === 0 && parent.parent_id ? this.#origin(parent.id) : { node: parent.id, point: n.branch_point };
  }

  #at({ node, point }) {
    const all = this.nodes.filter((n) => { const o = n.messages > 0 && this.#origin(n.id); return o && o.node === node && o.point === point; }).map((n) => ({ node: n.id }));
    return this.byId.get(node).messages > point ? [{ node, after: point }, ...all] : all;
  }

  /** The alternatives of a message: [{node, after?}], and which of them is shown. `before`: the message before it on the path. */
  of(entry, before) {
    const first = !before || before.node_id !== entry.node_id, origin = first ? this.#origin(entry.node_id) : null;
    const low = first ? -1 : before.index;
    const child = this.nodes.find((n) => n.parent_id === entry.node_id && n.branch_entries > low && n.branch_entries <= entry.index && n.branch_point !== undefined);
    const place = origin || (child ? { node: entry.node_id, point: child.branch_point } : null);
    if (!place) return { all: [], at: -1 };
    const all = this.#at(place), at = all.findIndex((a) => (a.after === undefined ? a.node === entry.node_id || this.#leads(a.node, entry.node_id) : a.node === entry.node_id));
    return { all, at };
  }

  #leads(from, to) {
    for (let n = this.byId.get(to); n; n = this.byId.get(n.parent_id)) if (n.id === from) return true;
    return false;
  }

  /** The newest node of an alternative: where switching to it leads. */
  #newest({ node, after }) {
    let best = this.byId.get(node);
    for (const n of this.byId.values()) {
      if (n.order <= best.order || !this.#leads(node, n.id) || n.messages === 0) continue;
      let below = n;
      while (below.parent_id !== node && below.id !== node) below = this.byId.get(below.parent_id);
      if (after === undefined || below.branch_point > after) best = n;
    }
    return best.id;
  }

  async checkout(thread, alternative) {
    await request(`/v1/threads/${thread}/checkout`, { body: { node_id: this.#newest(alternative) } });
  }
}

export const loadBranches = async (thread, signal) => new Branches(await request(`/v1/threads/${thread}/tree`, { signal }));

/** "‹ 1/3 ›", or null where there is nothing to choose. choose(alternative). */
export function switcher({ all, at }, choose) {
  if (all.length < 2 || at < 0) return null;
  return h("span", { class: "switcher", role: "group", "aria-label": "Branches" },
    iconButton("left", "Previous branch", () => choose(all[at - 1]), { disabled: at === 0 }), h("span", { "aria-label": `Branch ${at + 1} of ${all.length}` }, `${at + 1}/${all.length}`),
    iconButton("right", "Next branch", () => choose(all[at + 1]), { disabled: at === all.length - 1 }));
}
