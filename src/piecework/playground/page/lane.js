// One lane: a tokenizer, its statistics, its size, and the text in its tokens.

import { ask, debounce, latest } from "./api.js";
import { cutAt, cutOf, statistics } from "./cut.js";
import { count, el, fixed, percent } from "./dom.js";
import { EvaluationEstimates } from "./evaluation.js";
import { TokenText } from "./tokens.js";

const POSITIONS = 1000;

let made = 0;

// The tokenizers to choose from. Those that are installed on this machine form a group of their own.
export function options({ tokenizers, about }) {
  const option = (name) => el("option", { value: name }, name);
  const own = tokenizers.filter((name) => !about.known.includes(name)).map(option);
  return about.known.length ? [...own, el("optgroup", { label: "Installed on this machine" }, ...about.known.map(option))] : own;
}

export class Lane {
  // `page` holds the text, the views and the other lanes, and is told when this lane changes.
  constructor(page, choice) {
    this.page = page;
    this.tokenizer = choice.tokenizer;
    this.size = choice.size;
    this.data = null;
    this.cut = null;
    this.cuts = null;  // token boundaries at every size, once the slider has been touched
    this.cutsText = null;
    this.#build(`lane-${++made}`);
    this.tokens = new TokenText(this.body, {
      onhover: (range, i, options) => page.hover(this, range, i, options),
      onchoose: (at) => page.choose(this, at),
    });
    this.fetchCuts = latest((text) => this.#fetchCuts(text));
    this.settle = debounce(() => page.changed(), 180);
  }

  get choice() {
    return { tokenizer: this.tokenizer, size: this.size };
  }

  get title() {
    return this.size === null ? this.tokenizer : `${this.tokenizer} at ${count(this.size)}`;
  }

  #build(id) {
    const { page } = this;
    this.select = el("select", { "aria-label": "Tokenizer", onchange: () => {
      this.tokenizer = this.select.value;
      this.size = null;
      this.cuts = null;
      page.changed();
    } }, ...options(page));
    this.select.value = this.tokenizer;
    this.vocabulary = el("span", { class: "quiet numbers" });
    this.removal = el("button", { type: "button", class: "icon", "aria-label": `Remove this lane`, title: "Remove this lane",
      onclick: () => page.remove(this) }, "×");
    this.statistics = el("dl", { class: "statistics" });
    this.range = el("input", { type: "range", min: 0, max: POSITIONS, step: 1, id: `${id}-size`,
      "aria-label": "Vocabulary size", oninput: () => this.#slide(this.#sizeAt(Number(this.range.value))) });
    this.number = el("input", { type: "number", step: 1, "aria-label": "Exact vocabulary size", onchange: () => {
      const wanted = Math.round(Number(this.number.value)) || this.data.full_size;
      this.#slide(Math.min(Math.max(wanted, this.data.smallest), this.data.full_size));
    } });
    this.evaluation = new EvaluationEstimates(page, this);
    this.slider = el("div", { class: "size", hidden: true },
      el("label", { for: `${id}-size` }, "Size"), this.range, this.number, this.evaluation.element);
    this.body = el("div", { class: "tokens", tabindex: 0, role: "group", dir: "auto", "data-state": "loading" });
    this.error = el("p", { class: "error", role: "alert", hidden: true });
    this.element = el("article", { class: "lane card" },
      el("div", { class: "row head" }, this.select, this.vocabulary, this.removal),
      this.statistics, this.slider, this.error, this.body);
  }

  // Whether an answer is about this lane as it is now; the tokenizer or the size may have changed since.
  isAbout(data) {
    return data.tokenizer === this.tokenizer && (data.error || data.vocab_size === (this.size ?? data.full_size));
  }

  receive(data, text) {
    this.data = data;
    this.error.hidden = !data.error;
    this.body.hidden = this.statistics.hidden = Boolean(data.error);
    if (data.error) {
      this.error.textContent = data.error;
      this.cut = null;
      this.slider.hidden = true;
      return;
    }
    this.vocabulary.textContent = `${count(data.vocab_size)} pieces`;
    this.slider.hidden = data.smallest === null || data.smallest >= data.full_size;
    if (!this.slider.hidden) {
      Object.assign(this.number, { min: data.smallest, max: data.full_size });
      this.#place(data.vocab_size);
      this.evaluation.update(data.vocab_size);
    }
    this.show(cutOf(data), text);
    if (this.cuts && this.cutsText !== text) this.fetchCuts(text);
  }

  show(cut, text) {
    this.cut = cut;
    this.body.dataset.state = text ? "shown" : "empty";
    this.tokens.show(text, cut, this.page.views);
    this.page.drawn(this);
  }

  redraw() {
    if (this.cut) this.tokens.show(this.tokens.text, this.cut, this.page.views);
  }

  showStatistics(words, bytes, base) {
    if (!this.cut) return null;
    const mine = statistics(this.cut, words, bytes);
    const entries = [
      ["tokens", count(mine.tokens), "Tokens in this text"],
      ["tokens per word", fixed(mine.perWord, 2), "Tokens per whitespace word"],
      ["continued words", percent(mine.continued), "Whitespace words of two or more tokens"],
      ["bytes per token", fixed(mine.bytesPerToken, 2), "UTF-8 bytes per token"],
    ];
    if (base) {
      const change = mine.tokens / base.tokens - 1;
      const sign = change > 0 ? "+" : change < 0 ? "−" : "±";
      entries.push(["vs. first lane", Number.isFinite(change) ? `${sign}${fixed(100 * Math.abs(change), 1)} %` : "–",
        "Tokens compared with the first lane"]);
    }
    this.statistics.replaceChildren(...entries.map(([name, value, title]) =>
      el("div", { title, class: name === "vs. first lane" ? `against ${value.startsWith("+") ? "more" : value.startsWith("−") ? "fewer" : ""}` : null },
        el("dt", {}, name), el("dd", {}, value))));
    this.body.setAttribute("aria-label", `Tokens of ${this.title}: ${count(mine.tokens)}. Arrow keys move, Enter explains.`);
    this.element.setAttribute("aria-label", this.title);
    return mine;
  }

  // Sizes are on a logarithmic scale: the first thousands change more than the last.
  #sizeAt(position) {
    const { smallest, full_size: full } = this.data;
    return Math.round(smallest * (full / smallest) ** (position / POSITIONS));
  }

  #place(size) {
    const { smallest, full_size: full } = this.data;
    this.range.value = Math.round(POSITIONS * Math.log(size / smallest) / Math.log(full / smallest));
    this.range.setAttribute("aria-valuetext", `${count(size)} pieces`);
    if (document.activeElement !== this.number || Number(this.number.value) !== size) this.number.value = size;
  }

  #slide(size) {
    this.size = size === this.data.full_size ? null : size;
    this.#place(size);
    this.vocabulary.textContent = `${count(size)} pieces`;
    this.evaluation.update(size);
    const { text } = this.page;
    if (this.cuts && this.cutsText === text) this.show(cutAt(this.cuts, text.length, size), text);
    else this.fetchCuts(text);
    this.settle();
  }

  async #fetchCuts(text) {
    try {
      const cuts = await ask("cuts", { text, tokenizer: this.tokenizer });
      if (this.page.text !== text) return;
      this.cuts = cuts;
      this.cutsText = text;
      if (this.size !== null && this.data.vocab_size !== this.size) this.show(cutAt(cuts, text.length, this.size), text);
    } catch (error) {
      this.page.say(error.message);
    }
  }
}
