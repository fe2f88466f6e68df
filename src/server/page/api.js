// The server's HTTP API: requests with the key, errors as messages, lists page by page, streams that resume.

import { stringEnd } from "./exact.js";

const STORED = "weft.key";
let key = sessionStorage.getItem(STORED) || "";

/** Other modules listen here: "signin" when the server wants a key, "online" and "offline" when it comes and goes. */
export const events = new EventTarget();

export const hasKey = () => key !== "";

/** Sets the key; it is forgotten when the tab closes. "" removes it. */
export function setKey(text) {
  key = text.trim();
  if (key) sessionStorage.setItem(STORED, key);
  else sessionStorage.removeItem(STORED);
}

export class ApiError extends Error {
  constructor(status, code, message, param) {
    super(message);
    Object.assign(this, { status, code, param });
  }
}

let reachable = true;
function reached(yes) {
  if (yes === reachable) return;
  reachable = yes;
  events.dispatchEvent(new Event(yes ? "online" : "offline"));
}

async function failure(response) {
  let error = {};
  try { error = (await response.json()).error || {}; } catch { /* not ours: a proxy's */ }
  if (response.status === 401) events.dispatchEvent(new Event("signin"));
  return new ApiError(response.status, error.code, error.message || `The server answered ${response.status}.`, error.param);
}

/** Is it a path of this server, and the one that is written there? */
const straight = (path) => path[0] === "/" && path[1] !== "/" && !/[\\\0- ]/.test(path) && !path.split("?")[0].split("/").some((part) => /^(\.|%2e){1,2}$/i.test(part));

async function send(path, { method, body, headers = {}, signal } = {}) {
  if (!straight(path)) throw new ApiError(404, "not_found", "There is nothing of this name.");
  const all = { ...headers };
  if (key) all.authorization = `Bearer ${key}`;
  let data = body;
  if (body !== undefined && !(body instanceof FormData) && typeof body !== "string") {
    all["content-type"] = "application/json";
    data = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, { method: method || (body === undefined ? "GET" : "POST"), headers: all, body: data, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    reached(false);
    throw new ApiError(0, "unreachable", "The server cannot be reached.");
  }
  reached(true);
  if (!response.ok) throw await failure(response);
  return response;
}

/** JSON of a route. With `body` it is a POST; `kept`: see keepText. Throws ApiError. */
export async function request(path, { kept, ...options } = {}) {
  const answer = await send(path, options);
  if (!kept) return answer.json();
  let data = await answer.text();
  if (data.length > LARGE) await pause(0); // each step is a task of its own
  data = keepText(data, kept);
  if (data.length > LARGE) await pause(0);
  return JSON.parse(data);
}

const CLOSED = /["{}[\]]/g, SCALAR = /[^,}\]\s]*/y;

function valueEnd(text, i) {
  if (text[i] === '"') return stringEnd(text, i);
  SCALAR.lastIndex = i;
  if (text[i] !== "{" && text[i] !== "[") return SCALAR.test(text) ? SCALAR.lastIndex : i;
  CLOSED.lastIndex = i;
  for (let depth = 0, found; (found = CLOSED.exec(text));) {
    if (found[0] === '"') CLOSED.lastIndex = stringEnd(text, found.index);
    else if (found[0] === "{" || found[0] === "[") depth++;
    else if (--depth === 0) return CLOSED.lastIndex;
  }
  return text.length;
}

/** The JSON text in which the values of these members are strings with the text that they had: parsing it loses no digit and no
 *  member of them. */
export function keepText(text, names) {
  const key = new RegExp(`(?<!\\\\)"(?:${names.join("|")})":\\s*`, "g"), out = []; // a quote within a string has a backslash
  let from = 0;
  while (key.test(text)) {
    const at = key.lastIndex, end = valueEnd(text, at);
    out.push(text.slice(from, at), JSON.stringify(text.slice(at, end)));
    from = key.lastIndex = end;
  }
  return out.join("") + text.slice(from);
}

/** Text, or bytes with their type. */
export const text = async (path, options) => (await send(path, options)).text();
export const blob = async (path, options) => (await send(path, options)).blob();

/** "/v1/threads" and {limit: 20, after: undefined} as a path with a query. */
export function query(path, params = {}) {
  const q = new URLSearchParams(Object.entries(params).filter(([, v]) => v != null && v !== ""));
  return q.size ? `${path}?${q}` : path;
}

/** The items of a list, page after page. */
export async function* items(path, params = {}, options = {}) {
  for (let after = params.after; ;) {
    const page = await request(query(path, { limit: 100, ...params, after }), options);
    yield* page.data;
    if (!page.has_more) return;
    after = page.last_id;
  }
}

export const pause = (ms, signal) => new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal?.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
});

/** Cuts the text of server-sent events into {id, event, data}. Each character is looked at once, however long an event is. */
export function sseParser(emit) {
  let parts = [], event = { data: [] }, returned = false; // of a line that is not complete
  const line = (text) => {
    if (text === "") {
      if (event.data.length) emit({ id: event.id, event: event.event, data: event.data.join("\n") });
      event = { data: [] };
    } else if (!text.startsWith(":")) {
      const at = text.indexOf(":"), name = at < 0 ? text : text.slice(0, at), value = at < 0 ? "" : text.slice(at + (text[at + 1] === " " ? 2 : 1));
      if (name === "data") event.data.push(value);
      else if (name === "id" || name === "event") event[name] = value;
    }
  };
  return (chunk) => {
    let from = returned && chunk[0] === "\n" ? 1 : 0; // of "\r\n" in two chunks
    if (chunk) returned = chunk.endsWith("\r");
    const ends = /\r\n|\n|\r/g;
    ends.lastIndex = from;
    for (let found; (found = ends.exec(chunk)); from = ends.lastIndex) {
      parts.push(chunk.slice(from, found.index));
      const all = parts.join("");
      parts = [];
      line(all);
    }
    if (from < chunk.length) parts.push(chunk.slice(from));
  };
}

/** A key that makes a repeated request harmless. (randomUUID is missing where the page is served without TLS.) */
export const uniqueKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

const FIRST_WAIT = 250, LAST_WAIT = 5000, AT_ONCE = 16384, BUSY = 30, LARGE = 1 << 20;

/**
 * Reads a stream of server-sent events, and reads on after a lost connection with Last-Event-ID, until `onEvent`
 * returns true (the stream is over), the signal aborts, or the server refuses. The wait between attempts doubles.
 */
export async function stream(path, { onEvent, signal, lastId, onState = () => {} }) {
  let wait = FIRST_WAIT, over = false, id = lastId;
  while (!over && !signal?.aborted) {
    try {
      const answer = await send(path, { signal, headers: { accept: "text/event-stream", ...(id && { "last-event-id": id }) } });
      onState("open");
      const feed = sseParser((event) => {
        if (event.id) id = event.id;
        if (!over) over = onEvent(event) === true;
      });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let since = performance.now();
      for (let chunk; !over && !(chunk = await reader.read()).done;) {
        wait = FIRST_WAIT;
        for (let i = 0; i < chunk.value.length && !over && !signal?.aborted; i += AT_ONCE) {
          feed(chunk.value.slice(i, i + AT_ONCE));
          if (performance.now() - since > BUSY) { await pause(0, signal); since = performance.now(); } // others want to work, too
        }
      }
      if (over) reader.cancel().catch(() => {});
    } catch (error) {
      if (signal?.aborted || error.name === "AbortError") return id;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
    }
    if (over || signal?.aborted) return id;
    onState("waiting");
    await pause(wait, signal);
    wait = Math.min(wait * 2, LAST_WAIT);
  }
  return id;
}
