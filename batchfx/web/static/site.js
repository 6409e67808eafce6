// The small site: what `batchfx serve` shows. Each page is a shell; this fills it.

import { Api, BASE } from "./api.js";
import "./batchfx.js";
import { button, cellText, h, icon, narrowed, swap, WIDE } from "./dom.js";
import { isActive, verdictKey } from "./progress.js";
import { languageOf, textsIn } from "./text.js";
import { labelled, note, options, skeleton, Widget } from "./widget.js";

const STATES = ["draft", "staging", "running", "paused", "checked", "completed", "stopped", "failed", "cancelled"];
const REFRESH = 4000; // ms, while something runs
const TYPED = 300; // ms after the last key
const FROM = "batchfx-from";

const [, number, row] = location.pathname.match(/\/batches\/(\d+)(?:\/rows\/(\d+))?\/?$/) ?? [];
const batchPage = (batch) => `${BASE}/batches/${batch}`;
const here = () => location.pathname + location.search;

// How people sign in: by the printed "token", or at the address of the application
// that this is part of, which may be unknown ("").
const { page, signIn: SIGN_IN } = document.body.dataset;
const hostSignIn = () => SIGN_IN.replace("{next}", encodeURIComponent(sessionStorage.getItem(FROM) ?? here()));

// --- The list of batches

class BatchfxBatches extends Widget {
  async begin() {
    const said = new URLSearchParams(location.search);
    this.filter = Object.fromEntries(["state", "importer", "text"].map((each) => [each, said.get(each) ?? ""]));
    if (!STATES.includes(this.filter.state)) this.filter.state = "";
    const { importers } = await this.api.get("importers");
    const any = ["", this.say("batches.any")];
    const taken = (name) => (event) => this.refine({ [name]: event.target.value });
    const state = h("select", { onchange: taken("state") }, options([any, ...STATES.map((each) => [each, this.say(`name.${each}`)])], this.filter.state));
    const type = h("select", { onchange: taken("importer") }, options([any, ...importers.map((each) => [each.name, each.name])], this.filter.importer));
    const text = h("input", { type: "search", value: this.filter.text, oninput: (event) => this.typed(event.target.value) });
    this.place = h("div", { class: "stack", "aria-live": "off" }, skeleton());
    this.show(h("div", { class: "facts" }, labelled(this.say("batches.text"), text), labelled(this.say("batches.state"), state), labelled(this.say("batches.type"), type)), this.place);
    await this.load();
  }

  leave() {
    super.leave();
    clearTimeout(this.timer);
    clearTimeout(this.typing);
  }

  typed(text) {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.refine({ text }), TYPED);
  }

  // The address has the filters, so that one comes back to the same list.
  refine(change) {
    Object.assign(this.filter, change);
    const query = new URLSearchParams(Object.entries(this.filter).filter(([, value]) => value));
    history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
    return this.load();
  }

  returned() {
    return this.batches ? this.load() : this.restart();
  }

  async load(before) {
    clearTimeout(this.timer);
    const asked = (this.asked = Symbol("asked"));
    try {
      const answer = await this.api.get("batches", { ...this.filter, before });
      if (asked !== this.asked || !this.isConnected) return;
      this.batches = before ? [...this.batches, ...answer.batches] : answer.batches;
      this.next = answer.next;
      this.isWhole = !before;
      this.draw();
    } catch (error) {
      if (asked === this.asked) swap(this.place, this.complaint(error, () => this.load(before)));
    }
    if (this.isWhole && this.batches?.some(isActive)) this.timer = setTimeout(() => this.load(), REFRESH);
  }

  draw() {
    if (!this.batches.length) return swap(this.place, this.nothing());
    const head = ["file", "type", "state", "rows", "faulty", "when"].map((each) => h("th", { scope: "col", class: ["rows", "faulty"].includes(each) ? "number" : "" }, this.say(`batches.${each}`)));
    const more = this.next !== null && button(this.say("batches.more"), () => this.load(this.next), { "data-key": "more" });
    swap(this.place, h("div", { class: "scroll" }, h("table", { class: "table cards" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, this.batches.map((each) => this.line(each))))), more && h("div", {}, more));
  }

  nothing() {
    if (Object.values(this.filter).some(Boolean)) return h("p", { class: "soft" }, this.say("batches.none"));
    return h("div", { class: "card" }, h("p", { class: "soft" }, this.say("batches.empty")));
  }

  line(batch) {
    const { texts } = this;
    const look = batch.state === "completed" ? (batch.faulty ? "invalid" : "created") : batch.state === "failed" ? "failed" : "";
    const link = h("a", { class: "whole", href: batchPage(batch.number), "data-key": `b-${batch.number}` }, batch.source_name);
    const cell = (name, kind, ...content) => h("td", { class: kind, "data-label": this.say(`batches.${name}`) }, ...content);
    return h("tr", {},
      h("th", { scope: "row", class: "name", "data-label": this.say("batches.file") }, h("span", {}, link, h("span", { class: "soft small" }, ` #${batch.number}`))),
      cell("type", "soft", batch.importer),
      cell("state", look, h("span", { class: "verdict" }, h("i", { class: "dot" }), this.say(`name.${batch.state}`))),
      cell("rows", "number", texts.number(batch.total)),
      cell("faulty", "number", texts.number(batch.faulty)),
      cell("when", "soft", texts.moment(batch.created_at)));
  }
}

