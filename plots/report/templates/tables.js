// Sorting, opening cells, moving between them with arrow keys, copying.
function sortValue(row, column) {
  if (column === 0) return row.cells[0].textContent.trim();
  const text = row.cells[column].dataset.v ?? "";
  const value = Number.parseFloat(text);
  return text !== "" && Number.isFinite(value) ? value : text;
}

function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number") return -1;
  return typeof b === "number" ? 1 : a.localeCompare(b, "en", { numeric: true });
}

// First click: numbers from the highest down, words from A to Z; then the other way round; then as it was.
function sortBy(head) {
  const table = head.closest("table"), column = head.cellIndex, words = column === 0 || head.classList.contains("t");
  const order = words ? ["none", "ascending", "descending"] : ["none", "descending", "ascending"];
  const next = order[(order.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
  for (const other of table.tHead.querySelectorAll("[aria-sort]")) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", next);
  for (const body of table.tBodies) {
    const rows = [...body.querySelectorAll("tr.row")];
    rows.forEach((row, i) => { row.dataset.i ??= i; });
    const sign = next === "descending" ? -1 : 1;
    rows.sort((a, b) => {
      if (next === "none") return a.dataset.i - b.dataset.i;
      const [x, y] = [sortValue(a, column), sortValue(b, column)];
      if (x === "" || y === "") return (x === "") - (y === "");  // nothing to sort by: last, both ways
      return sign * compared(x, y) || a.dataset.i - b.dataset.i;
    });
    body.append(...rows);
  }
}

function openCell(button) {
  const row = button.closest(".row"), holder = button.closest("[data-title]");
  const cell = button.closest("td"), table = button.closest("table");
  let metric = "test/R@1", column = "";
  if (cell && table) {
    const head = [...table.tHead.rows].at(-1).cells[cell.cellIndex];
    column = `, ${head.textContent.trim()}`;
    const key = head.dataset.key.split(";")[0];
    if (key.includes("/")) metric = key;
  }
  const section = cell?.closest("tbody").querySelector(".section")?.textContent.trim();
  const name = table ? row.cells[0].firstChild.textContent.trim() : row.querySelector(".name").textContent;
  openRuns(Number(button.dataset.g), [`${name}${column}: ${holder.dataset.title}`, section].filter(Boolean).join(", "), metric);
}

// The one that has the focus is the one in the tab order.
function moveFocus(event, from, next) {
  event.preventDefault();
  from.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

// One cell of each table is in the tab order; arrow keys go from there.
function prepareCells(table) {
  table.querySelector("button.cell")?.setAttribute("tabindex", "0");
  table.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const from = event.target.closest("button.cell");
    if (!steps || !from) return;
    const rows = [...table.querySelectorAll("tbody tr.row")].filter((row) => !row.hidden && !row.closest("[hidden]"));
    let [r, c] = [rows.indexOf(from.closest("tr")), from.closest("td").cellIndex];
    for (;;) {
      [r, c] = [r + steps[0], c + steps[1]];
      if (!rows[r] || !rows[r].cells[c]) return;
      const next = rows[r].cells[c].querySelector("button.cell");
      if (next) return moveFocus(event, from, next);
    }
  });
}

function prepareTables() {
  document.querySelectorAll("figure.table table").forEach(prepareCells);
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("button[data-g]");
    if (opener) return openCell(opener);
    const head = event.target.closest("thead th[aria-sort] button");
    if (head) return sortBy(head.closest("th"));
    const copier = event.target.closest("button[data-copy]");
    if (copier) {
      const kind = copier.dataset.copy, id = copier.closest("figure").id;
      copy(stored("sources")[id][kind], kind === "csv" ? "CSV" : "LaTeX");
    }
  });
}
