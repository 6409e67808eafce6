// <batchfx-import type="customers">: a file's whole way, from the choice of the file to
// the last mended row. With batch="7" it goes on with one that is there already.

import { newKey } from "./api.js";
import { button, h, icon, swap } from "./dom.js";
import { DraftView } from "./draft.js";
import { ENDED } from "./follow.js";
import { GridView } from "./grid.js";
import { ProblemsView } from "./problems.js";
import { ProgressView } from "./progress.js";
import { labelled, note, options, Widget } from "./widget.js";

const STEPS = ["file", "columns", "check", "import"];
const FORMATS = ["csv", "xlsx", "json"];
const LONGEST = 15000; // ms between two tries to send a file
const QUESTIONS = ["ambiguous_date", "ambiguous_number"];

// A file that is dropped beside the zone would be opened by the browser, and the page left.
function spare(event) {
  if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "none";
}

// Answers to what was asked about a file, as the API takes them.
const setOf = (said) => ({ set: Object.entries(said).map(([name, value]) => `${name}=${JSON.stringify(value)}`) });

export class BatchfxImport extends Widget {
  static observedAttributes = [...Widget.observedAttributes, "type", "batch"];

  async begin(isCurrent) {
    this.isCurrent = isCurrent;
    this.allowed = new Set((await this.api.get("session")).permissions);
    const number = this.getAttribute("batch") || this.number;
    this.wanted = number && ["batch", number];
    if (!isCurrent()) return;
    if (!number) return this.offer();
    const batch = await this.api.get(`batches/${encodeURIComponent(number)}`);
    if (isCurrent()) await this.open(batch);
  }

  // The batch that a file has become stays when the element is taken out and put back.
  attributeChangedCallback(name, before, after) {
    if (["type", "batch"].includes(name) && before !== after) this.number = this.kind = null;
    super.attributeChangedCallback(name, before, after);
  }

  connectedCallback() {
    document.addEventListener("dragover", spare);
    document.addEventListener("drop", spare);
    this.onleave = (event) => this.grid?.isWriting && event.preventDefault();
    addEventListener("beforeunload", this.onleave);
    super.connectedCallback();
  }

  disconnectedCallback() {
    document.removeEventListener("dragover", spare);
    document.removeEventListener("drop", spare);
    removeEventListener("beforeunload", this.onleave);
    super.disconnectedCallback();
  }

  returned() {
    if (this.progress) this.progress.follow();
    else if (!this.draft) this.restart();
  }

  leave() {
    super.leave();
    this.sending?.abort();
    this.progress?.stop();
    this.progress = this.draft = null;
  }

  // The address of a row's own page, by row-link="/batches/{batch}/rows/{row}".
  rowLink(batch, row) {
    return this.getAttribute("row-link")?.replace("{batch}", batch).replace("{row}", row);
  }

  steps(now) {
    const items = STEPS.map((each, place) => {
      const at = STEPS.indexOf(now);
      return h("li", { class: place < at ? "past" : "", "aria-current": place === at ? "step" : undefined }, this.say(`step.${each}`));
    });
    return h("ol", { class: "steps", "aria-label": this.say("steps") }, items);
  }

  async open(batch) {
    this.progress?.stop();
    this.progress = this.draft = null;
    this.number = batch.number;
    if (batch.state !== "draft") return this.result(batch);
    const draft = await this.api.get(`batches/${batch.number}/draft`);
    this.draft = new DraftView(this, draft, { started: (begun) => this.result(begun), discarded: (name) => this.discarded(name) });
    this.show(this.steps("columns"), this.draft.element);
    this.land();
  }

  discarded(name) {
    this.forget();
    this.tell("batchfx-discarded", {});
    return this.offer(note("good", this.say("draft.discarded", { name })));
  }

  forget() {
    this.progress?.stop();
    this.progress = this.draft = this.number = null;
  }

  // The focus follows the way: to the headline of what is new.
  land() {
    const headline = this.shadowRoot.querySelector("h2, h3");
    if (!this.hasLanded || !headline) return void (this.hasLanded = true);
    headline.tabIndex = -1;
    headline.focus({ preventScroll: true });
    if (this.getBoundingClientRect().top < 0) this.scrollIntoView();
  }

  // --- The file

