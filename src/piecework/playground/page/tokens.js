// The tokens of one lane on the screen. A long text is drawn in chunks: as plain text at first, which is cheap and has
// the same layout, and token by token where it is visible.

import { bytesOf, overlapping, tokensOf } from "./cut.js";
import { el, visible } from "./dom.js";

const CHUNK = 250;
const hex = (byte) => byte.toString(16).toUpperCase().padStart(2, "0");

export class TokenText {
  constructor(element, { onhover, onchoose }) {
    this.element = element;
    this.text = "";
    this.cut = null;
    this.view = "text";
    this.whitespace = false;
    this.chunks = [];
    this.current = -1;
    this.marked = [];
    this.observer = new IntersectionObserver((entries) => {
      for (const entry of entries) this.#draw(entry.target.chunk, entry.isIntersecting);
    }, { root: element, rootMargin: "600px 0px" });
    element.addEventListener("pointermove", (event) => {
      const i = event.target.index;
      onhover(i === undefined ? null : this.range(i), i);
    });
    element.addEventListener("pointerleave", () => onhover(null));
    element.addEventListener("click", (event) => {
      if (event.target.index === undefined || !getSelection().isCollapsed) return;
      this.current = event.target.index;
      onchoose(this.cut.starts[this.current]);
    });
    element.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10 }[event.key];
      if (step !== undefined) this.focusOn(this.current + step, onhover);
      else if (event.key === "Home") this.focusOn(0, onhover);
      else if (event.key === "End") this.focusOn(this.cut.starts.length - 1, onhover);
      else if (event.key === "Enter" && this.current >= 0) onchoose(this.cut.starts[this.current]);
      else return;
      event.preventDefault();
    });
    element.addEventListener("focus", () => {
      if (element.matches(":focus-visible")) this.focusOn(Math.max(this.current, 0), onhover);
    });
    element.addEventListener("blur", () => onhover(null));
  }

  show(text, cut, { view, whitespace }) {
    this.unmark();
    Object.assign(this, { text, cut, view: cut.ids ? view : "text", whitespace });
    this.observer.disconnect();
    this.chunks = [];
    const parts = [];
    for (let first = 0; first < cut.starts.length; first += CHUNK) {
      const last = Math.min(first + CHUNK, cut.starts.length);
      const chunk = { first, last, drawn: false, element: el("span", { class: "chunk" }) };
      chunk.element.chunk = chunk;
      this.#drawPlain(chunk);
      this.chunks.push(chunk);
      parts.push(chunk.element);
    }
    this.element.dataset.view = this.view;
    this.element.classList.toggle("with-whitespace", whitespace);
    this.element.replaceChildren(...parts);
    this.current = Math.min(this.current, cut.starts.length - 1);
    // The first chunk is drawn at once: waiting for the observer would flicker.
    if (this.chunks.length) this.#draw(this.chunks[0], true);
    for (const chunk of this.chunks) this.observer.observe(chunk.element);
  }

  drawAll(most) {
    for (const chunk of this.chunks) if (chunk.first < most) this.#draw(chunk, true);
  }

  range(i) {
    return [this.cut.starts[i], this.cut.ends[i]];
  }

  // The text that is drawn for one item.
  label(i) {
    const { cut, text } = this;
    const slice = text.slice(cut.starts[i], cut.ends[i]);
    if (this.view === "text") return slice;
    const tokens = [];
    for (let t = cut.first[i]; t < cut.first[i] + tokensOf(cut, i); t++) {
      const id = cut.ids[t];
      if (this.view === "ids") tokens.push(String(id));
      else if (this.view === "pieces") tokens.push(cut.unknown.has(id) ? `${cut.pieces[id]}(${visible(slice)})` : visible(cut.pieces[id]));
      else if (cut.isByte.has(id)) tokens.push(cut.pieces[id].replaceAll("><0x", " ").slice(3, -1));
      else tokens.push(slice ? bytesOf(slice).map(hex).join(" ") : "20");
    }
    return tokens.join(" ");
  }

  #drawPlain(chunk) {
    if (this.view === "text") {
      chunk.element.textContent = this.text.slice(this.cut.starts[chunk.first], this.cut.ends[chunk.last - 1]);
    } else {
      const labels = [];
      for (let i = chunk.first; i < chunk.last; i++) labels.push(this.label(i));
      chunk.element.textContent = labels.join("  ") + "  ";
    }
    chunk.drawn = false;
  }

  #draw(chunk, isSeen) {
    if (chunk.drawn === isSeen) return;
    if (!isSeen) {
      this.#drawPlain(chunk);
      return;
    }
    const parts = [];
    for (let i = chunk.first; i < chunk.last; i++) {
      parts.push(this.#token(i));
      if (this.view !== "text") parts.push("  ");
    }
    chunk.element.replaceChildren(...parts);
    chunk.drawn = true;
    if (this.marked.length) this.mark(...this.markedRange);
  }

  #token(i) {
    const { cut } = this;
    const bytes = cut.ids ? cut.isByte.has(cut.ids[cut.first[i]]) : tokensOf(cut, i) > 1;
    const label = this.label(i);
    const token = document.createElement("span");
    token.className = `token ${i % 2 ? "blue" : "red"}`;
    if (bytes) token.classList.add("bytes");
    // A character that is several byte tokens says how many.
    if (this.view === "text" && tokensOf(cut, i) > 1) token.dataset.tokens = tokensOf(cut, i);
    if (cut.starts[i] === cut.ends[i] && this.view === "text") token.classList.add("prefix");
    if (cut.ids && cut.unknown.has(cut.ids[cut.first[i]])) token.classList.add("unknown");
    token.index = i;
    if (this.view === "text" && /\s/.test(label)) {
      if (/^\n+$/.test(label)) token.classList.add("newline");
      for (const part of label.split(/([ \u00a0\t\r\n])/)) {
        if (!part) continue;
        const kind = { " ": "space", "\u00a0": "fixed-space", "\t": "tab", "\r": "return", "\n": "line" }[part];
        if (kind) {
          const mark = el("i", { class: kind }, part);
          mark.index = i;
          token.append(mark);
        } else token.append(part);
      }
    } else token.textContent = label;
    return token;
  }

  elementOf(i) {
    const chunk = this.chunks[Math.floor(i / CHUNK)];
    if (!chunk?.drawn) return null;
    return chunk.element.children[i - chunk.first] ?? null;
  }

  focusOn(i, onhover) {
    if (!this.cut || !this.cut.starts.length) return;
    this.current = Math.min(Math.max(i, 0), this.cut.starts.length - 1);
    this.#draw(this.chunks[Math.floor(this.current / CHUNK)], true);
    this.elementOf(this.current)?.scrollIntoView({ block: "nearest" });
    onhover(this.range(this.current), this.current, { follow: true });
    this.elementOf(this.current)?.classList.add("current");
    this.marked.push(this.elementOf(this.current));
  }

  // Marks the characters from `start` to `end`: their tokens, and in the text view the characters themselves.
  mark(start, end, { follow = false } = {}) {
    this.unmark();
    if (!this.cut) return [];
    this.markedRange = [start, end];
    // A prefix has no characters: it marks itself alone.
    let [first, last] = overlapping(this.cut, start, Math.max(end, start));
    if (start === end) [first, last] = this.cut.starts[0] === this.cut.ends[0] ? [0, 1] : [0, 0];
    const ranges = [];
    for (let i = first; i < last; i++) {
      if (follow) this.#draw(this.chunks[Math.floor(i / CHUNK)], true);
      const token = this.elementOf(i);
      if (!token) continue;
      token.classList.add("hot");
      this.marked.push(token);
      if (follow && i === first) token.scrollIntoView({ block: "nearest" });
      if (this.view === "text" && this.cut.ends[i] > this.cut.starts[i]) {
        const range = characters(token, Math.max(start - this.cut.starts[i], 0), Math.min(end, this.cut.ends[i]) - this.cut.starts[i]);
        if (range) ranges.push(range);
      }
    }
    return ranges;
  }

  unmark() {
    for (const token of this.marked) token?.classList.remove("hot", "current");
    this.marked = [];
  }
}

// A range over characters of an element whose text may lie in several nodes.
function characters(element, from, to) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const range = new Range();
  let at = 0, started = false;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const end = at + node.length;
    if (!started && from < end) {
      range.setStart(node, from - at);
      started = true;
    }
    if (started && to <= end) {
      range.setEnd(node, to - at);
      return range;
    }
    at = end;
  }
  return null;
}
