// Makes docs/page.png: the demo's agents in the page. usage: screenshot.mjs WEFT FILE [dark]
import { cpSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { assert, launch, openPage, Server } from "./harness.mjs";

const [weft, file, dark] = process.argv.slice(2), demo = join(dirname(fileURLToPath(import.meta.url)), "../../../demo");
const server = new Server(weft, () => readFileSync(join(demo, "weft.yaml"), "utf8"));
cpSync(demo, server.folder, { recursive: true, filter: (name) => !/\.db/.test(name) });
await server.start();
const browser = await launch();
try {
  await server.talk("What should I pack for Oslo?", { agent: "weather", title: "Packing for Oslo" });
  await server.talk("Say something nice", { agent: "echo", title: "Something nice" });
  const thread = await server.talk("What's the weather like in Tokyo?", { agent: "weather", title: "Weather in Tokyo" });
  const page = await openPage(browser, `${server.url}/#/t/${thread}`, { width: 1280, height: 800, dark: dark === "dark" });
  await page.locator(".tool summary").first().click();
  await page.locator(".thread-note", { hasText: /\w/ }).nth(2).waitFor();
  await page.locator(".tool pre").first().waitFor();
  await page.mouse.move(640, 20);
  await page.screenshot({ path: file, animations: "disabled" });
  assert(page.wrong.length === 0, page.wrong);
  assert(statSync(file).size <= 300000, `${statSync(file).size} bytes`);
} finally {
  await browser.close();
  await server.close();
}