  async offer(problem) {
    if (!this.allowed.has("upload")) return this.show(problem, note("plain", this.say("file.forbidden")));
    const type = this.getAttribute("type");
    const types = await this.types();
    const names = types.map((each) => each.name);
    if (type && types.length && !names.includes(type)) return this.show(note("error", this.say("type.unknown", { name: type, names: this.texts.list(names) })));
    if (!type && !types.length) return this.show(problem, h("p", { class: "soft" }, this.say("type.none")));
    this.kind = type ?? (names.length === 1 ? names[0] : this.kind);
    const trouble = h("div", { class: "stack" }, problem);
    const chooser = !type && this.chooser(types, trouble);
    const take = (file) => this.take(file, chooser, trouble);
    this.show(this.steps("file"), h("h2", {}, this.say("file.title")), chooser && labelled(this.say("type"), chooser), this.drop("file.choose", "file.kinds", take, trouble), trouble);
    this.land();
  }

  // The kinds of import that there are; none for those who may not know.
  async types() {
    try {
      return (await this.api.get("importers")).importers;
    } catch (error) {
      if (error.status === 403) return [];
      throw error;
    }
  }

  chooser(types, trouble) {
    const entries = types.map((each) => [each.name, each.summary ? `${each.name} – ${each.summary}` : each.name]);
    const known = types.length > 1 ? [["", this.say("type.choose")], ...entries] : entries;
    const chosen = (event) => {
      this.kind = event.target.value;
      if (!this.held) trouble.replaceChildren();
    };
    return h("select", { "data-key": "type", onchange: chosen }, options(known, this.kind ?? ""));
  }

  // A file waits for a person to say what is in it.
  take(file, chooser, trouble) {
    this.held = this.kind ? null : file;
    if (this.kind) return this.send(file, this.kind);
    const on = button(this.say("file.on"), () => this.take(file, chooser, trouble), { kind: "little" });
    trouble.replaceChildren(note("warning alert", this.say("type.first", { name: file.name }), on));
    chooser.focus();
  }

  // Where a file can be dropped; what isn't one file is refused in *trouble*.
  drop(text, more, take, trouble) {
    const one = (files) => {
      if (files.length === 1) return take(files[0]);
      trouble.replaceChildren(note("warning alert", this.say(files.length ? "file.several" : "file.no", { n: files.length })));
    };
    const input = h("input", { type: "file", onchange: () => input.files.length && one(input.files) });
    const zone = h("label", { class: "drop" }, input, icon("upload"), h("span", { class: "strong" }, this.say(text)), h("span", { class: "small soft" }, this.say(more)));
    const over = (isOver) => (event) => {
      event.preventDefault();
      zone.classList.toggle("over", isOver);
    };
    zone.addEventListener("dragover", over(true));
    zone.addEventListener("dragleave", over(false));
    zone.addEventListener("drop", (event) => {
      over(false)(event);
      one(event.dataTransfer.files);
    });
    return zone;
  }

  // Sends it until it is through: under one key it becomes one batch, however often.
  // *said* are answers to what was asked about the file before.
  async send(file, type, said = {}) {
    const key = newKey();
    const view = this.sendingView(file);
    for (let tries = 0; ; tries += 1) {
      try {
        const batch = await this.sent("batches", { importer: type, name: file.name, ...setOf(said) }, file, key, view);
        if (!this.isCurrent()) return;
        this.tell("batchfx-batch", { batch: batch.number });
        return await this.open(batch);
      } catch (error) {
        if (error.kind === "offline" && (await this.again(view, tries))) continue;
        if (!this.isCurrent()) return;
        return this.offer(error.name === "AbortError" || error.kind === "offline" ? null : this.refused(error, file, said, (answers) => this.send(file, type, answers)));
      }
    }
  }

  // Why a file isn't taken, with a form where an answer would help.
  refused(error, file, said, answered) {
    const { option, choices } = error.members ?? {};
    if (!option) return this.complaint(error);
    const known = (value) => `${option}.${{ ".": "whole", 0: "none" }[value] ?? value}`;
    const entries = (choices ?? []).map((each) => [each, this.texts.has(known(each)) ? this.say(known(each)) : each]);
    const answer = entries.length
      ? h("select", { required: true, "data-key": "answer" }, options([["", this.say("choose")], ...entries], ""))
      : h("input", { required: true, autocomplete: "off", spellcheck: "false", type: option === "header_row" ? "number" : "text", min: 0 });
    const send = (event) => {
      event.preventDefault();
      answered({ ...said, [option]: answer.value });
    };
    const form = h("form", { class: "fix", onsubmit: send }, labelled(this.texts.has(`read.${option}`) ? this.say(`read.${option}`) : option, answer), h("button", { class: "button" }, this.say("file.answer")));
    return note("warning alert", `${file.name}: ${this.words(error)}`, form);
  }

