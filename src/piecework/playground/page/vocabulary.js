// The vocabulary of a tokenizer: search, and a table that draws only the visible rows.

import { ask, debounce } from "./api.js";
import { $, count, el, percent, visible } from "./dom.js";
import { options } from "./lane.js";

const ROW = 34, PAGE = 100;

export class Vocabulary {
  constructor(page) {
    this.page = page;
    this.pages = new Map();
    this.asked = 0;
    this.total = 0;
    this.languages = [];
    const again = debounce(() => this.search(), 120);
    const option = (value, text) => el("option", { value }, text);
    this.tokenizer = el("select", { "aria-label": "Tokenizer", onchange: again }, ...options(page));
    this.text = el("input", { type: "search", placeholder: "Search pieces", "aria-label": "Search pieces", maxlength: 200, oninput: again, spellcheck: "false" });
    this.regex = el("input", { type: "checkbox", onchange: again });
    this.group = el("select", { "aria-label": "Group", onchange: again }, option("", "All groups"));
    this.shortest = el("input", { type: "number", min: 1, max: 99, placeholder: "1", "aria-label": "Shortest length", oninput: again });
    this.longest = el("input", { type: "number", min: 1, max: 99, placeholder: "any", "aria-label": "Longest length", oninput: again });
    this.language = el("select", { "aria-label": "Language", onchange: again }, option("", "Any language"));
    this.share = el("select", { "aria-label": "Share of the language in the use of a piece", onchange: again },
      ...[50, 75, 90, 99].map((each) => option(each / 100, `${each} % or more`)));
    this.sort = el("select", { "aria-label": "Order", onchange: again });
    this.languageFilter = el("span", { class: "check", hidden: true }, "Used by", this.language, this.share);
    $("search").append(this.tokenizer, this.text, el("label", { class: "check" }, this.regex, "Regular expression"),
      this.group, el("span", { class: "check" }, "Length", this.shortest, "to", this.longest), this.languageFilter,
      el("label", { class: "check" }, "Order", this.sort));
    $("search").addEventListener("submit", (event) => event.preventDefault());
    this.error = el("p", { class: "error", role: "alert", hidden: true });
    this.header = el("div", { class: "vrow vhead", role: "row" });
    this.rows = el("div", { class: "vrows", role: "presentation" });
    this.viewport = el("div", { class: "viewport", tabindex: 0, role: "grid", "aria-label": "Pieces", onscroll: () => this.draw() }, this.header, this.rows);
    $("vocabulary-table").append(this.error, this.viewport);
    new IntersectionObserver((entries, observer) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();  // no request until the section is near
      this.started = true;
      this.search();
    }, { rootMargin: "400px" }).observe($("vocabulary"));
  }

  follow(tokenizer) {
    if (this.tokenizer.value === tokenizer || this.chosen) return;
    this.tokenizer.value = tokenizer;
    if (this.started) this.search();
  }

  #request(offset) {
    const [sort, direction] = (this.sort.value || "id up").split(/ (?=up$|down$)/);
    return { tokenizer: this.tokenizer.value, search: {
      text: this.text.value, mode: this.regex.checked ? "regex" : "text", group: this.group.value || null,
      shortest: Number(this.shortest.value) || 0, longest: Number(this.longest.value) || 10000,
      language: this.language.value || null, least_share: this.language.value ? Number(this.share.value) : 0,
      sort, descending: direction === "down", offset, limit: PAGE,
    } };
  }

  async search() {
    const mine = ++this.asked;
    if (!this.total) $("vocabulary-statistics").textContent = "Loading…";
    try {
      const answer = await ask("vocabulary", this.#request(0));
      if (mine !== this.asked) return;
      this.pages = new Map([[0, answer.rows]]);
      this.total = answer.total;
      this.error.hidden = true;
      this.text.removeAttribute("aria-invalid");
      this.#choices(answer);
      $("vocabulary-statistics").textContent = `${count(answer.total)} ${answer.total === 1 ? "piece" : "pieces"}`;
      this.rows.style.height = `${this.total * ROW}px`;
      this.viewport.setAttribute("aria-rowcount", this.total + 1);
      this.viewport.scrollTop = 0;
      this.viewport.classList.toggle("empty", !this.total);
      this.draw();
    } catch (error) {
      if (mine !== this.asked) return;
      this.error.textContent = error.message;
      this.error.hidden = false;
      this.text.setAttribute("aria-invalid", "true");
    }
  }

  #choices(answer) {
    const keep = (select, options) => {
      const { value } = select;
      select.replaceChildren(...options.map(([name, text]) => el("option", { value: name }, text)));
      select.value = options.some(([name]) => name === value) ? value : options[0][0];
    };
    keep(this.group, [["", "All groups"], ...Object.entries(answer.groups).map(([name, size]) => [name, `${name} (${count(size)})`])]);
    this.languages = answer.languages;
    this.languageFilter.hidden = !this.languages.length;
    keep(this.language, [["", "any language"], ...this.languages.map((name) => [name, name])]);
    keep(this.sort, [["id up", "by id"], ["length down", "longest first"], ["length up", "shortest first"],
      ...this.languages.map((name) => [`${name} down`, `most used in ${name}`])]);
    const columns = ["id", "piece", "group", "length", "score", "rank", ...this.languages];
    this.viewport.style.setProperty("--languages", this.languages.length);
    this.viewport.classList.toggle("without-use", !this.languages.length);
    this.header.replaceChildren(...columns.map((name, i) => el("span", { role: "columnheader", class: i === 1 || i === 2 ? `c-${name}` : `n c-${i > 5 ? "use" : name}` }, name)));
  }

  draw() {
    const first = Math.max(0, Math.floor(this.viewport.scrollTop / ROW) - 8);
    const last = Math.min(this.total, first + Math.ceil(this.viewport.clientHeight / ROW) + 16);
    const parts = [];
    for (let i = first; i < last; i++) {
      const page = this.pages.get(Math.floor(i / PAGE));
      if (!page) this.#load(Math.floor(i / PAGE));
      const row = page?.[i % PAGE];
      const element = el("div", { class: `vrow${i % 2 ? " odd" : ""}`, role: "row", "aria-rowindex": i + 2 }, ...(row ? this.#cells(row) : [el("span", { class: "quiet" }, "…")]));
      element.style.top = `${i * ROW}px`;
      parts.push(element);
    }
    this.rows.replaceChildren(...parts);
  }

  async #load(number) {
    if (this.pages.has(number)) return;
    const mine = this.asked;
    this.pages.set(number, null);
    try {
      const answer = await ask("vocabulary", this.#request(number * PAGE));
      if (mine !== this.asked) return;
      this.pages.set(number, answer.rows);
      this.draw();
    } catch (error) {
      if (mine === this.asked) this.page.say(error.message);
    }
  }

  #cells(row) {
    const cell = (name, ...content) => el("span", { role: "gridcell", class: name }, ...content);
    const use = (row.use ?? []).map((number, i) => {
      const share = row.shares[i];
      const element = cell(`n c-use share-${Math.round(share * 10)}`, number ? count(number) : "·");
      element.title = `${this.languages[i]}: ${count(number)} times, ${percent(share)} of its use per token`;
      return element;
    });
    return [cell("n c-id", String(row.id)), cell("c-piece", el("span", { class: "piece", dir: "auto" }, visible(row.piece))), cell("c-group quiet", row.group),
      cell("n c-length", String(row.length)), cell("n c-score quiet", row.score === null ? "–" : String(row.score)),
      cell("n c-rank", row.rank === null ? "–" : count(row.rank)), ...use];
  }
}
