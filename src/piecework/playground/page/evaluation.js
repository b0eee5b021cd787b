// The exact value of each language's evaluation set at the size of a lane, and its curve over all sizes.

import { ask, latest } from "./api.js";
import { count, el, fixed, percent, svg } from "./dom.js";

const LEAST_HEIGHT = 150, LABEL = 13, LEFT = 48, RIGHT = 62, TOP = 8, BOTTOM = 20, COLOURS = 8;
const SHARES = new Set(["continued_words", "split_words"]);

export class EvaluationEstimates {
  constructor(page, lane) {
    this.page = page;
    this.lane = lane;
    this.curves = null;
    this.curvesOf = null;
    this.metric = el("select", { "aria-label": "Metric on the evaluation set", onchange: () => page.chooseMetric(this.metric.value) },
      ...page.about.metrics.map((each) => el("option", { value: each.name }, each.title)));
    this.list = el("dl", { class: "languages" });
    this.without = el("p", { class: "quiet without", hidden: true });
    this.chart = el("div", { class: "curves" });
    this.details = el("details", { ontoggle: () => this.update(this.size) }, el("summary", {}, "Curves"), this.chart);
    this.element = el("div", { class: "evaluation" },
      el("div", { class: "row" }, el("span", { class: "quiet" }, "Evaluation set"), this.metric), this.list, this.without, this.details);
    this.fetch = latest((size) => this.#fetch(size));
  }

  update(size) {
    this.size = size;
    this.element.hidden = !this.page.about.with_estimates.includes(this.lane.tokenizer);
    if (this.element.hidden) return;
    this.metric.value = this.page.metric;
    if (!this.list.childElementCount) this.list.append(el("div", { class: "quiet" }, "Evaluating…"));
    this.fetch(size);
  }

  #format(value) {
    return value === null ? "–" : SHARES.has(this.page.metric) ? percent(value) : fixed(value, 3);
  }

  async #fetch(size) {
    const { tokenizer } = this.lane, { metric } = this.page;
    const key = `${tokenizer} ${metric}`;
    try {
      const curves = this.details.open && this.curvesOf !== key;
      const answer = await ask("estimates", { tokenizer, metric, vocab_size: size, curves });
      if (tokenizer !== this.lane.tokenizer || metric !== this.page.metric) return;
      if (answer.curves) [this.curves, this.curvesOf] = [answer.curves, key];
      this.list.replaceChildren(...answer.estimates.map((each) => el("div", {
        title: each.full === null ? null : `${this.#format(each.full)} at the full size`, "data-language": each.language },
        el("dt", {}, each.language), el("dd", {}, this.#format(each.value)))));
      this.without.hidden = !answer.without_spaces.length;
      this.without.textContent = `Written without spaces, so no words: ${answer.without_spaces.join(", ")}. Bytes per token has them.`;
      if (this.details.open && this.curvesOf === key) this.#draw(size, answer.estimates);
    } catch (error) {
      this.list.replaceChildren(el("div", { class: "quiet" }, error.message));
    }
  }

  #draw(size, estimates) {
    const { sizes, values } = this.curves;
    const width = Math.min(Math.max(this.chart.clientWidth, 280), 736);  // text keeps its size on a phone
    const names = Object.keys(values);
    // Room for a label of every language; beyond eight, colours repeat with another dash.
    const HEIGHT = Math.max(LEAST_HEIGHT, LABEL * names.length + TOP + BOTTOM);
    const look = (i) => `colour-${i % COLOURS} dash-${Math.floor(i / COLOURS) % 4}`;
    const all = Object.values(values).flat().filter((value) => value !== null);
    const low = Math.min(...all), high = Math.max(...all);
    const x = (at) => LEFT + (width - LEFT - RIGHT) * Math.log(at / sizes[0]) / Math.log(sizes.at(-1) / sizes[0]);
    // Both axes are logarithmic if possible: small differences at large sizes stay visible.
    const scale = low > 0 ? Math.log : (value) => value;
    const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (scale(value) - scale(low)) / (scale(high) - scale(low) || 1));
    const picture = svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img",
      "aria-label": `${this.metric.selectedOptions[0].text} of each language by vocabulary size, from ${count(sizes[0])} to ${count(sizes.at(-1))}` });
    for (const value of [low, high]) {
      picture.append(svg("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), class: "rule" }),
        svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, this.#format(value)));
    }
    for (const [at, anchor] of [[sizes[0], "start"], [sizes.at(-1), "end"]]) {
      picture.append(svg("text", { x: x(at), y: HEIGHT - 4, "text-anchor": anchor }, count(at)));
    }
    // Labels at the ends of the lines, moved apart where they would overlap.
    const ends = names.map((name) => ({ name, y: y(values[name].at(-1) ?? low) })).sort((a, b) => a.y - b.y);
    for (let i = 1; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + LABEL);
    let lowest = HEIGHT - BOTTOM + 4;
    for (const end of ends.toReversed()) {
      end.y = Math.min(end.y, lowest);
      lowest = end.y - LABEL;
    }
    names.forEach((name, i) => {
      const points = sizes.map((at, k) => (values[name][k] === null ? null : `${x(at).toFixed(1)},${y(values[name][k]).toFixed(1)}`));
      const exact = estimates.find((each) => each.language === name)?.value;
      picture.append(svg("polyline", { points: points.filter(Boolean).join(" "), class: `line ${look(i)}` }, svg("title", {}, name)),
        svg("text", { x: width - RIGHT + 8, y: ends.find((end) => end.name === name).y + 4, class: `label ${look(i)}` }, name));
      if (exact !== null && exact !== undefined) {
        picture.append(svg("circle", { cx: x(size), cy: y(exact), r: 3.2, class: `dot ${look(i)}` }));
      }
    });
    picture.append(svg("line", { x1: x(size), x2: x(size), y1: TOP - 4, y2: HEIGHT - BOTTOM + 4, class: "now" }));
    this.chart.replaceChildren(picture);
  }
}
