// The views beside the conversation in a real browser: tree, comparison, trace, exchange, export, agents, approvals, figures.
//
// usage: node views.mjs WEFT [TEST]   SHOTS=FOLDER writes a picture of every view.
import { mkdirSync } from "node:fs";
import { assert, axe, HOSTILE, judge, launch, openPage, pwned, Server, SHOWN, until } from "./harness.mjs";

const quoted = JSON.stringify(HOSTILE.replaceAll('"', "'"));
const PLAN = "Tokyo is mild in November: 18 °C by day. I would walk through Ueno Park in the morning, see the maples, and eat ramen near the station.";
const OTHER = "Tokyo is mild in November: 18 °C by day. I would start in Yanaka, walk to Ueno Park, see the maples, and end with sushi in Asakusa.";
const STEPS = [["air", "search", []], ["rail", "", []], ["sum", "", ["air", "rail"]]].map(([id, tool, dependsOn]) => ({ id, description: `Do ${id}`, tool, dependsOn }));
const REPLIES = [
  { when: { contains: "Make a plan" }, data: { steps: STEPS }, usage: { input_tokens: 10, output_tokens: 20 } },
  { when: { contains: "step 'air'" }, parts: [{ tool_call: { name: "search", arguments: { q: "air" } } }], usage: { input_tokens: 100, output_tokens: 2 } },
  { when: { tool_result: "search" }, parts: [{ text: "Flights." }], usage: { input_tokens: 200, output_tokens: 2 } },
  { when: { contains: "step 'rail'" }, parts: [{ text: "Trains." }], usage: { input_tokens: 300, output_tokens: 4 } },
  { when: { contains: "step 'sum'" }, parts: [{ text: "| Interchangeableflights | Comfortableness |\n|---|---|\n| Flights | Uncomfortablenevertheless |" }], usage: { input_tokens: 400, output_tokens: 4 } },
  { when: { contains: "boss" }, parts: [{ text: "I ask the helper." }, { tool_call: { name: "helper", arguments: { task: "look it up" } } }], usage: { input_tokens: 1840, output_tokens: 96 }, delay_ms: 20 },
  { when: { tool_result: "helper" }, parts: [{ tool_call: { name: "remove", arguments: { path: "/srv/cache/2026-11", why: HOSTILE } } }], usage: { input_tokens: 2210, output_tokens: 41 } },
  { when: { tool_result: "remove" }, parts: [{ text: "It is done, and the cache is gone." }], usage: { input_tokens: 2400, output_tokens: 18 }, delay_ms: 15 },
  { when: { contains: "client" }, parts: [{ tool_call: { name: "look", arguments: { at: "sky" } } }] },
  { when: { tool_result: "look" }, parts: [{ text: "You told me." }] },
  { when: { contains: "other" }, parts: [{ text: OTHER }], usage: { input_tokens: 320, output_tokens: 48 } },
  { when: { contains: "plan" }, parts: [{ text: PLAN }], usage: { input_tokens: 310, output_tokens: 44 } },
  { when: { contains: "fail" }, error: { code: "INVALID_REQUEST", message: `no ${HOSTILE}` } },
  { parts: [{ text: "Hello." }], usage: { input_tokens: 12, output_tokens: 3 } }];
const HELPER = [
  { parts: [{ tool_call: { name: "search", arguments: { q: "cache" } } }, { tool_call: { name: "broken", arguments: {} } }], usage: { input_tokens: 900, output_tokens: 60 }, delay_ms: 10 },
  { parts: [{ text: "Found it." }], usage: { input_tokens: 1000, output_tokens: 12 } }];

const CONFIG = (folder) => `
server: {listen: "127.0.0.1:0"}
store: sqlite:${folder}/page.db
durability: async
log: {level: warn}
default_agent: main
models:
  main: {provider: scripted, script: script.json}
  helper: {provider: scripted, script: helper.json}
  echo: {provider: scripted, echo: true}
tools:
  remove: {description: ${quoted}, parameters: {type: object, properties: {path: {type: string, description: "What goes away"}, why: {type: string}}, required: [path]}, command: [sh, -c, "cat >/dev/null; sleep 0.03; echo gone"], approval: always}
  search: {description: "Looks things up", parameters: {type: object, properties: {q: {type: string, description: ${quoted}}, depth: {enum: [shallow, deep]}}}, command: [sh, -c, "cat >/dev/null; sleep 0.08; echo found"]}
  broken: {description: "Fails", parameters: {type: object}, command: [sh, -c, "cat >/dev/null; exit 3"]}
  look: {description: "The client looks", parameters: {type: object, properties: {at: {type: string}}}}
agents:
  main: {title: Travel Planner, description: "Plans trips, and asks before it removes anything.", model: main, system: ${quoted}, tools: [helper, remove, look], handoff: [{agent: echo, prompt: ${quoted}, on_mention: true}], budget: {max_tokens: 10000000, input_price: 3, output_price: 15}}
  helper: {title: ${quoted}, description: ${quoted}, model: helper, tools: [search, broken]}
  echo: {title: Echo, description: "Says what was said.", model: echo}
  planner: {title: Planner, model: main, tools: [search], strategy: {plan: {}}, budget: {max_tokens: 10000000, input_price: 3, output_price: 15}}
`;

