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

export class BatchfxImport extends Widget {
  static observedAttributes = [...Widget.observedAttributes, "type", "batch"];

  async begin(isCurrent) {
    this.isCurrent = isCurrent;
    const number = this.getAttribute("batch");
    if (!number) return this.offer();
    const batch = await this.api.get(`batches/${encodeURIComponent(number)}`);
    if (isCurrent()) await this.open(batch);
  }

  leave() {
    super.leave();
    this.sending?.abort();
    this.progress?.stop();
    this.progress = null;
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
    this.progress = null;
    if (batch.state !== "draft") return this.result(batch);
    const draft = await this.api.get(`batches/${batch.number}/draft`);
    const view = new DraftView(this, draft, { started: (begun) => this.result(begun), discarded: () => this.offer() });
    this.show(this.steps("columns"), view.element);
    this.land();
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
    const type = this.getAttribute("type");
    const types = type ? [{ name: type }] : (await this.api.get("importers")).importers;
    if (!types.length) return this.show(h("p", { class: "soft" }, this.say("type.none")));
    const chosen = h("select", { "data-key": "type" }, options(types.map((each) => [each.name, each.summary ? `${each.name} – ${each.summary}` : each.name]), types[0].name));
    const trouble = h("div", { class: "stack" }, problem);
    const take = (file) => file && this.send(file, type ?? chosen.value, trouble);
    this.show(this.steps("file"), h("h2", {}, this.say("file.title")), !type && labelled(this.say("type"), chosen), this.drop("file.choose", "file.kinds", take), trouble);
    this.land();
  }

  drop(text, more, take) {
    const input = h("input", { type: "file", onchange: () => take(input.files[0]) });
    const zone = h("label", { class: "drop" }, input, icon("upload"), h("span", { class: "strong" }, this.say(text)), h("span", { class: "small soft" }, this.say(more)));
    const over = (isOver) => (event) => {
      event.preventDefault();
      zone.classList.toggle("over", isOver);
    };
    zone.addEventListener("dragover", over(true));
    zone.addEventListener("dragleave", over(false));
    zone.addEventListener("drop", (event) => {
      over(false)(event);
      take(event.dataTransfer.files[0]);
    });
    return zone;
  }

  // Sends it until it is through: under one key it becomes one batch, however often.
  async send(file, type) {
    const key = newKey();
    const view = this.sendingView(file);
    for (let tries = 0; ; tries += 1) {
      try {
        const batch = await this.sent("batches", { importer: type, name: file.name }, file, key, view);
        if (!this.isCurrent()) return;
        this.tell("batchfx-batch", { batch: batch.number });
        return await this.open(batch);
      } catch (error) {
        if (error.kind === "offline" && (await this.again(view, tries))) continue;
        if (!this.isCurrent()) return;
        return this.offer(error.name === "AbortError" || error.kind === "offline" ? null : this.complaint(error));
      }
    }
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
    this.progress?.stop();
    const step = batch.dry_run && batch.state !== "completed" ? "check" : "import";
    this.parts = h("div", { class: "stack wide" });
    this.problems = this.grid = this.shownFor = null;
    const name = h("p", { class: "line strong" }, icon("file"), h("span", {}, batch.source_name));
    const head = h("div", { class: "card stack" }, name);
    this.show(this.steps(step), head, this.parts);
    this.progress = new ProgressView(this, batch, (now, before) => this.moved(now, before));
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
    const batch = await this.api.get(`batches/${this.batch.number}`);
    this.progress.update(batch);
    this.progress.follow();
    await this.problems?.load();
  }

  fileIssues(batch) {
    const told = batch.file_issues.filter((each) => each.code !== "unknown_columns");
    return told.length > 0 && note("warning", this.say("file.issues"), h("ul", { class: "stack near" }, told.map((each) => h("li", {}, this.plain(each.message)))));
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
    const other = button(this.say("file.other"), () => this.other(), { kind: first ? "quiet" : "", "data-key": "other" });
    return h("div", { class: "stack" }, this.question(batch, on), h("div", { class: "line stretch" }, first, other), trouble, batch.faulty > 0 && this.downloads(batch, may("rerun")));
  }

  // The answer that a file as a whole still owes: which way its dates are written.
  question(batch, on) {
    const asked = batch.file_issues.find((each) => QUESTIONS.includes(each.code));
    if (!asked || !batch.moves.includes(on)) return null;
    const name = asked.code === "ambiguous_date" ? "date_order" : "decimal";
    const entries = name === "date_order" ? ["dmy", "mdy", "ymd"].map((each) => [each, this.say(`date_order.${each}`)]) : [[".", this.say("decimal.point")], [",", this.say("decimal.comma")]];
    const answer = h("select", {}, options(entries, entries[0][0]));
    const go = (event) => this.go("rerun", event.currentTarget, { settings: { [name]: answer.value } });
    return h("div", { class: "fix" }, labelled(this.say(`read.${name}`), answer), button(this.say("rerun.answer"), go, {}));
  }

  async go(name, pressed, body) {
    await this.act(pressed, this.trouble, async () => this.result(await this.api.post(`batches/${this.batch.number}/${name}`, body)));
  }

  other() {
    this.progress?.stop();
    this.progress = null;
    this.tell("batchfx-other", {});
    this.offer().catch((error) => this.show(this.complaint(error, () => this.restart())));
  }

  // --- The rest as a file, and back again

  downloads(batch, mayReturn) {
    const links = FORMATS.map((each) => h("a", { class: "button little", download: "", "data-key": each, href: this.api.url(`batches/${batch.number}/downloads/faulty.${each}`) }, icon("down"), h("span", {}, this.say(`download.${each}`))));
    const take = (file) => file && this.sendCorrected(file);
    const kept = (event) => (this.isFileOpen = event.target.open);
    return h("details", { open: this.isFileOpen, ontoggle: kept }, h("summary", { "data-key": "file" }, this.say("download.title", { n: batch.faulty })),
      h("div", { class: "stack" }, h("p", { class: "small soft" }, this.say("download.text")), h("div", { class: "line" }, links), mayReturn && this.drop("file.corrected", "file.corrected.text", take)));
  }

  async sendCorrected(file) {
    const { number } = this.batch;
    this.progress.stop();
    const view = this.sendingView(file);
    try {
      this.result(await this.sent(`batches/${number}/rerun`, { name: file.name }, file, newKey(), view));
    } catch (error) {
      if (!this.isCurrent()) return;
      this.result(this.batch);
      if (error.name !== "AbortError") this.trouble.replaceChildren(this.complaint(error));
    }
  }
}
