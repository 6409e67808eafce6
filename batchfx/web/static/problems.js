// What is wrong with a batch, by cause, with one replacement for all rows of a cause.

import { button, h, icon, swap } from "./dom.js";
import { ask, labelled, note, skeleton } from "./widget.js";

const SHOWN = 8;
const PAGE = 1000;
const LONGEST = 500; // characters that are looked for
const MOST_PAGES = 20; // that are counted through

// In how many rows a replacement would be made; a text where there are very many.
export async function countOf(widget, batch, { code, field, value }) {
  let [n, after] = [0, null];
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const { rows, columns, next } = await widget.api.get(`batches/${batch.number}/rows`, { code, field, text: value?.slice(0, LONGEST), after, limit: PAGE });
    const { header } = columns.find((each) => each.field === field);
    n += rows.filter((each) => each.values[header] === value).length;
    if (next === null) return n;
    after = next;
  }
  return `${widget.texts.number(n)}+`;
}

const isMild = (group) => group.level !== "error";

export class ProblemsView {
  // *chosen* is told a group whose rows are to be shown, *changed* that rows were.
  // *titles* says later what the fields are called in the file.
  constructor(widget, batch, { chosen, changed, titles }) {
    Object.assign(this, { widget, batch, chosen, changed, titles, groups: null, open: null, isWhole: false });
    this.element = h("section", { class: "stack", "aria-label": widget.say("problems.title") }, skeleton());
    this.load();
  }

  async load() {
    try {
      const { groups } = await this.widget.api.get(`batches/${this.batch.number}/issues`);
      this.names = await this.titles;
      const isTold = (group) => group.row === null && this.batch.file_issues.some((each) => each.code === group.code && each.field === group.field);
      this.groups = groups.filter((each) => !isTold(each)).sort((one, other) => isMild(one) - isMild(other));
      this.draw();
    } catch (error) {
      swap(this.element, this.widget.complaint(error, () => this.load()));
    }
  }

  draw() {
    const { widget, groups, told } = this;
    const title = h("h3", {}, widget.say("problems.title"));
    this.element.hidden = !groups.length && !told && this.batch.state === "completed";
    if (!groups.length) return swap(this.element, title, told ?? h("p", { class: "soft" }, widget.say("problems.none")));
    const shown = this.isWhole ? groups : groups.slice(0, SHOWN);
    const more = shown.length < groups.length && button(widget.say("problems.more", { n: groups.length - shown.length }), () => {
      this.isWhole = true;
      this.draw();
    }, { kind: "quiet" });
    swap(this.element, title, told, h("ul", { class: "groups" }, shown.map((each) => this.item(each))), more);
  }

  item(group) {
    const { widget, batch } = this;
    const key = `${group.code}-${group.field}-${group.level}`;
    const canFix = group.field !== null && group.phase !== "file" && group.level === "error" && batch.moves.includes("edit");
    const fix = canFix && button(widget.say("fix"), () => {
      this.open = this.open === key ? null : key;
      this.told = null;
      this.draw();
      this.element.querySelector(".fix input")?.focus();
    }, { kind: "quiet little", "aria-expanded": this.open === key ? "true" : "false", "data-key": `fix-${key}` });
    const rows = group.row !== null && button(widget.say("problems.show"), () => this.chosen(group), { kind: "quiet little", "data-key": `rows-${key}` });
    const field = group.field && h("span", { class: "small soft" }, this.names.get(group.field) ?? group.field);
    const text = h("div", {}, h("p", {}, widget.plain(group.message)), field);
    const count = h("span", { class: "count" }, widget.texts.number(group.count), h("span", { class: "hidden" }, ` ${widget.say("rows.word", { n: group.count })}`));
    return h("li", { class: isMild(group) ? "" : "invalid" },
      h("div", { class: "line apart" },
        h("div", { class: "line begin" }, icon("alert"), count, text),
        h("div", { class: "line" }, rows, fix)),
      this.open === key && this.form(group));
  }

  form(group) {
    const { widget } = this;
    const value = h("input", { value: group.value ?? "", autocomplete: "off", spellcheck: "false" });
    const replacement = h("input", { value: group.suggestion ?? "", autocomplete: "off", spellcheck: "false" });
    const trouble = h("div", { class: "stack" });
    const apply = (event) => {
      event.preventDefault();
      const said = { code: group.code, field: group.field, value: value.value || null, replacement: replacement.value || null };
      widget.act(submit, trouble, () => this.askFix(said, submit, trouble));
    };
    const submit = h("button", { class: "button main" }, widget.say("fix.apply"));
    return h("form", { class: "stack", onsubmit: apply }, h("div", { class: "fix" }, labelled(widget.say("fix.value"), value), labelled(widget.say("fix.by"), replacement), submit), trouble);
  }

  // Says in how many rows it would be, before it is done.
  async askFix(said, submit, trouble) {
    const { widget, batch } = this;
    const n = await countOf(widget, batch, said);
    if (!n) return this.fix(said);
    const back = () => {
      trouble.replaceChildren();
      submit.focus();
    };
    const question = widget.say("fix.sure", { n, value: said.value ?? "–", by: said.replacement ?? "–" });
    ask(widget, trouble, question, () => widget.act(submit, trouble, () => this.fix(said)), back);
  }

  async fix(said) {
    const { widget, batch } = this;
    const { changed } = await widget.api.post(`batches/${batch.number}/issues/fix`, said);
    this.open = null;
    this.told = note(changed ? "good" : "plain", widget.say(changed ? "fix.done" : "fix.nothing", { n: changed }));
    this.draw();
    if (changed) await this.changed();
  }
}
