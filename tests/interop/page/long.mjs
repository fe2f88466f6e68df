// What is long or odd freezes nothing: the work for a text is linear in its length, and no task of the page is long. usage: long.mjs WEFT [TITLE]
//
// Measured is the processor time of a task (from a trace), which others on the machine do not lengthen much, and the work for n and 4n.
import { assert, judge, launch, openPage, Server, SHOWN, until } from "./harness.mjs";

// A task may take 200 ms of the processor on a machine with nothing else to do, where CALIBRATION ms are what calibrate() takes. What others do
// beside them slows both: the caches and the processor's clock are shared.
const LONGEST = 200, CALIBRATION = 40;
const repeat = (text, size) => text.repeat(Math.ceil(size / text.length));
const MB = 1e6;
const TEXTS = {
  "opening marks": repeat("**b ", 40000) + repeat(" *", 40000),
  "all marks": repeat("**b __c ~~d *e _f `g ", 80000),
  "opening brackets": repeat("[", 100000),
  "brackets and parentheses": repeat("[a](", 100000),
  "links": repeat("[a](https://a.example/b) ", 2.5 * MB),
  "a table of 2,000 x 50": `${repeat("| a ", 200)}|\n${repeat("|---", 200)}|\n${`${repeat("| b ", 200)}|\n`.repeat(2000)}`,
  "a table of many columns": `${repeat("|a", 20000)}|\n${repeat("|-", 20000)}|\n${"|\n".repeat(20000)}`,
  "items": repeat("- a\n", 400000),
  "one item": `- ${repeat("a\n  - b\n    - c\n", 400000)}`,
  "quotes": repeat(">".repeat(20) + " a\n", 400000),
  "emphasis": repeat("*a*", 400000),
  "a line of 10 MB": "x".repeat(10 * MB),
  "10 MB of lines": repeat("\n", 10 * MB) + "end",
  "code of 10 MB": "```\n" + "x".repeat(10 * MB),
  "paragraphs": repeat("a\n\n", MB),
  "headings": repeat("# a\n", MB),
  "pieces of code": repeat("```\n```\n", MB),
  "small tables": repeat("|a\n|-\n\n", MB),
  "lists in lines": repeat("- - - - - a\n", MB),
  "code in lines": repeat("`a`", MB),
  "code and lists": repeat("```\na\n```\n- [ ] a\n", MB),
};
const PLAIN = new Set(["opening marks", "links", "a line of 10 MB", "10 MB of lines"]); // also a user's message, which is shown as it is: only length and lines count
const LINEAR = ["opening marks", "all marks", "opening brackets", "brackets and parentheses", "links", "items", "quotes", "emphasis"];

const CONFIG = (folder) => `
server: {listen: "127.0.0.1:0"}
store: sqlite:${folder}/page.db
log: {level: warn}
models: {main: {provider: scripted, script: script.json}}
tools: {remove: {description: "Removes", parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo gone"], approval: always}}
agents: {main: {model: main, tools: [remove]}}
`;
const server = await new Server(process.argv[2], CONFIG, { again: true, delta_bytes: 10, replies: [{ when: { contains: "calls" }, parts: Array.from({ length: 100 }, () => ({ tool_call: { name: "remove", arguments: JSON.stringify({ cmd: "a\u202e".repeat(2000) }) } })) }, { when: { contains: "braces" }, parts: [{ text: "} ".repeat(100000) }] }, { when: { contains: "slowly" }, delay_ms: 100, parts: [{ text: "and so on ".repeat(300) }] }, { parts: [{ text: "and so on ".repeat(100000) }] }] }).start(), browser = await launch();

const page = await openPage(browser, `${server.url}/#/nowhere`), client = await page.context().newCDPSession(page);
await client.send("Performance.enable", { timeDomain: "threadTicks" });
const go = (to) => page.evaluate((hash) => { location.hash = hash; }, to);
const quiet = () => page.evaluate(() => new Promise((done) => { let n = 0; const next = () => (++n > 20 ? done() : requestAnimationFrame(next)); next(); })); // frames

/** The page shows nothing. */
async function leave() {
  await go("#/nowhere");
  await page.locator(".empty").waitFor(SHOWN);
}

/** The processor time of the scripts so far, or of all tasks, in ms. */
const work = async (of = "ScriptDuration") => (await client.send("Performance.getMetrics")).metrics.find((m) => m.name === of).value * 1000;

