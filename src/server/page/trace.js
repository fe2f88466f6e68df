// A run as a waterfall: model calls, tools, steps of a plan, sub-agents and waits over time, with tokens and cost.
import { pause, request } from "./api.js";
import { duration, fill, h, hue, icon, svg } from "./dom.js";
import { agents, nameOf } from "./roster.js";
import { go, setActions, setTitle } from "./shell.js";
import { short, threadBar, tile, tokens } from "./threadbar.js";

const KINDS = { model: ["bulb", "Model"], tool: ["tool", "Tool"], agent: ["agents", "Sub-agent"], branch: ["branch", "Parallel step"], wait: ["approvals", "Wait"], run: ["agents", "Run"] };
const kindOf = (row) => KINDS[row.run?.planStepId != null ? "branch" : row.kind] || KINDS.tool;
const WIDTH = 1000, SHRUNK = 0.05; // of a picture; a wait's share of it
const POLL = 1000;

/** The rows of the waterfall, from the tree: a run below its call. Its tokens and cost are those of all below it. */
function rowsOf(run, depth = 0, rows = []) {
  const { agent, started, ended, error, status, input } = run;
  rows.push({ kind: "run", name: run.planStepId || nameOf(agent), agent, started, ended, error, status, input, usage: run.totalUsage, cost: run.totalCost, depth, run });
  const left = new Map(run.children.map((c) => [c.turnId, c]));
  for (const span of run.spans) {
    const child = left.get(span.childTurnId);
    left.delete(span.childTurnId);
    if (child) rowsOf(child, depth + 1, rows);
    else rows.push({ ...span, name: span.kind === "agent" ? nameOf(span.name) : span.name || "Parallel step", label: run.planStepId == null && span.kind !== "branch" && span.planStepId, depth: depth + 1 });
  }
  for (const child of left.values()) rowsOf(child, depth + 1, rows);
  return rows;
}

/** Waits as times that do not overlap: a run waits when one below it does. */
function waitsOf(rows, now) {
  const merged = [];
  for (const [a, b] of rows.filter((r) => r.kind === "wait").map((r) => [r.started, r.ended ?? now]).sort((x, y) => x[0] - y[0]))
    if (a <= merged.at(-1)?.[1]) merged.at(-1)[1] = Math.max(b, merged.at(-1)[1]); else merged.push([a, b]);
  return { merged, waited: merged.reduce((sum, [a, b]) => sum + b - a, 0) };
}

/** Times as positions. Long waits are cut to a small part, or minutes of a person would hide the milliseconds of the rest. */
function scale(rows, from, to) {
  const { merged, waited } = waitsOf(rows, to), work = to - from - waited;
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
  const unit = Math.max(1, 10 ** Math.floor(Math.log10(span / 6))), step = [1, 2, 5, 10].map((n) => n * unit).find((n) => span / n <= 6);
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, i) => i * step);
}

function bar(row, at, now) {
  const x = at(row.started), width = Math.max(3, at(row.ended ?? now) - x), first = row.firstOutput && at(row.firstOutput), [y, height] = row.kind === "run" ? [8, 4] : [4, 12];
  return svg("svg", { class: "timeline", viewBox: `0 0 ${WIDTH} 20`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: ["span", `is-${row.kind}`, bad(row) && "bad", row.ended == null && "open"], x: Math.min(x, WIDTH - 3), y, width, height, rx: 2 }),
    first > x && svg("rect", { class: "quiet-time", x, y: 4, width: first - x, height: 12 }));
}

const bad = (row) => row.error || (row.outcome && row.outcome !== "done");
const money = (cost) => (cost == null ? "" : cost === 0 ? "0" : cost < 0.01 ? cost.toFixed(5) : cost.toFixed(3));
const outcome = (row) => (row.error ? "failed" : bad(row) ? row.outcome : row.ended == null ? "open" : "");
const took = (row) => (row.ended == null ? "…" : row.ended === row.started ? "< 1 ms" : duration(row.ended - row.started));
const flow = (usage) => (usage?.totalTokens ? `${tokens(usage.inputTokens)} → ${tokens(usage.outputTokens)}` : "");

