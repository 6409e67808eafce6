// The rows of a batch in a grid: read them, filter them, mend their cells in place.
// Keys: arrows, Home, End (with Ctrl: the corners), Enter or F2 edits, Escape gives up.

import { button, h, swap } from "./dom.js";
import { labelled, note, options, skeleton } from "./widget.js";
import { VERDICTS } from "./progress.js";

const PAGE = 50;
const TYPED = 300; // ms after the last key
const PATIENCE = 40; // pages without a match, until a person is asked
const TERMINAL = ["created", "updated", "unchanged", "skipped"];

export const editable = (row) => !TERMINAL.includes(row.verdict);

export class GridView {
  // *changed* is told that rows have changed.
  constructor(widget, batch, { changed }) {
    Object.assign(this, { widget, batch, changed, columns: [], rows: new Map(), drawn: new WeakMap(), selected: new Set(), at: [0, 0] });
    this.filter = { verdict: this.worst(), code: "", field: "", text: "" };
    this.element = h("section", { class: "stack", "aria-label": widget.say("grid.title") });
    this.filters = h("div", { class: "facts" });
    this.notes = h("div", { class: "stack near" });
    this.marks = h("div", { class: "line" });
    this.place = h("div", { class: "stack" });
    this.live = h("p", { class: "hidden", role: "status" });
    this.element.append(h("h3", {}, widget.say("grid.title")), this.filters, this.marks, this.notes, this.place, this.live);
    this.drawFilters();
    this.titles = this.load().then(() => new Map(this.columns.map((each) => [each.field, each.header])));
  }

  say(key, values) {
    return this.widget.say(key, values);
  }

  worst() {
    return ["invalid", "failed", "unknown"].find((each) => this.batch.tally[each]) ?? "";
  }

  get path() {
    return `batches/${this.batch.number}/rows`;
  }

  // --- Which rows

  drawFilters() {
    const { tally } = this.batch;
    const label = (each) => `${this.say(`verdict.${each}`)} (${this.widget.texts.number(tally[each])})`;
    const entries = [["", this.say("grid.all", { n: this.batch.total })], ...VERDICTS.filter((each) => tally[each] || each === this.filter.verdict).map((each) => [each, label(each)])];
    const verdict = h("select", { "data-key": "verdict", onchange: (event) => this.refine({ verdict: event.target.value }) }, options(entries, this.filter.verdict));
    const text = h("input", { type: "search", value: this.filter.text, "data-key": "text", oninput: (event) => this.typed(event.target.value) });
    const { code, field } = this.filter;
    const title = this.columns.find((each) => each.field === field)?.header;
    const only = code && button(this.say("grid.only", { name: title ? `${title}: ${code}` : code }), () => this.refine({ code: "", field: "" }), { kind: "little", picture: "cross", "data-key": "only" });
    swap(this.filters, labelled(this.say("grid.verdict"), verdict), labelled(this.say("grid.text"), text), only && h("div", { class: "line end" }, only));
  }