  sendingView(file) {
    const fill = h("div");
    const bar = h("div", { class: "bar", role: "progressbar", "aria-label": this.say("file.sending"), "aria-valuemin": 0, "aria-valuemax": 100 }, fill);
    const text = h("p", { class: "small soft" });
    const notes = h("div", { class: "stack near" });
    const stop = button(this.say("no.edit"), () => this.sending.abort(), { kind: "little" });
    const name = h("p", { class: "line strong" }, icon("file"), h("span", {}, file.name));
    this.show(this.steps("file"), h("h2", {}, this.say("file.sending")), h("div", { class: "card stack" }, name, bar, text, notes, h("div", {}, stop)));
    this.land();
    this.sending = new AbortController();
    return { fill, bar, text, notes };
  }

  sent(path, query, file, key, { fill, bar, text, notes }) {
    notes.replaceChildren();
    const told = (done, total) => {
      fill.style.width = `${(100 * done) / total}%`;
      bar.setAttribute("aria-valuenow", Math.floor((100 * done) / total));
      text.textContent = done < total
        ? this.say("file.sent", { done: this.texts.size(done), all: this.texts.size(total) })
        : this.say("file.reading");
    };
    told(0, Math.max(1, file.size));
    return this.api.send(path, query, file, key, told, this.sending.signal);
  }

  // Waits for the connection; false when somebody doesn't want to wait any more.
  again({ notes }, tries) {
    return new Promise((resolve) => {
      const { signal } = this.sending;
      const go = () => {
        clearTimeout(timer);
        removeEventListener("online", go);
        resolve(!signal.aborted);
      };
      const timer = setTimeout(go, Math.min(LONGEST, 1000 * 2 ** tries));
      addEventListener("online", go);
      signal.addEventListener("abort", go);
      notes.replaceChildren(note("warning", this.say("file.lost"), button(this.say("again"), go, { kind: "little", picture: "again" })));
    });
  }

  // --- What has become of it

  result(batch) {
    this.forget();
    this.number = batch.number;
    const step = batch.dry_run && batch.state !== "completed" ? "check" : "import";
    this.parts = h("div", { class: "stack wide" });
    this.problems = this.grid = this.shownFor = null;
    const name = h("p", { class: "line strong" }, icon("file"), h("span", {}, batch.source_name, h("span", { class: "soft kind" }, ` · ${batch.importer}`)));
    const head = h("div", { class: "card stack" }, name);
    this.show(this.steps(step), head, this.parts);
    const renewed = () => {
      this.problems?.load();
      this.grid?.refresh();
    };
    this.progress = new ProgressView(this, batch, (now, before) => this.moved(now, before), renewed);
    head.append(this.progress.element);
    this.land();
  }

  moved(batch, before) {
    if (before.state && before.state !== batch.state) this.tell("batchfx-state", { batch: batch.number, state: batch.state });
    const isOver = ENDED.includes(batch.state);
    const now = JSON.stringify([isOver, batch.attempt, batch.state, batch.faulty, batch.tally.pending, batch.moves]);
    this.batch = batch;
    if (!isOver) {
      this.problems = this.grid = this.shownFor = null;
      return this.parts.replaceChildren();
    }
    if (now === this.shownFor) return;
    this.shownFor = now;
    this.drawParts(batch);
  }

  drawParts(batch) {
    const hasRows = batch.total > 0;
    const isNew = !this.grid && hasRows;
    if (isNew) {
      const changed = () => this.recount();
      this.grid = new GridView(this, batch, { changed });
      this.problems = new ProblemsView(this, batch, { changed: async () => void (await Promise.all([this.grid.load(), this.recount()])), chosen: (group) => this.grid.only(group), titles: this.grid.titles });
    } else this.grid?.update(batch);
    if (this.problems) this.problems.batch = batch;
    this.actions ??= h("div", { class: "stack" });
    swap(this.actions, this.fileIssues(batch), this.next(batch));
    if (isNew || !this.parts.children.length) swap(this.parts, this.actions, hasRows && [this.problems.element, this.grid.element]);
  }

  // After an edit: the counts, what may be done now, and the causes that are left.
  async recount() {
    const batch = await this.api.get(`batches/${this.number}`);
    if (!this.progress) return batch.state === "draft" ? null : this.open(batch);
    this.progress.update(batch);
    this.progress.follow();
    await this.problems?.load();
  }

  // Somebody else was faster: what is shown is as old as the button.
  async overtaken() {
    await this.recount().catch(() => null);
    this.grid?.refresh();
  }

