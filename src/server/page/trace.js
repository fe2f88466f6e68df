// A run as a waterfall: model calls, tools, sub-agents and waits over time, with tokens and cost.
import { pause, request } from "./api.js";
import { duration, fill, h, hue, icon, svg } from "./dom.js";
import { agents, nameOf } from "./roster.js";
import { go, setActions, setTitle } from "./shell.js";
import { short, threadBar, tile, tokens } from "./threadbar.js";

const KINDS = { model: ["bulb", "Model"], tool: ["tool", "Tool"], agent: ["agents", "Sub-agent"], branch: ["branch", "Parallel step"], wait: ["approvals", "Wait"], run: ["agents", "Run"] };
const WIDTH = 1000, SHRUNK = 0.05; // of a picture; a wait's share of it
const POLL = 1000;

/** The rows of the waterfall, from the tree: a run below its call. */
function rowsOf(run, depth = 0, rows = []) {
  rows.push({ kind: "run", name: run.agent, agent: run.agent, started: run.started, ended: run.ended, usage: run.usage, cost: run.cost, error: run.error, status: run.status, input: run.input, depth, run });
  const left = new Map(run.children.map((c) => [c.turnId, c]));
  for (const span of run.spans) {
    const child = left.get(span.childTurnId);
    left.delete(span.childTurnId);
    if (child) rowsOf(child, depth + 1, rows);
    else rows.push({ ...span, depth: depth + 1 });
  }
  for (const child of left.values()) rowsOf(child, depth + 1, rows);
  return rows;
}

/** Times as positions. Long waits are cut to a small part, or minutes of a person would hide the milliseconds of the rest. */
function scale(rows, from, to) {
  const waits = rows.filter((r) => r.kind === "wait").map((r) => [r.started, r.ended ?? to]).sort((a, b) => a[0] - b[0]);
  const merged = [];
  for (const [a, b] of waits) if (merged.length && a <= merged.at(-1)[1]) merged.at(-1)[1] = Math.max(b, merged.at(-1)[1]); else merged.push([a, b]);
  const waited = merged.reduce((sum, [a, b]) => sum + b - a, 0), work = to - from - waited;
  const cut = waited > work ? Math.max(work * SHRUNK, 1) : 0; // 0: drawn as long as they are
  const place = (t) => {
    let at = t - from;
    if (cut) for (const [a, b] of merged) if (t > a) at -= Math.min(t, b) - a - (cut * (Math.min(t, b) - a)) / Math.max(1, b - a);
    return at;
  };
  const all = Math.max(1, place(to));
  return { at: (t) => (place(t) / all) * WIDTH, cut: cut > 0, span: all };
}

function ticks(span) {
  const step = [1, 2, 5].flatMap((n) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7].map((p) => n * p)).sort((a, b) => a - b).find((n) => span / n <= 6) || span;
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, i) => i * step);
}

function bar(row, at, now) {
  const x = at(row.started), end = at(row.ended ?? now), width = Math.max(3, end - x), first = row.firstOutput && at(row.firstOutput);
  return svg("svg", { class: "timeline", viewBox: `0 0 ${WIDTH} 20`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: ["span", `is-${row.kind}`, row.outcome && row.outcome !== "done" && "bad", row.error && "bad", row.ended == null && "open"], x: Math.min(x, WIDTH - 3), y: row.kind === "run" ? 8 : 4, width, height: row.kind === "run" ? 4 : 12, rx: row.kind === "run" ? 2 : 3 }),
    first > x && svg("rect", { class: "quiet-time", x, y: 4, width: Math.max(0, first - x), height: 12 }));
}

const money = (cost) => (cost == null ? "" : cost === 0 ? "0" : cost < 0.01 ? cost.toFixed(5) : cost.toFixed(3));
const outcome = (row) => (row.error ? "failed" : row.outcome && row.outcome !== "done" ? row.outcome : row.ended == null ? "open" : "");

