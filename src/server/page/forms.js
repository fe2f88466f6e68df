// What a run waits for, and what agents ask in structured messages (AITP), as forms.
import { failed, fill, h, icon, parsed } from "./dom.js";
import { exact, exactBox, isPlain, spelled } from "./exact.js";

let number = 0;
const fresh = () => `form-${++number}`;

export function disable(form, yes = true) {
  for (const control of form.querySelectorAll("button, input, textarea, select")) control.disabled = yes;
}

/** Runs an action with its form disabled; an error is shown, and `again` says what can be pressed then. */
function doing(form, action, again = () => {}) {
  disable(form);
  return Promise.resolve(action()).catch((error) => { failed(error); disable(form, false); again(); });
}

/* ---- Waiting runs ---- */

const label = (name, run) => `${name}${run ? `, run ${run}` : ""}`;

/** What a person decides about: a call of /v1/approvals, with its arguments as the tool gets them. */
const shownCall = ({ description, function: { name, arguments: args } }, onEnd) => [description && h("p", { class: "note" }, exact(description)), exactBox(`Arguments of ${name}`, args, onEnd)];

/** "May this call run?" answer(approved, reason). No key in the form approves: only the button does, and not before all of the
 *  arguments has been in view. */
export function approvalForm(call, answer, run) {
  const id = fresh(), { name } = call.function, reason = h("input", { id, placeholder: "Reason, if you deny it", autocomplete: "off", onkeydown: (e) => {
    if (e.key !== "Enter" || e.isComposing) return;
    e.preventDefault();
    if (reason.value.trim()) deny();
  } });
  let seen = false;
  const approve = h("button", { class: "primary", type: "button", disabled: true, "aria-describedby": `${id}-end`, onkeydown: (e) => { if (e.repeat) e.preventDefault(); }, onclick: () => doing(form, () => answer(true), ready) }, "Approve");
  const note = h("p", { class: "note", id: `${id}-end` }, "Scroll to the end of the arguments to approve.");
  const ready = () => { approve.disabled = !seen; note.hidden = seen; };
  const deny = () => doing(form, () => answer(false, reason.value.trim() || undefined), ready);
  const form = h("form", { class: "ask-form", "aria-label": label(`Approval of ${name}`, run), onsubmit: (e) => e.preventDefault() },
    h("p", {}, icon("approvals"), h("span", {}, "May ", h("strong", {}, exact(name)), " run?")), shownCall(call, () => { seen = true; ready(); }), note,
    h("label", { class: "unseen", for: id }, "Reason"), reason,
    h("div", { class: "row" }, approve, h("button", { type: "button", onclick: deny }, "Deny")));
  return form;
}

/** The result of a tool that the client runs. answer(output). */
export function outputForm(call, answer, run) {
  const id = fresh(), { name } = call.function, output = h("textarea", { id, rows: 3, required: true });
  const form = h("form", { class: "ask-form", "aria-label": label(`Result of ${name}`, run), onsubmit: (e) => {
    e.preventDefault();
    const data = parsed(output.value);
    doing(form, () => answer(data === undefined ? output.value : data));
  } }, shownCall(call), h("label", { for: id }, `Result of ${name} (JSON or text)`, output), h("div", { class: "row" }, h("button", { class: "primary", type: "submit" }, "Send the result")));
  return form;
}

/** What a call of /v1/approvals asks for. answer({approved, reason} or {output}). */
export const callForm = (call, answer, run) => (call.kind === "tool" ? outputForm(call, (output) => answer({ output }), run) : approvalForm(call, (approved, reason) => answer({ approved, reason }), run));

/* ---- Structured messages: what agents ask, which nobody may take for a question of the page ---- */

const MOST = 100; // options or fields
const WHOLE = 1000; // characters of a text that is sent: a longer one is not
const SHORT = 24; // that a field shows at once, however narrow it is
const SCHEMA = /^https:\/\/aitp\.dev\/capabilities\/aitp-0[23]-(decisions|data-request)\/v\d{1,3}\.\d{1,3}\.\d{1,3}\/schema\.json$/;