function describe(row, start) {
  const u = row.usage, pairs = {
    Kind: kindOf(row)[1], Agent: nameOf(row.agent), "Step of the plan": row.run?.planStepId || row.planStepId, Step: row.step, Provider: row.provider, Began: `after ${duration(row.started - start)}`,
    "First output": row.firstOutput && `${duration(row.firstOutput - row.started)} later`, Took: row.ended == null ? "not over" : took(row),
    Tokens: u && `${u.inputTokens} in, ${u.outputTokens} out${u.cacheReadTokens ? `, ${u.cacheReadTokens} from the cache` : ""}${u.reasoningTokens ? `, ${u.reasoningTokens} of reasoning` : ""}`,
    Cost: money(row.cost), Outcome: outcome(row) || "done", Call: row.toolCallId, Run: row.run && short(row.run.turnId), Input: row.input?.slice(0, 4000),
  };
  return [h("dl", { class: "facts" }, Object.entries(pairs).filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    row.error && h("pre", { class: "error", tabindex: "0" }, row.error.message || JSON.stringify(row.error, null, 2))];
}

function pair(row, i, { at, now, from, open }) {
  const details = h("tr", { class: "span-details", id: `span-${i}`, hidden: !open.has(i) }, h("td", { colspan: 5 }, describe(row, from)));
  const button = h("button", { type: "button", class: "quiet span-name", style: { "--depth": row.depth }, "aria-expanded": String(open.has(i)), "aria-controls": `span-${i}`, onclick: () => {
    details.hidden = !details.hidden;
    button.setAttribute("aria-expanded", String(!details.hidden));
    if (details.hidden) open.delete(i); else open.add(i);
  } }, h("span", { class: ["mark", `is-${row.kind}`, hue(row.agent)] }, icon(kindOf(row)[0])), h("span", { class: "truncate" }, row.name), row.label && h("span", { class: "pill truncate" }, row.label), outcome(row) && h("span", { class: ["pill", row.ended == null ? "warn" : "bad"] }, outcome(row)));
  const hint = [`${kindOf(row)[1]} ${row.name}`, took(row), flow(row.usage), money(row.cost) && `cost ${money(row.cost)}`].filter(Boolean).join(", ");
  return [h("tr", { class: `is-${row.kind}`, title: hint }, h("th", { scope: "row" }, button), h("td", { class: "bars" }, bar(row, at, now)), [took(row), flow(row.usage), money(row.cost)].map((text) => h("td", { class: "number" }, text))), details];
}

/** Up, down, Home and End go from row to row. */
function walk(event) {
  const all = [...event.currentTarget.querySelectorAll(".span-name")], i = all.indexOf(document.activeElement);
  const to = i < 0 ? null : { ArrowUp: all[i - 1], ArrowDown: all[i + 1], Home: all[0], End: all.at(-1) }[event.key];
  if (!to) return;
  event.preventDefault();
  to.focus();
}

function waterfall(trace, rows, now, open) {
  const from = trace.started ?? now, { at, cut, span } = scale(rows, from, trace.ended ?? now);
  const axis = h("span", { class: "axis" }, cut ? "Time, waits shortened" : ticks(span).map((t) => h("span", { style: { left: `${(t / span) * 100}%` } }, duration(t))));
  return h("div", { class: "scroll-x" }, h("table", { class: "waterfall" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "What"), h("th", { scope: "col", class: "bars" }, axis), ["Took", "Tokens", "Cost"].map((name) => h("th", { scope: "col", class: "number" }, name)))),
    h("tbody", { onkeydown: walk }, rows.map((row, i) => pair(row, i, { at, now, from, open })))));
}

function summary(trace, rows, now) {
  const u = trace.totalUsage, { waited } = waitsOf(rows, now);
  const calls = (label, kind) => {
    const all = rows.filter((r) => r.kind === kind);
    return tile(label, duration(all.reduce((n, r) => n + (r.ended ?? now) - r.started, 0)), `${all.length} ${all.length === 1 ? "call" : "calls"}`);
  };
  return h("div", { class: "tiles" }, tile("Total", duration((trace.ended ?? now) - (trace.started ?? now)), trace.status), calls("Models", "model"), calls("Tools", "tool"),
    waited > 0 && tile("Waited", duration(waited), "for an answer"), tile("Tokens", tokens(u.totalTokens), `${tokens(u.inputTokens)} in, ${tokens(u.outputTokens)} out`),
    trace.totalCost != null && tile("Cost", money(trace.totalCost), "at its prices"));
}

async function show(root, run, signal) {
  const box = h("div", { class: "trace" }), open = new Set();
  root.append(box);
  for (let trace, before; !signal.aborted; await pause(POLL, signal)) {
    trace = await request(`/v1/runs/${run}/trace`, { signal });
    const same = before === (before = JSON.stringify(trace));
    if (same && trace.status === "waiting") continue;
    const now = Math.max(Date.now(), trace.started ?? 0), rows = rowsOf(trace);
    const focused = [...box.querySelectorAll(".span-name")].indexOf(document.activeElement), scrolled = box.querySelector(".scroll-x")?.scrollLeft;
    fill(box, summary(trace, rows, now), trace.error && h("p", { class: "error", role: "alert" }, trace.error.message || "It failed."), trace.started ? waterfall(trace, rows, now, open) : h("p", { class: "empty" }, "This run has not begun."));
    if (focused >= 0) box.querySelectorAll(".span-name")[focused]?.focus();
    if (scrolled) box.querySelector(".scroll-x").scrollLeft = scrolled;
    if (trace.ended) return;
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
