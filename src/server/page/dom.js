// Elements from data. Strings become text nodes: nothing here, and nothing in the other modules, parses markup.

const SVG = "http://www.w3.org/2000/svg";
const SAFE = /^(https?:|mailto:|blob:|#|\/(?![/\\]))/i; // browsers read "/\\host" as "//host"
const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "open", "selected", "tabIndex", "readOnly", "multiple", "indeterminate"]);

/** An address that may be followed, or undefined: no javascript:, data: or other scheme. */
export function safeUrl(url) {
  const text = String(url).trim();
  return SAFE.test(text) && !/[\0-\x1f]/.test(text) ? text : undefined; // browsers leave tabs and line ends out
}

function set(node, name, value) {
  if (value == null || value === false && !PROPERTIES.has(name) && !name.startsWith("aria-")) return;
  if (typeof value === "function") node.addEventListener(name.replace(/^on/, "").toLowerCase(), value);
  else if (/^on/i.test(name)) throw new Error(`${name} takes a function`);
  else if (name === "class") node.setAttribute("class", Array.isArray(value) ? value.filter(Boolean).join(" ") : value);
  else if (name === "data") Object.assign(node.dataset, value);
  else if (name === "style") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
  else if (PROPERTIES.has(name) && name in node) node[name] = value;
  else if (name === "href" || name === "src") { const url = safeUrl(value); if (url) node.setAttribute(name, url); }
  else node.setAttribute(name, value === true ? "" : value);
}

function put(node, children) {
  for (const child of children.flat(9)) if (child != null && child !== false) node.append(child);
  return node;
}

function make(node, attrs, children) {
  for (const [name, value] of Object.entries(attrs || {})) set(node, name, value);
  return put(node, children);
}

/** h("button", {class: "quiet", onclick: f}, "Stop"): attributes, properties, listeners (functions), `data`, `style`. */
export const h = (tag, attrs, ...children) => make(document.createElement(tag), attrs, children);

/** The same for SVG. */
export const svg = (tag, attrs, ...children) => make(document.createElementNS(SVG, tag), attrs, children);

/** Empties a node, and puts others in. */
export function fill(node, ...children) {
  node.replaceChildren();
  return put(node, children);
}

/** The value of a JSON text; undefined: it is none. */
export function parsed(text) {
  try { return JSON.parse(text); } catch { return undefined; }
}

const ICONS = {
  plus: "M12 5v14M5 12h14", send: "M12 19V5M5.5 11.5 12 5l6.5 6.5", stop: "M7 7h10v10H7z", menu: "M4 7h16M4 12h16M4 17h16", close: "M6 6l12 12M18 6 6 18",
  edit: "M4 20h4L19 9l-4-4L4 16zM13.5 6.5l4 4", again: "M20 12a8 8 0 1 1-2.6-5.9M20 3.5V8h-4.5", copy: "M9 9h11v11H9zM5 15H4V4h11v1", check: "M5 12.5 10 17l9-10",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5", left: "M14.5 6 8.5 12l6 6", right: "M9.5 6l6 6-6 6", down: "M6 9.5l6 6 6-6", clip: "M19 11.5 12 18.5a4.5 4.5 0 0 1-6.4-6.4L13 4.8a3 3 0 0 1 4.3 4.3l-7.4 7.3a1.5 1.5 0 0 1-2.1-2.1l6.7-6.7",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4", moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z", half: "M12 3.5a8.5 8.5 0 1 0 0 17zM12 3.5a8.5 8.5 0 0 1 0 17",
  search: "M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM15.5 15.5 20 20", tool: "M14.5 6a4 4 0 0 1 5-1l-2.6 2.6 1.5 1.5L21 6.5a4 4 0 0 1-5.5 5L7 20l-3-3 8.5-8.5a4 4 0 0 1 2-2.5z", chat: "M4 5h16v11H10l-4 4v-4H4z", agents: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20c.8-3.6 3.8-5.5 7.5-5.5s6.7 1.9 7.5 5.5",
  approvals: "M9 12l2.5 2.5L16 10M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6z", figures: "M4 20V10M10 20V4M16 20v-7M21 20H3", help: "M9.5 9.5a2.5 2.5 0 1 1 3.7 2.2c-.8.5-1.2 1-1.2 2M12 17v.1M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z", out: "M14 4H5v16h9M10 12h10M16.5 8.5 20 12l-3.5 3.5",
  tree: "M6 4v16M6 9c0 4 10 2 10 7v1M16 17.5v.1M6 4v.1M6 20v.1", branch: "M7 4v16M7 14c0-4 10-2 10-8M17 4v2", trace: "M4 6h8M7 12h10M12 18h8", export: "M12 4v11M7.5 10.5 12 15l4.5-4.5M5 20h14", file: "M7 3.5h7l4 4v13H7zM14 3.5v4h4", more: "M6 12h.1M12 12h.1M18 12h.1", handoff: "M4 8h13M13.5 4.5 17 8l-3.5 3.5M20 16H7M10.5 12.5 7 16l3.5 3.5", bulb: "M9 18h6M10 21h4M12 3a6 6 0 0 0-3.5 10.9c.7.6 1 1.3 1 2.1h5c0-.8.3-1.5 1-2.1A6 6 0 0 0 12 3z",
};

