// The rows of a batch in a grid: read them, filter them, mend their cells in place.
// Keys: arrows, Home, End (with Ctrl: the corners), Enter, F2 or any sign edits, Escape
// gives up.

import { button, h, narrowed, swap, WIDE } from "./dom.js";
import { countOf } from "./problems.js";
import { VERDICTS, verdictKey } from "./progress.js";
import { ask, labelled, note, options, skeleton } from "./widget.js";

const PAGE = 50;
const TYPED = 300; // ms after the last key
const PATIENCE = 40; // pages without a match, until a person is asked
const TERMINAL = ["created", "updated", "unchanged", "skipped"];

export const editable = (row) => !TERMINAL.includes(row.verdict);

export class GridView {
  // *changed* is told that rows have changed.
  constructor(widget, batch, { changed }) {
    Object.assign(this, { widget, batch, changed, columns: [], shown: [], rows: new Map(), drawn: new WeakMap(), selected: new Set(), at: [0, 0] });
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
    const label = (each) => `${this.say(verdictKey(each, this.batch), { n: tally[each] })} (${this.widget.texts.number(tally[each])})`;
    const entries = [["", this.say("grid.all", { n: this.batch.total })], ...VERDICTS.filter((each) => tally[each] || each === this.filter.verdict).map((each) => [each, label(each)])];
    const verdict = h("select", { "data-key": "verdict", onchange: (event) => this.refine({ verdict: event.target.value }) }, options(entries, this.filter.verdict));
    const text = h("input", { type: "search", value: this.filter.text, "data-key": "text", oninput: (event) => this.typed(event.target.value) });
    const { code, field } = this.filter;
    const title = this.columns.find((each) => each.field === field)?.header;
    const only = code && button(this.say("grid.only", { name: title ? `${title}: ${code}` : code }), () => this.refine({ code: "", field: "" }), { kind: "little", picture: "cross", "data-key": "only" });
    const finder = this.columns.length > WIDE && this.widget.finder(this.shown.length, this.columns.length, this.sought, (sought) => this.seek(sought));
    swap(this.filters, labelled(this.say("grid.verdict"), verdict), labelled(this.say("grid.text"), text), finder, only && h("div", { class: "line end" }, only));
  }

  // Of very many columns, those whose names have a text.
  async seek(text) {
    if (!(await this.settled())) return;
    this.sought = text;
    this.drawn = new WeakMap();
    this.take(this.columns);
    this.draw();
  }

  take(columns) {
    this.columns = columns;
    for (const each of columns) each.isKept = each.field !== null;
    this.shown = narrowed(columns, this.sought ?? "");
    if (columns.length > WIDE) this.drawFilters();
  }

