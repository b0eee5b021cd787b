// Why a word is split as it is: its merges as a tree, and as a list in the order in which they happen.

import { ask, latest } from "./api.js";
import { $, count, el, svg, visible } from "./dom.js";

const ROW = 34, GAP = 10, PAD = 12;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

let current = null;

export const showWhy = latest(async (lane, text, at) => {
  const panel = $("why-content");
  current = null;
  if (!lane.data?.has_merges) {
    panel.replaceChildren(el("p", { class: "quiet" }, `No merges for ${lane.tokenizer}: it is a tokenizer of another library.`));
    return;
  }
  let word;
  try {
    word = await ask("merges", { text, tokenizer: lane.tokenizer, at });
  } catch (error) {
    panel.replaceChildren(el("p", { class: "error", role: "alert" }, error.message));
    return;
  }
  current = { lane, word };
  draw(panel, lane, word);
});

// The text has changed: a word that is no longer there is no longer explained.
export function clearWhy(text) {
  if (current && text.includes(current.word.text.trim()) && text) return;
  if (!current && $("why-content").querySelector(".hint")) return;
  current = null;
  $("why-content").replaceChildren(el("p", { class: "quiet hint" }, "Click a word to see the merges that made its tokens."));
}

// The size of a lane has changed: the merges are the same, but not all of them happen.
export function refreshWhy(lane) {
  if (current?.lane === lane) draw($("why-content"), lane, current.word);
}

function draw(panel, lane, word) {
  const size = lane.size ?? lane.data.full_size;
  const happens = (step) => step.first_size === null || step.first_size <= size;
  const done = word.steps.filter(happens).length;
  const tokens = word.leaves.length - done;
  panel.replaceChildren(
    el("p", { class: "why-word" }, el("strong", { dir: "auto" }, visible(word.text.trim() || word.text)), ` in ${lane.title}: `,
      `${tokens} ${tokens === 1 ? "token" : "tokens"} after ${done} ${done === 1 ? "merge" : "merges"}`,
      word.steps.length > done ? `; ${word.steps.length - done} more at larger sizes` : ""),
    el("div", { class: "scroll tree" }, tree(word, happens)),
    steps(word, happens));
}

// Leaves are at the bottom, and each merge is above its parts. Right-to-left words run from the right.
function tree(word, happens) {
  const { leaves, steps } = word;
  const labels = [...leaves, ...steps.map((step) => step.piece)].map(visible);
  const width = (label) => Math.max(20, 9 * [...label].length + 12);
  const xs = [];
  let x = PAD;
  for (let i = 0; i < leaves.length; i++) {
    xs.push(x + width(labels[i]) / 2);
    x += width(labels[i]) + GAP;
  }
  const levels = leaves.map(() => 0);
  for (const step of steps) levels.push(1 + Math.max(levels[step.left_node], levels[step.right_node]));
  const height = PAD + ROW * (Math.max(...levels) + 1) + PAD;
  const total = x + PAD;
  if (RIGHT_TO_LEFT.test(word.text)) xs.forEach((each, i) => { xs[i] = total - each; });
  const ys = leaves.map(() => height - PAD - 11);
  const picture = svg("svg", { width: total, height, viewBox: `0 0 ${total} ${height}`, role: "img",
    "aria-label": `${steps.length} merges of ${visible(word.text.trim())}; the list below has them in order` });
  const lines = svg("g"), nodes = svg("g");
  steps.forEach((step, i) => {
    const y = height - PAD - 11 - ROW * levels[leaves.length + i];
    const at = (xs[step.left_node] + xs[step.right_node]) / 2;
    const state = happens(step) ? "" : " later";
    for (const child of [step.left_node, step.right_node]) {
      lines.append(svg("path", { class: `branch${state}`,
        d: `M${xs[child]},${ys[child] - 11} C${xs[child]},${(ys[child] + y) / 2} ${at},${(ys[child] + y) / 2} ${at},${y + 11}` }));
    }
    xs.push(at);
    ys.push(y);
  });
  // The tokens at this size: nodes that no merge at this size has consumed.
  const taken = new Set(steps.filter(happens).flatMap((step) => [step.left_node, step.right_node]));
  labels.forEach((label, node) => {
    const step = steps[node - leaves.length];
    const later = step && !happens(step);
    const isToken = !later && !taken.has(node);
    nodes.append(svg("g", { class: `node${isToken ? " token-node" : ""}${later ? " later" : ""}` },
      svg("rect", { x: xs[node] - width(label) / 2, y: ys[node] - 11, width: width(label), height: 22, rx: 6 }),
      svg("text", { x: xs[node], y: ys[node] + 4.5, "text-anchor": "middle" }, label)));
  });
  picture.append(lines, nodes);
  return picture;
}

function steps(word, happens) {
  const known = word.steps.some((step) => step.frequency !== null);
  const rows = word.steps.map((step, i) => el("tr", { class: happens(step) ? null : "later" },
    el("td", { class: "n quiet" }, String(i + 1)),
    el("td", {}, el("bdi", { class: "piece" }, visible(step.left)), " + ", el("bdi", { class: "piece" }, visible(step.right)),
      " → ", el("bdi", { class: "piece strong" }, visible(step.piece))),
    el("td", { class: "n" }, step.rank === null ? "–" : count(step.rank)),
    known ? el("td", { class: "n" }, step.frequency === null ? "–" : count(step.frequency)) : null,
    el("td", { class: "n" }, step.first_size === null ? "–" : step.first_size === 0 ? "all" : count(step.first_size))));
  if (!rows.length) return el("p", { class: "quiet" }, "No merges: each token is a single character, a byte or a symbol.");
  return el("div", { class: "scroll" }, el("table", { class: "steps" },
    el("caption", { class: "hidden" }, "Merges in order"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, ""), el("th", { scope: "col" }, "Merge"),
      el("th", { scope: "col", class: "n", title: "1 is the first merge of training" }, "Rank"),
      known ? el("th", { scope: "col", class: "n", title: "How often training saw this pair" }, "Frequency") : null,
      el("th", { scope: "col", class: "n", title: "The smallest vocabulary size at which this merge happens" }, "From size"))),
    el("tbody", {}, ...rows)));
}
