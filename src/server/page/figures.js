// The server's figures, from GET /metrics every two seconds: tiles with a sparkline, and tables by agent, model and tool.
import { pause, request, text } from "./api.js";
import { bytes, duration, fill, h, svg } from "./dom.js";
import { tile, tokens } from "./threadbar.js";

const EVERY = 2000, SAMPLES = 90;

/* ---- The text format of Prometheus ---- */

/** [{name, labels, value}] */
export function parseMetrics(page) {
  const out = [];
  for (const line of page.split("\n")) {
    const m = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!m) continue;
    const labels = {};
    for (const [, name, value] of (m[2] || "").matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    out.push({ name: m[1], labels, value: Number(m[3]) });
  }
  return out;
}

const sum = (all, name, want = () => true) => all.reduce((n, m) => (m.name === name && want(m.labels) ? n + m.value : n), 0);

/** Buckets of a histogram, added up over its other labels: [[upper bound, count], ...]. */
function buckets(all, name, want = () => true) {
  const counts = new Map();
  for (const m of all) if (m.name === `${name}_bucket` && want(m.labels)) counts.set(m.labels.le, (counts.get(m.labels.le) || 0) + m.value);
  return [...counts].map(([le, n]) => [le === "+Inf" ? Infinity : Number(le), n]).sort((a, b) => a[0] - b[0]);
}

/** A quantile in seconds, of what came between two samples; null: nothing came. */
export function quantile(q, now, before = []) {
  const list = now.map(([le, n]) => [le, n - (before.find(([x]) => x === le)?.[1] ?? 0)]), all = list.at(-1)?.[1] ?? 0;
  if (!(all > 0)) return null;
  let low = 0, under = 0;
  for (const [le, n] of list) {
    if (n >= q * all) return le === Infinity ? low : low + ((le - low) * (q * all - under)) / Math.max(1e-9, n - under);
    [low, under] = [le, n];
  }
  return low;
}

/* ---- Drawing ---- */

function sparkline(values, label) {
  const known = values.filter((v) => v != null), top = Math.max(1e-9, ...known), step = 120 / (SAMPLES - 1), from = SAMPLES - values.length;
  const points = values.map((v, i) => [((from + i) * step).toFixed(1), (30 - ((v ?? 0) / top) * 26).toFixed(1)]);
  return svg("svg", { class: "sparkline", viewBox: "0 0 120 32", preserveAspectRatio: "none", role: "img", "aria-label": `${label}, the last ${Math.round((values.length * EVERY) / 1000)} seconds` },
    points.length > 1 && [svg("path", { class: "area", d: `M${points[0][0]} 31L${points.map((p) => p.join(" ")).join("L")}L${points.at(-1)[0]} 31Z` }), svg("polyline", { points: points.map((p) => p.join(",")).join(" ") })]);
}

const seconds = (s) => (s == null ? "–" : s < 0.001 ? "< 1 ms" : duration(s * 1000));
const rate = (n) => (n >= 100 ? Math.round(n) : n >= 10 ? n.toFixed(1) : n.toFixed(n ? 1 : 0));

const HTTP = "weft_http_request_duration_seconds", MODEL = "weft_model_request_duration_seconds";

/** label, value of a sample, text of a value, note. */
const TILES = [
  ["Runs at work", (s) => sum(s.all, "weft_runs", (l) => l.state === "running"), String, (s) => `${sum(s.all, "weft_runs", (l) => l.state === "waiting")} waiting, ${sum(s.all, "weft_runs", (l) => l.state === "queued")} queued`],
  ["Streams", (s) => sum(s.all, "weft_http_streams"), String, (s) => `${sum(s.all, "weft_http_connections")} connections`],
  ["Requests a second", (s) => s.rate("weft_http_requests_total"), rate, (s) => `${tokens(sum(s.all, "weft_http_requests_total"))} since the start`],
  ["Request time", (s) => quantile(0.5, s.http, s.before?.http) ?? quantile(0.5, s.http), seconds, (s) => `95 %: ${seconds(quantile(0.95, s.http))}`],
  ["Tokens a second", (s) => s.rate("weft_model_tokens_total"), rate, (s) => `${tokens(sum(s.all, "weft_model_tokens_total"))} since the start`],
  ["Model time", (s) => quantile(0.5, s.model, s.before?.model) ?? quantile(0.5, s.model), seconds, (s) => `95 %: ${seconds(quantile(0.95, s.model))}`],
  ["Commits a second", (s) => s.rate("weft_store_commits_total"), rate, (s) => `store ${s.all.find((m) => m.name === "weft_store_state" && m.value)?.labels.state || "unknown"}`],
  ["Store", (s) => sum(s.all, "weft_store_file_bytes"), (n) => (n ? bytes(n) : "in memory"), (s) => `${bytes(sum(s.all, "weft_store_written_bytes_total"))} of conversations written since the start`],
  ["Memory", (s) => sum(s.all, "process_resident_memory_bytes"), bytes, (s) => `${sum(s.all, "process_open_fds")} open files`],
  ["Processor", (s) => s.rate("process_cpu_seconds_total") * 100, (n) => `${rate(n)} %`, () => "of one core"],
];

