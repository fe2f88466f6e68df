// The tree of a thread as a picture: messages, branches, and where the thread is.
import { request } from "./api.js";
import { ago, fill, h, svg, toast } from "./dom.js";
import { agents } from "./roster.js";
import { announce, go, setActions, setTitle } from "./shell.js";
import { author, colour, messageText, pathMessages, threadBar } from "./threadbar.js";

const BRANCHES = 40, MESSAGES = 300, CHAIN = 7; // drawn at most: branches, messages of each, of a line without branches
const W = 196, H = 50, DX = 220, DY = 78, PAD = 24, R = 8;

/* ---- The messages as a tree ---- */

/** Ends of paths: nodes that have messages which no later node continues. */
function ends(tree) {
  const continued = new Map();
  for (const n of tree.nodes)
    if (n.parent_id) continued.set(n.parent_id, Math.max(continued.get(n.parent_id) ?? -1, n.branch_point));
  return tree.nodes.filter((n) => !(continued.get(n.id) >= n.messages)).sort((a, b) => b.created_at - a.created_at);
}

async function readTree(thread, signal) {
  const tree = await request(`/v1/threads/${thread}/tree`, { signal });
  const all = ends(tree), drawn = all.slice(0, BRANCHES), items = new Map(), roots = [];
  const add = (path, branch) => {
    let parent = null;
    for (const m of path) {
      let item = items.get(m.id);
      if (!item) {
        items.set(m.id, item = { id: m.id, message: m, parent, children: [], branches: new Set(), here: false, onPath: false });
        (parent ? parent.children : roots).push(item);
      }
      if (branch) item.branches.add(branch);
      parent = item;
    }
    return parent;
  };
  const own = await pathMessages(thread, { limit: MESSAGES, signal });
  const here = add(own.messages, null);
  for (let at = here; at; at = at.parent) at.onPath = true;
  if (here) here.here = true;
  for (const node of drawn) {
    const { messages } = await pathMessages(thread, { node: node.id, limit: MESSAGES, signal });
    const last = add(messages, node);
    if (last) last.end = node;
  }
  return { tree, roots, items, here, cut: own.more, missing: all.length - drawn.length };
}

/** Lines without branches are folded in the middle. */
function fold(roots, open) {
  const shown = [];
  const walk = (item, parent, depth) => {
    const chain = [item];
    for (let at = item; at.children.length === 1; ) chain.push(at = at.children[0]);
    const last = chain.at(-1);
    let nodes = chain;
    if (chain.length > CHAIN && !open.has(item.id)) {
      const rest = chain.slice(2, -3);
      nodes = [...chain.slice(0, 2), { id: `fold-${item.id}`, folded: rest, opens: item.id, onPath: rest[0].onPath, children: [], branches: rest[0].branches }, ...chain.slice(-3)];
    }
    let at = parent;
    for (const item of nodes) {
      const box = { item, parent: at, children: [], depth: depth++ };
      if (at) at.children.push(box);
      shown.push(box);
      at = box;
    }
    // The path of the thread goes straight down.
    for (const child of [...last.children].sort((a, b) => b.onPath - a.onPath)) walk(child, at, depth);
  };
  for (const root of roots) walk(root, null, 0);
  return shown;
}

function place(boxes) {
  let column = -1;
  const walk = (box, first) => {
    box.x = first ? column : ++column;
    box.children.forEach((child, i) => walk(child, i === 0));
  };
  for (const box of boxes) if (!box.parent) walk(box, false);
  return { width: PAD * 2 + column * DX + W, height: PAD * 2 + Math.max(0, ...boxes.map((b) => b.depth)) * DY + H };
}

/* ---- The picture ---- */

const clip = (text, n) => { const line = String(text ?? "").slice(0, 1000).replace(/\s+/g, " ").trim(); return line.length > n ? `${line.slice(0, n - 1)}…` : line; };

/** What is in a box of a picture: its frame, a stripe in its colour, a name and a line of text. */
export const boxParts = (width, height, name, text) => [svg("rect", { class: "frame", width, height, rx: 9 }), svg("rect", { class: "stripe", width: 3, height: height - 18, y: 9, rx: 1.5 }),
  svg("svg", { width: width - 10, height, "aria-hidden": "true" }, svg("text", { class: "speaker", x: 14, y: 20 }, clip(name, width / 7.5)), svg("text", { class: "what", x: 14, y: 38 }, clip(text, width / 7.2)))];

function edge(box) {
  const x1 = PAD + box.parent.x * DX + W / 2, y1 = PAD + box.parent.depth * DY + H, x2 = PAD + box.x * DX + W / 2, y2 = PAD + box.depth * DY, mid = (y1 + y2) / 2;
  return svg("path", { class: ["link-line", box.item.onPath && "on-path"], d: x1 === x2 ? `M${x1} ${y1}V${y2}` : `M${x1} ${y1}V${mid - R}q0 ${R} ${R} ${R}H${x2 - R}q${R} 0 ${R} ${R}V${y2}` });
}

