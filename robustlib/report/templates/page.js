"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const find = (selector, root = document) => root.querySelector(selector);
  const holds = (text, words) => text.toLowerCase().includes(words.trim().toLowerCase());

  // Sorting: up, down, and back to the order of the paper. What is no number, or says nothing, stays last.
  const collator = new Intl.Collator("en", { numeric: true });
  const nothing = ["", "n/a", "\u2013"];
  const original = new WeakMap();
  const value = (row, column, isText) => {
    const text = row.cells[column].textContent.trim();
    return isText ? text : parseFloat(text.replaceAll(",", ""));
  };
  const compareTexts = (one, other) => { // by the number they begin with, before those that begin with none
    const [first, second] = [one, other].map(parseFloat);
    return Number.isNaN(first) - Number.isNaN(second) || first - second || collator.compare(one, other);
  };
  const compare = (one, other, isText, sign) => {
    const [first, second] = [one, other].map((found) => (isText ? nothing.includes(found) : Number.isNaN(found)));
    if (first || second) return first - second;
    return sign * (isText ? compareTexts(one, other) : one - other);
  };
  const sort = (heading) => {
    const body = heading.closest("table").tBodies[0];
    if (!original.has(body)) original.set(body, [...body.rows]);
    const next = { none: "ascending", ascending: "descending", descending: "none" }[heading.ariaSort];
    all("[aria-sort]", heading.parentNode).forEach((other) => { other.ariaSort = "none"; });
    heading.ariaSort = next;
    const rows = [...original.get(body)];
    const isText = heading.classList.contains("t");
    const sign = next === "ascending" ? 1 : -1;
    const keys = new Map(rows.map((row) => [row, value(row, heading.cellIndex, isText)]));
    if (next !== "none") rows.sort((one, other) => compare(keys.get(one), keys.get(other), isText, sign));
    body.append(...rows);
  };
  document.addEventListener("click", (event) => {
    const heading = event.target.closest("th[aria-sort]");
    if (heading && event.target.closest("button")) sort(heading);
  });

  // Filters: each hides what does not hold its words, and says how much is left.
  const show = (items, keeps, output) => {
    items.forEach((item) => { item.hidden = !keeps(item); });
    output.value = `${items.filter((item) => !item.hidden).length} of ${items.length}`;
  };
  all("[data-rows]").forEach((input) => {
    const details = input.closest("details");
    input.addEventListener("input", () => {
      show(all("tbody tr", details), (row) => holds(row.textContent, input.value), find("output", details));
    });
  });
  const entries = all(".entry").map((entry) => {
    const about = all("h4, caption, .caption, figcaption", entry).map((part) => part.textContent);
    return [entry, [find("h3", entry.parentNode).textContent, find("h2", entry.closest(".document")).textContent, ...about].join(" ")];
  });
  const texts = new Map(entries);
  find("#filter").addEventListener("input", (event) => {
    show([...texts.keys()], (entry) => holds(texts.get(entry), event.target.value), find("#found"));
    all(".document, .document > section").forEach((part) => { part.hidden = !find(".entry:not([hidden])", part); });
  });

  const cases = all(".case");
  if (cases.length) {
    const [sweep, change, words] = all("#sweep, #change, #words");
    const changes = new Set(all("[data-change]").map((table) => table.dataset.change));
    change.append(...[...changes].sort(collator.compare).map((name) => new Option(name)));
    const keeps = (item) => (!sweep.value || item.dataset.sweep === sweep.value)
      && (!change.value || all("[data-change]", item).some((table) => table.dataset.change === change.value))
      && holds(item.textContent, words.value);
    [sweep, change, words].forEach((input) => {
      input.addEventListener("input", () => show(cases, keeps, find("#asked")));
    });
  }

  // Print shows all.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    closed.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => { closed.forEach((details) => { details.open = false; }); });
})();