const server = new Server(process.argv[2], CONFIG, { again: true, delta_bytes: 8, replies: REPLIES });
const { writeFileSync } = await import("node:fs");
writeFileSync(`${server.folder}/helper.json`, JSON.stringify({ replies: HELPER, at_end: "restart" }));
await server.start();
const browser = await launch();
const SHOTS = process.env.SHOTS;
if (SHOTS) mkdirSync(SHOTS, { recursive: true });

async function look(path, ready, { width = 1280, dark = false } = {}) {
  const page = await openPage(browser, `${server.url}/#${path}`, { width, height: width < 500 ? 800 : 860, dark });
  await page.locator(ready).first().waitFor(SHOWN);
  return page;
}

/** Nothing ran, nothing was refused by the policy, axe finds nothing. */
async function sound(page, name) {
  assert((await pwned(page)) === undefined, `something ran: ${await pwned(page)}`);
  const found = await axe(page);
  assert(found.length === 0, found.join("\n"));
  assert(page.wrong.length === 0, page.wrong.join("\n"));
  if (SHOTS && name) await page.screenshot({ path: `${SHOTS}/${name}.png` });
}

/** The same view at all sizes and colours. */
async function everywhere(path, ready, name, prepare = async () => {}) {
  for (const [width, dark] of [[1280, false], [1280, true], [390, false], [390, true]]) {
    const page = await look(path, ready, { width, dark });
    await prepare(page);
    await sound(page, `${name}-${width}${dark ? "-dark" : ""}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert(wide <= width, `${name} is ${wide} wide at ${width}`);
    await page.context().close();
  }
}

/* ---- What is looked at ---- */

/** A thread with three branches after its second message, named in a hostile way. */
async function branchy() {
  const t = await server.talk("Hello, I would like to travel.", { title: HOSTILE });
  const point = (await server.api(`/v1/threads/${t}/checkpoints?limit=1`)).first_id;
  for (const text of ["A plan for Tokyo, please", `Any other idea for Tokyo? ${HOSTILE}`, "And a short one"]) {
    await server.api(`/v1/threads/${t}/restore`, { checkpoint_id: point });
    await server.talk(text, { thread: t });
  }
  await server.talk("Thanks, and what about the second day?", { thread: t });
  return t;
}

const run = async (t) => (await server.api(`/v1/threads/${t}/runs?limit=1`)).data[0];

async function answerAll() {
  for (const a of (await server.api("/v1/approvals?kind=any")).data)
    await server.api(`/v1/runs/${a.run_id}/answers`, { answers: [{ call_id: a.call_id, ...(a.kind === "tool" ? { output: "x" } : { approved: true }) }] });
}

const ended = async (t) => { for (let r; !(r = await run(t)) || ["queued", "in_progress"].includes(r.status);) await new Promise((d) => setTimeout(d, 20)); return run(t); };
const thread = await branchy();

const tests = {
  "the tree is drawn, and the keyboard walks in it": async () => {
    const page = await look(`/t/${thread}/tree`, "svg.tree .box");
    const boxes = await page.locator("svg.tree .box").count();
    assert(boxes >= 9, `${boxes} boxes`);
    assert(await page.locator(".box.here").count() === 1, "one is here");
    assert(await page.getByText("Arrow keys walk").isVisible(), "what the keys do");
    const touched = await openPage(browser, `${server.url}/#/t/${thread}/tree`, { width: 390, height: 800, hasTouch: true, isMobile: true });
    await touched.locator("svg.tree .box").first().waitFor();
    assert(await touched.getByText("Arrow keys walk").count() === 1 && !(await touched.getByText("Arrow keys walk").isVisible()), "there are no keys");
    await touched.context().close();
    await page.locator(".box.here").focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowLeft");
    const chosen = await page.locator('.box[aria-selected="true"]');
    assert(await chosen.count() === 1, "one is chosen");
    const before = (await server.api(`/v1/threads/${thread}/tree`)).current_id;
    await page.locator(".box", { hasText: "A plan for Tokyo" }).first().click();
    await page.getByRole("button", { name: "Switch to this branch" }).click();
    await page.locator(".toast").waitFor();
    const now = (await server.api(`/v1/threads/${thread}/tree`)).current_id;
    assert(before !== now, "the thread moved");
    await page.locator(".box.here", { hasText: "Tokyo" }).waitFor();
    await server.api(`/v1/threads/${thread}/checkout`, { node_id: before });
    await sound(page);
    await page.context().close();
    await everywhere(`/t/${thread}/tree`, "svg.tree .box", "tree");
  },

  "a long line is folded, and unfolds": async () => {
    const messages = Array.from({ length: 40 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `Message ${i}` }));
    const t = (await server.api("/v1/threads", { messages })).id;
    const page = await look(`/t/${t}/tree`, ".box.folded");
    assert(await page.locator(".box").count() === 6, "six boxes");
    await page.locator(".box.folded").focus();
    await page.keyboard.press("Enter");
    await until(async () => await page.locator(".box").count() === 40);
    await page.context().close();
  },

  "branches are compared from their common ancestor": async () => {
    const tree = await server.api(`/v1/threads/${thread}/tree`);
    const nodes = tree.nodes.filter((n) => /Tokyo/.test(n.text || ""));
    const path = `/t/${thread}/compare?a=${nodes[0].id}&b=${nodes[1].id}`;
    const page = await look(path, ".pair");
    assert((await page.locator(".shared summary").innerText()).startsWith("2 shared messages"), await page.locator(".shared summary").innerText());
    assert(await page.locator(".pair").count() === 2, "two pairs");
    const gone = (await page.locator(".pair:nth-of-type(2) del, .pair del").allInnerTexts()).join(" "), come = (await page.locator(".pair ins").allInnerTexts()).join(" ");
    assert(/ramen/.test(gone) && /sushi/.test(come) && !/mild/.test(gone + come), `${gone} | ${come}`);
    await page.getByLabel("Right branch").selectOption(nodes[0].id);
    await page.getByText("Both branches are the same.").waitFor();
    await page.context().close();
    await everywhere(path, ".pair", "compare");
  },

  "a branch is named by what the other one has not": async () => {
    const t = await server.talk("Hello there");
    await server.talk("A plan, please", { thread: t });
    const asked = (await server.api(`/v1/threads/${t}/messages?order=asc`)).data[2].id;
    await server.api(`/v1/threads/${t}/restore`, { before: asked });
    await server.talk("Any other idea?", { thread: t });
    const { nodes } = await server.api(`/v1/threads/${t}/tree`), [first, second] = [nodes.find((n) => !n.parent_id), nodes.find((n) => n.parent_id)];
    const page = await look(`/t/${t}/compare?a=${first.id}&b=${second.id}`, ".pair");
    const named = await page.locator(".choices option:checked").allInnerTexts();
    assert(JSON.stringify(named) === JSON.stringify(["“A plan, please”", "“Any other idea?” (current)"]), named);
    await page.context().close();
  },

  "a run is a waterfall, while it works, waits and after its end": async () => {
    const t = (await server.api("/v1/threads", { title: "boss" })).id;
    await server.api(`/v1/threads/${t}/runs`, { assistant_id: "main", additional_messages: [{ role: "user", content: "boss" }] });
    assert((await ended(t)).status === "requires_action", "it waits");
    const page = await look(`/t/${t}/trace`, ".waterfall tbody tr");
    await page.locator(".waterfall tr.is-wait").waitFor();
    await answerAll();
    assert((await ended(t)).status === "completed", "it ended");
    await page.goto(`${server.url}/#/t/${t}/trace/${(await run(t)).id}`);
    await page.locator(".tile", { hasText: "completed" }).waitFor();
    const kinds = await page.locator(".waterfall tbody tr:not(.span-details)").evaluateAll((rows) => rows.map((r) => r.className));
    assert(kinds.join(" ") === "is-run is-model is-run is-model is-tool is-tool is-model is-model is-wait is-tool is-model", kinds.join(" "));
    assert(/0\.0\d+/.test(await page.locator(".tile", { hasText: "Cost" }).innerText()), "cost");
    await page.locator("tr.is-tool .span-name", { hasText: "broken" }).press("Enter");
    assert(/error/.test(await page.locator(".span-details:not([hidden])").innerText()), "why it failed");
    await sound(page);
    await page.context().close();
    await everywhere(`/t/${t}/trace`, ".waterfall tbody tr", "trace", (p) => p.locator(".span-name").nth(1).click());
    const failed = await server.talk("fail please");
    const other = await look(`/t/${failed}/trace`, ".trace .error");
    await sound(other);
    await other.context().close();
  },

  "parallel steps of a plan are in the waterfall once, by name": async () => {
    const t = await server.talk("compare", { agent: "planner" });
    const page = await look(`/t/${t}/trace`, ".waterfall tbody tr");
    await page.locator(".tile", { hasText: "completed" }).waitFor();
    const rows = await page.locator(".waterfall tbody tr:not(.span-details)").evaluateAll((all) => all.map((r) => `${r.className.slice(3)} ${r.querySelector("th").innerText.replace(/\s+/g, " ")} ${[...r.querySelectorAll(".number")].slice(1).map((n) => n.innerText).join(" ")}`.trim()));
    assert(JSON.stringify(rows) === JSON.stringify(["run Planner 1.0 k → 32 0.00351", "model scripted 10 → 20 0.00033", "run air 300 → 4 0.00096", "model scripted 100 → 2 0.00033", "tool search", "model scripted 200 → 2 0.00063",
      "run rail 300 → 4 0.00096", "model scripted 300 → 4 0.00096", "model scripted sum 400 → 4 0.00126"]), rows);
    assert((await page.locator("tr.is-tool").getAttribute("title")).startsWith("Tool search, "), "what the pointer says");
    await page.locator(".span-name").first().focus();
    for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    assert(/Parallel step[^]*Carry out step 'air'/.test(await page.locator(".span-details:not([hidden])").innerText()), "details by keyboard");
    await page.context().close();
    await everywhere(`/t/${t}/trace`, ".waterfall tbody tr", "plan");
    const narrow = await look(`/t/${t}`, ".markdown table", { width: 390 });
    const cells = await narrow.locator(".markdown table").evaluate((table) => ({ box: table.parentElement.clientWidth, wide: table.parentElement.scrollWidth, line: parseFloat(getComputedStyle(table).lineHeight), rows: [...table.rows].map((r) => r.cells[1].clientHeight) }));
    assert(cells.wide > cells.box && cells.rows.every((height) => height < 2 * cells.line), `words are broken: ${JSON.stringify(cells)}`);
    await sound(narrow, "table-390");
    await narrow.context().close();
  },

  "approvals of all threads are counted and answered in place": async () => {
    await answerAll();
    const made = [];
    for (const [text, agent] of [["boss", "main"], ["boss again", "main"], ["client", "main"]]) {
      const t = (await server.api("/v1/threads", { title: text })).id;
      await server.api(`/v1/threads/${t}/runs`, { assistant_id: agent, additional_messages: [{ role: "user", content: text }] });
      assert((await ended(t)).status === "requires_action", text);
      made.push(t);
    }
    await everywhere("/approvals", ".approval", "approvals");
    const page = await look("/approvals", ".approval");
    assert(await page.locator(".approval").count() === 3, "three wait");
    await page.locator('.nav a[href="#/approvals"] .badge', { hasText: "3" }).waitFor();
    await page.locator(".approval", { hasText: "remove" }).first().getByRole("button", { name: "Approve" }).click();
    await until(async () => await page.locator(".approval").count() === 2);
    assert((await ended(made[0])).status === "completed", "the first run went on");
    const second = page.locator(".approval", { hasText: "remove" }).first();
    await second.locator("input").fill(HOSTILE);
    await second.getByRole("button", { name: "Deny" }).click();
    await until(async () => await page.locator(".approval").count() === 1);
    assert((await ended(made[1])).status === "completed", "denied");
    await page.locator(".approval textarea").fill("blue");
    await page.getByRole("button", { name: "Send the result" }).click();
    await page.getByText("Nothing waits for you.").waitFor();
    await page.locator('.nav a[href="#/approvals"] .badge').waitFor({ state: "hidden" });
    // another one comes while the page is open
    const t = (await server.api("/v1/threads", {})).id;
    await server.api(`/v1/threads/${t}/runs`, { assistant_id: "main", additional_messages: [{ role: "user", content: "client" }] });
    await page.locator(".approval").waitFor(SHOWN);
    await sound(page);
    await page.context().close();
    await answerAll();
  },

  "the number of approvals follows the conversation at once": async () => {
    await answerAll();
    const t = (await server.api("/v1/threads", {})).id;
    const page = await look(`/t/${t}`, "#message");
    await page.addInitScript(() => { const real = window.setTimeout; window.setTimeout = (f, ms, ...more) => (ms === 5000 ? 0 : real(f, ms, ...more)); }); // nothing is counted because time passes
    await page.reload();
    const badge = page.locator('.nav a[href="#/approvals"] .badge');
    await page.fill("#message", "client");
    await page.keyboard.press("Enter");
    await badge.getByText("1").waitFor();
    await page.locator(".ask-form textarea").fill("blue");
    await page.getByRole("button", { name: "Send the result" }).click();
    await badge.waitFor({ state: "hidden" });
    await page.context().close();
  },

  "agents are listed, described and tried": async () => {
    await everywhere("/agents", ".agent-entry", "agents");
    await everywhere("/agents/main", ".tool-card", "agent", (p) => p.locator(".tool-card > summary").nth(1).click());
    const page = await look("/agents/main", ".try");
    assert((await page.locator(".prompt").innerText()).includes("onerror"), "the prompt is text");
    await page.getByLabel("Try it").fill("a plan");
    await page.getByRole("button", { name: "Start a conversation" }).click();
    await page.waitForURL(/#\/t\/thread_/);
    await page.getByText("Ueno Park").first().waitFor();
    await page.context().close();
  },

  "figures come from the metrics": async () => {
    const page = await look("/figures", ".tile");
    await page.locator(".sparkline polyline").first().waitFor({ state: "attached" });
    assert(await page.locator(".tile").count() === 10, "ten tiles");
    await page.locator(".tile", { hasText: "of conversations written since the start" }).waitFor();
    assert((await page.locator("table.figures").first().innerText()).includes("main"), "runs by agent");
    await page.context().close();
    await everywhere("/figures", ".tile", "figures", (p) => p.locator(".sparkline polyline").first().waitFor({ state: "attached" }));
  },

  "a thread is exported in nine dialects, with what is lost": async () => {
    const page = await look(`/t/${thread}/tree`, "svg.tree .box");
    await page.getByRole("button", { name: "Export" }).click();
    assert(await page.locator(".dialect").count() === 9, "nine");
    for (const [i, dialect] of ["uap", "thread", "ui", "assistants", "pydantic", "agentapi", "aitp", "envelope", "upp"].entries()) {
      const [file] = await Promise.all([page.waitForEvent("download"), page.locator(".dialect > button").nth(i).click()]);
      assert(file.suggestedFilename().endsWith(`.${dialect}.json`), file.suggestedFilename());
    }
    await page.locator(".loss summary").first().click();
    await page.getByText("Nothing is lost.").waitFor();
    await page.locator(".loss summary").nth(2).click();
    await page.locator(".losses li").first().waitFor();
    await sound(page, "export-1280");
    await page.context().close();
  },

  "an exchange of envelopes is a graph": async () => {
    const node = (id, parents, agent, intent, score) => ({ id, parents, role: "agent", agent, intent, task: `Find a price ${HOSTILE}`, score, cost: { input_tokens: 100, output_tokens: 20 }, subtree_cost: null });
    const lineage = { nodes: [node("e0", [], "user", "ask"), node("e1", ["e0"], "Router", "delegate", 0.9), node("e2", ["e1"], "Optimist", "propose", 0.7), node("e3", ["e1"], HOSTILE, HOSTILE, 0.4), node("e4", ["e1"], "Realist", "propose", 0.85),
      node("e5", ["e2", "e3", "e4"], "Judge", "select", 0.88), node("e6", ["e5"], "Writer", "answer", 1)] };
    for (const [width, dark] of [[1280, false], [390, true]]) {
      const page = await openPage(browser, server.url, { width, dark, height: width < 500 ? 800 : 860 });
      await page.route("**/v1/envelopes/e5/lineage", (r) => r.fulfill({ json: lineage }));
      await page.goto(`${server.url}/#/exchange/e5`);
      await page.locator("svg.tree .box").first().waitFor();
      assert(await page.locator(".box").count() === 7 && await page.locator(".link-line").count() === 8, "the graph");
      assert((await page.locator(".details").innerText()).includes("Judge"), "the one asked for is chosen");
      assert((await page.title()).startsWith("Find a price <img"), await page.title());
      assert((await page.locator(".details").innerText()).includes("100 in, 20 out"), "its tokens");
      await page.locator(".box").nth(3).press("Enter");
      await sound(page, `exchange-${width}${dark ? "-dark" : ""}`);
      await page.context().close();
    }
    const page = await look("/exchange/none", ".empty"); // a server without the route, or without the envelope
    await page.context().close();
  },
};

const bad = await judge(tests);
await browser.close();
await server.close();
process.exit(bad ? 1 : 0);
