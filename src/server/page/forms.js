// What a run waits for, and what agents ask in structured messages (AITP), as forms.
import { failed, h, icon, parsed } from "./dom.js";

let number = 0;
const fresh = () => `form-${++number}`;

export function disable(form, yes = true) {
  for (const control of form.querySelectorAll("button, input, textarea, select")) control.disabled = yes;
}

/** Runs an action with its form disabled; an error is shown. */
function doing(form, action) {
  disable(form);
  return Promise.resolve(action()).catch((error) => { failed(error); disable(form, false); });
}

/* ---- Waiting runs ---- */

/** "May this call run?" answer(approved, reason). */
export function approvalForm(name, answer) {
  const id = fresh(), reason = h("input", { id, placeholder: "Reason, if you deny it", autocomplete: "off" });
  const form = h("form", { class: "ask-form", "aria-label": `Approval of ${name}`, onsubmit: (e) => { e.preventDefault(); doing(form, () => answer(true)); } },
    h("p", {}, icon("approvals"), h("span", {}, "May ", h("strong", {}, name), " run?")),
    h("label", { class: "unseen", for: id }, "Reason"), reason,
    h("div", { class: "row" }, h("button", { class: "primary", type: "submit" }, "Approve"), h("button", { type: "button", onclick: () => doing(form, () => answer(false, reason.value.trim() || undefined)) }, "Deny")));
  return form;
}

/** The result of a tool that the client runs. answer(output). */
export function outputForm(name, answer) {
  const id = fresh(), output = h("textarea", { id, rows: 3, required: true });
  const form = h("form", { class: "ask-form", "aria-label": `Result of ${name}`, onsubmit: (e) => {
    e.preventDefault();
    const data = parsed(output.value);
    doing(form, () => answer(data === undefined ? output.value : data));
  } }, h("label", { for: id }, `Result of ${name} (JSON or text)`, output), h("div", { class: "row" }, h("button", { class: "primary", type: "submit" }, "Send the result")));
  return form;
}

/* ---- Structured messages ---- */

const reply = (schema, content) => JSON.stringify({ $schema: schema, ...content });

function decisionForm(schema, asked, hooks) {
  const many = asked.type === "checkbox", group = fresh(), options = Array.isArray(asked.options) ? asked.options : [];
  const answer = (ids) => hooks.reply(reply(schema, { decision: { request_decision_id: asked.id, options: ids.map((id) => ({ id })) } }));
  const title = h("legend", {}, asked.title || asked.description || "Choose one");
  if (!many) return h("fieldset", { class: "ask-form", data: { request: asked.id } }, title, asked.title && asked.description && h("p", { class: "note" }, asked.description),
    h("div", { class: "options" }, options.map((o) => h("button", { type: "button", class: "option", disabled: !hooks.reply, onclick: (e) => doing(e.target.closest("fieldset"), () => answer([o.id])) },
      h("strong", {}, o.name || o.id), o.description && h("span", { class: "note" }, o.description)))));
  const form = h("form", { data: { request: asked.id }, onsubmit: (e) => { e.preventDefault(); doing(form, () => answer([...form.querySelectorAll("input:checked")].map((i) => i.value))); } },
    h("fieldset", { class: "ask-form" }, title, options.map((o) => h("label", { class: "inline" }, h("input", { type: "checkbox", name: group, value: o.id }), o.name || o.id)),
      h("div", { class: "row" }, h("button", { class: "primary", type: "submit", disabled: !hooks.reply }, "Send"))));
  return form;
}

const AUTOCOMPLETE = /^[a-z-]+$/;

function field(f, id) {
  const common = { id, required: !!f.required, value: f.default_value ?? "" };
  if (Array.isArray(f.options) && f.type !== "combobox") return h("select", common, h("option", { value: "" }, ""), f.options.map((o) => h("option", { value: o, selected: o === f.default_value }, o)));
  if (f.type === "textarea") return h("textarea", { ...common, rows: 3 });
  return h("input", { ...common, type: ["number", "email", "tel", "url", "date"].includes(f.type) ? f.type : "text", step: "any", autocomplete: AUTOCOMPLETE.test(f.autocomplete || "") ? f.autocomplete : "off", list: f.options ? `${id}-list` : null });
}

function dataForm(schema, asked, hooks) {
  const fields = (asked.form?.fields || []).map((f) => ({ ...f, key: fresh() })), inputs = fields.map((f) => field(f, f.key));
  const form = h("form", { class: "ask-form", data: { request: asked.id }, onsubmit: (e) => {
    e.preventDefault();
    const given = fields.map((f, i) => ({ id: f.id, value: inputs[i].value })).filter((f) => f.value !== "");
    doing(form, () => hooks.reply(reply(schema, { data: { request_data_id: asked.id, fields: given } })));
  } }, h("p", {}, h("strong", {}, asked.title || asked.description || "Some data, please")), asked.title && h("p", { class: "note" }, asked.description),
    fields.map((f, i) => h("label", { for: f.key }, `${f.label || f.id}${f.required ? " *" : ""}`, inputs[i], f.description && h("span", { class: "note" }, f.description),
      f.type === "combobox" && Array.isArray(f.options) && h("datalist", { id: `${f.key}-list` }, f.options.map((o) => h("option", { value: o }))))),
    h("div", { class: "row" }, h("button", { class: "primary", type: "submit", disabled: !hooks.reply }, asked.fillButtonLabel || "Send")));
  return form;
}

/** The id of the request that a structured message answers, or undefined. */
export function answers(text) {
  if (!/_id"/.test(text) || !text.includes('"$schema"')) return undefined;
  try { const { decision, data } = JSON.parse(text); return decision?.request_decision_id ?? data?.request_data_id; } catch { return undefined; }
}

const answered = (rows) => h("dl", { class: "answered" }, rows.map(([name, v]) => h("div", {}, h("dt", {}, name), h("dd", {}, v))));

/** A structured message as a form or as what it says; null: the text is none. */
export function structured(text, hooks) {
  if (!text.startsWith("{") || !text.includes('"$schema"') || text.length > 100000) return null;
  const data = parsed(text), schema = data?.$schema; // it may not be complete yet
  if (typeof schema !== "string") return null;
  try {
    if (data.request_decision) return decisionForm(schema, data.request_decision, hooks);
    if (data.request_data) return dataForm(schema, data.request_data, hooks);
    if (data.decision) return answered([["Decision", data.decision.options.map((o) => o.name || o.id).join(", ")]]);
    if (data.data) return answered(data.data.fields.map((f) => [f.label || f.id, String(f.value ?? "")]));
  } catch { /* of another shape: shown as text */ }
  return null;
}
