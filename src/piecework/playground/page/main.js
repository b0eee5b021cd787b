// The page: its text, its lanes, and what connects them.

import { ask, debounce, latest } from "./api.js";
import { byteLength, findWords, tokensOf, wellFormed, wordCuts } from "./cut.js";
import { makeCopyMenu } from "./copy.js";
import { $, count, el, toast, visible } from "./dom.js";
import { Lane } from "./lane.js";
import { LANGUAGE_SAMPLES, SPECIAL_SAMPLES } from "./samples.js";
import { readState, writeState } from "./state.js";
import { Vocabulary } from "./vocabulary.js";
import { clearWhy, refreshWhy, showWhy } from "./why.js";
import { Words } from "./words.js";

const LARGE = 10_000;
const VIEWS = ["text", "ids", "pieces", "bytes"];
const characters = (text) => text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);

class Page {
  constructor(about, state) {
    this.about = about;
    this.tokenizers = about.tokenizers;
    // The study's own passages first; without a study, texts in some languages. Then texts that are hard to tokenize.
    this.samples = about.samples.length ? [...about.samples, ...SPECIAL_SAMPLES] : [...LANGUAGE_SAMPLES, ...SPECIAL_SAMPLES];
    this.text = state.text ?? this.samples[0].text;
    this.words = findWords(this.text);
    this.view = VIEWS.includes(state.view) ? state.view : "text";
    this.whitespace = state.whitespace ?? false;
    this.differences = state.differences ?? true;
    this.order = ["count", "spread", "cost"].includes(state.order) ? state.order : "count";
    this.metric = about.metrics.some((each) => each.name === state.metric) ? state.metric : about.metrics[0].name;
    this.lanes = [];
    this.encode = latest(() => this.#encode());
    this.save = debounce(() => this.saved(), 250);
    this.updateWords = debounce(() => this.wordList.update(), 60);
    this.wordList = new Words(this);
    this.vocabulary = new Vocabulary(this);
    const wanted = (state.lanes ?? []).filter((lane) => this.tokenizers.includes(lane.tokenizer)).slice(0, about.max_lanes);
    for (const choice of wanted.length ? wanted : this.#usual()) this.#append(choice);
    this.#wire();
    this.#lanesChanged();
    this.changed();
  }

  get views() {
    return { view: this.view, whitespace: this.whitespace };
  }

  // Two lanes at first: the first tokenizer, and the next one that is not the same at a smaller size.
  #usual() {
    const [first, ...others] = this.tokenizers;
    // Beside it, the tokenizer of the language of the opening text.
    const second = [this.samples[0].language, "en"].find((name) => others.includes(name)) ?? others.find((name) => !name.startsWith(`${first}-`)) ?? others[0];
    return [first, second].filter(Boolean).map((tokenizer) => ({ tokenizer, size: null }));
  }

  #append(choice) {
    const lane = new Lane(this, choice);
    this.lanes.push(lane);
    $("lane-list").append(lane.element);
  }