/** The processor time of work that is always the same, of the kind that the page does. */
async function calibrate() {
  const before = await work("TaskDuration");
  await page.evaluate(() => {
    const all = document.createElement("div");
    for (let i = 0; i < 20000; i++) {
      const one = document.createElement("p");
      one.setAttribute("class", `c${i % 8}`);
      one.append(/(\d+)(\w*)/.exec(`line ${i} of many`)[1]);
      all.append(one);
    }
    return all.textContent.length;
  });
  return await work("TaskDuration") - before;
}

/** No task of the page is long while something happens. */
async function short(what, action) {
  let trace;
  const before = await calibrate();
  await browser.startTracing(page, { categories: ["-*", "toplevel"] });
  try {
    await action();
  } finally {
    trace = JSON.parse((await browser.stopTracing()).toString());
  }
  await leave();
  const after = Math.min(await calibrate(), await calibrate()); // the first one may have to clean up
  const limit = LONGEST * Math.max(1, before / CALIBRATION, after / CALIBRATION);
  const main = new Set(trace.traceEvents.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid}.${e.tid}`));
  const tasks = trace.traceEvents.filter((e) => /RunTask$/.test(e.name) && e.tdur !== undefined && main.has(`${e.pid}.${e.tid}`));
  assert(tasks.length > 0, "the trace has no tasks");
  const ms = Math.max(...tasks.map((e) => e.tdur)) / 1000;
  if (process.env.FIGURES) console.error(what, ms.toFixed(0), `calibration ${before.toFixed(0)}, limit ${limit.toFixed(0)}`);
  assert(ms < limit, `${what}: a task of ${ms.toFixed(0)} ms, at most ${limit.toFixed(0)}`);
  assert(page.wrong.length === 0, page.wrong);
}

/** A thread with these messages, which may be longer than a request of one message. */
async function thread(messages) {
  const id = crypto.randomUUID(), at = "2024-01-01T00:00:00Z";
  return (await server.api("/v1/threads/import?from=upp&agent=main", { id, createdAt: at, updatedAt: at, messages: messages.map(({ role, content }, i) => ({ id: `m${i}`, type: role, content: [{ type: "text", text: content }], timestamp: at })) })).id;
}
const scroll = (far) => page.locator(".scroller").evaluate((e, y) => (y ? e.scrollBy(0, y) : e.scrollTo(0, 0)), far);

const tests = Object.fromEntries(Object.entries(TEXTS).map(([name, text]) => [`no task is long: ${name}`, async () => {
  for (const role of PLAIN.has(name) ? ["assistant", "user"] : ["assistant"]) {
    const id = await thread([{ role, content: text }, { role: "assistant", content: "The end." }]);
    await short(`${name}, ${role}`, async () => {
      await go(`#/t/${id}`);
      await page.locator(".group", { hasText: "The end." }).waitFor(SHOWN);
      await scroll(0);
      await quiet();
      await page.locator(".show-all").first().click();
      await quiet();
      for (let i = 0; i < 2; i++) { await scroll(20000); await quiet(); }
    });
  }
}]));

