// Figures of the page in Chromium: time to paint and to interact, bytes, requests, memory, layout shift, long tasks.
//
// usage: node figures.mjs WEFT   Prints the table of docs/page.md. ROUNDS: page loads of which the best counts (5).
//
// On a machine that does other work, too, the best of several rounds is the nearest to the page's own time.
import { readFileSync } from "node:fs";
import { launch, Server } from "./harness.mjs";

const ROUNDS = Number(process.env.ROUNDS) || 5, MESSAGES = 10000;
const PARAGRAPH = "Some **bold** text with `code`, [a link](https://example.com/) and a list:\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nconst x = 1;\n```\n\n";
const CONFIG = (folder) => `
server: {listen: "127.0.0.1:0"}
store: sqlite:${folder}/page.db
durability: async
log: {level: warn}
default_agent: main
models: {main: {provider: scripted, script: script.json}}
agents: {main: {title: Main Agent, model: main}}
`;

const server = new Server(process.argv[2], CONFIG, { again: true, replies: [{ delta_bytes: 12, delay_ms: 4, parts: [{ text: PARAGRAPH.repeat(40) }] }] });
await server.start();
const browser = await launch(), shell = await browser.newBrowserCDPSession();

/** Runs before the page: what it paints, shifts and blocks. */
function watch() {
  window.seen = { cls: 0, long: [], from: 0 };
  new PerformanceObserver((l) => { for (const e of l.getEntries()) if (!e.hadRecentInput) window.seen.cls += e.value; }).observe({ type: "layout-shift", buffered: true });
  new PerformanceObserver((l) => { for (const e of l.getEntries()) window.seen.long.push(Math.round(e.duration)); }).observe({ type: "longtask", buffered: true });
}

/** Processor time of the page's main thread so far, in ms. */
const busy = async (client) => (await client.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;

/** Loads an address in a browser context of its own, so that nothing is cached. `ready`: a function that says if it is usable. */
async function load(path, ready) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: "reduce" }), page = await context.newPage();
  const client = await context.newCDPSession(page);
  const net = { requests: 0, bytes: 0 };
  await client.send("Network.enable");
  client.on("Network.loadingFinished", (e) => { net.requests++; net.bytes += e.encodedDataLength; });
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.addInitScript(watch);
  await page.addInitScript(`{ const look = () => { if ((${ready})()) requestAnimationFrame(() => setTimeout(() => { window.seen.ready ??= performance.now(); })); else setTimeout(look, 2); }; look(); }`);
  await page.goto(server.url + path, { waitUntil: "commit" });
  let at;
  for (const end = Date.now() + 60000; !(at?.fcp && at.ready); await new Promise((done) => setTimeout(done, 50))) {
    if (Date.now() > end) throw new Error(`${path} is not usable: ${JSON.stringify(at)}`);
    at = await page.evaluate(() => ({ fcp: performance.getEntriesByName("first-contentful-paint")[0]?.startTime, ready: window.seen?.ready }));
  }
  at.work = await busy(client);
  await page.waitForLoadState("networkidle");
  return { page, client, context, ...at, cls: await page.evaluate(() => window.seen.cls), ...net };
}

async function best(path, ready) {
  const all = [];
  for (let i = 0; i < ROUNDS; i++) { const one = await load(path, ready); await one.context.close(); all.push(one); }
  const least = (name) => Math.min(...all.map((x) => x[name])), most = (name) => Math.max(...all.map((x) => x[name]));
  return { fcp: least("fcp"), ready: least("ready"), work: least("work"), cls: most("cls"), requests: most("requests"), bytes: most("bytes") };
}

/** Memory of the largest renderer that is not shared with others, in bytes. */
async function rendererBytes() {
  const { processInfo } = await shell.send("SystemInfo.getProcessInfo");
  return Math.max(...processInfo.filter((p) => p.type === "renderer").map((p) => {
    const text = readFileSync(`/proc/${p.id}/smaps_rollup`, "utf8");
    return [...text.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm)].reduce((sum, m) => sum + Number(m[1]) * 1024, 0);
  }));
}

const atHome = () => document.querySelector("#message") && !document.querySelector("#message").disabled && document.querySelector(".agent-choice option");
const atThread = () => /number 9999/.test(document.querySelector(".messages")?.lastElementChild?.textContent || "");