// --- One row, with everything that was done to it

class BatchfxRow extends Widget {
  async begin(isCurrent) {
    const path = `batches/${this.getAttribute("batch")}`;
    this.wanted = ["row", this.getAttribute("row")];
    const [batch, history] = await Promise.all([this.api.get(path), this.api.get(`${path}/rows/${this.getAttribute("row")}`)]);
    if (isCurrent()) this.show(this.fate(history.row, batch), this.values(history), this.changes(history.revisions));
  }

  returned() {
    this.restart();
  }

  fate(row, batch) {
    const verdict = h("span", { class: `verdict strong ${row.verdict}` }, h("i", { class: "dot" }), this.say(verdictKey(row.verdict, batch), { n: 1 }));
    const record = row.record_id && h("span", { class: "soft" }, this.say("history.record", { id: row.record_id }));
    const issues = row.issues.map((each) => note(each.level === "error" ? "warning" : "plain", this.plain(each.message)));
    return h("div", { class: "stack" }, h("div", { class: "line" }, verdict, record), row.reason && h("p", { class: "soft" }, row.reason), issues);
  }

  values(history, sought = "") {
    const { row, as_read: read, columns } = history;
    const known = columns.map((each) => ({ ...each, isKept: each.field !== null }));
    const shown = narrowed(known, sought);
    const again = (text) => {
      section.replaceWith(this.values(history, text));
      this.shadowRoot.querySelector("[data-key=finder]").focus();
    };
    const finder = columns.length > WIDE && this.finder(shown.length, columns.length, sought, again);
    const wrong = new Set(row.issues.map((each) => each.field));
    const head = ["field", "read", "now"].map((each) => h("th", { scope: "col" }, this.say(`history.${each}`)));
    const cell = (name, value, kind) => h("td", { class: [kind, value === null && "empty"].filter(Boolean).join(" "), "data-label": this.say(`history.${name}`) }, cellText(value));
    const lines = shown.map(({ header, field }) => h("tr", {},
      h("th", { scope: "row", "data-label": this.say("history.field") }, header),
      cell("read", read[header] ?? null, "soft"),
      cell("now", row.values[header] ?? null, field && wrong.has(field) ? "marked" : read[header] === row.values[header] ? "" : "strong")));
    const section = h("section", { class: "stack" }, h("h2", {}, this.say("history.values")), finder, h("div", { class: "scroll" }, h("table", { class: "table cells cards" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, lines))));
    return section;
  }

  changes(revisions) {
    const items = revisions.map((each) => h("li", {},
      h("div", { class: "line apart" }, h("span", { class: "strong" }, this.say(`history.${each.action}`, { who: each.who })), h("time", { class: "small soft", datetime: each.at }, this.texts.moment(each.at))),
      Object.entries(each.changes).map(([name, { before, after }]) => h("p", { class: "small" }, this.say("history.change", { name, before: before ?? "–", after: after ?? "–" })))));
    const content = items.length ? h("ol", { class: "groups" }, items) : h("p", { class: "soft" }, this.say("history.none"));
    return h("section", { class: "stack" }, h("h2", {}, this.say("history.changes")), content);
  }
}

// --- Signing in: as a page, or above a page whose session has ended (`in-place`)

class BatchfxSignIn extends Widget {
  async begin() {
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (token) history.replaceState(null, "", location.pathname);
    const isInPlace = this.hasAttribute("in-place");
    const isSent = isInPlace || sessionStorage.getItem(FROM);
    const ended = isSent && note("plain", this.say(isInPlace ? "site.ended.here" : "site.ended"));
    if (SIGN_IN !== "token") return this.show(h("div", { class: "card stack" }, isInPlace && ended, this.elsewhere(isInPlace)));
    const { form, enter, input } = this.form(ended);
    this.show(form);
    if (token) await enter(token);
    else input.focus();
  }

  form(ended) {
    const input = h("input", { type: "password", autocomplete: "off", required: true, "aria-describedby": "how" });
    const trouble = h("div", { class: "stack" });
    const submit = h("button", { class: "button main" }, this.say("site.sign_in"));
    const enter = (text) => this.act(submit, trouble, async () => {
      await this.api.post("session", { token: text.trim() });
      this.done();
    });
    const form = h("form", { class: "card stack", onsubmit: (event) => {
      event.preventDefault();
      enter(input.value);
    } }, ended, labelled(this.say("site.token"), input, h("p", { id: "how", class: "small soft" }, this.say("site.token.text"))), trouble, h("div", { class: "line stretch" }, submit));
    return { form, enter, input };
  }

