// What is around every view: sidebar, top bar, theme, keyboard shortcuts, and the state of the connection.
import { events, hasKey, setKey } from "./api.js";
import { dialog, fill, h, heading, icon, iconButton } from "./dom.js";

const parts = {}; // elements of the layout that others change

/* ---- Title and actions of the current view ---- */

/** The heading and the window's title. */
export function setTitle(text) {
  document.title = text ? `${text} · Weft` : "Weft";
  if (parts.title) parts.title.textContent = text || "Weft";
}

/** The controls at the right of the top bar. */
export const setActions = (...nodes) => parts.actions && fill(parts.actions, nodes);

export const go = (path) => { location.hash = `#${path}`; };

/** Says something to screen readers alone. */
export function announce(text) {
  if (parts.live) parts.live.textContent = text;
}

/* ---- Keyboard ---- */

const shortcuts = new Map();

/** A key that works while nobody types. It ends with the signal. "g a" is one key after another. */
export function shortcut(keys, label, run, signal) {
  const entry = { label, run };
  shortcuts.set(keys, entry);
  signal?.addEventListener("abort", () => shortcuts.get(keys) === entry && shortcuts.delete(keys), { once: true });
}

let before = "";
function onKey(event) {
  const typing = event.target.closest?.("input, textarea, select");
  if (event.defaultPrevented || document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== "Escape")) return;
  const pair = `${before} ${event.key}`, found = shortcuts.get(pair) || shortcuts.get(event.key);
  before = shortcuts.get(pair) ? "" : event.key;
  setTimeout(() => { before = ""; }, 1500);
  if (!found) return;
  event.preventDefault();
  found.run(event);
}

const NAMES = { Escape: "Esc", ArrowUp: "↑", ArrowDown: "↓" };

function showKeys() {
  dialog({ class: "keys" }, heading("Keyboard"),
    h("dl", {}, [...shortcuts].map(([keys, { label }]) => h("div", {}, h("dt", {}, keys.split(" ").map((k) => h("kbd", {}, NAMES[k] || k))), h("dd", {}, label)))),
    h("p", { class: "note" }, "In the message: Enter sends, Shift Enter is a new line."));
}

/* ---- Theme ---- */

const THEMES = { auto: ["half", "System colours"], light: ["sun", "Light"], dark: ["moon", "Dark"] };
const theme = () => localStorage.getItem("weft.theme") || "auto";

function applyTheme() {
  const name = THEMES[theme()] ? theme() : "auto";
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  const [symbol, label] = THEMES[name];
  if (parts.theme) {
    fill(parts.theme, icon(symbol));
    parts.theme.title = label;
    parts.theme.setAttribute("aria-label", `Colours: ${label}. Change`);
  }
}

function nextTheme() {
  const names = Object.keys(THEMES);
  localStorage.setItem("weft.theme", names[(names.indexOf(theme()) + 1) % names.length]);
  applyTheme();
}

/* ---- Layout ---- */

/** On a narrow page the sidebar is over the view. */
export function showSidebar(yes) {
  document.body.classList.toggle("with-sidebar", yes);
  parts.menu?.setAttribute("aria-expanded", String(yes));
  if (yes) parts.sidebar.querySelector("button, a, input")?.focus();
}

export function signOut() {
  setKey("");
  location.reload();
}

/** Marks the entry of the navigation that the path belongs to. */
export function markNavigation(path) {
  for (const link of parts.nav.querySelectorAll("a"))
    link.toggleAttribute("aria-current", path.startsWith(link.hash.slice(1)));
}

/** A number at an entry of the navigation; 0 removes it. */
export function setBadge(path, count) {
  const badge = parts.nav?.querySelector(`a[href="#${CSS.escape(path).replaceAll("\\/", "/")}"] .badge`);
  if (!badge) return;
  badge.textContent = count > 99 ? "99+" : String(count || "");
  badge.hidden = !count;
  badge.setAttribute("aria-label", `${count} waiting`);
}

/** Builds the page. `list` is the sidebar's list of threads, `entries` are views with a place in the navigation. */
export function buildShell(list, entries) {
  parts.nav = h("nav", { class: "nav", "aria-label": "Views" }, entries.map(({ path, nav }) =>
    h("a", { href: `#${path}` }, icon(nav.icon), h("span", {}, nav.label), h("span", { class: "badge", hidden: true }))));
  parts.theme = h("button", { type: "button", class: "icon-button", onclick: nextTheme });
  parts.sidebar = h("aside", { class: "sidebar", "aria-label": "Conversations" },
    h("div", { class: "brand" }, h("a", { href: "#/", class: "logo" }, h("img", { src: "/page/icon.svg", alt: "", width: 20, height: 20 }), "Weft"),
      iconButton("close", "Close the sidebar", () => showSidebar(false), { class: "icon-button narrow-only" })),
    list, parts.nav,
    h("div", { class: "foot" }, parts.theme, iconButton("help", "Keyboard shortcuts", showKeys),
      h("a", { class: "quiet small", href: "/docs" }, "API"), hasKey() && iconButton("out", "Sign out", signOut, { class: "icon-button push" })));
  parts.menu = iconButton("menu", "Conversations", () => showSidebar(!document.body.classList.contains("with-sidebar")), { class: "icon-button narrow-only", "aria-expanded": "false" });
  parts.title = h("h1", { class: "title" });
  parts.actions = h("div", { class: "actions" });
  parts.offline = h("div", { class: "offline", role: "status", hidden: true }, "The server cannot be reached. Trying again…");
  parts.live = h("div", { class: "unseen", "aria-live": "polite" });
  parts.view = h("div", { class: "view" });
  const main = h("main", { id: "main", tabindex: "-1" }, h("header", { class: "top" }, parts.menu, parts.title, parts.actions), parts.offline, parts.view);
  fill(document.getElementById("app"), h("a", { class: "skip", href: "#main", onclick: (e) => { e.preventDefault(); main.focus(); } }, "Skip to content"),
    parts.sidebar, h("div", { class: "shade", onclick: () => showSidebar(false) }), main, parts.live);
  events.addEventListener("offline", () => { parts.offline.hidden = false; });
  events.addEventListener("online", () => { parts.offline.hidden = true; });
  document.addEventListener("keydown", onKey);
  shortcut("?", "These shortcuts", showKeys);
  shortcut("t", "Change colours", nextTheme);
  applyTheme();
  return parts.view;
}

/** Asks for a key until the server accepts one. */
export function signIn(test) {
  return new Promise((done) => {
    const input = h("input", { id: "key", type: "password", autocomplete: "off", required: true, placeholder: "weft_…", spellcheck: "false" });
    const error = h("p", { class: "error", role: "alert" });
    const form = h("form", { class: "card sign-in", onsubmit: async (event) => {
      event.preventDefault();
      error.textContent = "";
      setKey(input.value);
      try {
        await test();
        done();
      } catch (e) {
        setKey("");
        error.textContent = e.status === 401 ? "The server does not know this key." : e.message;
        input.select();
      }
    } }, h("img", { src: "/page/icon.svg", alt: "", width: 36, height: 36 }), h("h1", {}, "Sign in to Weft"),
      h("label", { for: "key" }, "API key", input), error, h("button", { class: "primary wide", type: "submit" }, "Sign in"),
      h("p", { class: "note" }, "The key stays in this tab until you close it. A new one: ", h("code", {}, "weft keys add NAME")));
    fill(document.getElementById("app"), h("main", { class: "centre" }, form));
    applyTheme();
    setTitle("Sign in");
    input.focus();
  });
}
