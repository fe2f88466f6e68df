// Start, sign-in and routes. A view is {path, title, nav?, render(root, params, signal)}: render fills `root`; `signal`
// aborts when another view is shown. `:name` in a path is a parameter.
import { events, hasKey, request, setKey } from "./api.js";
import { fill, h } from "./dom.js";
import { buildShell, go, markNavigation, setActions, setTitle, shortcut, showSidebar, signIn } from "./shell.js";
import { approvals, watchApprovals } from "./approvals.js";
import { conversation, start, threadActions } from "./conversation.js";
import { markThread, threadList } from "./threads.js";
import { threadBar } from "./threadbar.js";

/** A view whose module is loaded when it is shown first. */
const later = (module, view) => async (root, params, signal) => {
  const { [view]: render } = await import(`./${module}.js`);
  if (!signal.aborted) await render(root, params, signal);
};

const views = [
  { path: "/", title: "New conversation", render: start },
  { path: "/t/:thread", title: "Conversation", render: conversation },
  { path: "/t/:thread/tree", title: "Tree", render: later("tree", "tree") },
  { path: "/t/:thread/compare", title: "Compare branches", render: later("compare", "compare") },
  { path: "/t/:thread/trace", title: "Trace", render: later("trace", "trace") },
  { path: "/t/:thread/trace/:run", title: "Trace", render: later("trace", "trace") },
  { path: "/agents", title: "Agents", render: later("agents", "agents"), nav: { icon: "agents", label: "Agents", key: "a" } },
  { path: "/agents/:agent", title: "Agent", render: later("agents", "agent") },
  { path: "/approvals", title: "Waiting for you", render: approvals, nav: { icon: "approvals", label: "Approvals", key: "p" } },
  { path: "/figures", title: "Server", render: later("figures", "figures"), nav: { icon: "figures", label: "Server", key: "s" } },
  { path: "/exchange/:envelope", title: "Exchange", render: later("exchange", "exchange") },
];

threadActions.push((thread) => threadBar(thread, ""));

/** What an id of a parameter looks like. Others would lead a request elsewhere: "../files/ID/content" is no thread. */
const IDS = { thread: /^[\w:-][\w.:-]{0,199}$/, run: /^[\w:-][\w.:-]{0,199}$/ };

/** The view of a path and its parameters; null: there is none. */
function match(path) {
  let given;
  try { given = path.split("/").map(decodeURIComponent); } catch { return null; } // "%" alone
  for (const view of views) {
    const wanted = view.path.split("/"), params = {};
    if (wanted.length === given.length && wanted.every((part, i) => (part[0] === ":" ? (params[part.slice(1)] = given[i]) : part === given[i])))
      return Object.entries(params).every(([name, id]) => !IDS[name] || IDS[name].test(id)) ? { view, params } : null;
  }
  return null;
}

const nothing = (root, text, kind) => fill(root, h("p", { class: ["empty", kind], role: "alert" }, text, " ", h("a", { href: "#/" }, "Start a conversation")));

let current = new AbortController();

async function show(root) {
  const [path, search = ""] = (location.hash.slice(1) || "/").split("?");
  const found = match(path);
  current.abort();
  current = new AbortController();
  const { signal } = current, first = !root.childElementCount;
  for (const box of document.querySelectorAll("dialog[open]")) box.close();
  setActions();
  showSidebar(false);
  markNavigation(path);
  fill(root);
  root.className = "view";
  markThread(found?.params.thread);
  setTitle(found?.view.title ?? "Not found");
  if (!found) return nothing(root, "There is no such page.");
  if (!first) document.getElementById("main").focus();
  try {
    await found.view.render(root, { ...found.params, query: new URLSearchParams(search) }, signal);
  } catch (error) {
    if (!signal.aborted) nothing(root, error.message, error.status !== 404 && "error");
  }
}

const knock = () => request("/v1/threads?limit=1");

async function begin() {
  try {
    await knock();
  } catch (error) {
    if (error.status === 401 || error.status === 403) await signIn(knock);
  }
  const root = buildShell(threadList(), views.filter((view) => view.nav));
  events.addEventListener("signin", () => { if (hasKey()) { setKey(""); location.reload(); } });
  shortcut("n", "New conversation", () => { go("/"); document.getElementById("message")?.focus(); });
  for (const { path, nav } of views) if (nav?.key) shortcut(`g ${nav.key}`, nav.label, () => go(path));
  window.addEventListener("hashchange", () => show(root));
  show(root);
  watchApprovals();
}

begin();
