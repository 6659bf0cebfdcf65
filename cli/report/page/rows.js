// Long tables: only the rows in sight are in the page. They are sorted by a click on a column, and saved as CSV.

const kRowHeight = 29;     // Of every row: which rows are in sight follows from it.
const kRowsAround = 12;    // Drawn above and below the ones in sight.
const kPrintedRows = 30;   // Paper cannot scroll.
const kWidestColumn = 44;  // In characters.

/** RFC 4180: a cell is quoted where it has to be. */
function csvText(rows) {
  const cell = value => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map(row => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Offers a text to be kept as a file. */
function saveText(name, text) {
  const address = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
  el("a", {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Numbers by size, texts by their letters; what is not there comes last, either way round. */
function compareCells(a, b, downwards) {
  const missing = value => value === null || value === undefined;
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  return downwards ? compareValues(b, a) : compareValues(a, b);
}

const onPaper = column => (column.paper === false ? "screen" : null);
const classOf = column => [column.number ? "number" : null, onPaper(column)].filter(one => one).join(" ") || null;

const longTables = [];

/**
 * A table of many rows. `spec`:
 * - name: of its place among the viewer's choices; caption: for people who do not see it
 * - columns: {title, number, value(row), cell(row), least}; value: for sorting and CSV; cell: an element or a text,
 *   the value by default; least: characters that the column has at least; paper: false for what a sheet has no room for
 * - rows: anything; height: of the box at most, in pixels
 * - sort: [place of a column, whether downwards], or nothing for the order given
 * - sorts: false for a table whose order says something
 */
class LongTable {
  constructor(spec) {
    this.spec = spec;
    this.view = view.tables.get(spec.name) ?? {sort: spec.sort ?? null, top: 0, left: 0};
    view.tables.set(spec.name, this.view);
    if (this.view.sort && this.view.sort[0] >= spec.columns.length) this.view.sort = spec.sort ?? null;
    this.head = el("thead");
    this.body = el("tbody");
    this.table = el("table", {}, el("caption", {class: "unseen"}, spec.caption),
      el("colgroup", {}, spec.columns.map(column => el("col", {class: onPaper(column), style: `width: ${this.width(column)}ch`}))), this.head, this.body);
    this.note = el("p", {class: "about printed"});
    this.box = el("div", {class: "scroll long", tabindex: "0", role: "region", "aria-label": spec.caption, "data-key": spec.name,
      onscroll: () => this.scrolled()}, this.table, this.note);
    this.box.style.maxHeight = `${spec.height ?? 460}px`;
    this.element = this.box;
    longTables.push(this);
    this.show(spec.rows);
  }

  /** By the longest of some texts: looking at all would take longer than the rest. */
  width(column) {
    const {rows} = this.spec, step = Math.max(1, Math.floor(rows.length / 300));
    let widest = Math.max(column.title.length + 2, column.least ?? 0);
    for (let i = 0; i < rows.length; i += step) {
      const value = column.text ? column.text(rows[i]) : column.value(rows[i]);
      widest = Math.max(widest, value === null || value === undefined ? 1 : String(value).length);
    }
    return Math.min(widest, kWidestColumn) + 3;
  }

  /** Shows these rows, in the order that the viewer has chosen. */
  show(rows) {
    this.given = rows;
    this.rows = rows;
    if (this.view.sort) {
      const [place, downwards] = this.view.sort;
      const {value} = this.spec.columns[place];
      this.rows = rows.map((row, i) => [value(row), i, row])
        .sort((a, b) => compareCells(a[0], b[0], downwards) || a[1] - b[1]).map(one => one[2]);
    }
    this.table.setAttribute("aria-rowcount", this.rows.length + 1);
    this.note.textContent = this.rows.length > kPrintedRows ? `The first ${kPrintedRows} of ${grouped(this.rows.length)}.` : "";
    this.head.replaceChildren(el("tr", {"aria-rowindex": 1}, this.spec.columns.map((column, i) => this.title(column, i))));
    this.first = this.end = -1;
    this.draw();
  }

  title(column, place) {
    const sorted = this.view.sort?.[0] === place ? (this.view.sort[1] ? "descending" : "ascending") : null;
    const content = this.spec.sorts === false ? column.title
      : el("button", {type: "button", class: "sort", onclick: () => this.sortBy(place)}, column.title,
        el("span", {class: "arrow", "aria-hidden": "true"}, sorted === null ? "" : sorted === "ascending" ? " ▲" : " ▼"));
    return el("th", {scope: "col", class: classOf(column), "aria-sort": sorted}, content);
  }

  /** Upwards, then downwards, then in the order given. */
  sortBy(place) {
    const {sort} = this.view;
    this.view.sort = sort?.[0] !== place ? [place, false] : sort[1] ? null : [place, true];
    const focused = this.head.contains(document.activeElement);
    this.show(this.given);
    this.box.scrollTop = 0;
    if (focused) this.head.querySelectorAll("button")[place].focus();
  }

  scrolled() {
    this.view.top = this.box.scrollTop;
    this.view.left = this.box.scrollLeft;
    this.draw();
  }

  /** Where the viewer was in the table that was drawn before this one. */
  goBack() {
    [this.box.scrollTop, this.box.scrollLeft] = [this.view.top, this.view.left];
    this.draw();
  }

  draw() {
    if (this.printed) return this.fill(0, Math.min(kPrintedRows, this.rows.length));
    const seen = Math.ceil((this.box.clientHeight || this.spec.height || 460) / kRowHeight);
    const top = Math.floor(this.box.scrollTop / kRowHeight);
    const first = Math.max(0, top - kRowsAround), end = Math.min(this.rows.length, top + seen + kRowsAround);
    if (first !== this.first || end !== this.end) this.fill(first, end);
  }

  fill(first, end) {
    [this.first, this.end] = [first, end];
    const focused = this.body.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.row : null;
    const space = rows => (rows > 0 && !this.printed
      ? el("tr", {class: "space", "aria-hidden": "true"}, el("td", {colspan: this.spec.columns.length, style: `height: ${rows * kRowHeight}px`})) : null);
    const drawn = [];
    for (let i = first; i < end; ++i) {
      const row = this.rows[i];
      drawn.push(el("tr", {"aria-rowindex": i + 2, "data-row": i, class: this.spec.rowClass?.(row)}, this.spec.columns.map(column => {
        const cell = column.cell ? column.cell(row) : column.value(row);
        return el("td", {class: classOf(column), title: typeof cell === "string" && cell.length > 20 ? cell : null},
          cell === null || cell === undefined || cell === "" ? "–" : typeof cell === "number" ? String(cell) : cell);
      })));
    }
    this.body.replaceChildren(...[space(first), ...drawn, space(this.rows.length - end)].filter(one => one));
    if (focused !== null) this.body.querySelector(`[data-row="${focused}"] button`)?.focus({preventScroll: true});
  }

  /** All rows, in the order shown. */
  csv() {
    return csvText([this.spec.columns.map(column => column.title), ...this.rows.map(row => this.spec.columns.map(column => column.value(row)))]);
  }

  saveButton(name) {
    return el("button", {type: "button", class: "action", onclick: () => saveText(name, this.csv())}, "Save as CSV");
  }
}

function removeTables() {
  longTables.length = 0;
}

for (const [event, printed] of [["beforeprint", true], ["afterprint", false]])
  addEventListener(event, () => longTables.forEach(one => {
    one.printed = printed;
    one.first = -1;
    one.draw();
  }));
