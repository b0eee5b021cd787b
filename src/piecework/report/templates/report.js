// Sorts tables, copies their data, saves charts, switches between light and dark.
"use strict";
(() => {
  const root = document.documentElement;

  function button(label, action, parent) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", () => action(made));
    parent.append(made);
    return made;
  }

  function say(made, text) {
    const before = made.dataset.label || made.textContent;
    made.dataset.label = before;
    made.textContent = text;
    setTimeout(() => { made.textContent = before; }, 1600);
  }

  // Light or dark: the setting of the system until the reader chooses.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  let kept = null;
  try { kept = localStorage.getItem("piecework-theme"); } catch { /* a page from a file may have no storage */ }
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  const theme = button("", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("piecework-theme", root.dataset.theme); } catch { /* then it is not kept */ }
    name();
  }, document.body);
  theme.className = "theme";
  const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; theme.setAttribute("aria-label", `${theme.textContent} colours`); };
  dark.addEventListener("change", name);
  name();

  // Sorting by a click on a heading: numbers by value, missing values last.
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent.trim() : cell.dataset.value;
  };
  function compare(column, numeric, sign) {
    return (first, second) => {
      const [a, b] = [value(first, column), value(second, column)];
      if (a === "" || b === "") return (a === "") - (b === "");
      return sign * (numeric ? a - b : a.localeCompare(b));
    };
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const label = heading.textContent;
      heading.textContent = "";
      button(label, () => {
        const numeric = heading.classList.contains("n");
        const was = heading.getAttribute("aria-sort");
        const up = was ? was === "descending" : !numeric;
        for (const other of headings) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].sort(compare(column, numeric, up ? 1 : -1));
        table.tBodies[0].append(...rows);
      }, heading);
    });
  }

  // The data of a table, with full precision.
  const quoted = (text) => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  function csv(table) {
    const line = (row) => [...row.cells].map((cell) => {
      const pieces = [...cell.querySelectorAll("code")].map((code) => code.textContent);
      return quoted(pieces.length ? pieces.join("  ") : cell.dataset.value ?? cell.textContent.trim());
    }).join(",");
    return [...table.tHead.rows, ...table.tBodies[0].rows].map(line).join("\n") + "\n";
  }
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }

  // A chart as a file: with literal colours, because programs other than browsers do not know CSS variables.
  function drawing(figure) {
    const visible = [...figure.querySelectorAll(".chart svg")].find((each) => each.getClientRects().length);
    const style = getComputedStyle(root);
    const text = new XMLSerializer().serializeToString(visible);
    const colour = (variable) => style.getPropertyValue(variable).trim();
    const ground = `<rect width="100%" height="100%" fill="${colour("--paper")}"/>`;
    return text.replace(/var\((--[\w-]+)\)/g, (_, variable) => colour(variable)).replace("</desc>", `</desc>${ground}`);
  }
  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = `${name}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  for (const tools of document.querySelectorAll(".tools")) {
    const holder = tools.parentElement;
    const table = holder.querySelector("table");
    button("Copy CSV", (made) => copy(csv(table)).then(() => say(made, "Copied")), tools);
    if (holder.querySelector(".chart")) button("Save SVG", () => save(tools.dataset.name, drawing(holder)), tools);
  }

  // Tooltips of charts appear at once, and on touch; without this script the browser shows them after a while.
  const floating = document.createElement("div");
  floating.className = "floating";
  floating.hidden = true;
  document.body.append(floating);
  for (const title of document.querySelectorAll(".chart svg > :not(title, desc) title, .chart svg > * > title:not(svg > title)")) {
    const owner = title.parentElement;
    if (owner.tagName === "svg") continue;
    owner.dataset.tip = title.textContent;
    title.remove();
  }
  document.addEventListener("pointermove", (event) => {
    const tip = event.target.dataset?.tip;
    floating.hidden = !tip;
    if (!tip) return;
    floating.textContent = tip;
    const { width, height } = floating.getBoundingClientRect();
    const left = event.clientX + 14 + width > innerWidth ? event.clientX - width - 10 : event.clientX + 14;
    floating.style.left = `${Math.max(4, left)}px`;
    floating.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 4))}px`;
  });
  document.addEventListener("scroll", () => { floating.hidden = true; }, { passive: true });

  // Marks the current section in the contents.
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const inView = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) inView.add(entry.target.id); else inView.delete(entry.target.id);
    }
    const first = [...links.keys()].find((id) => inView.has(id));
    for (const [id, link] of links) {
      if (id === first) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-15% 0px -60% 0px" });
  for (const section of document.querySelectorAll("main > section")) observer.observe(section);
})();