  #lanesChanged() {
    $("add").disabled = this.lanes.length >= this.about.max_lanes;
    for (const lane of this.lanes) lane.removal.hidden = this.lanes.length === 1;
    $("lane-list").dataset.lanes = this.lanes.length;
  }

  remove(lane) {
    this.lanes.splice(this.lanes.indexOf(lane), 1);
    lane.element.remove();
    this.#lanesChanged();
    this.#showStatistics();
    this.updateWords();
    this.save();
    $("add").focus();
  }

  // The text, a tokenizer or a size has changed.
  changed() {
    this.encode();
    this.save();
    this.vocabulary.follow(this.lanes[0].tokenizer);
  }

  async #encode() {
    const { text } = this;
    const lanes = [...this.lanes];
    try {
      const answer = await ask("encode", { text, lanes: lanes.map((lane) => ({ tokenizer: lane.tokenizer, vocab_size: lane.size })) });
      if (text !== this.text) return;  // a newer request is under way
      this.say("");
      // While a slider moves, an answer about an earlier size is outdated: a newer request is under way.
      answer.lanes.forEach((data, i) => {
        if (lanes[i].isAbout(data)) lanes[i].receive(data, text);
      });
      if (answer.lanes.every((data, i) => lanes[i].isAbout(data))) {
        document.body.dataset.answers = String(Number(document.body.dataset.answers ?? 0) + 1);
      }
    } catch (error) {
      this.say(error.message);
    }
  }

  // A lane has drawn another cut.
  drawn(lane) {
    refreshWhy(lane);
    if (this.waiting) return;
    this.waiting = true;
    queueMicrotask(() => {  // once for all lanes of an answer
      this.waiting = false;
      this.#showStatistics();
      this.updateWords();
    });
  }

  #showStatistics() {
    let base = null;
    const bytes = byteLength(this.text);
    this.lanes.forEach((lane, i) => {
      const found = lane.showStatistics(this.words, bytes, i ? base : null);
      if (i === 0) base = found;
    });
    $("text-statistics").textContent = `${count(characters(this.text))} characters, ${count(this.words.length)} words, ${count(bytes)} bytes`;
  }

  // Sets a new text, or says why it cannot. Returns whether it did.
  setText(text, { from = "text" } = {}) {
    text = wellFormed(text);
    const size = text.length > 2 * this.about.max_characters ? text.length : characters(text);
    if (size > this.about.max_characters) {
      this.say(`${from === "text" ? "That text" : from} has ${count(size)} characters; the limit is ${count(this.about.max_characters)}. The text has not changed.`);
      return false;
    }
    this.text = text;
    this.words = findWords(text);
    clearWhy(text);
    if ($("text").value !== text) $("text").value = text;
    this.say("");
    this.changed();
    return true;
  }

  say(message) {
    $("message").textContent = message;
  }

  saved() {
    return writeState({ text: this.text, lanes: this.lanes.map((lane) => lane.choice), view: this.view, order: this.order,
      metric: this.metric, whitespace: this.whitespace, differences: this.differences });
  }

  hover(lane, range, i, options = {}) {
    const marks = [];
    for (const each of this.lanes) {
      if (!range) each.tokens.unmark();
      else marks.push(...each.tokens.mark(...range, { follow: options.follow && each !== lane }));
    }
    if (globalThis.CSS?.highlights) {
      if (marks.length) CSS.highlights.set("hot", new Highlight(...marks));
      else CSS.highlights.delete("hot");
    }
    $("hovered").replaceChildren(...(range ? this.#describe(lane, i) : []));
  }

  #describe(lane, i) {
    const { cut } = lane;
    const parts = [];
    const put = (name, value) => parts.push(el("span", {}, el("span", { class: "quiet" }, `${name} `), value));
    if (cut.ids) {
      const ids = cut.ids.slice(cut.first[i], cut.first[i] + tokensOf(cut, i));
      put(ids.length > 1 ? "ids" : "id", ids.join(" "));
      put("piece", el("span", { class: "piece" }, ids.map((id) => visible(cut.pieces[id])).join(" ")));
    }
    if (tokensOf(cut, i) > 1) put("tokens of this character", count(tokensOf(cut, i)));
    put("characters", cut.ends[i] > cut.starts[i] ? `${count(cut.starts[i])}–${count(cut.ends[i])}` : "none (dummy prefix)");
    const word = this.#wordAt(cut.starts[i], cut.ends[i]);
    if (word !== null) {
      const { starts, ends } = this.words;
      const costs = this.lanes.filter((each) => each.cut).map((each) => wordCuts(each.cut, this.words)[word].tokens);
      put("word", el("span", { class: "piece" }, visible(this.text.slice(starts[word], ends[word]))));
      put("tokens", costs.join(" · "));
    }
    return parts;
  }

  // The first word that overlaps these characters.
  #wordAt(start, end) {
    const { starts, ends } = this.words;
    let low = 0, high = starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] <= start) low = middle + 1;
      else high = middle;
    }
    return low < starts.length && starts[low] < Math.max(end, start + 1) ? low : null;
  }

  choose(lane, at) {
    if (at < this.text.length) showWhy(lane, this.text, at);
    if (innerWidth < 900) $("why").scrollIntoView({ behavior: "smooth", block: "nearest" });
  }

  chooseMetric(metric) {
    this.metric = metric;
    for (const lane of this.lanes) if (lane.data && !lane.slider.hidden) lane.evaluation.update(lane.size ?? lane.data.full_size);
    this.save();
  }

  #wire() {
    const area = $("text");
    area.value = this.text;
    area.addEventListener("input", () => {
      // A text that is too long is refused, and the text before it stays in the box.
      if (!this.setText(area.value)) area.value = this.text;
    });
    area.addEventListener("paste", (event) => {
      const pasted = event.clipboardData?.getData("text/plain") ?? "";
      if (pasted.length < LARGE) return;
      event.preventDefault();
      if (pasted.length > 2 * this.about.max_characters) {
        this.setText(pasted, { from: "What you pasted" });
        return;
      }
      // Chromium takes half a minute to paste thousands of lines, but sets them at once.
      area.setRangeText(pasted.replaceAll("\r\n", "\n"), area.selectionStart, area.selectionEnd, "end");
      area.dispatchEvent(new Event("input"));
    });
    $("samples").append(...this.samples.map(({ name, title, text }) =>
      el("button", { type: "button", class: "chip", title, onclick: () => this.setText(text) }, name)));
    $("clear").addEventListener("click", () => {
      this.setText("");
      area.focus();
    });
    $("open").addEventListener("click", () => $("file").click());
    $("file").addEventListener("change", () => {
      if ($("file").files[0]) this.#openFile($("file").files[0]);
      $("file").value = "";
    });
    $("view").append(...VIEWS.map((view) => el("label", {},
      el("input", { type: "radio", name: "view", value: view, checked: view === this.view, onchange: () => {
        this.view = view;
        this.lanes.forEach((lane) => lane.redraw());
        this.save();
      } }), el("span", {}, view))));
    const check = (id, name, then) => {
      $(id).checked = this[name];
      $(id).addEventListener("change", () => {
        this[name] = $(id).checked;
        then();
        this.save();
      });
    };
    check("whitespace", "whitespace", () => this.lanes.forEach((lane) => lane.redraw()));
    check("differences", "differences", () => this.wordList.update());
    $("words-order").value = this.order;
    $("words-order").addEventListener("change", () => {
      this.order = $("words-order").value;
      this.wordList.update();
      this.save();
    });
    $("add").addEventListener("click", () => {
      const unused = this.tokenizers.find((name) => !this.lanes.some((lane) => lane.tokenizer === name));
      this.#append({ tokenizer: unused ?? this.tokenizers[0], size: null });
      this.#lanesChanged();
      this.changed();
      this.lanes.at(-1).select.focus();
    });
    for (const button of document.querySelectorAll("[data-go]")) {
      button.addEventListener("click", () => {
        $(button.dataset.go).scrollIntoView({ behavior: "smooth" });
        $(button.dataset.go).querySelector("input, select, button")?.focus({ preventScroll: true });
      });
    }
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();  // the fragment holds the state
      this.lanes[0].body.focus();
    });
    this.#wireFiles();
    makeCopyMenu(this);
  }

  #wireFiles() {
    let depth = 0;
    addEventListener("dragenter", () => { depth++; $("drop").hidden = false; });
    addEventListener("dragleave", () => { if (--depth <= 0) $("drop").hidden = true; });
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      depth = 0;
      $("drop").hidden = true;
      const [file] = event.dataTransfer.files;
      if (file) this.#openFile(file);
      else this.setText(event.dataTransfer.getData("text/plain"));
    });
  }

  async #openFile(file) {
    // A character takes at most four bytes: a longer file is not read.
    if (file.size > 4 * this.about.max_characters) {
      this.say(`${file.name} has ${count(file.size)} bytes; the limit is ${count(this.about.max_characters)} characters. The text has not changed.`);
      return;
    }
    const text = (await file.text()).replaceAll("\r\n", "\n");
    if (this.setText(text, { from: file.name })) {
      toast(text.includes("\ufffd") ? `${file.name} is not valid UTF-8: invalid bytes appear as �` : `${file.name} opened`);
    }
  }
}