function drawBox(box, select) {
  const { item } = box, m = item.message;
  const name = m ? author(m) : `${item.folded.length} messages`, text = m ? messageText(m) : "Enter shows them";
  const label = m ? `${name}: ${clip(text, 120)}${item.here ? ". You are here" : ""}${item.end && !item.here ? ". End of a branch" : ""}` : `${name}, folded`;
  box.node = svg("g", { class: ["box", m ? colour(m) : "folded", item.onPath && "on-path", item.here && "here"], role: "treeitem", "aria-label": label,
    "aria-level": box.depth + 1, "aria-selected": "false", tabindex: "-1", transform: `translate(${PAD + box.x * DX} ${PAD + box.depth * DY})`, onclick: () => select(box, true), onfocus: () => select(box, false) },
    boxParts(W, H, name, text),
    item.here && svg("g", { class: "flag", transform: `translate(${W - 44} -9)` }, svg("rect", { width: 38, height: 18, rx: 9 }), svg("text", { x: 19, y: 13 }, "here")));
  return box.node;
}

/** Up and down along the branch, left and right to the neighbour at the same height. */
function neighbour(box, key, boxes) {
  if (key === "ArrowUp") return box.parent;
  if (key === "ArrowDown") return box.children[0];
  const side = key === "ArrowRight" ? 1 : -1;
  return boxes.filter((b) => (b.x - box.x) * side > 0).sort((a, b) => Math.abs(a.depth - box.depth) - Math.abs(b.depth - box.depth) || Math.abs(a.x - box.x) - Math.abs(b.x - box.x))[0];
}

/* ---- The view ---- */

export async function tree(root, { thread }, signal) {
  setActions(...threadBar(thread, "/tree"));
  setTitle("Tree");
  root.classList.add("split");
  const picture = h("div", { class: "canvas" }), side = h("aside", { class: "details", tabindex: "0", "aria-label": "The chosen message", "aria-live": "polite" });
  fill(root, picture, side);
  const open = new Set();
  await agents().catch(() => {}); // their names
  let data = await readTree(thread, signal), boxes, chosen;
  if (!data.items.size) return fill(root, h("p", { class: "empty" }, "Nothing has been said here yet."));

  const act = async (what, path, body, done) => {
    try {
      const answer = await request(`/v1/threads/${thread}/${path}`, { body });
      announce(what);
      await done(answer);
    } catch (error) {
      toast(error.message, "bad");
    }
  };
  const reload = async () => { data = await readTree(thread, signal); draw(data.here?.id); };

  function describe(box) {
    const { item } = box, m = item.message;
    if (!m) return fill(side, h("p", { class: "note" }, `${item.folded.length} messages without a branch.`), h("button", { type: "button", onclick: () => unfold(box) }, "Show them"));
    const branch = [...item.branches][0], other = !item.onPath && branch;
    fill(side, h("div", { class: "row between" }, h("strong", { class: ["speaker", colour(m)] }, author(m)), ago(m.created_at)),
      h("div", { class: "details-text" }, messageText(m)),
      h("div", { class: "row" }, item.here ? h("span", { class: "pill good" }, "You are here") : null,
        other && h("button", { type: "button", class: "primary", onclick: () => act("Switched to this branch", "checkout", { node_id: branch.id }, async () => { toast("This branch is now the conversation."); await reload(); }) }, "Switch to this branch"),
        other && h("a", { class: "button", href: `#/t/${thread}/compare?b=${branch.id}` }, "Compare"),
        h("button", { type: "button", onclick: () => act("Forked", "fork", { at: m.id }, (t) => go(`/t/${t.id}`)) }, "New conversation from here")),
      h("p", { class: "note" }, item.branches.size > 1 ? `${item.branches.size} branches go through this message.` : item.end && !item.here ? "The end of a branch." : ""));
  }
  function select(box, focus) {
    if (chosen) { chosen.node.setAttribute("tabindex", "-1"); chosen.node.setAttribute("aria-selected", "false"); }
    chosen = box;
    box.node.setAttribute("tabindex", "0");
    box.node.setAttribute("aria-selected", "true");
    describe(box);
    if (focus && document.activeElement !== box.node) box.node.focus();
  }
  function unfold(box) { open.add(box.item.opens); draw(box.item.folded[0].id, true); }

  function draw(id, focus) {
    boxes = fold(data.roots, open);
    const size = place(boxes);
    chosen = null;
    const image = svg("svg", { class: "tree", role: "tree", "aria-label": "The messages of this conversation and its branches", width: size.width, height: size.height, onkeydown: (event) => {
      if (event.key === "Enter" && chosen) {
        event.preventDefault();
        return chosen.item.folded ? unfold(chosen) : side.querySelector("button, a")?.focus();
      }
      const next = /^Arrow/.test(event.key) && chosen && neighbour(chosen, event.key, boxes);
      if (!next) return;
      event.preventDefault();
      select(next, true);
    } }, svg("g", { role: "presentation" }, boxes.filter((b) => b.parent).map(edge)), boxes.map((b) => drawBox(b, select)));
    fill(picture, image, h("p", { class: "note hint" }, h("span", { class: "by-keys" }, "Arrow keys walk, Enter chooses."), data.cut && h("span", {}, ` Only the newest ${MESSAGES} messages are drawn.`), data.missing > 0 && h("span", {}, ` ${data.missing} older branches are not drawn.`)));
    const box = boxes.find((b) => b.item.id === id) || boxes.find((b) => b.item.here) || boxes[0];
    select(box, focus);
    box.node.scrollIntoView({ block: "center", inline: "center" });
  }
  draw(undefined, true);
}
