// The state of the page in the fragment of its address: it survives a reload, can be shared as a link, and is never
// sent to a server.

const PLAIN_LENGTH = 400;

export async function readState() {
  const found = new URLSearchParams(location.hash.slice(1));
  const state = {};
  try {
    if (found.has("text")) state.text = found.get("text");
    if (found.has("z")) state.text = await inflate(found.get("z"));
  } catch {
    state.damaged = true;
  }
  try {
    if (found.has("lanes")) state.lanes = found.get("lanes").split(";").filter(Boolean).map(readLane);
  } catch {
    state.damaged = true;
  }
  for (const name of ["view", "order", "metric"]) if (found.has(name)) state[name] = found.get(name);
  for (const name of ["whitespace", "differences"]) if (found.has(name)) state[name] = found.get(name) === "1";
  return state;
}

function readLane(each) {
  const [name, size] = each.split("@").map(decodeURIComponent);
  return { tokenizer: name, size: /^[0-9]{1,9}$/.test(size ?? "") ? Number(size) : null };
}

let written = null;
export async function writeState(state) {
  const mine = (written = {});
  const fragment = new URLSearchParams();
  if (state.text.length <= PLAIN_LENGTH) fragment.set("text", state.text);
  else fragment.set("z", await deflate(state.text));
  if (written !== mine) return;  // a newer state is being written
  fragment.set("lanes", state.lanes.map((lane) =>
    encodeURIComponent(lane.tokenizer) + (lane.size === null ? "" : `@${lane.size}`)).join(";"));
  for (const name of ["view", "order", "metric"]) fragment.set(name, state[name]);
  for (const name of ["whitespace", "differences"]) fragment.set(name, state[name] ? "1" : "0");
  history.replaceState(null, "", `#${fragment}`);
}

async function deflate(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// Inflated chunk by chunk up to a limit: a short address could hold gigabytes.
const MAX_BYTES = 1_000_000;

async function inflate(packed) {
  const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MAX_BYTES) throw new Error("too long");
    parts.push(value);
  }
  return new Blob(parts).text();
}
