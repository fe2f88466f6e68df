// What is long or odd freezes nothing: the work for a text is linear in its length, and no task of the page is long. usage: long.mjs WEFT [TITLE]
//
// Measured is the processor time of a task (from a trace), which others on the machine do not lengthen much, and the work for n and 4n.
import { assert, judge, launch, openPage, Server, SHOWN, until } from "./harness.mjs";

// 200 ms of CPU a task are the goal, up to 170 were measured; on a busy machine the same work takes more. What froze took over 1,000.
const LONGEST = 500;
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

/** The processor time of the longest task of a page while something happens, in ms. */
async function longest(page, action) {
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"] });
  try {
    await action();
  } finally {
    var trace = JSON.parse((await browser.stopTracing()).toString()); // eslint-disable-line no-var
  }
  const main = new Set(trace.traceEvents.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid}.${e.tid}`));
  if (process.env.TASKS) {
    const all = trace.traceEvents.filter((e) => e.dur && e.tdur && main.has(`${e.pid}.${e.tid}`)), worst = all.filter((e) => /RunTask$/.test(e.name)).sort((a, b) => b.tdur - a.tdur)[0];
    console.error(all.filter((e) => e.ts >= worst.ts && e.ts + e.dur <= worst.ts + worst.dur && e.dur > 5000).map((e) => `${e.name} ${(e.tdur / 1000).toFixed(0)} ${JSON.stringify(e.args.data ?? e.args).slice(0, 160)}`).join("\n"));
  }
  const tasks = trace.traceEvents.filter((e) => /RunTask$/.test(e.name) && e.tdur !== undefined && main.has(`${e.pid}.${e.tid}`));
  assert(tasks.length > 0, "the trace has no tasks");
  return Math.max(...tasks.map((e) => e.tdur)) / 1000;
}

/** A page that shows nothing yet, and the work of its main thread so far. */
async function blank() {
  const page = await openPage(browser, `${server.url}/#/nowhere`), client = await page.context().newCDPSession(page);
  await page.locator(".empty").waitFor(SHOWN);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const work = async () => (await client.send("Performance.getMetrics")).metrics.find((m) => m.name === "ScriptDuration").value * 1000;
  return { page, work };
}

/** A thread with these messages, which may be longer than a request of one message. */
async function thread(messages) {
  const id = crypto.randomUUID(), at = "2024-01-01T00:00:00Z";
  return (await server.api("/v1/threads/import?from=upp&agent=main", { id, createdAt: at, updatedAt: at, messages: messages.map(({ role, content }, i) => ({ id: `m${i}`, type: role, content: [{ type: "text", text: content }], timestamp: at })) })).id;
}
const go = (page, to) => page.evaluate((hash) => { location.hash = hash; }, to);
const quiet = (page) => page.evaluate(() => new Promise((done) => { let n = 0; const next = () => (++n > 30 ? done() : requestAnimationFrame(next)); next(); })); // frames

const tests = Object.fromEntries(Object.entries(TEXTS).map(([name, text]) => [`no task is long: ${name}`, async () => {
  for (const role of PLAIN.has(name) ? ["assistant", "user"] : ["assistant"]) {
    const { page } = await blank(), id = await thread([{ role, content: text }, { role: "assistant", content: "The end." }]);
    const ms = await longest(page, async () => {
      await go(page, `#/t/${id}`);
      await page.locator(".group", { hasText: "The end." }).waitFor(SHOWN);
      await page.locator(".scroller").evaluate((e) => e.scrollTo(0, 0));
      await quiet(page);
      await page.locator(".show-all").first().click();
      await quiet(page);
      for (let i = 0; i < 3; i++) { await page.locator(".scroller").evaluate((e) => e.scrollBy(0, 20000)); await quiet(page); }
    });
    if (process.env.FIGURES) console.error(name, role, ms.toFixed(0));
    assert(ms < LONGEST, `${role}: a task of ${ms.toFixed(0)} ms`);
    assert(page.wrong.length === 0, page.wrong);
    await page.context().close();
  }
}]));