/** title, label, metrics of numbers and times, value of "failed", more columns and their values. */
const TABLES = [
  ["Agents", "agent", "weft_runs_total", "weft_run_duration_seconds", "failed"],
  ["Models", "model", "weft_model_requests_total", MODEL, "error", ["Tokens in", "Tokens out"], (of) => ["input", "output"].map((kind) => tokens(of("weft_model_tokens_total", kind)))],
  ["Tools", "tool", "weft_tool_calls_total", "weft_tool_duration_seconds", "error"],
];

function table(all, [title, label, numbers, times, failed, more = [], values = () => []]) {
  const names = [...new Set(all.filter((m) => m.name === numbers).map((m) => m.labels[label]))].sort();
  const row = (name) => {
    const is = (l) => l[label] === name, of = (metric, value) => sum(all, metric, (l) => is(l) && (!value || Object.values(l).includes(value))), bad = of(numbers, failed);
    return h("tr", {}, h("th", { scope: "row", class: "mono" }, name), [of(numbers), bad ? h("span", { class: "error" }, bad) : 0, seconds(quantile(0.5, buckets(all, times, is))), ...values(of)].map((v) => h("td", { class: "number" }, v)));
  };
  return names.length > 0 && h("section", {}, h("h2", {}, title), h("div", { class: "scroll-x", tabindex: "0", role: "group", "aria-label": title }, h("table", { class: "figures" },
    h("thead", {}, h("tr", {}, [title.slice(0, -1), "Number", "Failed", "Median", ...more].map((n, i) => h("th", { scope: "col", class: i && "number" }, n)))), h("tbody", {}, names.map(row)))));
}

export async function figures(root, _, signal) {
  const head = h("p", { class: "note" }), grid = h("div", { class: "tiles figures-tiles" }), rest = h("div", { class: "stack" });
  fill(root, h("div", { class: "page", tabindex: "0", role: "region", "aria-label": "Figures of the server" }, head, grid, rest));
  const history = TILES.map(() => []);
  for (let before; !signal.aborted; await pause(EVERY, signal)) {
    if (document.hidden && before) continue;
    let all, health;
    try {
      [all, health] = await Promise.all([text("/metrics", { signal }).then(parseMetrics), request("/health", { signal })]);
    } catch (error) {
      if (signal.aborted) return;
      if (error.status && !before) throw error;
      continue; // the server comes back
    }
    const at = performance.now();
    const last = before, sample = { all, at, before: last, http: buckets(all, HTTP), model: buckets(all, MODEL), rate: (name) => (last ? Math.max(0, ((sum(all, name) - sum(last.all, name)) * 1000) / (at - last.at)) : 0) };
    fill(head, `Weft ${health.version}, up ${duration(health.uptime_seconds * 1000)}, ${health.loops} ${health.loops === 1 ? "loop" : "loops"}, store ${health.store?.name}: ${health.store?.status}.`);
    fill(grid, TILES.map(([label, value, show, note], i) => {
      const v = value(sample);
      history[i].push(v);
      if (history[i].length > SAMPLES) history[i].shift();
      return tile(label, show(v), note(sample), sparkline(history[i], label));
    }));
    fill(rest, TABLES.map((t) => table(all, t)));
    delete sample.before;
    before = sample;
  }
}