const THEMES = ["auto", "light", "dark"];
function wireTheme() {
  const names = { auto: "system", light: "light", dark: "dark" };
  const use = (theme) => {
    document.documentElement.dataset.theme = theme;
    $("theme").setAttribute("aria-label", `Colours: ${names[theme]}`);
    $("theme").title = `Colours: ${names[theme]}`;
    $("theme").textContent = { auto: "◐", light: "☀", dark: "☾" }[theme];
  };
  let theme = "auto";
  try {
    theme = localStorage.getItem("piecework-theme") ?? "auto";
  } catch { /* storage may be switched off */ }
  use(THEMES.includes(theme) ? theme : "auto");
  $("theme").addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
    use(next);
    try {
      localStorage.setItem("piecework-theme", next);
    } catch { /* then it lasts until the page is closed */ }
  });
}

async function start() {
  wireTheme();
  try {
    const [about, state] = await Promise.all([ask("about"), readState()]);
    $("study").textContent = about.study ? `Study ${about.study}` : "";
    document.title = about.study ? `${about.study} – Piecework playground` : "Piecework playground";
    const page = new Page(about, state);
    if (state.damaged) page.say("The address is damaged; unreadable parts are ignored.");
    addEventListener("hashchange", () => location.reload());
  } catch (error) {
    $("message").textContent = error.message;
  }
}

start();