Object.assign(tests, {
  "the work for a text is linear": async () => {
    for (const name of LINEAR) {
      const spent = [];
      for (const size of [9500, 38000]) { // both shown at once
        const id = await thread([{ role: "assistant", content: TEXTS[name].slice(0, size) }]), { page, work } = await blank();
        await go(page, `#/t/${await thread([{ role: "assistant", content: "warm" }])}`);
        await page.locator(".group", { hasText: "warm" }).waitFor(SHOWN);
        const before = await work();
        await go(page, `#/t/${id}`);
        await page.locator(".group").filter({ hasNotText: "warm" }).waitFor(SHOWN);
        await quiet(page);
        spent.push(await work() - before);
        await page.context().close();
      }
      if (process.env.FIGURES) console.error(name, spent);
      assert(spent[1] < 9 * spent[0] + 40, `${name}: ${spent}`);
    }
  },

  "100,000 pieces of an answer are read in short tasks, also when each could end a form": async () => {
    for (const text of ["go on", "braces"]) {
      const { page } = await blank(), id = await thread([]);
      await server.api(`/v1/threads/${id}/runs`, { assistant_id: "main", additional_messages: [{ role: "user", content: text }] });
      const ms = await longest(page, async () => {
        await go(page, `#/t/${id}`);
        await page.locator(".show-all").waitFor(SHOWN);
        await page.locator('button.send[aria-label="Send"]').waitFor(SHOWN);
        await quiet(page);
      });
      if (process.env.FIGURES) console.error(text, ms.toFixed(0));
      assert(ms < LONGEST, `a task of ${ms.toFixed(0)} ms`);
      await page.context().close();
    }
  },

  "100 calls whose arguments are hard to draw wait for approval": async () => {
    const { id } = await server.api("/v1/threads", {});
    await server.api(`/v1/threads/${id}/runs`, { assistant_id: "main", additional_messages: [{ role: "user", content: "calls" }] });
    await until(async () => (await server.api("/v1/approvals?limit=100")).data.length === 100, "100 calls");
    for (const to of [`#/t/${id}`, "#/approvals"]) {
      const { page } = await blank();
      const ms = await longest(page, async () => {
        await go(page, to);
        await page.locator(".exact .odd").first().waitFor(SHOWN);
        await until(async () => await page.locator(".exact").count() === 100, "all");
        await quiet(page);
        await page.locator(".exact").last().evaluate((e) => { e.scrollIntoView(); e.scrollTo(0, e.scrollHeight); });
        await quiet(page);
      });
      if (process.env.FIGURES) console.error(to.slice(0, 4), ms.toFixed(0));
      assert(ms < LONGEST, `${to}: a task of ${ms.toFixed(0)} ms`);
      const last = page.locator(".exact").last();
      await until(async () => { await last.evaluate((e) => { e.scrollIntoView({ block: "center" }); e.scrollTo(0, e.scrollHeight); }); return page.getByRole("button", { name: "Approve" }).last().isEnabled(); }, "the end of the last");
      assert(await last.locator(".odd").count() === 2000, "all of it");
      await page.context().close();
    }
  },

  "branches of 100 different messages are compared in short tasks": async () => {
    const words = (side) => Array.from({ length: 100 }, (_, i) => Array.from({ length: 740 }, (_, n) => `w${(i * 7 + n * (side === "a" ? 3 : 5)) % 11}`).join(" "));
    const { id } = await server.api("/v1/threads", { messages: [{ role: "user", content: "both" }] }), add = async (text, i) => (await server.api(`/v1/threads/${id}/messages`, { role: i % 2 ? "assistant" : "user", content: text })).id;
    const before = await add("a", 0);
    for (const [i, text] of words("a").entries()) await add(text, i + 1);
    await server.api(`/v1/threads/${id}/restore`, { before });
    for (const [i, text] of ["b", ...words("b")].entries()) await add(text, i);
    const { page } = await blank();
    const ms = await longest(page, async () => {
      await go(page, `#/t/${id}/compare`);
      await until(async () => await page.locator(".pair").count() === 101, "all pairs");
      await quiet(page);
    });
    if (process.env.FIGURES) console.error("compare", ms.toFixed(0));
    assert(ms < LONGEST, `a task of ${ms.toFixed(0)} ms`);
    assert(await page.locator(".pair").nth(50).locator("del, ins").count() > 2, "word by word");
    await page.context().close();
  },

  "the rest of a long text comes when it is wanted, all of it": async () => {
    const lines = Array.from({ length: 12000 }, (_, i) => `Line ${i} of **many**.\n`).join("\n"), id = await thread([{ role: "assistant", content: lines }]), { page } = await blank();
    await go(page, `#/t/${id}`);
    await page.locator(".show-all").waitFor(SHOWN);
    assert(await page.getByText("Line 11999 of").count() === 0, "too much at first");
    await page.locator(".show-all").click();
    await until(async () => { await page.locator(".scroller").evaluate((e) => e.scrollTo(0, e.scrollHeight)); return await page.getByText("Line 11999 of").count() > 0; }, "the end");
    const numbers = await page.locator(".markdown").first().evaluate((e) => Array.from(e.textContent.matchAll(/Line (\d+) of many/g), (m) => Number(m[1])));
    assert(numbers.length === 12000 && numbers.every((n, i) => n === i), `${numbers.length} lines`);
    assert(await page.locator(".rest").count() === 0, "there is no more");
    await page.context().close();
  },

  "a link says where it leads, in letters that look like no others": async () => {
    const id = await thread([{ role: "assistant", content: "[https://bank.example](https://evil.example/x) and [pay](https://\u0440aypal.com/) and <https://plain.example/> and [root](/\\evil.example)" }]), { page } = await blank();
    await go(page, `#/t/${id}`);
    await page.locator(".markdown a").first().waitFor(SHOWN);
    const links = await page.locator(".markdown a").evaluateAll((all) => all.map((a) => `${a.textContent} -> ${a.getAttribute("href")}`));
    assert(links.length === 3 && links[0].startsWith("https://bank.example (evil.example) ->") && links[1].includes("(xn--") && links[2].startsWith("https://plain.example/ ->"), links);
    await page.context().close();
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