  fileIssues(batch) {
    const told = batch.file_issues.filter((each) => each.code !== "unknown_columns");
    const answer = this.question(batch, batch.moves.includes("approve") ? "approve" : "rerun");
    return told.length > 0 && note("warning", this.say("file.issues"), h("ul", { class: "stack near" }, told.map((each) => h("li", {}, this.plain(each.message)))), answer);
  }

  next(batch) {
    const may = (move) => batch.moves.includes(move);
    const { pending } = batch.tally;
    const on = may("approve") ? "approve" : "rerun";
    const isWaiting = batch.state === "checked";
    const go = (event) => this.go(on, event.currentTarget);
    const isMain = isWaiting ? pending > 0 : batch.faulty > 0 || batch.state !== "completed";
    const label = isWaiting ? this.say("import.rows", { n: pending }) : batch.faulty && !pending ? this.say("rerun.rows", { n: batch.faulty }) : this.say("rerun");
    const trouble = (this.trouble = h("div", { class: "stack" }));
    const isBest = isWaiting || batch.state !== "completed" || batch.faulty > batch.tally.invalid;
    const first = may(on) && isMain && button(label, go, { kind: isBest ? "main" : "", picture: isWaiting ? "check" : "again", "data-key": "next" });
    const other = this.allowed.has("upload") && button(this.say("file.other"), () => this.other(), { kind: first ? "quiet" : "", "data-key": "other" });
    return h("div", { class: "stack" }, h("div", { class: "line stretch" }, [first, other].filter(Boolean)), trouble, batch.faulty > 0 && this.downloads(batch, may("rerun")));
  }

  // The answer that a file as a whole still owes: which way its dates are written.
  question(batch, on) {
    const asked = batch.file_issues.find((each) => QUESTIONS.includes(each.code));
    if (!asked || !batch.moves.includes(on)) return null;
    const name = asked.code === "ambiguous_date" ? "date_order" : "decimal";
    const entries = name === "date_order" ? ["dmy", "mdy", "ymd"].map((each) => [each, this.say(`date_order.${each}`)]) : [[".", this.say("decimal.point")], [",", this.say("decimal.comma")]];
    const answer = h("select", { required: true, "data-key": "answer" }, options([["", this.say("choose")], ...entries], ""));
    const submit = h("button", { class: "button" }, this.say(batch.dry_run ? "check.answer" : "import.answer"));
    const go = (event) => {
      event.preventDefault();
      this.go("rerun", submit, { settings: { [name]: answer.value } });
    };
    return h("form", { class: "fix", onsubmit: go }, labelled(this.say(`read.${name}`), answer), submit);
  }

  // What is being written in a cell is saved first; where it can't be, nothing is begun.
  async go(name, pressed, body) {
    if (this.grid && !(await this.grid.settled())) return;
    await this.act(pressed, () => this.trouble, async () => this.result(await this.api.post(`batches/${this.batch.number}/${name}`, body)));
  }

  async other() {
    if (this.grid && !(await this.grid.settled())) return;
    this.forget();
    this.tell("batchfx-other", {});
    this.offer().catch((error) => this.show(this.complaint(error, () => this.restart())));
  }

  // --- The rest as a file, and back again

  downloads(batch, mayReturn) {
    const links = FORMATS.map((each) => h("a", { class: "button little", download: "", "data-key": each, href: this.api.url(`batches/${batch.number}/downloads/faulty.${each}`) }, icon("down"), h("span", {}, this.say(`download.${each}`))));
    const mayTake = this.allowed.has("export");
    if (!mayTake && !mayReturn) return null;
    const text = batch.dry_run ? "file.corrected.check" : "file.corrected.import";
    const kept = (event) => (this.isFileOpen = event.target.open);
    return h("details", { open: this.isFileOpen, ontoggle: kept }, h("summary", { "data-key": "file" }, this.say("download.title", { n: batch.faulty })),
      h("div", { class: "stack" }, mayTake && h("p", { class: "small soft" }, this.say("download.text")), mayTake && h("div", { class: "line" }, links), mayReturn && this.drop("file.corrected", text, (file) => this.sendCorrected(file), this.trouble)));
  }

  async sendCorrected(file, said = {}) {
    const { number } = this.batch;
    this.progress?.stop();
    const view = this.sendingView(file);
    try {
      this.result(await this.sent(`batches/${number}/rerun`, { name: file.name, ...setOf(said) }, file, newKey(), view));
    } catch (error) {
      if (!this.isCurrent()) return;
      this.result(await this.api.get(`batches/${number}`).catch(() => this.batch));
      if (error.name !== "AbortError") this.trouble?.replaceChildren(this.refused(error, file, said, (answers) => this.sendCorrected(file, answers)));
    }
  }
}
