"use strict";
// Make tables sortable by any column.

const missing = (key) => key === "";

/** Compare two keys: numbers by value, other keys as text; missing keys come last. */
function orderKeys(first, second, sign) {
  if (missing(first) || missing(second)) return missing(first) - missing(second);
  const [a, b] = [Number(first), Number(second)];
  const found = Number.isNaN(a) || Number.isNaN(b) ? first.localeCompare(second, "en") : a - b;
  return sign * found;
}

function sortTable(table, column, direction) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, i) => (i === column ? head.setAttribute("aria-sort", direction)
    : head.removeAttribute("aria-sort")));
  const sign = direction === "ascending" ? 1 : -1;
  const key = (row) => row.cells[column].dataset.key;
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort((a, b) => orderKeys(key(a), key(b), sign)));
}

/** Turn headings into buttons that sort: numbers largest first, text from A to Z. */
function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = html("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      sortTable(table, column, head.getAttribute("aria-sort") === first ? other : first);
    });
  });
}
