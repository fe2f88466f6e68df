// What the tests of the web page share: a server on agents with hostile names and content, a browser, and a judge.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Markup that would run, wherever it is shown. */
export const HOSTILE = `<img src=x onerror="window.pwned=1"><script>window.pwned=2</script>`;
const TABLE = "| City | Temperature |\n|---|---:|\n| Tokyo | 18 °C |\n| Oslo | 4 °C |";

export const MARKDOWN = `### A heading

Some **bold**, *emphasis*, \`code\` and [a link](https://example.com/a).

- one
- two
  - nested

${TABLE}

\`\`\`js
const answer = 42; // a comment
\`\`\`

> A quote.`;

export const EVIL = `${HOSTILE} [click](javascript:window.pwned=3) [data](data:text/html,<script>window.pwned=4</script>) <svg onload="window.pwned=5"></svg> ![x](https://evil.example/x.png) [ok](https://example.com) <javascript:window.pwned=6>`;

const STORY = "Once upon a time there was a weaver who wove the same cloth again and again, and each time it was another cloth. ".repeat(3);
const DECISION = JSON.stringify({ $schema: "https://aitp.dev/capabilities/aitp-02-decisions/v1.0.0/schema.json", request_decision: { id: "d1", title: "Which class?", type: "radio", options: [{ id: "eco", name: "Economy" }, { id: "biz", name: `Business ${HOSTILE}` }] } });
const DATA = JSON.stringify({ $schema: "https://aitp.dev/capabilities/aitp-03-data-request/v1.0.0/schema.json", request_data: { id: "q1", title: "Your details", description: "For the ticket", form: { fields: [{ id: "name", label: "Name", required: true }, { id: "mail", label: `Email ${HOSTILE}`, type: "email" }, { id: "meal", label: "Meal", type: "select", options: ["meat", "none"] }] } } });

const PLAN = { steps: [{ id: "a", description: "Ask the slow one", tool: "slow", dependsOn: [] }, { id: "b", description: `Think ${HOSTILE}`, tool: "", dependsOn: [] }, { id: "c", description: "Sum up", tool: "", dependsOn: ["a", "b"] }] };

const SCRIPT = { again: true, delta_bytes: 6, replies: [
  { when: { contains: "Make a plan before doing anything" }, parts: [{ text: JSON.stringify(PLAN) }] },
  { when: { tool_result: "slow" }, parts: [{ text: "It was slow." }] },
  { when: { contains: "step 'a'" }, parts: [{ tool_call: { name: "slow", arguments: {} } }] },
  { when: { contains: "step 'b'" }, parts: [{ text: "Thought." }] },
  { when: { contains: "step 'c'" }, delay_ms: 40, parts: [{ text: "All of it summed up, word by word. ".repeat(8) }] },
  { when: { contains: "Check the answer below" }, data: { text: "Scrape **daily**", confidence: 0.9 } },
  { when: { contains: "Track prices" }, data: { text: `Scrape ${HOSTILE}`, confidence: 0.3 } },
  { when: { contains: "endless" }, delay_ms: 40, parts: [{ reasoning: "A story about weaving." }, { text: STORY.repeat(20) }] },
  { when: { contains: "story" }, delay_ms: 80, parts: [{ reasoning: "A story about weaving." }, { text: STORY }] },
  { when: { contains: "pass it on" }, parts: [{ text: "Echo, your turn." }] },
  { when: { contains: "markdown" }, parts: [{ text: MARKDOWN }] },
  { when: { contains: "evil" }, parts: [{ reasoning: HOSTILE }, { text: EVIL }, { tool_call: { id: "evil_1", name: "evil", arguments: { html: HOSTILE } } }] },
  { when: { tool_result: "evil" }, parts: [{ text: "Nothing happened." }] },
  { when: { contains: "decide" }, parts: [{ text: DECISION }] },
  { when: { contains: '"decision"' }, parts: [{ text: "Decided." }] },
  { when: { contains: "form" }, parts: [{ text: DATA }] },
  { when: { contains: '"data"' }, parts: [{ text: "Thank you." }] },
  { when: { tool_result: "remove", contains: "denied" }, parts: [{ text: "As you wish." }] },
  { when: { tool_result: "remove" }, parts: [{ text: "Gone." }] },
  { when: { contains: "disguise" }, parts: [{ tool_call: { name: "remove", arguments: { protocol: "multiagent-1.0", role: "user", task: "List files", content: { type: "text", text: "Only a list" }, recursive: true } } }] },
  { when: { contains: "remove" }, parts: [{ text: "I will remove it." }, { tool_call: { name: "remove", arguments: { path: "/tmp/old" } } }] },
  { when: { tool_result: "look" }, parts: [{ text: "You told me." }] },
  { when: { contains: "client tool" }, parts: [{ tool_call: { name: "look", arguments: { at: "sky" } } }] },
  { when: { contains: "fail" }, error: { code: "INVALID_REQUEST", message: `no ${HOSTILE}` } },
  { parts: [{ text: "Hello." }] },
] };

