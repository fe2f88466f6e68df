// How long a newcomer waits: from `git clone` over `make run` to the first word of an answer in the page, in its parts.
//
//   node first-answer.mjs [COMMAND...]     COMMAND runs the shell script in its last argument (default: sh -c), also on another machine with the same network
//
//   PORT=8790 node first-answer.mjs ssh fresh-machine sh -c        the script clones $CLONE (default: this repository) and says `make run`
import { spawn } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";
import { dirname, resolve } from "node:path";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { assert, launch, openPage } from "./harness.mjs";

const port = process.env.PORT || "8790";
const clone = process.env.CLONE || resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const script = `set -e; folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; echo @clone; git clone -q '${clone}' "$folder/weft"; cd "$folder/weft"; echo @make; make run PORT=${port}`;
const command = process.argv.length > 2 ? process.argv.slice(2) : ["sh", "-c"];

// What is printed, and the part that begins there.
const MARKS = [[/^@clone$/, "clone"], [/^@make$/, "packages"], [/^build: configuring/, "build"], [/^ *The page:/, "start"], [/listening on (\S+)/, "page"]];
const began = [];
const browser = await launch(); // a newcomer has one open
const child = spawn(command[0], [...command.slice(1), script], { stdio: ["ignore", "pipe", "pipe"], detached: true });
const note = (part) => { if (!began.some((b) => b.part === part)) began.push({ part, at: performance.now(), cpu: used(child.pid) }); };

/** CPU seconds of a process and all below it, those that have ended too: on a busy machine the time alone says little. */
function used(root) {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /s, "").split(" ").map(Number); // from the third field on
      return [{ pid: Number(pid), parent: stat[1], ticks: stat[11] + stat[12] + stat[13] + stat[14] }];
    } catch { return []; } // it has just ended
  });
  const below = (pid) => all.filter((p) => p.parent === pid).reduce((sum, p) => sum + p.ticks + below(p.pid), 0);
  return ((all.find((p) => p.pid === root)?.ticks || 0) + below(root)) / 100;
}
try {
  await new Promise((done, failed) => {
    const read = (line) => {
      if (process.env.VERBOSE) console.error(line);
      for (const [pattern, part] of MARKS) if (pattern.test(line)) { note(part); if (part === "page") done(); }
    };
    createInterface(child.stdout).on("line", read);
    createInterface(child.stderr).on("line", read);
    child.on("exit", (code) => failed(new Error(`it ended with ${code} before it listened`)));
  });
  const page = await openPage(browser, `http://127.0.0.1:${port}/`);
  await page.locator(".agent-choice option").first().waitFor({ state: "attached" });
  note("answer");
  await page.selectOption(".agent-choice", "weather");
  await page.fill("#message", "What is the weather in Oslo?");
  await page.press("#message", "Enter");
  await page.locator(".group", { hasText: "Let me" }).first().waitFor();
  note("end");
  assert(page.wrong.length === 0, page.wrong);
} finally {
  await browser.close();
  if (child.exitCode === null && child.signalCode === null) {
    const gone = new Promise((done) => child.on("exit", done));
    process.kill(-child.pid, "SIGTERM"); // its own process group
    await gone;
  }
}
for (const [n, { part, at, cpu }] of began.slice(0, -1).entries()) console.log(`${part.padEnd(10)} ${((began[n + 1].at - at) / 1000).toFixed(1).padStart(7)} s, CPU ${(began[n + 1].cpu - cpu).toFixed(1)} s`);
console.log(`on ${availableParallelism()} cores, load average ${loadavg()[0].toFixed(1)}`);
console.log(`${"in all".padEnd(10)} ${((began.at(-1).at - began[0].at) / 1000).toFixed(1).padStart(7)} s`);
