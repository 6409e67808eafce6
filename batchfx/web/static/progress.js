// <batchfx-progress batch="7">: how far a batch is, live, with pause and cancel.

import { button, h, icon, setText, uniqueId } from "./dom.js";
import { ENDED, Follower } from "./follow.js";
import { careful, note, Widget } from "./widget.js";

export const VERDICTS = ["created", "updated", "unchanged", "skipped", "invalid", "failed", "unknown", "pending"];
const SAID_EVERY = 5000; // ms between two sentences to a screen reader
const LOOKED_EVERY = 60000; // ms between two looks at what has ended: others may go on with it

const IDLE = ["draft", "paused", "stopped", "failed", "cancelled"];

export const isActive = (batch) => batch.state === "staging" || batch.state === "running";
// Rows that were corrected wait for a rerun: it is not finished, whatever was looked at.
const isMended = (batch) => batch.state === "checked" && !batch.dry_run && batch.tally.pending > 0;
const shareOf = (batch) => (isMended(batch) ? 1 - batch.tally.pending / batch.total : batch.progress.share);
const isWell = (batch) => batch.state === "completed" && !batch.faulty && !batch.tally.pending;
const isNothing = (batch) => batch.state === "cancelled" && !batch.total;

// A row that was only checked is no longer waiting for anything but the import.
export const verdictKey = (verdict, batch) => `verdict.${verdict === "pending" && batch.state === "checked" ? "valid" : verdict}`;

// The view of a batch's progress. *changed* is told the batch whenever it is another,
// *renewed* when somebody else has gone on with one that had ended.
export class ProgressView {
  constructor(widget, batch, changed = () => {}, renewed = () => {}) {
    Object.assign(this, { widget, changed, renewed, said: 0, batch: {} });
    this.build();
    this.update(batch);
    this.follow();
  }

  build() {
    const id = uniqueId("state");
    this.state = h("h2", { id, class: "state" });
    this.fill = h("div");
    this.bar = h("div", { class: "bar", role: "progressbar", "aria-labelledby": id, "aria-valuemin": 0, "aria-valuemax": 100 }, this.fill);
    this.facts = h("p", { class: "line small soft" });
    this.counts = h("dl", { class: "counts" });
    this.notes = h("div", { class: "stack near" });
    this.trouble = h("div", { class: "stack near" });
    this.buttons = h("div", { class: "line" });
    this.live = h("p", { class: "hidden", role: "status" });
    const head = h("div", { class: "line apart" }, this.state, this.buttons);
    this.element = h("section", { class: "stack", "aria-labelledby": id }, head, this.bar, this.facts, this.counts, this.notes, this.trouble, this.live);
  }

  follow() {
    this.stop();
    if (this.batch.state === "draft") return;
    if (ENDED.includes(this.batch.state)) return this.watch();
    this.follower = new Follower(this.widget.api, this.batch, (batch) => this.update(batch), (isLost) => this.lost(isLost));
  }

  // Looks now and then, and when one comes back to the page, whether it is still over.
  watch() {
    const look = () => document.visibilityState === "visible" && this.look();
    const timer = setInterval(look, LOOKED_EVERY);
    document.addEventListener("visibilitychange", look);
    this.unwatch = () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }

  async look() {
    const batch = await this.widget.api.get(`batches/${this.batch.number}`).catch(() => null);
    if (!this.unwatch || !batch || batch.seq <= this.batch.seq) return;
    this.update(batch);
    if (!ENDED.includes(batch.state)) return this.follow();
    this.renewed();
  }

  stop() {
    this.follower?.stop();
    this.unwatch?.();
    this.follower = this.unwatch = null;
  }

  lost(isLost) {
    if (this.isLost === isLost) return;
    this.isLost = isLost;
    if (!isLost) this.trouble.replaceChildren();
    this.draw();
  }

  // Of two answers the one that was asked for first may come last.
  update(batch) {
    const before = this.batch;
    if (batch.seq < before.seq) return;
    this.batch = batch;
    if (batch.state !== before.state) this.trouble.replaceChildren(); // of what was before
    this.draw();
    this.changed(batch, before);
  }

  draw() {
    const { batch, widget } = this;
    setText(this.state, this.words());
    this.drawBar();
    this.drawFacts();
    this.drawCounts();
    const asked = JSON.stringify([batch.state, batch.moves, batch.waits_for, batch.reason, batch.at_work, this.isLost, widget.texts.language]);
    if (asked !== this.drawn) {
      this.drawn = asked;
      this.drawButtons();
      this.drawNotes();
    }
    this.speak();
  }

  words() {
    const { batch, widget } = this;
    const { skipped } = batch.tally;
    if (batch.waits_for) return widget.say(`waits.${batch.waits_for}`);
    if (isNothing(batch)) return widget.say("state.cancelled.none");
    if (batch.state === "completed" && batch.faulty) return widget.say("state.completed.faulty", { n: batch.faulty });
    if (batch.state === "checked") {
      if (isMended(batch)) return widget.say("state.corrected", { n: batch.tally.pending });
      if (batch.faulty) return widget.say("state.checked.faulty", { n: batch.faulty });
      if (skipped) return widget.say("state.checked.left", { n: skipped });
    }
    if (batch.state === "running" && batch.dry_run) return widget.say("state.checking");
    if (isWell(batch) && skipped) return widget.say("state.completed.left", { n: skipped });
    return widget.say(isWell(batch) ? "state.completed.well" : `state.${batch.state}`);
  }