const reply = (schema, content) => JSON.stringify({ $schema: schema, ...content });
/** A text of which the beginning is enough: it says how much is left out. */
const words = (text) => {
  const all = String(text);
  return all.length > WHOLE ? [...exact(all.slice(0, WHOLE)), `… (${all.length.toLocaleString()} characters)`] : exact(all);
};
const whole = (text) => String(text).length <= WHOLE;
/** An id that is sent back, which can be shown whole. */
const isId = (id) => (typeof id === "string" || typeof id === "number" || id === undefined) && whole(id);
/** What is sent for a text, where that is something else. */
const sent = (id, shown) => String(id) !== String(shown) && h("code", { class: "sent" }, words(id));

/** A frame around what an agent asks: who asks, and that it is not Weft. */
const framed = (hooks, schema, ...children) => h("div", { class: "asked" },
  h("p", { class: "asked-by" }, icon("agents"), h("strong", {}, words(hooks.asker || "An agent")), h("span", {}, "asks. This is a question of the agent, not of Weft.")), children,
  h("p", { class: "note" }, "Your answer goes to the agent as your message, with what is in this frame."), !SCHEMA.test(schema) && sent(schema, ""));

function decisionForm(schema, asked, hooks) {
  const many = asked.type === "checkbox", group = fresh(), options = (Array.isArray(asked.options) ? asked.options : []).slice(0, MOST).map(({ id, name, description }) => ({ id: String(id), name: String(name || id), description }));
  const answer = (chosen) => hooks.reply(reply(schema, { decision: { request_decision_id: asked.id, options: chosen.map(({ id, name }) => (id === name ? { id } : { id, name })) } }));
  const title = h("legend", {}, words(asked.title || asked.description || "Choose one"), " ", sent(asked.id, ""));
  const option = (o) => [h("strong", {}, words(o.name)), sent(o.id, o.name), o.description && h("span", { class: "note" }, words(o.description)), !fits(o) && h("span", { class: "note" }, "Too long to be chosen.")];
  const fits = (o) => whole(o.id) && whole(o.name), off = (o) => !hooks.reply || !fits(o);
  if (!many) return framed(hooks, schema, h("fieldset", { class: "ask-form", data: { request: asked.id } }, title, asked.title && asked.description && h("p", { class: "note" }, words(asked.description)),
    h("div", { class: "options" }, options.map((o) => h("button", { type: "button", class: "option", disabled: off(o), onclick: (e) => doing(e.target.closest("fieldset"), () => answer([o])) }, option(o))))));
  const boxes = options.map((o) => h("input", { type: "checkbox", name: group, disabled: off(o) }));
  const form = h("form", { data: { request: asked.id }, onsubmit: (e) => { e.preventDefault(); doing(form, () => answer(options.filter((_, i) => boxes[i].checked))); } },
    h("fieldset", { class: "ask-form" }, title, options.map((o, i) => h("label", { class: "inline" }, boxes[i], option(o))),
      h("div", { class: "row" }, h("button", { type: "submit", disabled: !hooks.reply }, "Send the answer"))));
  return framed(hooks, schema, form);
}

/** What a browser may complete for an agent: no passwords, codes or cards. */
const COMPLETED = new Set(["name", "given-name", "family-name", "email", "tel", "organization", "street-address", "address-line1", "address-line2", "address-level1", "address-level2", "postal-code", "country", "country-name"]);

function field(f, id) {
  const common = { id, required: !!f.required, "aria-describedby": `${id}-sent`, value: f.default_value != null && whole(f.default_value) ? f.default_value : "" };
  if (Array.isArray(f.options) && f.type !== "combobox") return h("select", common, h("option", { value: "" }, ""), choices(f).map((o) => h("option", { value: o, selected: o === f.default_value }, spelled(String(o)))));
  if (f.type === "textarea") return h("textarea", { ...common, rows: 3, autocomplete: "off" });
  return h("input", { ...common, type: ["number", "email", "tel", "url", "date"].includes(f.type) ? f.type : "text", step: "any", autocomplete: COMPLETED.has(f.autocomplete) ? f.autocomplete : "off", list: f.options ? `${id}-list` : null });
}