function describe(row, start) {
  const usage = row.usage, pairs = [
    ["Kind", (KINDS[row.kind] || KINDS.tool)[1]], ["Agent", nameOf(row.agent)], ["Step", row.step], ["Provider", row.provider],
    ["Began", `after ${duration(row.started - start)}`], ["First output", row.firstOutput && `${duration(row.firstOutput - row.started)} later`], ["Took", row.ended == null ? "not over" : duration(row.ended - row.started)],
    ["Tokens", usage && `${usage.inputTokens} in, ${usage.outputTokens} out${usage.cacheReadTokens ? `, ${usage.cacheReadTokens} from the cache` : ""}${usage.reasoningTokens ? `, ${usage.reasoningTokens} of reasoning` : ""}`],
    ["Cost", row.cost != null && money(row.cost)], ["Outcome", outcome(row) || "done"], ["Call", row.toolCallId], ["Run", row.run && short(row.run.turnId)], ["Input", row.input],
  ];
  return [h("dl", { class: "span-facts" }, pairs.filter(([, value]) => value != null && value !== false && value !== "").map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    row.error && h("pre", { class: "error", tabindex: "0" }, row.error.message || JSON.stringify(row.error, null, 2))];
}

/** What a row is of, in words. */
const title = (row) => (row.kind === "run" || row.kind === "agent" ? nameOf(row.name) : row.name || "Parallel step");

function waterfall(trace, now, open) {
  const rows = rowsOf(trace), from = trace.started ?? now, to = trace.ended ?? now, { at, cut, span } = scale(rows, from, to);
  const pair = (row, i) => {
    const details = h("tr", { class: "span-details", id: `span-${i}`, hidden: !open.has(i) }, h("td", { colspan: 5 }, describe(row, from)));
    const button = h("button", { type: "button", class: "quiet span-name", style: { "--depth": row.depth }, "aria-expanded": String(open.has(i)), "aria-controls": `span-${i}`, onclick: () => {
      details.hidden = !details.hidden;
      button.setAttribute("aria-expanded", String(!details.hidden));
      if (details.hidden) open.delete(i); else open.add(i);
    } }, h("span", { class: ["mark", `is-${row.kind}`, hue(row.agent)] }, icon((KINDS[row.kind] || KINDS.tool)[0])), h("span", { class: "truncate" }, title(row)), outcome(row) && h("span", { class: ["pill", row.ended == null ? "warn" : "bad"] }, outcome(row)));
    return [h("tr", { class: `is-${row.kind}` }, h("th", { scope: "row" }, button), h("td", { class: "bars" }, bar(row, at, now)),
      h("td", { class: "number" }, row.ended == null ? "…" : duration(row.ended - row.started)),
      h("td", { class: "number" }, row.kind === "model" && row.usage.totalTokens ? `${tokens(row.usage.inputTokens)} → ${tokens(row.usage.outputTokens)}` : ""),
      h("td", { class: "number" }, row.kind === "model" ? money(row.cost) : "")), details];
  };
  const axis = cut ? h("span", { class: "axis" }, "Time, waits shortened") : h("span", { class: "axis" }, ticks(span).map((t) => h("span", { style: { left: `${(t / span) * 100}%` } }, duration(t))));
  return h("div", { class: "scroll-x" }, h("table", { class: "waterfall" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "What"), h("th", { scope: "col", class: "bars" }, axis), ["Took", "Tokens", "Cost"].map((name) => h("th", { scope: "col", class: "number" }, name)))),
    h("tbody", {}, rows.map(pair))));
}

function summary(trace, now) {
  const all = rowsOf(trace), sum = (kind) => all.filter((r) => r.kind === kind).reduce((n, r) => n + (r.ended ?? now) - r.started, 0), count = (kind) => all.filter((r) => r.kind === kind).length;
  const u = trace.totalUsage;
  return h("div", { class: "tiles" }, tile("Total", duration((trace.ended ?? now) - (trace.started ?? now)), trace.status),
    tile("Models", duration(sum("model")), `${count("model")} ${count("model") === 1 ? "call" : "calls"}`), tile("Tools", duration(sum("tool")), `${count("tool")} ${count("tool") === 1 ? "call" : "calls"}`),
    sum("wait") > 0 && tile("Waited", duration(sum("wait")), "for an answer"), tile("Tokens", tokens(u.totalTokens), `${tokens(u.inputTokens)} in, ${tokens(u.outputTokens)} out`),
    trace.totalCost != null && tile("Cost", money(trace.totalCost), "at its prices"));
}

async function show(root, run, signal) {
  const box = h("div", { class: "trace" }), open = new Set();
  root.append(box);
  for (let trace; !signal.aborted; await pause(POLL, signal)) {
    trace = await request(`/v1/runs/${run}/trace`, { signal });
    const now = Math.max(Date.now(), trace.started ?? 0);
    const focused = [...box.querySelectorAll(".span-name")].indexOf(document.activeElement);
    fill(box, summary(trace, now), trace.error && h("p", { class: "error", role: "alert" }, trace.error.message || "It failed."), trace.started ? waterfall(trace, now, open) : h("p", { class: "empty" }, "This run has not begun."));
    if (focused >= 0) box.querySelectorAll(".span-name")[focused]?.focus();
    if (trace.ended || trace.status === "waiting") return;
  }
}

/** #/t/THREAD/trace and #/t/THREAD/trace/RUN; without a run, the newest one. */
export async function trace(root, { thread, run }, signal) {
  setActions(...threadBar(thread, "/trace"));
  setTitle("Trace");
  const [{ data: runs }] = await Promise.all([request(`/v1/threads/${thread}/runs?limit=100`, { signal }), agents().catch(() => {})]);
  if (!runs.length && !run) return fill(root, h("p", { class: "empty" }, "No agent has run here yet."));
  const chosen = run || runs[0].id, page = h("div", { class: "page wide" });
  const label = (r) => `${nameOf(r.assistant_id)}, ${new Date(r.created_at * 1000).toLocaleString()}, ${r.status.replace("_", " ")}`;
  fill(page, h("div", { class: "choices" }, h("label", {}, "Run", h("select", { onchange: (e) => go(`/t/${thread}/trace/${e.target.value}`) },
    runs.map((r) => h("option", { value: r.id, selected: r.id === chosen }, label(r)))))));
  fill(root, page);
  await show(page, chosen, signal);
}
