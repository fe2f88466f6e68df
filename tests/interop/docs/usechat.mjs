// The jsx of the pages: each block becomes the body of a component that says Hello, is bundled with the packages of examples/useChat,
// and must get an answer in Chromium.
//
//   node usechat.mjs WEFT NODE_MODULES
import { createRequire } from "node:module";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { assert, judge, launch, Server } from "../page/harness.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const modules = process.argv[3];
const esbuild = createRequire(modules)("esbuild");
const SDK = ["useChat:@ai-sdk/react", "DefaultChatTransport:ai", "lastAssistantMessageIsCompleteWithToolCalls:ai", "lastAssistantMessageIsCompleteWithApprovalResponses:ai"];

/** The page's blocks, each with its place. */
function blocks(path) {
  const text = readFileSync(join(root, path), "utf8");
  return [...text.matchAll(/(<!-- not run: .{10,} -->\n)?^```jsx\n([^]*?)^```/gm)].filter((m) => !m[1])
    .map((m) => ({ at: `${path}:${text.slice(0, m.index).split("\n").length}`, text: m[2] }));
}

/** Imports that a block leaves to the reader are those of SDK; a transport, the default one. */
function component(text, url) {
  const imports = text.match(/^import .*$/gm) || [];
  let body = text.replace(/^import .*$/gm, "").replaceAll("http://127.0.0.1:8787", url);
  if (!/const transport/.test(body) && /[ ,{]transport[,\s}]/.test(body)) body = `const transport = new DefaultChatTransport({ api: '${url}/api/chat' });\n${body}`;
  for (const [name, from] of SDK.map((s) => s.split(":")))
    if (!imports.some((i) => i.includes(name))) imports.push(`import { ${name} } from '${from}';`);
  return `${imports.join("\n")}
import { useEffect } from 'react';
import { createRoot } from 'react-dom/client';
function App() {
${body}
  useEffect(() => { sendMessage({ text: 'Hello' }); }, []);
  return <pre>{messages.filter((m) => m.role === 'assistant').flatMap((m) => m.parts).map((p) => p.text).join('')}</pre>;
}
createRoot(document.body).render(<App />);
`;
}

const server = await new Server(process.argv[2], (folder) => `
server: {listen: "127.0.0.1:0"}
store: sqlite:${folder}/docs.db
log: {level: warn}
default_agent: echo
models: {echo: {provider: scripted, echo: true}}
agents: {echo: {model: echo}, weather: {model: echo}}
`).start();
const browser = await launch();
const tests = {};
for (const path of ["README.md", ...readdirSync(join(root, "docs")).filter((f) => f.endsWith(".md")).map((f) => `docs/${f}`)])
  for (const { at, text } of blocks(path))
    tests[`${at}: its component gets an answer`] = async () => {
      const made = await esbuild.build({ stdin: { contents: component(text, server.url), loader: "jsx", resolveDir: dirname(modules) }, bundle: true, jsx: "automatic", write: false, define: { "process.env.NODE_ENV": '"production"' } });
      const page = await browser.newPage();
      const wrong = [];
      page.on("pageerror", (e) => wrong.push(e.message));
      const html = `<!doctype html><meta charset=utf-8><body></body><script>${made.outputFiles[0].text.replaceAll("</script", "<\\/script")}</script>`;
      await page.route("**/snippet", (route) => route.fulfill({ contentType: "text/html", body: html })); // a page of the server's own origin
      await page.goto(`${server.url}/snippet`);
      await page.waitForFunction(() => document.querySelector("pre")?.textContent === "Hello", null, { timeout: 20000 }).catch((e) => { throw new Error(`${e.message} ${wrong}`); });
      await page.close();
    };
assert(Object.keys(tests).length >= 2, "there are blocks");
process.exitCode = await judge(tests, null);
await browser.close();
await server.close();