/** What can be chosen in a field. */
const choices = (f) => f.options.slice(0, MOST).filter(whole);

/** What a field sends, below it, if the field itself may not show all of it: what is prefilled, chosen or completed. */
function readout(input) {
  const out = h("code", { class: "sent", id: `${input.id}-sent` });
  const typed = input.localName === "textarea" && !input.value; // in lines, which it shows
  const show = () => {
    const text = input.value, shown = typed ? isPlain(text.replaceAll("\n", "")) : text.length <= SHORT && isPlain(text);
    fill(out, !shown && ["Sends: ", words(text)]);
  };
  for (const type of ["input", "change"]) input.addEventListener(type, show);
  show();
  return out;
}

function dataForm(schema, asked, hooks) {
  const fields = (asked.form?.fields || []).slice(0, MOST).map((f) => ({ ...f, key: fresh() })), inputs = fields.map((f) => field(f, f.key));
  if (!fields.every((f) => isId(f.id))) return null;
  const form = h("form", { class: "ask-form", autocomplete: "off", data: { request: asked.id }, onsubmit: (e) => {
    e.preventDefault();
    const given = fields.map((f, i) => ({ id: f.id, value: inputs[i].value })).filter((f) => f.value !== "");
    doing(form, () => hooks.reply(reply(schema, { data: { request_data_id: asked.id, fields: given } })));
  } }, h("p", {}, h("strong", {}, words(asked.title || asked.description || "Some data, please")), sent(asked.id, "")), asked.title && h("p", { class: "note" }, words(asked.description || "")),
    fields.map((f, i) => h("div", { class: "field" }, h("label", { for: f.key }, words(f.label || f.id), f.required ? " *" : ""), sent(f.id, f.label || f.id), inputs[i], readout(inputs[i]), f.description && h("span", { class: "note" }, words(f.description)),
      f.type === "combobox" && Array.isArray(f.options) && h("datalist", { id: `${f.key}-list` }, choices(f).map((o) => h("option", { value: o }, spelled(String(o))))))),
    h("div", { class: "row" }, h("button", { type: "submit", disabled: !hooks.reply }, "Send the answer")));
  return framed(hooks, schema, form);
}

/** The id of the request that a structured message answers, or undefined. */
export function answers(text) {
  if (!/_id"/.test(text) || !text.includes('"$schema"')) return undefined;
  try { const { decision, data } = JSON.parse(text); return decision?.request_decision_id ?? data?.request_data_id; } catch { return undefined; }
}

const answered = (rows) => h("dl", { class: "answered" }, rows.slice(0, MOST).map(([name, v, id]) => h("div", {}, h("dt", {}, words(name)), h("dd", {}, words(v), " ", sent(id, v)))));

/** A structured message as a form or as what it says; null: the text is none. hooks: {reply(text), asker}. */
export function structured(text, hooks) {
  if (!text.startsWith("{") || !text.includes('"$schema"') || text.length > 100000) return null;
  const data = parsed(text), schema = data?.$schema; // it may not be complete yet
  if (typeof schema !== "string" || !whole(schema) || !isId((data.request_decision ?? data.request_data)?.id)) return null;
  try {
    if (data.request_decision) return decisionForm(schema, data.request_decision, hooks);
    if (data.request_data) return dataForm(schema, data.request_data, hooks);
    if (data.decision) return answered(data.decision.options.map((o) => ["Decision", o.name || o.id, o.id]));
    if (data.data) return answered(data.data.fields.map((f) => [f.label || f.id, f.value ?? "", f.value ?? ""]));
  } catch { /* of another shape: shown as text */ }
  return null;
}
