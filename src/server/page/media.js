// Images and files of messages. Bytes are fetched with the key and shown from memory; nothing is loaded from elsewhere.
import { blob, request } from "./api.js";
import { bytes, failed, h, icon, save } from "./dom.js";

const SHOWN = /^(image\/(png|jpeg|gif|webp|avif)|audio\/|video\/)/; // no SVG: it is a document

const urls = new Set();

/** Frees what was shown, when another view comes. */
export function releaseMedia() {
  for (const url of urls) URL.revokeObjectURL(url);
  urls.clear();
}

function urlOf(data) {
  const url = URL.createObjectURL(data);
  urls.add(url);
  return url;
}

function fromBase64(data, type) {
  const text = atob(data), all = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) all[i] = text.charCodeAt(i);
  return new Blob([all], { type });
}

/** A file as a button that saves it. */
export const chip = (name, note, onclick) => h(onclick ? "button" : "span", { type: onclick ? "button" : null, class: "chip", onclick, title: name }, icon("file"), h("span", { class: "truncate" }, name), note && h("span", { class: "note" }, note));

function shown(data, name) {
  if (!SHOWN.test(data.type)) return chip(name, bytes(data.size), () => save(data, name));
  const src = urlOf(data);
  if (data.type.startsWith("audio/")) return h("audio", { controls: true, src, "aria-label": name });
  if (data.type.startsWith("video/")) return h("video", { controls: true, src, "aria-label": name });
  return h("button", { type: "button", class: "image", "aria-label": `Save ${name}`, title: name, onclick: () => save(data, name) }, h("img", { src, alt: name }));
}

function uploaded(id) {
  const place = h("span", { class: "media" }, chip("File", "…"));
  (async () => {
    try {
      const file = await request(`/v1/files/${id}`), path = `/v1/files/${id}/content`;
      const image = /\.(png|jpe?g|gif|webp|avif)$/i.test(file.filename) || file.purpose === "vision";
      if (image && file.bytes < 21e6) place.replaceChildren(shown(await blob(path), file.filename));
      else place.replaceChildren(chip(file.filename, bytes(file.bytes), () => blob(path).then((data) => save(data, file.filename), failed)));
    } catch (error) {
      place.replaceChildren(chip(id, error.status === 404 ? "deleted" : error.message));
    }
  })();
  return place;
}

/** The id of the uploaded file that a part is, or undefined. */
export const fileOf = (part) => /^weft:(file-[\w-]+)$/.exec(part.source?.url ?? "")?.[1];

/** A part of a message that is no text. */
export function media(part) {
  const source = part.source || { type: "base64", data: part.data }, name = part.title || part.type;
  if (source.type === "url") {
    if (fileOf(part)) return uploaded(fileOf(part));
    return h("a", { class: "chip", href: source.url, target: "_blank", rel: "noopener noreferrer nofollow" }, icon("file"), h("span", { class: "truncate" }, source.url.slice(0, 200)));
  }
  try {
    return shown(source.type === "text" ? new Blob([source.data], { type: "text/plain" }) : fromBase64(source.data || "", part.mimeType || "application/octet-stream"), name);
  } catch {
    return chip(name, "unreadable");
  }
}
