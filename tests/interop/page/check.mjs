// The web page in Chromium: what a person does, and what the page then shows. usage: check.mjs WEFT [TITLE]
import { execFileSync } from "node:child_process";
import { assert, axe, HOSTILE, judge, launch, openPage, pwned, Server, SHOWN, until } from "./harness.mjs";

const WEFT = process.argv[2], server = await new Server(WEFT).start(), browser = await launch();

const at = (thread) => `${server.url}/#/t/${thread}`;
const open = (path = "/", options) => openPage(browser, server.url + path, options);
const last = (page) => page.locator(".group").last();
const says = (page, text) => page.locator(".group", { hasText: text }).first().waitFor(SHOWN);
const quiet = (page) => page.locator('button.send[aria-label="Send"]').waitFor(SHOWN);
const clean = async (page) => { assert(page.wrong.length === 0, page.wrong); assert(await pwned(page) === undefined, "something ran"); };

async function send(page, text, agent) {
  if (agent) await page.selectOption(".agent-choice", agent);
  await page.fill("#message", text);
  await page.press("#message", "Enter");
}

async function chat(text, options) {
  const page = await open("/", options);
  await page.locator(".agent-choice option").first().waitFor({ ...SHOWN, state: "attached" });
  await send(page, text, "main");
  await page.waitForURL(/#\/t\//);
  return page;
}

const threadOf = (page) => page.url().split("/t/")[1];

const tests = {
  async "a run that ends while its conversation is opened has its answer there"() {
    const page = await open(), { id } = await server.api("/v1/threads", { title: "ends" });
    const run = await server.api(`/v1/threads/${id}/runs`, { assistant_id: "main", additional_messages: [{ role: "user", content: "story" }] });
    const over = fetch(`${server.url}/v1/runs/${run.id}/events?as=assistants`).then((r) => r.text());
    await page.route(/\/runs\?/, async (route) => { await over; await route.continue(); });
    await page.goto(at(id));
    await says(page, "it was another cloth");
    await quiet(page);
    await clean(page);
  },

  async "a conversation is started, answered and listed"() {
    const page = await chat("Hi there");
    await says(page, "Hello.");
    await quiet(page);
    await page.locator(".thread", { hasText: "Hi there" }).waitFor(SHOWN);
    assert((await page.title()).startsWith("Hi there"), await page.title());
    await clean(page);
  },

  async "markdown becomes elements, with a copy button"() {
    const page = await chat("markdown please");
    await page.locator(".markdown table td", { hasText: "18 °C" }).waitFor(SHOWN);
    await quiet(page);
    assert(await page.locator(".markdown h2").count() === 1 && await page.locator(".markdown li li").count() === 1 && await page.locator("blockquote").count() === 1, "its elements");
    const link = page.locator(".markdown a");
    assert(await link.getAttribute("rel") === "noopener noreferrer nofollow" && await link.getAttribute("href") === "https://example.com/a", "the link");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.locator(".markdown .copy").click();
    assert(await page.evaluate(() => navigator.clipboard.readText()) === "const answer = 42; // a comment", "what was copied");
    await clean(page);
  },

  async "hostile content is text, wherever it appears"() {
    const thread = await server.talk("something evil", { title: `Title ${HOSTILE}` });
    await server.talk(HOSTILE, { thread, agent: "hostile" });
    const page = await openPage(browser, at(thread));
    await says(page, "Nothing happened.");
    for (const summary of await page.locator(".turn summary").all()) await summary.click();
    await page.locator(".tool pre", { hasText: "onerror" }).first().waitFor(SHOWN);
    assert(await page.locator(".messages img, .messages script, .messages svg[onload], .messages a[href^=javascript], .messages a[href^=data]").count() === 0, "an element of the content");
    await page.fill("#search", "Nothing happened");
    await page.locator(".hit").first().waitFor(SHOWN);
    await page.fill("#search", "");
    await page.locator(".thread", { hasText: "Title <img" }).first().hover();
    await page.locator(".thread", { hasText: "Title <img" }).first().getByLabel(/^Rename/).click();
    await page.locator("dialog").waitFor(SHOWN);
    await page.keyboard.press("Escape");
    await page.goto(`${server.url}/#/`);
    await page.locator(".agent-card", { hasText: "onerror" }).waitFor(SHOWN);
    await page.goto(`${server.url}/#/t/${encodeURIComponent(HOSTILE)}`);
    await page.locator(".empty", { hasText: "no such page" }).waitFor(SHOWN);
    await page.goto(at(thread));
    await page.locator(".group").first().waitFor(SHOWN);
    await send(page, "please fail", "main");
    await page.locator(".event.bad", { hasText: "onerror" }).waitFor(SHOWN);
    await clean(page);
  },

  async "files: an image and a text with hostile names"() {
    const page = await open("/");
    const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
    await page.setInputFiles("input[type=file]", [{ name: `a${HOSTILE.replaceAll("/", "-")}.png`, mimeType: "image/png", buffer: png }, { name: "note <b>.txt", mimeType: "text/plain", buffer: Buffer.from("hello") },
      { name: "x.svg", mimeType: "image/svg+xml", buffer: Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' onload='window.pwned=7'/>") }]);
    await send(page, "look at these", "echo");
    await page.locator(".bubble .image img").waitFor(SHOWN);
    await page.locator(".bubble .chip", { hasText: "note <b>.txt" }).waitFor(SHOWN);
    await page.locator(".bubble .chip", { hasText: "x.svg" }).waitFor(SHOWN);
    assert((await page.locator(".bubble .image img").getAttribute("src")).startsWith("blob:"), "a blob");
    assert(await page.locator(".bubble img").count() === 1, "the SVG is not shown as an image");
    await clean(page);
  },

  async "an answer is stopped, and what was said stays"() {
    const page = await chat("tell an endless story");
    await says(page, "Once upon");
    assert(await page.locator(".reasoning").count() === 1 && !await page.locator(".reasoning").evaluate((d) => d.open), "reasoning is folded");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".event", { hasText: "Stopped" }).waitFor(SHOWN);
    await quiet(page);
    assert(/Once upon/.test(await last(page).innerText()), "what was said");
    await page.reload();
    await says(page, "Once upon");
    await clean(page);
  },

  async "a reload in mid-stream joins the run"() {
    const page = await chat("tell a story");
    await says(page, "Once upon");
    await page.reload();
    await page.locator(".live", { hasText: "Once upon" }).waitFor(SHOWN);
    await quiet(page);
    const text = await page.locator(".answer .markdown").innerText();
    assert(text.split("Once upon").length === 4 && text.trim().endsWith("another cloth."), text);
    assert(await page.locator(".answer").count() === 1 && await page.locator(".user").count() === 1, "one question, one answer");
    await clean(page);
  },

  async "two tabs on one thread show the same"() {
    const one = await chat("Hi there"), thread = threadOf(one);
    await quiet(one);
    const two = await openPage(browser, at(thread), { context: one.context() }), far = await openPage(browser, at(thread)); // far: another browser
    for (const page of [two, far]) await says(page, "Hello.");
    await send(one, "tell a story");
    for (const page of [two, far]) { await says(page, "Once upon"); await quiet(page); }
    await quiet(one);
    const texts = await Promise.all([one, two, far].map((p) => p.locator(".answer .markdown").allTextContents()));
    assert(texts[0].join() === texts[1].join() && texts[1].join() === texts[2].join(), texts);
    for (const page of [one, two, far]) await clean(page);
  },

  async "the server is killed and comes back under the page"() {
    const page = await chat("tell a story");
    await says(page, "Once upon");
    await server.kill();
    await page.locator(".offline").waitFor(SHOWN);
    await server.start(server.port);
    await page.locator(".offline").waitFor({ ...SHOWN, state: "hidden" });
    await quiet(page);
    const text = await page.locator(".answer .markdown").innerText();
    assert(text.split("Once upon").length === 4 && text.trim().endsWith("another cloth."), text);
    await send(page, "and now?");
    await says(page, "Hello.");
    await clean(page);
  },

  async "approvals: denied with a reason, and granted; also after a reload"() {
    const page = await chat("remove it");
    await page.getByRole("button", { name: "Deny" }).waitFor(SHOWN);
    assert((await axe(page)).length === 0, await axe(page));
    await page.getByPlaceholder("Reason").fill("not today");
    await page.getByRole("button", { name: "Deny" }).click();
    await says(page, "As you wish.");
    await quiet(page);
    await page.locator('.tool[data-state="denied"] .tool-status', { hasText: "denied · not today" }).waitFor(SHOWN);
    await page.reload();
    await page.locator('.tool[data-state="denied"] .tool-status', { hasText: "denied · not today" }).waitFor(SHOWN);
    await send(page, "remove it again");
    await page.getByRole("button", { name: "Approve" }).waitFor(SHOWN);
    await page.reload();
    await page.getByRole("button", { name: "Approve" }).click();
    await says(page, "Gone.");
    await quiet(page);
    await page.locator(".tool-status", { hasText: /ms|s$/ }).last().waitFor(SHOWN);
    await clean(page);
  },

  async "a plan is a list of steps with their state; what a step does has its name and its real time"() {
    const page = await open("/"), marks = () => page.locator(".plan li").evaluateAll((all) => all.map((li) => li.className).join());
    await page.locator(".agent-choice option").first().waitFor({ ...SHOWN, state: "attached" });
    await send(page, "Something large", "guide");
    await until(async () => await marks() === "done,done,running");
    const check = async () => {
      await until(async () => await marks() === "done,done,done");
      await says(page, "All of it summed up");
      await quiet(page);
      const names = await page.locator(".step").allInnerTexts(), list = await page.locator(".plan").innerText();
      assert(names.length === 3 && /Ask the slow one/.test(names[0]) && /Think <img/.test(names[1]) && /Sum up/.test(names[2]), names);
      assert(/after 1, 2/.test(list) && /slow/.test(list) && !/[{}]/.test(list), list);
      const time = page.locator(".tool-status", { hasText: /ms|s$/ });
      await time.waitFor(SHOWN);
      assert(/^([2-9]\d\d ms|[\d.]+ s)$/.test(await time.innerText()), await time.innerText());
    };
    await check();
    await page.reload();
    await check();
    assert((await axe(page)).length === 0, await axe(page));
    await clean(page);
  },

  async "envelopes are cards that lead to their exchange"() {
    await server.api("/v1/envelopes", { protocol: "multiagent-1.0", role: "user", timestamp: "2025-10-10T12:40:00Z", intent: "plan", task: `Track prices ${HOSTILE}`, content: { type: "text", text: "Every day" }, trace: { id: "order 1/2" } });
    const thread = (await server.api("/v1/threads?limit=1")).data[0].id, page = await openPage(browser, at(thread));
    await page.locator(".user .envelope", { hasText: "Every day" }).waitFor(SHOWN);
    await page.locator(".thread-title", { hasText: "Track prices <img" }).waitFor(SHOWN);
    await page.locator("h1", { hasText: "Track prices <img" }).waitFor(SHOWN);
    await page.locator(".tool-name", { hasText: "User → Quick One" }).click();
    await page.locator(".tool .envelope", { hasText: "30 % sure" }).waitFor(SHOWN);
    await page.locator(".said > .markdown .envelope", { hasText: "90 % sure" }).locator("strong", { hasText: "daily" }).waitFor(SHOWN);
    assert(!/[{}]|multiagent/.test(await page.locator(".messages").innerText()), "raw JSON");
    assert((await axe(page)).length === 0, await axe(page));
    await page.locator(".user .envelope a").click();
    await page.waitForURL(/#\/exchange\/order%201%2F2$/);
    await page.locator("svg.tree .box").nth(3).waitFor(SHOWN);
    await clean(page);
  },

  async "what only looks like an envelope hides nothing and breaks nothing"() {
    const odd = { toString: 0, valueOf: 0 }, envelope = { protocol: "multiagent-1.0", role: odd, agent: { id: odd }, intent: odd, task: odd, content: odd, confidence: { score: odd } };
    const { id } = await server.api("/v1/threads", { messages: [
      { role: "user", content: JSON.stringify({ ...envelope, trace: { id: odd } }) }, { role: "assistant", content: `{"protocol":"multiagent-1.0","trace":{"id":"\\ud83d"}}` },
      { role: "user", content: JSON.stringify({ protocol: odd }) }, { role: "assistant", content: "Still here." }] });
    const page = await openPage(browser, at(id));
    await says(page, "Still here.");
    await send(page, "disguise it");
    await page.locator(".tool .exact", { hasText: "recursive" }).waitFor(SHOWN);
    assert(await page.locator(".tool .envelope").count() === 0, "the arguments of a tool as an envelope");
    await clean(page);
  },

  async "the list follows turns, here and elsewhere"() {
    const old = await server.talk("Hi there", { title: "An old one" });
    await server.talk("Hi there", { title: "A newer one" });
    const page = await openPage(browser, at(old)), row = page.locator(`[data-id="${old}"]`), first = page.locator(".thread").first();
    await says(page, "Hello.");
    await page.locator(".thread", { hasText: "A newer one" }).waitFor(SHOWN);
    await send(page, "tell a story");
    await row.locator(".dot.working").waitFor(SHOWN);
    await until(async () => await first.getAttribute("data-id") === old);
    await quiet(page);
    await row.locator(".dot:not(.working)").waitFor(SHOWN);
    const other = await server.talk("Hi there", { title: "From elsewhere" }); // another client
    await until(async () => await first.getAttribute("data-id") === other);
    await server.api(`/v1/threads/${old}/runs`, { assistant_id: "main", additional_messages: [{ role: "user", content: "remove it" }] });
    await row.locator(".dot.waiting").waitFor(SHOWN);
    await server.api(`/v1/threads/${other}`, { title: "Renamed elsewhere" });
    await page.locator(".thread", { hasText: "Renamed elsewhere" }).waitFor(SHOWN);
    await clean(page);
  },

  async "another view closes dialogs, and an address of nothing says so"() {
    const page = await open("/");
    await page.locator(".welcome").waitFor(SHOWN);
    for (const hash of ["#/agents", "#/t/%", "#/t/thread_none", "#/nowhere/at/all"]) {
      await page.locator("#main").focus();
      await page.keyboard.press("?");
      await page.locator("dialog[open]").waitFor(SHOWN);
      await page.evaluate((to) => { location.hash = to; }, hash);
      await page.locator("dialog").waitFor({ ...SHOWN, state: "detached" });
      if (hash !== "#/agents") await page.locator(".empty a", { hasText: "Start a conversation" }).waitFor(SHOWN);
    }
    await clean(page);
  },

  async "a wide table scrolls on a phone, and breaks no word"() {
    const thread = await server.talk(`| ${"Wednesday | ".repeat(7)}\n| ${"--- | ".repeat(7)}\n| ${"thunderstorms | ".repeat(7)}`, { agent: "echo" }), page = await openPage(browser, at(thread), { width: 390 });
    const cell = page.locator(".markdown td").first();
    await cell.waitFor(SHOWN);
    assert(await page.locator(".markdown .scroll-x").evaluate((e) => e.scrollWidth > e.clientWidth + 100), "it scrolls");
    assert((await cell.boundingBox()).height < 48, "a word in one line");
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page does not");
    await clean(page);
  },

  async "decisions, data requests and client tools are forms"() {
    const page = await chat("decide");
    await page.getByRole("button", { name: "Economy" }).click();
    await says(page, "Decided.");
    await page.locator(".answered", { hasText: "eco" }).waitFor(SHOWN);
    assert(await page.getByRole("button", { name: "Economy" }).isDisabled(), "an answered request takes no other answer");
    await quiet(page);
    let go;
    const typed = new Promise((resolve) => { go = resolve; });
    await page.route(/\/entries\?.*order=asc/, async (route) => { if (await page.getByLabel("Name *").count()) await typed; await route.continue(); });
    await send(page, "form");
    await page.getByLabel("Name *").fill("Ann"); // before the run's entries replace its events
    go();
    await quiet(page); // while the run works, an answer is refused
    assert(await page.getByLabel("Name *").evaluate((e) => e.value === "Ann" && e === document.activeElement), "what is typed while a run ends is kept, and where it goes");
    await page.getByLabel("Meal").selectOption("none");
    assert((await axe(page)).length === 0, await axe(page));
    await page.locator(".ask-form button[type=submit]").last().click();
    await says(page, "Thank you.");
    await quiet(page);
    await send(page, "client tool");
    await page.getByRole("textbox", { name: /Result of look/ }).fill('{"blue": true}');
    await page.getByRole("button", { name: "Send the result" }).click();
    await says(page, "You told me.");
    await clean(page);
  },

  async "edit, answer again, and switch between branches"() {
    const page = await chat("Hi there"), counts = () => page.locator(".switcher").allInnerTexts();
    await quiet(page);
    await page.locator(".user").hover();
    await page.getByLabel("Edit the message").click();
    await page.getByLabel("Edited message").fill("markdown, then");
    await page.locator(".edit button[type=submit]").click();
    await page.locator(".markdown table").waitFor(SHOWN);
    await quiet(page);
    await page.locator(".switcher", { hasText: "2/2" }).waitFor(SHOWN);
    await page.getByLabel("Answer again").last().click();
    await page.locator(".answer ~ *, .bar .switcher", { hasText: "2/2" }).nth(1).waitFor(SHOWN);
    await quiet(page);
    await page.getByLabel("Answer again").last().click();
    await page.locator(".switcher", { hasText: "3/3" }).waitFor(SHOWN);
    await quiet(page);
    assert((await counts()).join() === "2/2,3/3", await counts());
    await page.getByLabel("Previous branch").last().click();
    await page.locator(".switcher", { hasText: "2/3" }).waitFor(SHOWN);
    await page.getByLabel("Previous branch").first().click();
    await says(page, "Hello.");
    await page.locator(".switcher", { hasText: "1/2" }).waitFor(SHOWN);
    await page.reload();
    await says(page, "Hello.");
    await page.locator(".switcher", { hasText: "1/2" }).waitFor(SHOWN);
    await clean(page);
  },

  async "an edited question goes to who was asked, and the next one to who took over"() {
    const page = await open("/"), runs = async () => (await server.api(`/v1/threads/${threadOf(page)}/runs?order=asc`)).data.map((run) => run.assistant_id).join();
    await page.locator(".agent-choice option").first().waitFor({ ...SHOWN, state: "attached" });
    await send(page, "pass it on", "desk");
    await says(page, "And you?");
    await quiet(page);
    assert(await page.locator(".agent-choice").inputValue() === "echo", await page.locator(".agent-choice").inputValue());
    await page.locator(".user").hover();
    await page.getByLabel("Edit the message").click();
    await page.getByLabel("Edited message").fill("pass it on, please");
    await page.locator(".edit button[type=submit]").click();
    await page.locator(".switcher", { hasText: "2/2" }).waitFor(SHOWN);
    await quiet(page);
    assert(await runs() === "desk,desk", await runs());
    await send(page, "and now?");
    await says(page, "and now?");
    await quiet(page);
    assert(await runs() === "desk,desk,echo", await runs());
    await clean(page);
  },

  async "threads are paged, searched, renamed and deleted"() {
    for (let i = 0; i < 70; i++) await server.api("/v1/threads", { title: `Numbered ${i}`, messages: [{ role: "user", content: `zebra${i}` }] });
    const page = await open("/");
    await page.locator(".thread", { hasText: "Numbered 69" }).waitFor(SHOWN);
    await page.locator(".thread", { hasText: "Numbered 50" }).scrollIntoViewIfNeeded();
    for (const n of [41, 20, 2]) {
      await page.locator(".threads-scroll").evaluate((e) => e.scrollTo(0, e.scrollHeight));
      await page.locator(".thread", { hasText: `Numbered ${n}` }).first().waitFor(SHOWN);
    }
    await page.keyboard.press("Escape");
    await page.fill("#search", "zebra33");
    await page.locator(".hit", { hasText: "zebra33" }).click();
    await says(page, "zebra33");
    await page.locator("header").getByLabel("Rename").click();
    await page.getByRole("textbox", { name: "Title" }).fill("Striped");
    await page.keyboard.press("Enter");
    await page.fill("#search", "");
    await page.locator(".thread", { hasText: "Striped" }).waitFor(SHOWN);
    const thread = threadOf(page);
    assert((await server.api(`/v1/threads/${thread}`)).title === "Striped", "stored");
    await page.locator(".thread", { hasText: "Striped" }).hover();
    await page.getByLabel(/^Delete/).and(page.locator(`[data-id="${thread}"] *`)).click();
    await page.locator("dialog button.danger").click();
    await page.locator(`[data-id="${thread}"]`).waitFor({ ...SHOWN, state: "detached" });
    await clean(page);
  },

  async "a thread of 10,000 messages: 200 ms, bounded DOM and memory"() {
    const messages = Array.from({ length: 10000 }, (_, i) => ({ id: `m${i}`, type: i % 2 ? "assistant" : "user", content: [{ type: "text", text: `Message number ${i}. It has **some** text, and \`code\`.` }], timestamp: new Date(1.7e12 + i * 1000).toISOString() }));
    const answer = await fetch(`${server.url}/v1/threads/import?from=upp&agent=main`, { method: "POST", body: JSON.stringify({ id: "00000000-0000-4000-8000-000000010000", messages, createdAt: "2024-01-01T00:00:00Z", updatedAt: "2024-01-01T00:00:00Z" }) });
    const thread = await answer.json();
    assert(answer.ok, thread);
    const page = await open("/"), client = await page.context().newCDPSession(page);
    await page.locator(".agent-choice option").first().waitFor({ ...SHOWN, state: "attached" });
    const times = [], work = [], busy = async () => (await client.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
    await client.send("Performance.enable", { timeDomain: "threadTicks" });
    for (let i = 0; i < 8; i++) {
      await page.goto(`${server.url}/#/`);
      await page.locator(".welcome").waitFor(SHOWN);
      const before = await busy();
      times.push(await page.evaluate((id) => new Promise((done) => {
        const from = performance.now();
        new MutationObserver((_, o) => { if (/number 9999/.test(document.querySelector(".messages")?.lastElementChild?.textContent || "")) { o.disconnect(); requestAnimationFrame(() => setTimeout(() => done(performance.now() - from))); } }).observe(document.body, { childList: true, subtree: true });
        location.hash = `#/t/${id}`;
      }), thread.id));
      work.push(await busy() - before);
    }
    // Where others use the processors too, the page's own work counts.
    assert(Math.min(...times) <= 200 || Math.min(...work) <= 120, `interactive after ${times} ms, work ${work} ms`);
    const oldest = () => page.locator(".group").first().textContent(); // innerText of what is not rendered is empty
    for (let i = 0; i < 40; i++) {
      const before = await oldest();
      await page.locator(".scroller").evaluate((e) => e.scrollTo(0, 0));
      await until(async () => await oldest() !== before);
    }
    const groups = await page.locator(".group").count();
    assert(groups <= 200, `${groups} groups`);
    await client.send("HeapProfiler.collectGarbage");
    const { usedSize } = await client.send("Runtime.getHeapUsage");
    assert(usedSize < 100e6, `${usedSize} bytes`);
    const number = Number(/number (\d+)/.exec(await oldest())[1]);
    assert(number < 9000, `the oldest shown is ${number}`);
    await page.locator(".scroller").evaluate((e) => e.scrollTo(0, e.scrollHeight));
    await page.getByRole("button", { name: "Latest" }).click();
    await page.locator(".group", { hasText: "number 9999" }).waitFor(SHOWN);
    if (process.env.FIGURES) console.error(JSON.stringify({ times, work, usedSize, groups }));
    await clean(page);
  },

  async "the keyboard is enough"() {
    const page = await open("/"), press = (k) => page.keyboard.press(k), focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") || document.activeElement.id);
    await page.locator(".agent-choice option").first().waitFor({ ...SHOWN, state: "attached" });
    assert(await focused() === "Message", await focused());
    await page.selectOption(".agent-choice", "main");
    await page.focus("#message");
    await page.keyboard.type("Hi there");
    await press("Enter");
    await says(page, "Hello.");
    await quiet(page);
    assert(await focused() === "Message", `${await focused()} has the focus after the answer`);
    await press("Shift+Tab");
    await page.locator(".scroller").focus();
    await press("?");
    await page.locator("dialog.keys").waitFor(SHOWN);
    assert((await axe(page)).length === 0, await axe(page));
    await press("Escape");
    await page.locator(".scroller").focus();
    await press("e");
    await page.getByLabel("Edited message").waitFor(SHOWN);
    await press("Escape");
    await page.locator(".scroller").focus();
    await press("r");
    await page.locator(".switcher", { hasText: "2/2" }).waitFor(SHOWN);
    await quiet(page);
    await page.locator(".scroller").focus();
    await press("[");
    await page.locator(".switcher", { hasText: "1/2" }).waitFor(SHOWN);
    await page.locator(".scroller").focus();
    await press("/");
    assert(await focused() === "Search conversations", await focused());
    await press("Escape");
    await page.locator(".scroller").focus();
    await press("n");
    await page.locator(".welcome").waitFor(SHOWN);
    const order = [];
    for (let i = 0; i < 200 && order.at(-1) !== "Skip to content"; i++) { await press("Shift+Tab"); order.push(await page.evaluate(() => document.activeElement.getAttribute("aria-label") || document.activeElement.textContent.trim())); }
    assert(["Skip to content", "New conversation", "Search conversations", "Keyboard shortcuts"].every((name) => order.includes(name)), order);
    await clean(page);
  },

  async "axe-core finds nothing, at 1280 and 390 px, light and dark"() {
    const thread = await server.talk("markdown please", { title: "Everything" });
    await server.talk("something evil", { thread });
    for (const width of [1280, 390]) for (const dark of [false, true]) {
      const page = await openPage(browser, at(thread), { width, dark });
      await says(page, "Nothing happened.");
      await page.locator(".tool summary").click();
      const found = await axe(page);
      assert(found.length === 0, `${width} ${dark}: ${found.join("\n")}`);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert(over <= 0, `${over} px too wide at ${width}`);
      if (width === 390) {
        await page.getByRole("button", { name: "Conversations", exact: true }).click();
        await page.locator(".sidebar").getByLabel("Search conversations").waitFor(SHOWN);
        const more = await axe(page);
        assert(more.length === 0, more);
        await page.locator(".shade").click({ position: { x: 370, y: 400 } });
      }
      await page.goto(`${server.url}/#/`);
      await page.locator(".welcome").waitFor(SHOWN);
      assert((await axe(page)).length === 0, await axe(page));
      await clean(page);
      await page.context().close();
    }
  },

  async "sign-in: a wrong key, the right one, and it stays in the tab"() {
    const locked = await new Server(WEFT).start();
    try {
      const key = execFileSync(locked.weft, ["keys", "add", "person", "--config", "weft.yaml"], { cwd: locked.folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
      const page = await openPage(browser, locked.url);
      await page.getByLabel("API key").fill("weft_nothing");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.locator(".error", { hasText: "does not know" }).waitFor(SHOWN);
      assert((await axe(page)).length === 0, await axe(page));
      await page.getByLabel("API key").fill(key);
      await page.keyboard.press("Enter");
      await page.locator(".welcome").waitFor(SHOWN);
      assert(await page.evaluate(() => [Object.keys(localStorage), document.cookie].join()) === ",", "nothing outlives the tab");
      await page.locator(".agent-choice option").first().waitFor({ ...SHOWN, state: "attached" });
      await send(page, "Hi there", "main");
      await says(page, "Hello.");
      await page.reload();
      await says(page, "Hello.");
      execFileSync(locked.weft, ["keys", "revoke", "person", "--config", "weft.yaml"], { cwd: locked.folder, stdio: "ignore" });
      await page.getByLabel("API key").waitFor(SHOWN);
      await clean(page);
    } finally {
      await locked.close();
    }
  },
};

let bad = 1;
try {
  bad = await judge(tests);
} finally {
  await browser.close();
  await server.close();
}
process.exit(bad ? 1 : 0);