/** Up to the first message of the long thread, then what that has cost. */
async function scrolled() {
  const { page, client, context } = await load(`/#/t/${THREAD.id}`, atThread), before = await rendererBytes(), started = await busy(client);
  const found = await page.evaluate(async () => {
    const box = document.querySelector(".scroller"), oldest = () => document.querySelector(".group")?.textContent || "", frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    let steps = 0;
    for (let quiet = 0; quiet < 300 && !/number 0\./.test(oldest());) {
      const was = oldest();
      box.scrollTo(0, 0);
      await frame();
      if (oldest() === was) quiet++; else { quiet = 0; steps++; }
    }
    return { steps, first: /number 0\./.test(oldest()), groups: document.querySelectorAll(".group").length, nodes: document.querySelectorAll("*").length };
  });
  if (!found.first) throw new Error(`the first message was not reached: ${JSON.stringify(found)}`);
  const peak = await rendererBytes(), work = await busy(client) - started;
  await client.send("HeapProfiler.collectGarbage");
  const { usedSize } = await client.send("Runtime.getHeapUsage");
  const after = await rendererBytes();
  await context.close();
  return { ...found, before, peak, after, heap: usedSize, work };
}

async function streamed() {
  const { page, client, context } = await load("/", atHome), started = await busy(client);
  await page.evaluate(() => { window.seen.long.length = 0; window.seen.cls = 0; });
  const from = Date.now();
  await page.fill("#message", "Talk.");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "hidden", timeout: 120000 });
  const seen = await page.evaluate(() => window.seen);
  const work = await busy(client) - started, took = Date.now() - from;
  await context.close();
  return { took, work, long: seen.long, cls: seen.cls };
}

const messages = Array.from({ length: MESSAGES }, (_, i) => ({ id: `m${i}`, type: i % 2 ? "assistant" : "user", content: [{ type: "text", text: `Message number ${i}. It has **some** text, and \`code\`.` }], timestamp: new Date(1.7e12 + i * 1000).toISOString() }));
const THREAD = await server.api("/v1/threads/import?from=upp&agent=main", { id: "00000000-0000-4000-8000-000000010000", messages, createdAt: "2024-01-01T00:00:00Z", updatedAt: "2024-01-01T00:00:00Z" });

const ms = (n) => `${Math.round(n)} ms`, kb = (n) => `${Math.round(n / 1000)} KB`, mb = (n) => `${(n / 1e6).toFixed(1)} MB`, worst = (list) => (list.length ? `${list.length}, the longest ${Math.max(...list)} ms` : "none");
try {
  const home = await best("/", atHome), thread = await best(`/#/t/${THREAD.id}`, atThread), long = await scrolled(), stream = await streamed();
  const rows = [
    ["`/`: first contentful paint", ms(home.fcp), "200 ms", home.fcp <= 200],
    ["`/`: interactive", ms(home.ready), "200 ms", home.ready <= 200],
    ["… of that, work of the page's main thread", ms(home.work), "", true],
    ["… bytes sent, requests", `${kb(home.bytes)}, ${home.requests}`, "150 KB", home.bytes <= 150e3],
    ["… layout shift (CLS)", home.cls.toFixed(3), "0.1", home.cls <= 0.1],
    ["a thread of 10,000 messages, from the address bar: first contentful paint", ms(thread.fcp), "200 ms", thread.fcp <= 200],
    ["… interactive", ms(thread.ready), "200 ms", thread.ready <= 200],
    ["… of that, work of the page's main thread", ms(thread.work), "", true],
    ["… bytes sent, requests", `${kb(thread.bytes)}, ${thread.requests}`, "150 KB", thread.bytes <= 150e3],
    ["… layout shift (CLS)", thread.cls.toFixed(3), "0.1", thread.cls <= 0.1],
    ["scrolled up through all 10,000: JavaScript heap after a collection", mb(long.heap), "100 MB", long.heap <= 100e6],
    ["… memory of the renderer (private) after a collection", mb(long.after), "100 MB", long.after <= 100e6],
    ["… before the collection", mb(long.peak), "100 MB", long.peak <= 100e6],
    ["… work of the main thread per 40 messages", ms(long.work / long.steps), "16 ms", long.work / long.steps <= 16],
    ["… elements in the page", String(long.nodes), "5,000", long.nodes <= 5000],
    ["an answer of 6 KB in 480 deltas: tasks of more than 50 ms", worst(stream.long), "none", !stream.long.length],
    ["… work of the main thread per delta", `${(stream.work / 480).toFixed(1)} ms`, "2 ms", stream.work / 480 <= 2],
    ["… layout shift (CLS)", stream.cls.toFixed(3), "0.1", stream.cls <= 0.1],
  ];
  console.log("| figure | measured | goal |\n|---|---:|---:|");
  for (const [what, value, goal, met] of rows) console.log(`| ${what} | ${value} | ${goal}${met ? "" : " (missed)"} |`);
  console.error(JSON.stringify({ home, thread, long, stream }));
} finally {
  await browser.close();
  await server.close();
}