const CONFIG = (folder) => `
server: {listen: "127.0.0.1:0"}
store: sqlite:${folder}/page.db
durability: sync
log: {level: warn}
default_agent: main
models:
  main: {provider: scripted, script: script.json}
  echo: {provider: scripted, echo: true}
tools:
  remove: {description: "Removes ${HOSTILE.replaceAll('"', "'")}", parameters: {type: object}, command: [sh, -c, "cat >/dev/null; echo gone"], approval: always}
  evil: {description: "Hostile output", parameters: {type: object}, command: [sh, -c, "cat >/dev/null; cat ${folder}/evil.txt"]}
  slow: {description: "Takes its time", parameters: {type: object}, command: [sh, -c, "cat >/dev/null; sleep 0.2; echo 1"]}
  look: {description: "The client looks", parameters: {type: object, properties: {at: {type: string}}}}
agents:
  main: {title: Main Agent, description: "Knows everything", model: main, system: "You know everything.", tools: [remove, evil, look]}
  hostile: {title: "${HOSTILE.replaceAll('"', "'")}", description: "${HOSTILE.replaceAll('"', "'")}", model: echo}
  echo: {title: Echo, description: "Says what was said", model: echo}
  desk: {title: Front Desk, model: main, handoff: [{agent: echo, on_mention: true, prompt: "And you?"}]}
  guide: {title: Guide, model: main, strategy: plan, tools: [slow]}
  quick: {title: Quick One, model: main}
  careful: {title: Careful One, model: main}
routes:
  - {intent: plan, to: quick}
  - {intent: reflect, to: careful}
`;

/** `weft serve` in a folder of its own; start() after kill() is the same server again. */
export class Server {
  folder = mkdtempSync(join(tmpdir(), "weft-page-"));

  constructor(weft, config = CONFIG, script = SCRIPT) {
    this.weft = resolve(weft);
    writeFileSync(join(this.folder, "weft.yaml"), config(this.folder));
    writeFileSync(join(this.folder, "script.json"), JSON.stringify(script));
    writeFileSync(join(this.folder, "evil.txt"), HOSTILE);
  }

  async start(port = 0) {
    this.process = spawn(this.weft, ["serve", "--config", "weft.yaml", "--listen", `127.0.0.1:${port}`], { cwd: this.folder, stdio: ["ignore", "pipe", "pipe"] });
    this.process.stderr.resume();
    this.url = await new Promise((done, failed) => {
      let text = "";
      this.process.stdout.on("data", (d) => { const found = /listening on (\S+)/.exec(text += d); if (found) done(found[1]); });
      this.process.on("exit", (code) => failed(new Error(`weft serve ended with ${code}: ${text}`)));
    });
    this.port = Number(new URL(this.url).port);
    return this;
  }

  async kill(signal = "SIGKILL") {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = new Promise((done) => this.process.on("exit", done));
    this.process.kill(signal);
    await gone;
  }

  async close() {
    await this.kill("SIGTERM");
    rmSync(this.folder, { recursive: true, force: true });
  }

  async api(path, body, method = body === undefined ? "GET" : "POST") {
    const answer = await fetch(this.url + path, { method, body: body === undefined ? undefined : JSON.stringify(body) });
    const data = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${path}: ${JSON.stringify(data)}`);
    return data;
  }

  /** A thread with a finished run. */
  async talk(text, { title = text, agent = "main", thread } = {}) {
    const t = thread || (await this.api("/v1/threads", { title })).id;
    const run = await this.api(`/v1/threads/${t}/runs`, { assistant_id: agent, additional_messages: [{ role: "user", content: text }] });
    await fetch(`${this.url}/v1/runs/${run.id}/events?as=assistants`).then((r) => r.text());
    return t;
  }
}

/** How long anything may take: only a failure waits so long, and a busy machine is none. */
export const SHOWN = { timeout: 60000 };

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server"] });

/** A page that remembers what went wrong in it: errors, refused content, requests to other hosts. */
export async function openPage(browser, url, { width = 1280, height = 860, dark = false, context, ...more } = {}) {
  const home = context || await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce", ...more });
  const page = await home.newPage();
  page.setDefaultTimeout(SHOWN.timeout);
  page.wrong = [];
  page.on("pageerror", (e) => page.wrong.push(`error: ${e.message}`));
  page.on("console", (m) => { if (m.type() === "error" && !/Failed to load resource/.test(m.text())) page.wrong.push(`console: ${m.text()}`); });
  page.on("request", (r) => { if (!/^(blob|data):/.test(r.url()) && new URL(r.url()).origin !== new URL(url).origin) page.wrong.push(`request to ${r.url()}`); });
  await page.addInitScript(() => { addEventListener("securitypolicyviolation", (e) => console.error(`CSP: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`)); });
  await page.goto(url);
  return page;
}

export const pwned = (page) => page.evaluate(() => window.pwned);

/** Violations that axe-core finds, in a line each. */
export async function axe(page) {
  await page.evaluate(axeSource); // not by a script tag: the policy refuses those
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations));
  return found.map((v) => `${v.id} (${v.impact}): ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary.split("\n")[1]}`).join("; ")}`);
}

export function assert(yes, what) {
  if (!yes) throw new Error(typeof what === "string" ? what : JSON.stringify(what));
}

/** Not by waitForFunction, which evaluates a text as soon as it has to ask twice: the page's policy refuses that. */
export async function until(is, what = "it") {
  for (const end = Date.now() + SHOWN.timeout; !await is();) {
    assert(Date.now() < end, `${what} did not happen in time`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

/** Runs tests, "title: async function", one after another; prints "ok or bad, TAB, title, TAB, what was wrong". */
export async function judge(tests, only = process.argv[3]) {
  let bad = 0;
  for (const [title, test] of Object.entries(tests)) {
    if (only && !title.includes(only)) continue;
    try {
      await test();
      console.log(`ok\t${title}\t`);
    } catch (error) {
      bad++;
      console.log(`bad\t${title}\t${String(error.stack || error).replace(/\s+/g, " ").slice(0, 1500)}`);
    }
  }
  return bad;
}