/** A line icon, invisible to screen readers: the control it is in has a label. */
export const icon = (name) => svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ICONS[name] || ICONS.more }));

/** A button with an icon and a label that is read and shown as a tooltip. */
export const iconButton = (name, label, onclick, attrs) => h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick, ...attrs }, icon(name));

/** The colour of a name: always the same one. */
export function hue(name) {
  let sum = 0;
  for (const c of String(name ?? "")) sum = (sum * 31 + c.codePointAt(0)) >>> 0;
  return `hue-${sum % 8}`;
}

const UNITS = [["year", 31536000], ["month", 2592000], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];
// Made when they are needed first: the first one of a page takes as long as all its modules together.
let relative, clock;

/** "3 min. ago", as an element whose title is the exact time. */
export function ago(seconds) {
  const past = seconds - Date.now() / 1000, unit = UNITS.find(([, size]) => Math.abs(past) >= size);
  const date = new Date(seconds * 1000);
  return h("time", { datetime: date.toISOString(), title: date.toLocaleString() }, !unit ? "now"
    : (relative ??= new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" })).format(Math.round(past / unit[1]), unit[0]));
}

/** "14:05", as an element whose title is the exact time. */
export const timeOf = (date) => h("time", { datetime: date.toISOString(), title: date.toLocaleString() },
  (clock ??= new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" })).format(date));

export const duration = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`);
export const bytes = (n) => (n < 1024 ? `${n} B` : n < 1048576 ? `${(n / 1024).toFixed(n < 10240 ? 1 : 0)} KB` : `${(n / 1048576).toFixed(1)} MB`);

/** Opens a dialog of the page over it; another view closes it. Its heading has the id `heading`. */
export function dialog(attrs, ...children) {
  const box = h("dialog", { "aria-labelledby": "heading", ...attrs }, children);
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
}

/** The heading of a dialog, with a button that closes it. */
export const heading = (title) => h("div", { class: "row between" }, h("h2", { id: "heading" }, title), iconButton("close", "Close", (e) => e.target.closest("dialog").close()));

/** Asks in a dialog of the page. Resolves to the values of the form, or null. fields: [{name, label, value, rows}]. */
export function ask({ title, text, fields = [], action = "OK", danger = false }) {
  return new Promise((done) => {
    const inputs = fields.map((f) => h(f.rows ? "textarea" : "input", { id: `ask-${f.name}`, rows: f.rows, value: f.value ?? "", required: f.required, maxlength: f.max, autocomplete: "off" }));
    const form = h("form", { method: "dialog", onsubmit: () => box.close("ok") },
      h("h2", { id: "heading" }, title), text && h("p", {}, text),
      fields.map((f, i) => h("label", { for: `ask-${f.name}` }, f.label, inputs[i])),
      h("div", { class: "row end" }, h("button", { type: "button", class: "quiet", onclick: () => box.close() }, "Cancel"), h("button", { type: "submit", class: danger ? "danger" : "primary" }, action)));
    const box = dialog({ onclose: () => done(box.returnValue === "ok" ? Object.fromEntries(fields.map((f, i) => [f.name, inputs[i].value])) : null) }, form);
    inputs[0]?.select?.();
  });
}

/** A short message at the bottom of the page, read aloud. */
export function toast(text, kind = "info") {
  let place = document.getElementById("toasts");
  if (!place) document.body.append(place = h("div", { id: "toasts", role: "status", "aria-live": "polite" }));
  const one = h("div", { class: ["toast", kind] }, text);
  place.append(one);
  while (place.children.length > 4) place.firstChild.remove();
  setTimeout(() => one.remove(), 6000);
}

/** Copies a text, and says so. */
export async function copy(text) {
  try { await navigator.clipboard.writeText(text); toast("Copied"); } catch { toast("The browser does not allow copying", "bad"); }
}

/** What went wrong. */
export const failed = (error) => toast(error.message, "bad");

/** Saves bytes as a file. */
export function save(data, name) {
  const a = h("a", { href: URL.createObjectURL(data), download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000);
}