  typed(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refine({ text }), TYPED);
  }

  // What is being written is saved first; where it can't be, the rows stay.
  async refine(change) {
    if (!(await this.settled())) return this.drawFilters();
    Object.assign(this.filter, change);
    if ("code" in change) this.drawFilters();
    return this.load();
  }

  // Somebody else may have changed rows; what is being written or marked here stays.
  refresh() {
    if (!this.editor && !this.selected.size) return this.load();
  }

  // Shows the rows of a group of problems.
  async only(group) {
    await this.refine({ verdict: "", code: group.code, field: group.field ?? "", text: "" });
    this.element.scrollIntoView({ block: "nearest" });
    this.cellAt(...this.at)?.focus();
  }

  // The rows that are shown can be used until the others are there.
  async load() {
    this.selected.clear();
    if (!this.editor) this.at = [0, 0];
    this.next = null;
    this.isStale = true;
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
        if (this.columns.length !== answer.columns.length) this.take(answer.columns);
        this.receive(answer.rows);
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

  // The row of an open editor stays as the editor knows it.
  receive(rows) {
    const kept = this.editor?.row;
    if (this.isStale) this.rows.clear();
    for (const each of rows) this.rows.set(each.row, each.row === kept?.row ? kept : each);
    if (this.isStale && kept) this.rows.set(kept.row, kept);
    this.isStale = false;
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
    const titles = [this.say("row"), this.say("grid.verdict"), this.say("grid.problem"), ...this.shown.map((each) => each.header)];
    const pick = h("th", { scope: "col", role: "columnheader" }, h("span", { class: "hidden" }, this.say("grid.pick")));
    const head = titles.map((each) => h("th", { scope: "col", role: "columnheader" }, each));
    this.body = h("tbody", { role: "rowgroup" }, rows.map((each) => this.drawn.get(each) ?? this.line(each)));
    this.table = h("table", {
      class: "table cells cards", role: "grid", "aria-label": this.say("grid.title"), "aria-rowcount": this.next === null ? rows.length + 1 : -1,
      onkeydown: (event) => this.key(event), onfocusin: (event) => this.entered(event), onclick: (event) => this.clicked(event), onpaste: (event) => this.pasted(event),
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
      cell(this.say("grid.verdict"), "", h("span", { class: "verdict" }, h("i", { class: "dot" }), this.say(verdictKey(row.verdict, this.batch), { n: 1 }))),
      cell(this.say("grid.problem"), "wordy", h("div", {}, told.length ? told : row.reason ?? "–")),
      this.shown.map((column) => this.value(row, column, may, cell)));
    this.drawn.set(row, line);
    return line;
  }

  value(row, column, may, cell) {
    const value = row.values[column.header];
    const isWrong = column.field !== null && row.issues.some((each) => each.field === column.field);
    const kinds = [isWrong && "marked", may && column.field !== null && "editable", value === null && "empty"];
    const made = cell(column.header, kinds.filter(Boolean).join(" "), h("span", { class: "text" }, value ?? "–"));
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

  // One value goes into one cell; a range of a spreadsheet has more.
  pasted(event) {
    const cell = event.target.closest("[data-field]");
    if (!cell || event.target.closest(".editing")) return;
    event.preventDefault();
    const text = event.clipboardData.getData("text/plain").replace(/\r?\n$/, "");
    if (/[\t\n]/.test(text)) this.notes.replaceChildren(note("warning alert", this.say("grid.range")));
    else this.edit(cell, text);
  }

  key(event) {
    if (event.target.closest(".editing")) return;
    const isSign = event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (isSign && event.target.dataset.field) {
      event.preventDefault();
      return this.edit(event.target, event.key);
    }
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

  get isWriting() {
    return Boolean(this.editor && this.editor.input.value !== this.editor.before);
  }

  // True when nothing is being written any more: an open editor is saved first.
  async settled() {
    const { editor } = this;
    if (!editor) return true;
    const active = this.element.getRootNode().activeElement;
    if (!this.isWriting) editor.leave();
    else await this.save(editor.pressed, editor.trouble, editor.row, editor.column, editor.input.value);
    if (this.editor) this.editor.input.focus();
    else if (active?.isConnected) active.focus();
    return !this.editor;
  }

  // Puts an editor into a cell, with its value or what was *written* there at once.
  async edit(cell, written) {
    const number = Number(cell.parentElement.dataset.row);
    const { field } = cell.dataset;
    if (this.editor && !(await this.settled())) return;
    const row = this.rows.get(number);
    const place = this.body.querySelector(`[data-row="${number}"] [data-field="${CSS.escape(field)}"]`);
    if (!row || !place) return;
    this.open(place, row, this.columns.find((each) => each.field === field), written);
  }

  open(cell, row, column, written) {
    const issue = row.issues.find((each) => each.field === column.field);
    const before = column.is_hidden ? "" : row.values[column.header] ?? "";
    const name = this.say("grid.cell", { name: column.header, row: this.widget.texts.number(row.row) });
    const input = h("input", { value: written ?? before, "aria-label": name, autocomplete: "off", spellcheck: "false" });
    const trouble = h("div", { class: "stack" });
    const leave = () => {
      this.editor = null;
      this.redraw(this.rows.get(row.row));
      this.cellAt(...this.at)?.focus();
    };
    const save = button(this.say("save"), () => this.save(save, trouble, row, column, input.value), { kind: "little main" });
    const all = issue && !column.is_hidden && button(this.say("grid.everywhere"), () => this.everywhere(all, trouble, row, issue, column, input), { kind: "little" });
    const no = button(this.say("no.edit"), leave, { kind: "little quiet" });
    const keys = (event) => {
      if (event.key === "Escape") leave();
      if (event.key === "Enter" && event.target === input) {
        event.preventDefault();
        save.click();
      }
    };
    cell.replaceChildren(h("div", { class: "editing", onkeydown: keys }, input, h("div", { class: "line" }, [save, all, no].filter(Boolean)), trouble));
    this.editor = { input, before, leave, pressed: save, trouble, row, column };
    input.focus();
    if (written === undefined) input.select();
  }

  async save(pressed, trouble, row, column, text) {
    await this.widget.act(pressed, trouble, async () => {
      const said = { values: { [column.field]: text || null }, version: row.version };
      try {
        const now = await this.widget.api.patch(`${this.path}/${row.row}`, said);
        this.notes.replaceChildren();
        this.editor = null;
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
    this.editor = null;
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

  // Replaces a value in every row with this problem, once it is said in how many.
  async everywhere(pressed, trouble, row, issue, column, input) {
    const replacement = input.value || null;
    const said = { code: issue.code, field: column.field, value: row.values[column.header], replacement };
    const back = () => {
      trouble.replaceChildren();
      pressed.focus();
    };
    await this.widget.act(pressed, trouble, async () => {
      const n = await countOf(this.widget, this.batch, said);
      const question = this.say("fix.sure", { n, value: said.value ?? "–", by: replacement ?? "–" });
      ask(this.widget, trouble, question, () => this.replace(pressed, trouble, said), back);
    });
  }

  async replace(pressed, trouble, said) {
    await this.widget.act(pressed, trouble, async () => {
      const { changed } = await this.widget.api.post(`batches/${this.batch.number}/issues/fix`, said);
      this.notes.replaceChildren(note("good", this.say("fix.done", { n: changed })));
      this.editor = null;
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

  // Only what is faulty can be settled: a valid row is imported or left out.
  drawMarks() {
    const n = this.selected.size;
    if (!n) return this.marks.replaceChildren();
    const isFaulty = [...this.selected].every((each) => this.rows.get(each)?.verdict !== "pending");
    const shown = ["exclude", isFaulty && "approve"].filter(Boolean).map((name) => button(this.say(name), () => this.askMarked(name), { kind: "little", "data-key": name }));
    swap(this.marks, h("span", { class: "strong" }, this.say("grid.marked", { n })), shown);
  }

  // It is for good, so it is said what becomes of how many rows.
  async askMarked(name) {
    if (!(await this.settled())) return;
    const back = () => {
      this.drawMarks();
      this.marks.querySelector(`[data-key=${name}]`)?.focus();
    };
    ask(this.widget, this.marks, this.say(`${name}.sure`, { n: this.selected.size }), (yes) => this.settleMarked(name, yes), back);
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
    const isSame = JSON.stringify([batch.tally, batch.state]) === JSON.stringify([this.batch.tally, this.batch.state]);
    this.batch = batch;
    if (!isSame) this.drawFilters();
  }
}
