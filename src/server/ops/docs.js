// Shows /openapi.json: one entry per route. Text is only ever set as text.

const get = (doc, ref) => ref.slice(2).split("/").reduce((at, name) => at?.[name.replaceAll("~1", "/").replaceAll("~0", "~")], doc);
const resolve = (doc, value) => (value?.$ref ? get(doc, value.$ref) : value);

function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children.filter((child) => child != null));
  return e;
}

function table(rows) {
  return rows.length ? element("table", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell))))) : null;
}

function examples(doc, content) {
  const found = [];
  for (const [type, media] of Object.entries(content ?? {})) {
    const list = media.examples ? Object.values(media.examples).map((x) => resolve(doc, x).value) : "example" in media ? [media.example] : [];
    for (const value of list) found.push(element("p", { class: "note" }, type), element("pre", {}, typeof value === "string" ? value : JSON.stringify(value, null, 2)));
  }
  return found;
}

function body(doc, content) {
  const rows = [];
  for (const media of Object.values(content ?? {})) {
    const schema = resolve(doc, media.schema) ?? {};
    for (const [name, given] of Object.entries(schema.properties ?? {})) {
      const p = resolve(doc, given);
      rows.push([element("code", {}, name), String(p.type ?? (p.enum ? p.enum.join(", ") : "")), (schema.required?.includes(name) ? "required. " : "") + (p.description ?? "")]);
    }
  }
  return table(rows);
}

function route(doc, method, path, op) {
  const parameters = (op.parameters ?? []).map((p) => resolve(doc, p));
  const responses = Object.entries(op.responses).map(([status, r]) => [status, resolve(doc, r)]);
  return element("details", { id: op.operationId },
    element("summary", {}, element("code", { class: "method" }, method.toUpperCase()), element("code", {}, path), ` ${op.summary}`,
      op["x-weft-extension"] ? element("span", { class: "note" }, " (extension)") : null),
    op.description ? element("p", {}, op.description) : null,
    table(parameters.map((p) => [element("code", {}, p.name), p.in, (p.required ? "required. " : "") + (p.description ?? "")])),
    ...(op.requestBody ? [element("h3", {}, "Request"), body(doc, op.requestBody.content), ...examples(doc, op.requestBody.content)] : []),
    element("h3", {}, "Responses"),
    table(responses.map(([status, r]) => [element("code", {}, status), r.description])),
    ...responses.flatMap(([, r]) => examples(doc, r.content)));
}

const place = document.getElementById("routes");
try {
  const answer = await fetch("/openapi.json");
  if (!answer.ok) throw new Error(`/openapi.json: ${answer.status}`);
  const doc = await answer.json();
  document.getElementById("title").textContent = `${doc.info.title} ${doc.info.version}`;
  document.getElementById("description").textContent = doc.info.description;
  place.replaceChildren();
  for (const tag of doc.tags) {
    place.append(element("h2", {}, tag.name), element("p", {}, tag.description));
    for (const [path, item] of Object.entries(doc.paths))
      for (const [method, op] of Object.entries(item)) if (op.tags.includes(tag.name)) place.append(route(doc, method, path, op));
  }
} catch (error) {
  place.textContent = String(error);
}
