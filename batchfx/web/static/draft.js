// A draft: how the file is read, which column is which field, and its first rows.

import { button, cellText, h, narrowed, swap, uniqueId, WIDE } from "./dom.js";
import { careful, labelled, note, OPTION, options } from "./widget.js";

const ENCODINGS = ["utf-8", "cp1252", "iso-8859-1", "iso-8859-15", "cp1250", "cp1251", "utf-16", "mac-roman", "cp850", "shift_jis", "gb18030"];
const DELIMITERS = [",", ";", "\t", "|"];
const ORDERS = ["dmy", "mdy", "ymd"];
// Options that have a control when some issue names them.
const RARE = { currency_allowed: ["true", "false"], percent: ["fraction", "number"], guards: ["remove", "keep"], two_digit_year: null };
const DECIMALS = [".", ","];
const AUTO = "auto";
const SHOWN_ROWS = 8;
const MOST_CHOICES = 200; // columns in a list; of more, a name is written
const MOST_NAMES = 30;
const PAUSE = 600; // ms

// What the mapping shows in any case, or the widget asks in its own way.
const TOLD = new Set(["unknown_columns", "missing_column"]);

export class DraftView {
  // *started* is told the batch when it has begun, *discarded* when it is cancelled.
  constructor(widget, draft, { started, discarded }) {
    Object.assign(this, { widget, draft, started, discarded, last: Promise.resolve(), waiting: 0, byKeys: false });
    const keys = (isKey) => () => (this.byKeys = isKey);
    this.element = h("div", { class: "stack wide", onkeydown: keys(true), onpointerdown: keys(false) });
    this.trouble = h("div", { class: "stack" });
    this.refusal = h("div", { class: "stack" });
    this.live = h("p", { class: "hidden", role: "status" });
    this.draw();
  }

  say(key, values) {
    return this.widget.say(key, values);
  }

  draw() {
    swap(this.element, this.head(), this.refusal, this.questions(), this.reading(), this.mapping(), this.preview(), this.warnings(), this.trouble, this.actions(), this.live);
    if (this.widget.allowed.has("edit")) return;
    for (const each of this.element.querySelectorAll(".facts :is(input, select), .mapping :is(input, select, button)")) each.disabled = true;
  }

  head() {
    const { batch, layout } = this.draft;
    const kind = `${batch.importer} · ${layout.format.toUpperCase()}`;
    return h("div", { class: "stack near" }, h("h2", {}, this.say("draft.title")), h("p", {}, h("span", { class: "strong" }, batch.source_name), h("span", { class: "soft" }, ` · ${kind}`)));
  }

