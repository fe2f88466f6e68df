// The composer: what to say next, to whom, with which files.
import { request } from "./api.js";
import { bytes, failed, fill, h, icon, iconButton, toast } from "./dom.js";
import { agents } from "./roster.js";

const CHOSEN = "weft.agent", MAX_FILE = 512 * 1048576, MAX_FILES = 10;

/** Uploads a file; the part or attachment of a message that names it. */
async function upload(file) {
  const form = new FormData(), image = /^image\/(png|jpeg|gif|webp)$/.test(file.type);
  form.append("purpose", image ? "vision" : "assistants");
  form.append("file", file, file.name || "file");
  const { id } = await request("/v1/files", { body: form });
  return { image, id };
}

/** A message of the API from a text and uploaded files. */
export function messageOf(text, files = []) {
  const images = files.filter((f) => f.image), others = files.filter((f) => !f.image);
  const content = images.length ? [...(text ? [{ type: "text", text }] : []), ...images.map((f) => ({ type: "image_file", image_file: { file_id: f.id } }))] : text;
  return { role: "user", content, ...(others.length && { attachments: others.map((f) => ({ file_id: f.id })) }) };
}

export class Composer {
  #files = []; // {file, uploading: promise}
  #working = false;

  /** send(message, agent), stop(). */
  constructor({ send, stop, placeholder = "Write a message" }) {
    this.send = send;
    this.stop = stop;
    this.input = h("textarea", { id: "message", rows: 1, placeholder, "aria-label": "Message", oninput: () => this.#fit(), onkeydown: (e) => this.#key(e), onpaste: (e) => this.#add(e.clipboardData?.files) });
    this.choice = h("select", { "aria-label": "Agent", class: "agent-choice", onchange: () => localStorage.setItem(CHOSEN, this.choice.value) });
    this.picker = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files", onchange: () => { this.#add(this.picker.files); this.picker.value = ""; } });
    this.list = h("div", { class: "attached" });
    this.button = h("button", { type: "submit", class: "primary send" });
    this.el = h("form", { class: "composer", onsubmit: (e) => { e.preventDefault(); this.submit(); },
      ondragover: (e) => { e.preventDefault(); this.el.classList.add("drop"); }, ondragleave: () => this.el.classList.remove("drop"),
      ondrop: (e) => { e.preventDefault(); this.el.classList.remove("drop"); this.#add(e.dataTransfer.files); } },
      this.list, this.input, h("div", { class: "composer-row" }, iconButton("clip", "Attach files", () => this.picker.click()), this.picker, this.choice, h("span", { class: "push" }), this.button));
    this.working(false);
  }

  /** Fills the list of agents; `agent` is chosen, or the one of last time, or the default of the server. */
  async load(agent) {
    const all = [...(await agents()).values()];
    const wanted = [agent, localStorage.getItem(CHOSEN), all.find((a) => a.is_default)?.id, all[0]?.id].find((id) => all.some((a) => a.id === id));
    fill(this.choice, all.map((a) => h("option", { value: a.id, selected: a.id === wanted }, a.name || a.id)));
    this.choice.value = wanted ?? "";
    if (!all.length) toast("The server has no agents", "bad");
  }

  choose(agent) {
    if ([...this.choice.options].some((o) => o.value === agent)) this.choice.value = agent;
  }

  get agent() { return this.choice.value; }

  working(yes) {
    this.#working = yes;
    this.button.classList.toggle("stop", yes);
    this.button.setAttribute("aria-label", yes ? "Stop" : "Send");
    this.button.title = yes ? "Stop (Esc)" : "Send (Enter)";
    fill(this.button, icon(yes ? "stop" : "send"));
  }

  #fit() {
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight, 260)}px`;
  }

  #key(event) {
    if (event.key === "Escape" && this.#working) this.stop();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!this.#working) this.submit();
    else if (this.input.value.trim()) toast("The agent is still at work, or waits for your answer above. Esc stops it.");
  }

  #add(files) {
    for (const file of files || []) {
      if (this.#files.length >= MAX_FILES) { toast(`At most ${MAX_FILES} files in a message`, "bad"); break; }
      if (file.size > MAX_FILE) { toast(`${file.name} is too large`, "bad"); continue; }
      const one = { file, uploading: upload(file) };
      one.uploading.catch((error) => { toast(`${file.name}: ${error.message}`, "bad"); this.#drop(one); });
      this.#files.push(one);
    }
    this.#draw();
  }

  #drop(one) {
    this.#files = this.#files.filter((f) => f !== one);
    this.#draw();
  }

  #draw() {
    fill(this.list, this.#files.map((one) => h("span", { class: "chip" }, icon("file"), h("span", { class: "truncate" }, one.file.name), h("span", { class: "note" }, bytes(one.file.size)), iconButton("close", `Remove ${one.file.name}`, () => this.#drop(one)))));
  }

  #hold(text, files) {
    this.input.value = text;
    this.#files = files;
    this.#draw();
    this.#fit();
  }

  async submit() {
    if (this.#working) return this.stop();
    const text = this.input.value.trim(), files = this.#files;
    if (!text && !files.length) return this.input.focus();
    this.button.disabled = true;
    try {
      const message = messageOf(text || "See the files.", await Promise.all(files.map((f) => f.uploading)));
      this.#hold("", []);
      await this.send(message, this.agent);
    } catch (error) {
      this.#hold(this.input.value || text, files); // nothing typed is lost
      failed(error);
    } finally {
      this.button.disabled = false;
    }
  }
}
