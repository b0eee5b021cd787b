// Copies the lanes as Python, JSON, an SVG picture or a link.

import { $, el, toast } from "./dom.js";

const DRAWN = 3000;

export function makeCopyMenu(page) {
  const kinds = [
    ["Python", () => python(page)],
    ["JSON", () => JSON.stringify(json(page), null, 1)],
    ["SVG", () => picture(page)],
    ["a link", async () => {
      await page.saved();
      return location.href;
    }],
  ];
  const button = $("copy"), menu = $("copy-menu");
  const show = (open) => {
    menu.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (open) menu.firstElementChild.focus();
  };
  menu.append(...kinds.map(([name, make]) => el("button", { type: "button", role: "menuitem", tabindex: -1, onclick: async () => {
    show(false);
    button.focus();
    await copy(await make(), name);
  } }, name)));
  button.addEventListener("click", () => show(menu.hidden));
  document.addEventListener("click", (event) => {
    if (!menu.hidden && !event.target.closest(".menu")) show(false);
  });
  menu.addEventListener("keydown", (event) => {
    const items = [...menu.children], at = items.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) items[(at + step + items.length) % items.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") {
      show(false);
      button.focus();
    } else return;
    event.preventDefault();
  });
}

async function copy(text, name) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied as ${name}`);
  } catch {
    // Without a clipboard, for example on a page from another machine: a file.
    const address = URL.createObjectURL(new Blob([text]));
    el("a", { href: address, download: `piecework.${{ Python: "py", JSON: "json", SVG: "svg" }[name] ?? "txt"}` }).click();
    URL.revokeObjectURL(address);
    toast(`Saved as ${name}, because this page may not use the clipboard`);
  }
}

// A JSON string literal is a Python literal too; JSON.stringify leaves characters above U+FFFF as they are.
export function python(page) {
  const lanes = page.lanes.filter((lane) => lane.cut);
  const others = lanes.some((lane) => !lane.data.has_merges);
  const lines = ["import piecework as pw", ...(others ? ["from piecework.tokenizer.load import load_tokenizer"] : []), "",
    `text = ${JSON.stringify(page.text)}`];
  for (const lane of lanes) {
    const path = JSON.stringify(page.about.paths[lane.tokenizer]);
    lines.push("", `# ${lane.title.replaceAll(/[\r\n]/g, " ")}`);
    if (lane.data.has_merges) {
      const size = lane.size === null ? "" : `.resize(${lane.size})`;
      lines.push(`tokenizer = pw.Tokenizer.load(${path})${size}`, "print(tokenizer.encode_pieces(text))", "print(tokenizer.encode(text))");
    } else {
      lines.push(`tokenizer = load_tokenizer(${path})`, "pieces = tokenizer.piece_texts", "ids = tokenizer.tokens_batch([text])[0].ids.tolist()",
        "print([pieces[i] for i in ids])", "print(list(ids))");
    }
  }
  return lines.join("\n") + "\n";
}

export function json(page) {
  // Offsets count characters, as in Python, not UTF-16 units.
  const characters = new Uint32Array(page.text.length + 1);
  for (let i = 0, n = 0; i < page.text.length; i++) {
    if (!/[\udc00-\udfff]/.test(page.text[i])) n++;
    characters[i + 1] = n;
  }
  return { text: page.text, lanes: page.lanes.filter((lane) => lane.cut?.ids).map((lane) => {
    const { data } = lane;
    const offsets = [];
    let at = 0;
    data.lengths.forEach((length, i) => {
      at += data.gaps?.[i] ?? 0;
      offsets.push([at, at + length]);
      at += length;
    });
    return { tokenizer: lane.tokenizer, vocab_size: data.vocab_size, ids: data.ids, pieces: data.ids.map((id) => data.pieces[id]),
      offsets: offsets.map((pair) => pair.map((offset) => characters[offset])) };
  }) };
}

const escaped = (text) => text.replace(/[&<>"\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, (c) =>
  ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? "\ufffd");

// The lanes as they are on the screen.
export function picture(page) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const parts = [];
  let top = 12, width = 0;
  for (const lane of page.lanes) {
    if (!lane.cut) continue;
    lane.tokens.drawAll(DRAWN);
    lane.body.scrollTop = 0;
    const frame = lane.body.getBoundingClientRect();
    parts.push(`<text x="12" y="${top + 16}" fill="${colour("--soft")}" font-family="system-ui, sans-serif" font-size="13">${escaped(lane.title)}: ${lane.cut.tokens} tokens</text>`);
    top += 26;
    let bottom = top;
    for (let i = 0; i < Math.min(lane.cut.starts.length, DRAWN); i++) {
      const element = lane.tokens.elementOf(i);
      const rects = element ? [...element.getClientRects()].filter((rect) => rect.width > 0) : [];
      if (!rects.length) continue;
      const red = element.classList.contains("red");
      const fill = colour(red ? "--red" : "--blue");
      const pieces = rects.length === 1 ? [element.textContent.replaceAll("\n", "")] : split(element, rects.length);
      rects.forEach((rect, k) => {
        const x = rect.left - frame.left + 12, y = rect.top - frame.top + top;
        bottom = Math.max(bottom, y + rect.height);
        width = Math.max(width, x + rect.width + 12);
        parts.push(`<text x="${x.toFixed(1)}" y="${(y + rect.height * 0.69).toFixed(1)}" fill="${fill}" xml:space="preserve">${escaped(pieces[k] ?? "")}</text>`,
          `<line x1="${(x + 0.5).toFixed(1)}" x2="${(x + rect.width - 0.5).toFixed(1)}" y1="${(y + rect.height).toFixed(1)}" y2="${(y + rect.height).toFixed(1)}" stroke="${fill}" stroke-width="2"${red ? "" : ' stroke-dasharray="3 1.5"'}/>`);
      });
    }
    top = bottom + 22;
  }
  const font = getComputedStyle(page.lanes[0].body);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(top)}" viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(top)}">`
    + `<rect width="100%" height="100%" fill="${colour("--card")}"/>`
    + `<g font-family="${escaped(font.fontFamily).replaceAll("&quot;", "'")}" font-size="${font.fontSize}">${parts.join("")}</g></svg>`;
}

// The text of a token on several lines, split at the line breaks.
function split(element, lines) {
  const text = element.textContent, parts = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let top = null;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (let i = 0; i < node.length; i++) {
      const range = new Range();
      range.setStart(node, i);
      range.setEnd(node, i + 1);
      const rect = range.getBoundingClientRect();
      if (top === null || rect.top > top + 4) {
        parts.push("");
        top = rect.top;
      }
      if (node.data[i] !== "\n") parts[parts.length - 1] += node.data[i];
    }
  }
  return parts.length === lines ? parts : [text.replaceAll("\n", "")];
}
