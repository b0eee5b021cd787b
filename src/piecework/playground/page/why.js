// Why a word is split as it is: its merges as a tree, and as a list in the order in which they happen.

import { ask, latest } from "./api.js";
import { $, count, el, svg, visible } from "./dom.js";

const ROW = 30, GAP = 10, PAD = 12;

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
    el("p", { class: "why-word" }, el("strong", {}, visible(word.text.trim() || word.text)), ` in ${lane.title}: `,
      `${tokens} ${tokens === 1 ? "token" : "tokens"} after ${done} ${done === 1 ? "merge" : "merges"}`,
      word.steps.length > done ? `; ${word.steps.length - done} more at larger sizes` : ""),
    el("div", { class: "scroll tree" }, tree(word, happens)),
    steps(word, happens));
}

// Leaves are at the bottom; each merge is a row above the one before it, so time runs upwards.
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
  const height = PAD + ROW * (steps.length + 1) + PAD;
  const ys = leaves.map(() => height - PAD - 11);
  const picture = svg("svg", { width: x + PAD, height, viewBox: `0 0 ${x + PAD} ${height}`, role: "img",
    "aria-label": `${steps.length} merges of ${visible(word.text.trim())}; the list below has them in order` });
  const lines = svg("g"), nodes = svg("g");
  steps.forEach((step, i) => {
    const y = height - PAD - 11 - ROW * (i + 1);
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
    el("td", {}, el("span", { class: "piece" }, visible(step.left)), " + ", el("span", { class: "piece" }, visible(step.right)),
      " → ", el("span", { class: "piece strong" }, visible(step.piece))),
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