  drawBar() {
    const { batch, bar } = this;
    const isKnown = batch.state !== "staging";
    bar.hidden = this.facts.hidden = isNothing(batch);
    const share = isKnown ? shareOf(batch) : 0;
    this.fill.style.width = `${share * 100}%`;
    bar.className = `bar ${isWell(batch) ? "good" : IDLE.includes(batch.state) ? "idle" : ""}`;
    if (isKnown) bar.setAttribute("aria-valuenow", Math.floor(share * 100));
    else bar.removeAttribute("aria-valuenow");
    bar.setAttribute("aria-valuetext", this.widget.texts.percent(share));
  }

  drawFacts() {
    const { batch, widget } = this;
    const { examined, rate, seconds_left: left } = batch.progress;
    const share = shareOf(batch);
    const { texts } = widget;
    const facts = [];
    if (batch.state === "staging") facts.push(widget.say("read", { n: batch.total }));
    else {
      facts.push(texts.percent(share));
      facts.push(share >= 1 ? widget.say("rows", { n: batch.total }) : widget.say("of", { done: isMended(batch) ? batch.total - batch.tally.pending : examined, n: batch.total }));
    }
    if (isActive(batch)) {
      if (rate) facts.push(widget.say("rate", { n: Math.round(rate) }));
      if (left !== null && rate) facts.push(widget.say("left", { time: texts.duration(left) }));
    }
    const text = facts.join(" · ");
    setText(this.facts, text);
    this.sentence = text;
  }

  drawCounts() {
    const { batch, widget } = this;
    const shown = VERDICTS.filter((each) => batch.tally[each]);
    if (shown.join() !== this.shown) {
      this.shown = shown.join();
      this.numbers = Object.fromEntries(shown.map((each) => [each, h("dd")]));
      this.labels = Object.fromEntries(shown.map((each) => [each, h("span")]));
      this.counts.replaceChildren(...shown.map((each) => h("div", { class: each }, h("dt", {}, h("i", { class: "dot" }), this.labels[each]), this.numbers[each])));
    }
    for (const each of shown) {
      setText(this.numbers[each], widget.texts.number(batch.tally[each]));
      setText(this.labels[each], widget.say(verdictKey(each, batch), { n: batch.tally[each] }));
    }
  }

  drawButtons() {
    const { batch, widget } = this;
    const may = (move) => batch.moves.includes(move);
    const move = (name) => async (event) => this.move(name, event.currentTarget ?? event);
    const shown = [
      may("pause") && button(widget.say("pause"), move("pause"), { kind: "little", picture: "pause", "data-key": "pause" }),
      may("resume") && button(widget.say("resume"), move("resume"), { kind: "little", picture: "play", "data-key": "pause" }),
      may("cancel") && (isActive(batch) || batch.state === "paused") &&
        careful(widget, widget.say("cancel"), widget.say("cancel.sure"), (pressed) => this.move("cancel", pressed)),
    ];
    const hadFocus = this.buttons.contains(this.buttons.getRootNode().activeElement);
    this.buttons.replaceChildren(...shown.filter(Boolean));
    if (hadFocus) this.buttons.querySelector("button")?.focus();
  }

  drawNotes() {
    const { batch, widget } = this;
    const waits = batch.waits_for && widget.say(`waits.${batch.waits_for}.do`);
    const found = [
      this.isLost && note("warning", widget.say("lost")),
      waits && note("plain", waits),
      batch.state === "paused" && note("plain", this.pausing()),
      batch.reason && note("warning", batch.reason),
    ];
    this.notes.replaceChildren(...found.filter(Boolean));
  }

  // What a worker has begun is finished; until then counts go on.
  pausing() {
    const n = this.batch.at_work;
    return this.widget.say(n ? "waits.pausing" : "waits.paused", { n });
  }

  async move(name, pressed) {
    await this.widget.act(pressed, this.trouble, async () => {
      this.update(await this.widget.api.post(`batches/${this.batch.number}/${name}`));
      this.follow();
    });
  }

  // To a screen reader: a new state at once, the rest now and then.
  speak() {
    const now = Date.now();
    const words = this.words();
    if (words === this.spoken && (!isActive(this.batch) || now - this.said < SAID_EVERY)) return;
    Object.assign(this, { said: now, spoken: words });
    setText(this.live, `${words}. ${this.sentence}`);
  }
}

export class BatchfxProgress extends Widget {
  static observedAttributes = [...Widget.observedAttributes, "batch"];

  async begin(isCurrent) {
    const number = this.getAttribute("batch");
    this.wanted = ["batch", number];
    if (!number) return this.show(h("p", { class: "soft" }, this.say("progress.none")));
    const batch = await this.api.get(`batches/${encodeURIComponent(number)}`);
    if (!isCurrent()) return;
    this.view = new ProgressView(this, batch, (now, before) => {
      if (before.state && now.state !== before.state) this.tell("batchfx-state", { batch: now.number, state: now.state });
    });
    const name = h("p", { class: "line strong" }, icon("file"), h("span", {}, batch.source_name));
    this.show(h("div", { class: "card stack" }, name, this.view.element));
  }

  leave() {
    super.leave();
    this.view?.stop();
    this.view = null;
  }

  returned() {
    if (this.view) this.view.follow();
    else this.restart();
  }

  // Somebody else was faster: what is shown is as old as the button.
  async overtaken() {
    const batch = await this.api.get(`batches/${this.getAttribute("batch")}`).catch(() => null);
    if (!batch || !this.view) return;
    this.view.update(batch);
    this.view.follow();
  }
}