  // It is the application around this that knows people.
  elsewhere(isInPlace) {
    const link = SIGN_IN && h("a", { class: "button main", href: hostSignIn(), target: isInPlace ? "_blank" : undefined }, this.say("site.sign_in"));
    const on = button(this.say("again"), () => this.done(), { picture: "again" });
    return [h("p", {}, this.say("site.elsewhere")), h("div", { class: "line stretch" }, [link, on].filter(Boolean))];
  }

  done() {
    if (this.hasAttribute("in-place")) return dispatchEvent(new CustomEvent("batchfx-signed-in"));
    const from = sessionStorage.getItem(FROM);
    sessionStorage.removeItem(FROM);
    location.replace(from ?? `${BASE}/`);
  }
}

customElements.define("batchfx-batches", BatchfxBatches);
customElements.define("batchfx-row", BatchfxRow);
customElements.define("batchfx-sign-in", BatchfxSignIn);

// --- The pages

const links = () => ({ "row-link": `${BASE}/batches/{batch}/rows/{row}` });
const PAGES = {
  index: ["site.imports", () => h("batchfx-batches")],
  new: ["site.new", () => h("batchfx-import", links())],
  batch: ["site.batch", () => h("batchfx-import", { batch: number, ...links() })],
  row: ["site.row", () => h("batchfx-row", { batch: number, row })],
  missing: ["site.missing", (texts) => h("p", {}, texts.say("site.missing.text"))],
  "sign-in": ["site.sign_in", () => h("batchfx-sign-in")],
};

async function fill() {
  const texts = await textsIn(languageOf(document.body));
  const [title, content] = PAGES[page];
  const words = texts.say(title, { n: row ?? number ?? "" });
  const main = document.querySelector("main");
  const back = (href, text) => h("a", { class: "back", href }, icon("left"), text);
  const way = page === "row" ? back(batchPage(number), texts.say("site.back", { n: number })) : !["index", "sign-in"].includes(page) && back(`${BASE}/`, texts.say("site.imports"));
  const top = h("div", { class: "title" }, h("h1"));
  main.replaceChildren(...[way, top, content(texts)].filter(Boolean));
  entitle(words);
  if (page === "sign-in") return;
  const session = await head(texts);
  if (page === "index" && session.permissions.includes("upload")) top.append(h("a", { class: "new", href: `${BASE}/new` }, texts.say("site.new")));
}

function entitle(words) {
  document.querySelector("h1").textContent = words;
  document.title = `${words} · batchfx`;
}

let isIn = false; // somebody was signed in when this page came

async function head(texts) {
  const skip = h("a", { class: "skip", href: "#content" }, texts.say("site.skip"));
  const home = h("a", { class: "home", href: `${BASE}/`, "aria-current": page === "index" ? "page" : undefined }, "batchfx");
  const header = document.querySelector("header");
  header.replaceChildren(skip, home);
  const session = await new Api(undefined, texts.language).get("session");
  isIn = true;
  if (session.can_sign_out) header.append(h("button", { type: "button", onclick: () => signOut(texts) }, texts.say("site.sign_out")));
  return session;
}

async function signOut(texts) {
  await new Api(undefined, texts.language).call("DELETE", `${BASE}/api/session`);
  sessionStorage.removeItem(FROM);
  location.assign(`${BASE}/sign-in`);
}

// Who was in stays on the page, with all that was typed, and signs in above it.
addEventListener("batchfx-signed-out", async () => {
  if (page === "sign-in" || document.querySelector("dialog")) return;
  if (isIn) return signInAbove(await textsIn(languageOf(document.body)));
  sessionStorage.setItem(FROM, here());
  location.assign(SIGN_IN.length > "token".length ? hostSignIn() : `${BASE}/sign-in`);
});

function signInAbove(texts) {
  if (document.querySelector("dialog")) return;
  const dialog = h("dialog", { "aria-label": texts.say("site.sign_in") }, h("batchfx-sign-in", { "in-place": true }));
  dialog.addEventListener("close", () => dialog.remove());
  addEventListener("batchfx-signed-in", () => dialog.close(), { once: true });
  document.body.append(dialog);
  dialog.showModal();
}

// The printed address, opened where one has been sent already, changes nothing but this.
addEventListener("hashchange", () => location.hash.includes("token=") && document.querySelector("batchfx-sign-in")?.restart());

// A new import becomes the page of its batch, so that reloading it goes on there.
addEventListener("batchfx-batch", async ({ detail: { batch } }) => {
  history.replaceState(null, "", batchPage(batch));
  entitle((await textsIn(languageOf(document.body))).say("site.batch", { n: batch }));
});
addEventListener("batchfx-discarded", async () => {
  history.replaceState(null, "", `${BASE}/new`);
  entitle((await textsIn(languageOf(document.body))).say("site.new"));
});
addEventListener("batchfx-other", () => location.assign(`${BASE}/new`));

fill().catch((error) => error.status === 401 || console.error(error));
