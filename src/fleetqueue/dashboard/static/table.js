// A table that draws only the rows in sight, so that ten thousand cost as little as thirty.
// It measures only when its size or place has changed: to ask for them after a change lays the whole page out at once.
// It stays a table for screen readers, also where the style lays its rows out as cards: roles are set by hand.

import { el } from "./elements.js";
import { t } from "./texts.js";

const BEYOND = 8; // rows that are drawn above and below those in sight

export class VirtualTable {
  // columns: [{id, label: () => text, cell: (row) => node or text, number: bool}]; label: () => text
  constructor(parent, { name, label, columns, empty }) {
    Object.assign(this, { label, columns, empty, rows: [], drawn: new Map(), room: 0, top: 0 });
    this.head = el("tr", { role: "row" });
    this.body = el("tbody", { role: "rowgroup" });
    this.above = el("tr", { "aria-hidden": "true", class: "spacer" }, el("td", { colspan: columns.length }));
    this.below = this.above.cloneNode(true);
    this.table = el("table", { role: "table", class: name }, el("thead", { role: "rowgroup" }, this.head), this.body);
    this.none = el("p", { class: "none" });
    this.scroller = el("div", { class: "scroller", tabindex: 0, role: "group" }, this.table, this.none);
    this.scroller.addEventListener("scroll", () => this.measure(), { passive: true });
    new ResizeObserver(() => this.measure()).observe(this.scroller);
    parent.append(this.scroller);
    this.height = this.rowHeight();
  }

  // Show these rows; a row that is the same object as before is not drawn again, unless `anew`.
  show(rows, anew = false) {
    this.rows = rows;
    if (anew) for (const entry of this.drawn.values()) entry.row = null;
    this.head.replaceChildren(...this.columns.map((column) =>
      el("th", { role: "columnheader", scope: "col", class: classOf(column) }, column.label())));
    this.table.setAttribute("aria-rowcount", rows.length + 1);
    this.scroller.setAttribute("aria-label", t("tableOf", this.label(), rows.length));
    this.none.textContent = rows.length ? "" : this.empty();
    this.table.hidden = !rows.length;
    this.draw();
  }

  measure() {
    this.height = this.rowHeight();
    this.room = this.scroller.clientHeight;
    this.top = this.scroller.scrollTop;
    this.draw();
  }

  rowHeight() {
    return parseFloat(getComputedStyle(this.table).getPropertyValue("--row"));
  }

  // Show the first row.
  rewind() {
    this.scroller.scrollTop = this.top = 0;
  }

  draw() {
    const { height, room } = this, top = Math.max(Math.min(this.top, this.rows.length * height - room), 0);
    const first = Math.max(Math.floor(top / height) - BEYOND, 0);
    const last = Math.min(Math.ceil((top + room) / height) + BEYOND, this.rows.length);
    const before = this.drawn;
    this.drawn = new Map();
    const nodes = [];
    for (let number = first; number < last; number += 1) {
      const row = this.rows[number];
      const known = before.get(row.key);
      const entry = known?.row === row ? known : { row, node: this.node(row, known?.node) };
      entry.node.setAttribute("aria-rowindex", number + 2);
      this.drawn.set(row.key, entry);
      nodes.push(entry.node);
    }
    this.above.firstChild.style.height = `${first * height}px`;
    this.below.firstChild.style.height = `${(this.rows.length - last) * height}px`;
    this.place([this.above, ...nodes, this.below]);
  }

  // Put rows in order without touching those that stand right, so that a focused button keeps its focus.
  place(nodes) {
    const wanted = new Set(nodes);
    for (const node of [...this.body.children]) if (!wanted.has(node)) node.remove();
    nodes.forEach((node, index) => {
      if (this.body.children[index] !== node) this.body.insertBefore(node, this.body.children[index] ?? null);
    });
  }

  // Draw a row, into its old element where there is one.
  node(row, old) {
    const active = document.activeElement;
    const focused = old?.contains(active) ? active.closest("td, th")?.cellIndex : undefined;
    const cells = this.columns.map((column, index) => {
      const heads = index ? { role: "cell" } : { role: "rowheader", scope: "row" };
      const attributes = { ...heads, class: classOf(column), "data-label": column.label() };
      return el(index ? "td" : "th", attributes, column.cell(row));
    });
    const node = old ?? el("tr", { role: "row" });
    node.replaceChildren(...cells);
    if (focused !== undefined) node.cells[focused]?.querySelector("button")?.focus();
    return node;
  }
}

const classOf = (column) => `${column.id}${column.number ? " number" : ""}`;
