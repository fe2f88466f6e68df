// The agents that can be asked, and their names.
import { items } from "./api.js";

let all = new Map(), loading;

/** All agents, by id: {id, name, description, model, ...}. Read once; `again` reads them anew. */
export function agents(again = false) {
  if (!loading || again) loading = (async () => {
    const found = new Map();
    for await (const one of items("/v1/assistants", { order: "asc" })) found.set(one.id, one);
    return (all = found);
  })().catch((error) => { loading = null; throw error; });
  return loading;
}

/** What an agent is called, as far as is known now. */
export const nameOf = (id) => all.get(id)?.name || (id === "weft.router" ? "Router" : id) || "Agent";