  typed(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refine({ text }), TYPED);
  }

  refine(change) {
    Object.assign(this.filter, change);
    if ("code" in change) this.drawFilters();
    return this.load();
  }

  // Shows the rows of a group of problems.
  async only(group) {
    await this.refine({ verdict: "", code: group.code, field: group.field ?? "", text: "" });
    this.element.scrollIntoView({ block: "nearest" });
    this.cellAt(...this.at)?.focus();
  }

  async load() {
    this.rows.clear();
    this.selected.clear();
    this.at = [0, 0];
    this.next = null;
    this.drawMarks();
    if (!this.table) swap(this.place, skeleton());
    await this.more();
  }

  // A page may be empty and still have a next one: the server looks at so much at once.
  async more() {
    const turn = (this.turn = Symbol("turn"));
    this.place.setAttribute("aria-busy", "true");
    try {
      for (let page = 0, found = 0; page < PATIENCE && found < PAGE; page += 1) {
        const answer = await this.widget.api.get(this.path, { ...this.filter, after: this.next, limit: PAGE });
        if (turn !== this.turn) return;
        this.columns = answer.columns;
        for (const row of answer.rows) this.rows.set(row.row, row);
        found += answer.rows.length;
        this.next = answer.next;
        if (this.next === null) break;
        if (answer.rows.length) this.draw();
      }
      this.draw();
    } catch (error) {
      if (turn !== this.turn) return;
      this.table = null;
      swap(this.place, this.widget.complaint(error, () => this.more()));
    } finally {
      this.place.removeAttribute("aria-busy");
    }
  }

  // --- The table

  // Rows that are drawn already stay as they are, with the cell that somebody edits.
  draw() {
    const rows = [...this.rows.values()];
    const active = this.element.getRootNode().activeElement;
    const more = this.next !== null && button(this.say("grid.more"), () => this.more(), { "data-key": "more" });
    if (!rows.length) {
      this.table = null;
      return swap(this.place, h("p", { class: "soft" }, this.say(this.batch.total ? "grid.none" : "grid.empty")), more && h("div", {}, more));
    }
    const titles = [this.say("row"), this.say("grid.verdict"), this.say("grid.problem"), ...this.columns.map((each) => each.header)];
    const pick = h("th", { scope: "col", role: "columnheader" }, h("span", { class: "hidden" }, this.say("grid.pick")));
    const head = titles.map((each) => h("th", { scope: "col", role: "columnheader" }, each));
    this.body = h("tbody", { role: "rowgroup" }, rows.map((each) => this.drawn.get(each) ?? this.line(each)));
    this.table = h("table", {
      class: "table cells cards", role: "grid", "aria-label": this.say("grid.title"), "aria-rowcount": this.next === null ? rows.length + 1 : -1,
      onkeydown: (event) => this.key(event), onfocusin: (event) => this.entered(event), onclick: (event) => this.clicked(event),
    }, h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, pick, head)), this.body);
    swap(this.place, h("p", { class: "small soft" }, this.say(this.batch.moves.includes("edit") ? "grid.keys" : "grid.read")), h("div", { class: "scroll" }, this.table), more && h("div", {}, more));
    this.rove(...this.at);
    if (this.table.contains(active)) active.focus({ preventScroll: true });
    this.live.textContent = this.say("rows", { n: rows.length });
  }

  // Draws one row anew; what had the focus in it keeps it.
  redraw(row) {
    this.rows.set(row.row, row);
    const before = this.body?.querySelector(`[data-row="${row.row}"]`);
    if (!before) return;
    const hadFocus = before.contains(before.getRootNode().activeElement);
    before.replaceWith(this.line(row));
    this.rove(...this.at);
    if (hadFocus) this.cellAt(...this.at)?.focus();
  }

  line(row) {
    const { widget } = this;
    const cell = (label, kind, ...content) => h("td", { role: "gridcell", tabindex: -1, "data-label": label, class: kind }, ...content);
    const may = this.batch.moves.includes("edit") && editable(row);
    const number = widget.texts.number(row.row);
    const pick = may && h("input", { type: "checkbox", tabindex: -1, checked: this.selected.has(row.row), "aria-label": this.say("grid.pick.row", { row: number }), onchange: (event) => this.pick(row.row, event.target.checked) });
    const link = widget.rowLink?.(this.batch.number, row.row);
    const name = link ? h("a", { class: "whole", href: link, tabindex: -1 }, number) : number;
    const told = row.issues.map((each) => h("p", {}, widget.plain(each.message)));
    const line = h("tr", { role: "row", "data-row": row.row, class: row.verdict },
      cell(this.say("grid.pick"), "", pick),
      h("th", { role: "rowheader", scope: "row", tabindex: -1, class: "number", "data-label": this.say("row") }, name),
      cell(this.say("grid.verdict"), "", h("span", { class: "verdict" }, h("i", { class: "dot" }), this.say(`verdict.${row.verdict}`, { n: 1 }))),
      cell(this.say("grid.problem"), "wordy", h("div", {}, told.length ? told : row.reason ?? "–")),
      this.columns.map((column) => this.value(row, column, may, cell)));
    this.drawn.set(row, line);
    return line;
  }

  value(row, column, may, cell) {
    const value = row.values[column.header];
    const isWrong = column.field !== null && row.issues.some((each) => each.field === column.field);
    const kinds = [isWrong && "marked", may && column.field !== null && "editable", value === null && "empty"];
    const made = cell(column.header, kinds.filter(Boolean).join(" "), h("span", {}, value ?? "–"));
    if (may && column.field !== null) made.dataset.field = column.field;
    if (this.batch.moves.includes("edit") && !made.dataset.field) made.setAttribute("aria-readonly", "true");
    return made;
  }

  // --- Keys: one cell can be reached with Tab, the arrows move on from there

  get lines() {
    return this.body ? [...this.body.children] : [];
  }

  cellAt(line, place) {
    return this.lines[line]?.children[place];
  }

  rove(line, place) {
    for (const each of this.body.querySelectorAll("[tabindex='0']")) each.tabIndex = -1;
    this.at = [Math.min(line, this.lines.length - 1), place];
    const cell = this.cellAt(...this.at);
    if (cell) cell.tabIndex = 0;
  }

  placeOf(target) {
    const cell = target.closest("[role=gridcell], [role=rowheader]");
    if (!cell) return null;
    return [this.lines.indexOf(cell.parentElement), [...cell.parentElement.children].indexOf(cell)];
  }

  entered(event) {
    const place = this.placeOf(event.target);
    if (place) this.rove(...place);
  }

  clicked(event) {
    const cell = event.target.closest("[data-field]");
    if (cell && !cell.querySelector("input")) this.edit(cell);
  }

  key(event) {
    if (event.target.closest(".editing")) return;
    const [line, place] = this.at;
    const last = [this.lines.length - 1, (this.lines[0]?.children.length ?? 1) - 1];
    const isFar = event.ctrlKey || event.metaKey;
    const to = {
      ArrowDown: [line + 1, place], ArrowUp: [line - 1, place], ArrowRight: [line, place + 1], ArrowLeft: [line, place - 1],
      Home: [isFar ? 0 : line, 0], End: [isFar ? last[0] : line, last[1]], PageDown: [line + 10, place], PageUp: [line - 10, place],
    }[event.key];
    if (to) {
      event.preventDefault();
      const inside = to.map((each, axis) => Math.max(0, Math.min(last[axis], each)));
      this.cellAt(...inside)?.focus();
    } else if (event.key === "Enter" || event.key === "F2" || event.key === " ") this.enter(event);
  }

  enter(event) {
    const cell = event.target.closest("[role=gridcell], [role=rowheader]");
    if (!cell || event.target !== cell) return;
    event.preventDefault();
    const inner = cell.querySelector("input, a");
    if (cell.dataset.field && event.key !== " ") this.edit(cell);
    else inner?.click();
  }

  // --- Mending a cell

  edit(cell) {
    const row = this.rows.get(Number(cell.parentElement.dataset.row));
    const column = this.columns.find((each) => each.field === cell.dataset.field);
    const issue = row.issues.find((each) => each.field === column.field);
    const before = column.is_hidden ? "" : row.values[column.header] ?? "";
    const name = this.say("grid.cell", { name: column.header, row: this.widget.texts.number(row.row) });
    const input = h("input", { value: before, "aria-label": name, autocomplete: "off", spellcheck: "false" });
    const trouble = h("div", { class: "stack" });
    const leave = () => {
      this.redraw(this.rows.get(row.row));
      this.cellAt(...this.at)?.focus();
    };
    const save = button(this.say("save"), () => this.save(save, trouble, row, column, input.value), { kind: "little main" });
    const all = issue && !column.is_hidden && button(this.say("grid.everywhere"), () => this.everywhere(all, trouble, row, issue, column, input.value), { kind: "little" });
    const no = button(this.say("no.edit"), leave, { kind: "little quiet" });
    const keys = (event) => {
      if (event.key === "Escape") leave();
      if (event.key === "Enter" && event.target === input) {
        event.preventDefault();
        save.click();
      }
    };
    cell.replaceChildren(h("div", { class: "editing", onkeydown: keys }, input, h("div", { class: "line" }, [save, all, no].filter(Boolean)), trouble));
    input.focus();
    input.select();
  }

  async save(pressed, trouble, row, column, text) {
    await this.widget.act(pressed, trouble, async () => {
      const said = { values: { [column.field]: text || null }, version: row.version };
      try {
        const now = await this.widget.api.patch(`${this.path}/${row.row}`, said);
        this.notes.replaceChildren();
        this.settle(now);
        this.live.textContent = this.say(now.issues.length ? "grid.still" : "grid.mended", { row: row.row });
        await this.changed();
      } catch (error) {
        if (error.kind !== "conflict") throw error;
        await this.conflict(error, row, column, text);
      }
    });
  }

  settle(row) {
    this.redraw(row);
    this.cellAt(...this.at)?.focus();
  }

  // Somebody was first: show what it is now, and let the text be written over that.
  async conflict(error, row, column, text) {
    const { row: now, revisions } = await this.widget.api.get(`${this.path}/${row.row}`);
    this.settle(now);
    const values = { row: row.row, name: column.header, who: revisions.at(-1)?.who ?? "–", value: now.values[column.header] ?? "–", mine: text || "–" };
    const trouble = h("div", { class: "stack" });
    const mine = button(this.say("conflict.mine"), () => this.save(mine, trouble, now, column, text), { kind: "little" });
    const theirs = button(this.say("conflict.theirs"), () => {
      this.notes.replaceChildren();
      this.cellAt(...this.at)?.focus();
    }, { kind: "little" });
    const choice = editable(now) ? [theirs, mine] : [theirs];
    this.notes.replaceChildren(note("error", this.say("conflict", values), h("div", { class: "line" }, choice), trouble));
    theirs.focus();
  }

  async everywhere(pressed, trouble, row, issue, column, text) {
    await this.widget.act(pressed, trouble, async () => {
      const said = { code: issue.code, field: column.field, value: row.values[column.header], replacement: text || null };
      const { changed } = await this.widget.api.post(`batches/${this.batch.number}/issues/fix`, said);
      this.notes.replaceChildren(note("good", this.say("fix.done", { n: changed })));
      await this.load();
      this.cellAt(0, 0)?.focus();
      await this.changed();
    });
  }

  // --- Rows that are marked

  pick(row, isMarked) {
    if (isMarked) this.selected.add(row);
    else this.selected.delete(row);
    this.drawMarks();
  }

  drawMarks() {
    const n = this.selected.size;
    if (!n) return this.marks.replaceChildren();
    const work = (name) => (event) => this.settleMarked(name, event.currentTarget);
    swap(this.marks, h("span", { class: "strong" }, this.say("grid.marked", { n })),
      button(this.say("exclude"), work("exclude"), { kind: "little", "data-key": "exclude" }),
      button(this.say("approve"), work("approve"), { kind: "little", "data-key": "approve" }));
  }

  async settleMarked(name, pressed) {
    await this.widget.act(pressed, this.notes, async () => {
      const { changed } = await this.widget.api.post(`${this.path}/${name}`, { rows: [...this.selected] });
      this.notes.replaceChildren(note("good", this.say(`${name}.done`, { n: changed })));
      await this.load();
      await this.changed();
    });
  }

  // The batch is another now; the rows that are shown stay as they are.
  update(batch) {
    const isSame = JSON.stringify(batch.tally) === JSON.stringify(this.batch.tally);
    this.batch = batch;
    if (!isSame) this.drawFilters();
  }
}
