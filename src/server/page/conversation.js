// A conversation: its messages, the run at work, and what to say next.
import { request } from "./api.js";
import { fill, h } from "./dom.js";
import { setTitle } from "./shell.js";

export function start(root) {
  fill(root, h("p", { class: "empty" }, "Choose a conversation, or start one."));
}

export async function conversation(root, { thread }, signal) {
  const messages = await request(`/v1/threads/${thread}/messages`, { signal });
  setTitle(thread);
  fill(root, messages.data.reverse().map((m) => h("p", {}, m.content.map((part) => part.text?.value))));
}
