// An exchange of envelopes as a graph: who sent what, made from which.
import { request } from "./api.js";
import { fill, h, hue, svg } from "./dom.js";
import { announce, setTitle } from "./shell.js";
import { short } from "./threadbar.js";
import { boxParts } from "./tree.js";

const W = 180, H = 58, DX = 236, DY = 82, PAD = 28, NODES = 400;

/** A column for each generation: one more than that of its latest parent. A cycle, which there should not be, ends. */
function layers(nodes) {
  const byId = new Map(nodes.map((n) => [n.id, n])), depth = new Map();
  const walk = (n, path) => {
    if (depth.has(n.id)) return depth.get(n.id);
    if (path.has(n.id)) return 0;
    path.add(n.id);
    const parents = (n.parents || []).map((id) => byId.get(id)).filter(Boolean);
    const d = parents.length ? 1 + Math.max(...parents.map((p) => walk(p, path))) : 0;
    path.delete(n.id);
    depth.set(n.id, d);
    return d;
  };
  for (const n of nodes) walk(n, new Set());
  const columns = [];
  for (const n of nodes) (columns[depth.get(n.id)] ||= []).push(n);
  // Near to its parents: fewer crossings.
  const row = new Map();
  columns.forEach((list) => {
    const middle = (n) => { const at = (n.parents || []).map((id) => row.get(id)).filter((r) => r != null); return at.length ? at.reduce((a, b) => a + b, 0) / at.length : Infinity; };
    list.sort((a, b) => middle(a) - middle(b)).forEach((n, i) => row.set(n.id, i));
  });
  return { depth, row, columns };
}

function facts(n) {
  const spent = (cost) => cost && `${cost.input_tokens} in, ${cost.output_tokens} out`;
  return [["Agent", n.agent], ["Role", n.role], ["Intent", n.intent], ["Task", n.task], ["Score", n.score], ["Tokens", spent(n.cost)], ["Tokens with what follows", spent(n.subtree_cost)], ["Parents", (n.parents || []).map(short).join(", ")], ["Id", n.id]];
}

export async function exchange(root, { envelope }, signal) {
  setTitle("Exchange");
  let data;
  try {
    data = await request(`/v1/envelopes/${encodeURIComponent(envelope)}/lineage`, { signal });
  } catch (error) {
    if (error.status === 404) return fill(root, h("p", { class: "empty" }, "This server has no such envelope."));
    throw error;
  }
  const nodes = (data.nodes || []).slice(0, NODES);
  if (!nodes.length) return fill(root, h("p", { class: "empty" }, "Nothing was exchanged."));
  setTitle((nodes.find((n) => n.id === envelope) || nodes[0]).task || "Exchange");
  root.classList.add("split");
  const { depth, row, columns } = layers(nodes), side = h("aside", { class: "details", tabindex: "0", "aria-label": "The chosen envelope", "aria-live": "polite" });
  const at = (n) => [PAD + depth.get(n.id) * DX, PAD + row.get(n.id) * DY], byId = new Map(nodes.map((n) => [n.id, n])), drawn = new Map();
  let chosen;
  const select = (n) => {
    if (chosen) drawn.get(chosen.id).setAttribute("aria-pressed", "false");
    chosen = n;
    drawn.get(n.id).setAttribute("aria-pressed", "true");
    announce(`${n.agent || n.role}: ${n.intent || ""}`);
    const near = new Set([n.id, ...(n.parents || [])]);
    for (const [id, g] of drawn) g.classList.toggle("near", near.has(id) || (byId.get(id).parents || []).includes(n.id));
    fill(side, h("h2", {}, n.agent || n.role || short(n.id)), h("dl", { class: "facts" }, facts(n).filter(([, v]) => v != null && v !== "").map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, String(v))))));
  };
  const edges = nodes.flatMap((n) => (n.parents || []).filter((id) => byId.has(id)).map((id) => {
    const [x1, y1] = at(byId.get(id)), [x2, y2] = at(n), mid = (x1 + W + x2) / 2;
    return svg("path", { class: "link-line on-path", d: `M${x1 + W} ${y1 + H / 2}C${mid} ${y1 + H / 2} ${mid} ${y2 + H / 2} ${x2} ${y2 + H / 2}` });
  }));
  const boxes = nodes.map((n) => {
    const [x, y] = at(n), score = Math.min(1, Math.max(0, Number(n.score) || 0));
    const g = svg("g", { class: ["box", hue(n.agent || n.role)], role: "button", tabindex: "0", "aria-pressed": "false", "aria-label": `${n.agent || n.role}: ${n.intent || "message"}${n.score != null ? `, score ${n.score}` : ""}`,
      transform: `translate(${x} ${y})`, onclick: () => select(n), onfocus: () => select(n) },
      boxParts(W, H, n.agent || n.role, n.intent || n.task),
      n.score != null && [svg("rect", { class: "score-back", x: 14, y: H - 10, width: W - 28, height: 3, rx: 1.5 }), svg("rect", { class: "score", x: 14, y: H - 10, width: (W - 28) * score, height: 3, rx: 1.5 })]);
    drawn.set(n.id, g);
    return g;
  });
  fill(root, h("div", { class: "canvas" }, svg("svg", { class: "tree", role: "group", "aria-label": "Envelopes and what they were made from", width: PAD * 2 + (columns.length - 1) * DX + W, height: PAD * 2 + (Math.max(...columns.map((c) => c.length)) - 1) * DY + H }, edges, boxes),
    (data.nodes.length > NODES) && h("p", { class: "note hint" }, `Only the first ${NODES} are drawn.`)), side);
  select(byId.get(envelope) || nodes[0]);
  drawn.get(chosen.id).scrollIntoView({ block: "nearest", inline: "center" });
}
