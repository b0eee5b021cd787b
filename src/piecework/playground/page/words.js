// The words of the text with their tokens in each lane; or only the words that the lanes split differently.

import { wordCuts } from "./cut.js";
import { $, count, el, visible } from "./dom.js";

const PAGE = 200;

export class Words {
  constructor(page) {
    this.page = page;
    this.limit = PAGE;
  }

  update() {
    const lanes = this.page.lanes.filter((lane) => lane.cut);
    const { text, words } = this.page;
    const rows = new Map();
    const cuts = lanes.map((lane) => wordCuts(lane.cut, words));
    for (let w = 0; w < words.length; w++) {
      const word = text.slice(words.starts[w], words.ends[w]);
      let key = word;
      for (const each of cuts) key += `\n${each[w].boundaries}:${each[w].tokens}`;
      const row = rows.get(key);
      if (row) row.count++;
      else rows.set(key, { word, at: words.starts[w], count: 1, cuts: cuts.map((each) => each[w]) });
    }
    const all = [...rows.values()];
    const differs = (row) => row.cuts.some((each) => each.boundaries.join() !== row.cuts[0].boundaries.join() || each.tokens !== row.cuts[0].tokens);
    const different = all.filter(differs);
    const most = (row) => Math.max(...row.cuts.map((each) => each.tokens));
    const spread = (row) => most(row) - Math.min(...row.cuts.map((each) => each.tokens));
    const orders = {
      count: (a, b) => b.count - a.count || spread(b) - spread(a),
      spread: (a, b) => spread(b) - spread(a) || b.count - a.count,
      cost: (a, b) => most(b) - most(a) || b.count - a.count,
    };
    this.rows = (this.page.differences ? different : all).sort(orders[this.page.order]);
    this.lanes = lanes;
    const occurrences = (list) => list.reduce((sum, row) => sum + row.count, 0);
    $("words-statistics").textContent = lanes.length > 1
      ? `${count(different.length)} of ${count(all.length)} distinct words are split differently (${count(occurrences(different))} of ${count(words.length)} occurrences)`
      : `${count(all.length)} distinct words, ${count(words.length)} occurrences`;
    this.draw();
  }

  draw() {
    const { lanes, rows } = this;
    if (!rows.length) {
      const what = !this.page.words.length ? "No words yet." : lanes.length > 1 ? "All lanes split every word in the same way." : "Add a lane to compare, or show all words.";
      $("words-table").replaceChildren(el("p", { class: "quiet" }, what));
      return;
    }
    const body = rows.slice(0, this.limit).map((row) => el("tr", {},
      el("th", { scope: "row" }, el("button", { type: "button", class: "word", dir: "auto", title: "Why?",
        onclick: () => this.page.choose(lanes[0], row.at) }, visible(row.word))),
      el("td", { class: "n" }, count(row.count)),
      ...row.cuts.map((cut, i) => el("td", { class: "cut", "data-lane": i }, el("bdi", {}, ...parts(row.word, cut)),
        el("span", { class: `cost cost-${Math.min(cut.tokens, 6)}`, title: "Tokens" }, String(cut.tokens))))));
    $("words-table").replaceChildren(el("table", {},
      el("caption", { class: "hidden" }, "Words and their tokens in each lane"),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Word"), el("th", { scope: "col", class: "n" }, "Count"),
        ...lanes.map((lane) => el("th", { scope: "col" }, lane.title)))),
      el("tbody", {}, ...body)));
    if (rows.length > this.limit) {
      $("words-table").append(el("button", { type: "button", class: "more", onclick: () => {
        this.limit += 5 * PAGE;
        this.draw();
      } }, `Show more (${count(rows.length - this.limit)})`));
    }
  }
}

function parts(word, { boundaries, perPart }) {
  const edges = [0, ...boundaries, word.length];
  return edges.slice(1).map((end, i) => el("span", { class: `token ${i % 2 ? "blue" : "red"}${perPart[i] > 1 ? " bytes" : ""}`,
    "data-tokens": perPart[i] > 1 ? perPart[i] : null }, visible(word.slice(edges[i], end))));
}