Object.assign(tests, {
  "the work for a text is linear": async () => {
    const warm = await thread([{ role: "assistant", content: "warm" }]);
    for (const name of LINEAR) {
      const whole = TEXTS[name].slice(0, 38000).split("\n").slice(0, 999).join("\n"), spent = []; // shown at once
      for (const size of [whole.length / 4, whole.length]) {
        const id = await thread([{ role: "assistant", content: whole.slice(0, size) }]);
        await go(`#/t/${warm}`);
        await page.locator(".group", { hasText: "warm" }).waitFor(SHOWN);
        const before = await work();
        await go(`#/t/${id}`);
        await page.locator(".group").filter({ hasNotText: "warm" }).waitFor(SHOWN);
        await quiet();
        spent.push(await work() - before);
      }
      if (process.env.FIGURES) console.error(name, spent);
      assert(spent[1] < 9 * spent[0] + 40, `${name}: ${spent}`);
    }
    await leave();
  },

  "a part of a message has a thousand lines, whatever their length": async () => {
    const id = await thread([{ role: "assistant", content: TEXTS.headings }]);
    await go(`#/t/${id}`);
    await page.locator(".show-all").waitFor(SHOWN);
    await quiet();
    const shown = await page.locator(".markdown h2").count();
    assert(shown === 1000, `${shown} blocks at first`);
    await leave();
  },

  "100,000 pieces of an answer are read in short tasks, also when each could end a form": async () => {
    for (const text of ["go on", "braces"]) {
      const id = await thread([]);
      await server.api(`/v1/threads/${id}/runs`, { assistant_id: "main", additional_messages: [{ role: "user", content: text }] });
      await short(text, async () => {
        await go(`#/t/${id}`);
        await page.locator(".show-all").waitFor(SHOWN);
        await page.locator('button.send[aria-label="Send"]').waitFor(SHOWN);
        await quiet();
      });
    }
  },

  "100 calls whose arguments are hard to draw wait for approval": async () => {
    const { id } = await server.api("/v1/threads", {});
    await server.api(`/v1/threads/${id}/runs`, { assistant_id: "main", additional_messages: [{ role: "user", content: "calls" }] });
    await until(async () => (await server.api("/v1/approvals?limit=100")).data.length === 100, "100 calls");
    for (const to of [`#/t/${id}`, "#/approvals"]) {
      const last = page.locator(".exact").last();
      await short(to, async () => {
        await go(to);
        await page.locator(".exact .odd").first().waitFor(SHOWN);
        await until(async () => await page.locator(".exact").count() === 100, "all");
        await quiet();
        await last.evaluate((e) => { e.scrollIntoView(); e.scrollTo(0, e.scrollHeight); });
        await quiet();
      });
      await go(to);
      await last.waitFor(SHOWN);
      await until(async () => { await last.evaluate((e) => { e.scrollIntoView({ block: "center" }); e.scrollTo(0, e.scrollHeight); }); return page.getByRole("button", { name: "Approve" }).last().isEnabled(); }, "the end of the last");
      assert(await last.locator(".odd").count() === 2000, "all of it");
      await leave();
    }
  },

  "branches of 100 different messages are compared in short tasks": async () => {
    const words = (side) => Array.from({ length: 100 }, (_, i) => Array.from({ length: 740 }, (_, n) => `w${(i * 7 + n * (side === "a" ? 3 : 5)) % 11}`).join(" "));
    const { id } = await server.api("/v1/threads", { messages: [{ role: "user", content: "both" }] }), add = async (text, i) => (await server.api(`/v1/threads/${id}/messages`, { role: i % 2 ? "assistant" : "user", content: text })).id;
    const before = await add("a", 0);
    for (const [i, text] of words("a").entries()) await add(text, i + 1);
    await server.api(`/v1/threads/${id}/restore`, { before });
    for (const [i, text] of ["b", ...words("b")].entries()) await add(text, i);
    await short("compare", async () => {
      await go(`#/t/${id}/compare`);
      await until(async () => await page.locator(".pair").count() === 101, "all pairs");
      await quiet();
      assert(await page.locator(".pair").nth(50).locator("del, ins").count() > 2, "word by word");
    });
  },

  "the rest of a long text comes when it is wanted, all of it": async () => {
    const lines = Array.from({ length: 12000 }, (_, i) => `Line ${i} of **many**.\n`).join("\n"), id = await thread([{ role: "assistant", content: lines }]);
    await go(`#/t/${id}`);
    await page.locator(".show-all").waitFor(SHOWN);
    assert(await page.getByText("Line 11999 of").count() === 0, "too much at first");
    await page.locator(".show-all").click();
    await until(async () => { await page.locator(".scroller").evaluate((e) => e.scrollTo(0, e.scrollHeight)); return await page.getByText("Line 11999 of").count() > 0; }, "the end");
    const numbers = await page.locator(".markdown").first().evaluate((e) => Array.from(e.textContent.matchAll(/Line (\d+) of many/g), (m) => Number(m[1])));
    assert(numbers.length === 12000 && numbers.every((n, i) => n === i), `${numbers.length} lines`);
    assert(await page.locator(".rest").count() === 0, "there is no more");
    await leave();
  },

  "a link says where it leads, in letters that look like no others": async () => {
    const id = await thread([{ role: "assistant", content: "[https://bank.example](https://evil.example/x) and [pay](https://\u0440aypal.com/) and <https://plain.example/> and [root](/\\evil.example)" }]);
    await go(`#/t/${id}`);
    await page.locator(".markdown a").first().waitFor(SHOWN);
    const links = await page.locator(".markdown a").evaluateAll((all) => all.map((a) => `${a.textContent} -> ${a.getAttribute("href")}`));
    assert(links.length === 3 && links[0].startsWith("https://bank.example (evil.example) ->") && links[1].includes("(xn--") && links[2].startsWith("https://plain.example/ ->"), links);
    await leave();
  },
});

let bad = 1;
try {
  bad = await judge(tests);
} finally {
  await browser.close();
  await server.close();
}
process.exit(bad ? 1 : 0);