  // With keys one comes by what is between: only what stays for a moment is meant.
  meant(event, take) {
    const control = event.target;
    if (!this.byKeys) return take(control.value);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => take(control.value), PAUSE);
  }

  // One change after the other, each on top of what the one before has made of the draft.
  change(made) {
    this.waiting += 1;
    this.last = this.last.then(async () => {
      try {
        this.draft = await this.widget.api.patch(`batches/${this.draft.batch.number}/draft`, made(this.draft));
        this.refusal.replaceChildren();
        this.live.textContent = this.say("draft.changed");
      } catch (error) {
        if (error.kind === "illegal_move") await this.widget.overtaken();
        this.refusal.replaceChildren(this.widget.complaint(error));
        this.refusal.scrollIntoView({ block: "nearest" });
      }
      this.waiting -= 1;
      if (!this.waiting) this.draw();
    });
    return this.last;
  }

  set(name, value) {
    return this.change(({ settings }) => {
      const { [name]: _, ...others } = settings;
      return { settings: value === AUTO || value === "" ? others : { ...others, [name]: value } };
    });
  }

  // --- How it is read

  reading() {
    const { layout, settings } = this.draft;
    const found = layout.settings;
    const isText = ["csv", "fixed"].includes(layout.format);
    const controls = [
      "encoding" in found && isText && this.choice("encoding", ENCODINGS, found.encoding, (each) => each.toUpperCase()),
      "delimiter" in found && this.choice("delimiter", DELIMITERS, found.delimiter, (each) => this.sign("delimiter", each)),
      "sheet" in found && this.text("sheet", settings.sheet ?? found.sheet),
      "records" in found && this.text("records", settings.records ?? found.records),
      this.text("header_row", String(settings.header_row ?? layout.header_row), "number"),
      this.choice("date_order", ORDERS, null, (each) => this.say(`date_order.${each}`)),
      this.choice("decimal", DECIMALS, null, (each) => this.sign("decimal", each)),
      ...this.named().map((name) => (RARE[name] ? this.choice(name, RARE[name], null, (each) => this.say(`${name}.${each}`)) : this.text(name, this.draft.settings[name]))),
    ];
    const reasons = Object.entries(layout.reasons).map(([name, reason]) => h("li", {}, `${this.name(name)}: ${reason}`));
    return this.section("read.title", "read.text",
      h("div", { class: "facts" }, controls.filter(Boolean)),
      reasons.length && h("details", { class: "small soft" }, h("summary", {}, this.say("read.why")), h("ul", { class: "stack near" }, reasons)));
  }

  named() {
    const { questions, warnings, rows, settings } = this.draft;
    const messages = [...questions, ...warnings, ...rows.flatMap((each) => each.issues)].map((each) => each.message);
    const names = new Set(messages.flatMap((each) => [...each.matchAll(OPTION)].map((found) => found[1])));
    return Object.keys(RARE).filter((each) => names.has(each) || each in settings);
  }

  name(of) {
    return this.widget.texts.has(`read.${of}`) ? this.say(`read.${of}`) : of;
  }

  sign(name, sign) {
    const key = `${name}.${{ ",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", ".": "point" }[sign]}`;
    return this.widget.texts.has(key) ? this.say(key) : sign;
  }

  choice(name, values, found, text) {
    const said = this.draft.settings[name];
    const chosen = typeof said === "string" ? said : AUTO;
    const known = [...new Set([...values, ...[chosen, found].filter((each) => typeof each === "string" && each !== AUTO)])];
    const auto = found && chosen === AUTO ? this.say("read.found", { value: text(found) }) : this.say("read.auto");
    const entries = [[AUTO, auto], ...known.map((each) => [each, text(each)])];
    const control = h("select", { "data-key": name, onchange: (event) => this.meant(event, (value) => this.set(name, value)) }, options(entries, chosen));
    return labelled(this.say(`read.${name}`), control);
  }

  text(name, value, type = "text") {
    const taken = (event) => this.set(name, type === "number" && event.target.value ? Number(event.target.value) : event.target.value);
    const control = h("input", { type, value: value ?? "", min: type === "number" ? 0 : undefined, "data-key": name, onchange: taken });
    return labelled(this.say(`read.${name}`), control);
  }

  // What only a person can say: 03/04 is in March or in April.
  questions() {
    const asked = [...new Map(this.draft.questions.map((each) => [each.code + each.field, each])).values()];
    if (!asked.length) return null;
    const items = asked.map((each) => h("p", {}, this.widget.plain(each.message)));
    return note("warning", this.say("draft.questions"), ...items);
  }

  // --- Which column is which field

  mapping() {
    const { fields, unused, left_out: left, layout } = this.draft;
    const head = ["map.field", "map.column", "map.first"].map((key) => h("th", { scope: "col" }, this.say(key)));
    const others = [...unused, ...left];
    const names = others.length > MOST_NAMES ? `${others.slice(0, MOST_NAMES).join(", ")} …` : this.widget.texts.list(others);
    this.header = [...new Set(layout.header.map((each, position) => each || this.say("column", { n: position + 1 })))];
    this.names = uniqueId("columns");
    const list = this.header.length > MOST_CHOICES && h("datalist", { id: this.names }, this.header.map((each) => h("option", { value: each })));
    return this.section("map.title", "map.text",
      h("div", { class: "scroll" }, h("table", { class: "table mapping cards" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, fields.map((each) => this.field(each))))),
      list, others.length > 0 && h("p", { class: "small soft" }, this.say("map.unused", { n: others.length, names })));
  }

  field(field) {
    const isMissing = field.is_required && field.column === null;
    const id = `f-${this.draft.batch.number}-${field.name}`;
    const none = this.say(isMissing ? "map.choose" : "map.none");
    const control = this.columnOf(field, none, {
      id, "data-key": id, "aria-describedby": `${id}-how`, "aria-invalid": isMissing ? "true" : undefined, "aria-label": this.say("map.for", { name: field.header }),
    });
    const suggestion = field.suggestion && button(this.say("map.take", { name: field.suggestion }), () => this.map(field, field.suggestion), { kind: "quiet little", "data-key": `${id}-take` });
    const mark = field.is_required && h("span", { class: isMissing ? "need" : "soft" }, ` ${this.say("map.required")}`);
    const how = h("span", { id: `${id}-how`, class: `small ${isMissing ? "need" : "soft"}` }, this.how(field, isMissing));
    return h("tr", {},
      h("th", { scope: "row", "data-label": this.say("map.field") }, h("span", {}, field.header, mark)),
      h("td", { "data-label": this.say("map.column") }, h("div", { class: "stack near" }, control, how, suggestion)),
      h("td", { "data-label": this.say("map.first"), class: "soft" }, this.example(field) || "–"));
  }

  // A list of the columns; of very many, one is named.
  columnOf(field, none, properties) {
    const chosen = field.column ?? "";
    if (this.header.length <= MOST_CHOICES) {
      const taken = (event) => this.meant(event, (column) => this.map(field, column));
      return h("select", { ...properties, onchange: taken }, options([["", none], ...this.header.map((each) => [each, each])], chosen));
    }
    const named = ({ target }) => {
      if (!target.value || this.header.includes(target.value)) this.map(field, target.value);
      else target.value = chosen;
    };
    return h("input", { ...properties, value: chosen, placeholder: none, list: this.names, autocomplete: "off", spellcheck: "false", onchange: named });
  }

  how(field, isMissing) {
    if (field.candidates.length) return this.say("map.candidates", { names: this.widget.texts.list(field.candidates) });
    if (isMissing) return this.say("map.missing");
    return field.match ? this.say(`map.${field.match}`) : this.say("map.optional");
  }

  example(field) {
    if (field.position === null) return "";
    const cells = this.draft.rows.map((each) => each.cells[field.position]);
    return [...new Set(cells.filter(Boolean))].slice(0, 2).join(", ");
  }

  map(field, column) {
    return this.change(({ mapping, fields }) => {
      const now = fields.find((each) => each.name === field.name);
      const kept = Object.entries(mapping).filter(([, name]) => name !== field.name);
      const left = now.column !== null && now.column !== column ? [[now.column, null]] : [];
      return { mapping: Object.fromEntries([...kept, ...left, ...(column ? [[column, field.name]] : [])]) };
    });
  }

  // --- What it holds

  preview() {
    const { layout, rows, fields } = this.draft;
    if (!rows.length) return this.section("preview.title", "preview.empty");
    this.byPosition = new Map(fields.filter((each) => each.position !== null).map((each) => [each.position, each.name]));
    this.told = new Set();
    const columns = layout.header.map((each, position) => ({ position, header: each || this.say("column", { n: position + 1 }), isKept: this.byPosition.has(position) }));
    const shown = narrowed(columns, this.sought ?? "");
    const head = [h("th", { scope: "col" }, this.say("row")), ...shown.map((each) => h("th", { scope: "col" }, each.header))];
    const body = rows.slice(0, SHOWN_ROWS).map((each) => this.row(each, shown));
    return this.section("preview.title", "preview.text",
      columns.length > WIDE && this.widget.finder(shown.length, columns.length, this.sought, (text) => {
        this.sought = text;
        this.draw();
      }),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": this.say("preview.title"), "data-key": "preview" },
        h("table", { class: "table cells" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body))));
  }

  // What is said of a column in many rows is shown once.
  row({ row, cells, issues }, shown) {
    const content = shown.map(({ position }) => {
      const cell = cells[position] ?? null;
      const found = issues.filter((each) => each.field !== null && each.field === this.byPosition.get(position));
      const said = found.map((each) => {
        const isTold = this.told.has(each.field + each.message);
        this.told.add(each.field + each.message);
        return h("p", { class: isTold ? "hidden" : "small" }, this.widget.plain(each.message));
      });
      return h("td", { class: found.length ? "marked" : cell === null ? "empty" : undefined }, cellText(cell), said);
    });
    return h("tr", {}, h("th", { scope: "row", class: "number" }, this.widget.texts.number(row)), content);
  }

  warnings() {
    const told = this.draft.warnings.filter((each) => !TOLD.has(each.code));
    return told.length ? note("warning", this.say("draft.warnings"), h("ul", { class: "stack near" }, told.map((each) => h("li", {}, this.widget.plain(each.message))))) : null;
  }

  section(title, text, ...content) {
    return h("section", { class: "stack" }, h("div", { class: "stack near" }, h("h3", {}, this.say(title)), h("p", { class: "small soft" }, this.say(text))), ...content);
  }

  // --- On from here

  actions() {
    const { batch, missing, fields, imported_before: before } = this.draft;
    const may = (move) => batch.moves.includes(move);
    const names = fields.filter((each) => missing.includes(each.name)).map((each) => each.header);
    const lacks = names.length > 0 && note("warning", this.say("draft.missing", { n: names.length, names: this.widget.texts.list(names) }));
    const earlier = before !== null && note("warning", this.say("draft.before", { batch: String(before) }));
    const off = names.length > 0 ? "true" : undefined;
    const shown = [
      may("start") && button(this.say("check"), (event) => this.start(event.currentTarget, true), { kind: "main", picture: "check", "aria-disabled": off, "data-key": "check" }),
      may("start") && button(this.say("import.now"), (event) => this.start(event.currentTarget, false), { "aria-disabled": off, "data-key": "import" }),
      may("cancel") && careful(this.widget, this.say("discard"), this.say("discard.sure"), (pressed) => this.discard(pressed), "quiet"),
    ];
    return h("div", { class: "stack" }, lacks, earlier, h("div", { class: "line stretch" }, shown.filter(Boolean)));
  }

  async start(pressed, dry, again = false) {
    if (pressed.getAttribute("aria-disabled")) return;
    await this.widget.act(pressed, this.trouble, async () => {
      await this.last;
      try {
        const path = `batches/${this.draft.batch.number}/start`;
        this.started(await this.widget.api.post(path, { dry_run: dry, again }));
      } catch (error) {
        if (error.kind !== "already_imported") throw error;
        this.offerAgain(error, dry);
      }
    });
  }

  offerAgain(error, dry) {
    const anyway = button(this.say("import.again"), (event) => this.start(event.currentTarget, dry, true), { kind: "little" });
    this.trouble.replaceChildren(note("warning", error.message, anyway));
    anyway.focus();
  }

  async discard(pressed) {
    await this.widget.act(pressed, this.trouble, async () => {
      await this.widget.api.post(`batches/${this.draft.batch.number}/cancel`);
      await this.discarded(this.draft.batch.source_name);
    });
  }
}
