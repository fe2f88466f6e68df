// The built site in Chromium, read from its folder without a server: no errors, no requests to other hosts, a search that finds.
//
//   node look.mjs HTML-FOLDER [PICTURE.png]
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { assert, judge, launch } from "../page/harness.mjs";

const [folder, picture] = process.argv.slice(2);
const url = (path) => pathToFileURL(resolve(folder, path)).href;
const browser = await launch();

async function open(path, size = { width: 1280, height: 860 }) {
  const page = await browser.newPage({ viewport: size });
  page.wrong = [];
  // The search fetches the pages that it found, for a line of their text. From a folder, browsers refuse that; the results are there without it.
  page.on("pageerror", (e) => { if (e.message !== "Failed to fetch") page.wrong.push(`error: ${e.message}`); });
  page.on("request", (r) => { if (!/^(file|data|blob):/.test(r.url())) page.wrong.push(`request to ${r.url()}`); });
  await page.goto(path);
  return page;
}

process.exitCode = await judge({
  async "pages are whole and load nothing from elsewhere"() {
    for (const path of ["index.html", "docs/http.html", "docs/dialects/ui.html", "docs/tutorial.html"]) {
      const page = await open(url(path));
      assert(await page.locator("article h1").count() === 1, `${path} has one heading`);
      assert(await page.locator(".sidebar-tree .caption").count() >= 4, `${path} has the four kinds of pages`);
      assert(!page.wrong.length, page.wrong);
      if (picture && path === "index.html") await page.screenshot({ path: picture });
      await page.close();
    }
  },
  async "the search finds"() {
    const page = await open(url("index.html"));
    await page.getByRole("textbox", { name: "Search" }).fill("approval");
    await page.keyboard.press("Enter");
    await page.locator("#search-results li a").first().waitFor({ timeout: 20000 });
    assert(!page.wrong.length, page.wrong);
    await page.close();
  },
  async "a phone shows no page wider than itself"() {
    for (const path of ["index.html", "docs/http.html", "docs/configuration.html"]) {
      const page = await open(url(path), { width: 390, height: 844 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert(wide <= 390, `${path} is ${wide} pixels wide`);
      await page.close();
    }
  },
}, null);
await browser.close();
