// What the widgets share: a shadow root, texts, calls, and how an error is shown.

import { Api, Problem } from "./api.js";
import { button, h, icon, swap } from "./dom.js";
import { sheet } from "./styles.js";
import { languageOf, textsIn } from "./text.js";

// An element whose content is made by `begin`, anew when an attribute has changed.
export class Widget extends HTMLElement {
  static observedAttributes = ["lang", "api"];

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
  }

  connectedCallback() {
    this.onreturn = () => this.returned?.();
    this.ononline = () => this.reconnected();
    addEventListener("batchfx-signed-in", this.onreturn);
    addEventListener("online", this.ononline);
    this.restart();
  }

  disconnectedCallback() {
    removeEventListener("batchfx-signed-in", this.onreturn);
    removeEventListener("online", this.ononline);
    this.leave();
  }

  attributeChangedCallback(_, before, after) {
    if (this.texts && this.isConnected && before !== after) this.restart();
  }

  // Loading, then content or an error from which it may be tried again.
  async restart() {
    this.leave();
    const turn = (this.turn = Symbol("turn"));
    const language = languageOf(this);
    this.show(skeleton());
    try {
      this.texts = await textsIn(language);
      this.api = new Api(this.getAttribute("api") ?? undefined, language);
      if (turn === this.turn && this.isConnected) await this.begin(() => turn === this.turn);
    } catch (error) {
      if (turn === this.turn) this.show(this.absent(error) ?? this.complaint(error, () => this.restart()));
    }
  }

  // What is said where there is no such batch or row: trying again is of no use.
  absent(error) {
    const [key, n] = this.wanted ?? [];
    const isNone = key && (error.status === 404 || error.kind === "invalid_request");
    return isNone ? note("error", this.say(`absent.${key}`, { n })) : null;
  }

  leave() {
    this.turn = null;
  }

  show(...children) {
    swap(this.shadowRoot, h("div", { class: "stack wide", lang: this.texts?.language }, ...children));
  }

  say(key, values) {
    return this.texts ? this.texts.say(key, values) : FIRST[key] ?? key;
  }

  tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  // An error in words, with a way on where there is one.
  complaint(error, retry, label = "again") {
    const action = retry && button(this.say(label), retry, { picture: "again", class: "button little" });
    const made = note("error", this.words(error), action);
    made.dataset.kind = error.kind;
    return made;
  }

  // What was said for want of a connection is no longer so: what was asked for is tried
  // again where there is a button for it.
  reconnected() {
    for (const each of this.shadowRoot.querySelectorAll("[data-kind=offline]")) {
      const retry = each.querySelector("button");
      if (retry) retry.click();
      else each.remove();
    }
  }

  // Issues name options as a command line has them; here they are controls.
  plain(message) {
    return message.replace(OPTION, (_, name, value) => {
      const label = this.texts.has(`read.${name}`) ? this.say(`read.${name}`) : name;
      const key = `${name}.${{ ",": "comma", ".": "point" }[value] ?? value}`;
      return this.say("quoted", { text: `${label}: ${this.texts.has(key) ? this.say(key) : value.replaceAll('"', "")}` });
    });
  }

  words(error) {
    if (!(error instanceof Problem)) {
      if (this.texts) console.error(error);
      return this.say("problem.internal");
    }
    const key = `problem.${error.kind}`;
    if (error.status === 401 && this.texts?.has(key)) return this.say(key);
    return this.plain(error.message) || this.say(this.texts?.has(key) ? key : "problem.internal");
  }

  // Where a table has more columns than can be drawn: which of them are shown.
  finder(shown, all, text, found) {
    const input = h("input", { type: "search", value: text ?? "", "data-key": "finder", onchange: (event) => found(event.target.value.trim()) });
    return labelled(this.say("columns.find"), input, h("p", { class: "small soft" }, this.say("columns.shown", { shown, n: all })));
  }

  // Runs what a button asks for; an error is shown in *place*, and the button works again.
  // Where the batch turns out to be another than it was, what is shown follows first.
  async act(pressed, place, work) {
    if (pressed.getAttribute("aria-busy")) return;
    pressed.setAttribute("aria-busy", "true");
    const now = () => (typeof place === "function" ? place() : place);
    now().replaceChildren();
    try {
      await work();
    } catch (error) {
      if (error.status === 409 || error.status === 404) await this.overtaken?.();
      if (error.name !== "AbortError") now().replaceChildren(this.complaint(error));
    } finally {
      pressed.removeAttribute("aria-busy");
    }
  }
}

export const OPTION = /--set\s+"?(\w+)(?:\.[^=\s]+)?=("[^"]*"|[.,]|[^\s,."]+)"?/g;

// Where the texts themselves can't be loaded.
const FIRST = { again: "Try again", "problem.internal": "This could not be loaded." };

const SIGNS = { error: "alert", warning: "alert", good: "check", plain: "clock" };

// *kind* is how it looks; "warning alert" is also read out at once.
export function note(kind, text, ...more) {
  const [sign, is] = kind.split(" ");
  const role = { error: "alert", good: "status" }[sign] ?? is;
  const content = h("div", {}, h("p", {}, text), ...more);
  return h("div", { class: `note ${kind}`, role }, icon(SIGNS[sign] ?? SIGNS.plain), content);
}

export const skeleton = () => h("div", { class: "skeleton", "aria-busy": "true" }, h("i"), h("i"), h("i"));

// A control under its label, tied to it.
export function labelled(text, control, ...more) {
  const id = (control.id ||= `c-${(labels += 1)}`);
  return h("div", { class: "field" }, h("label", { for: id }, text), control, ...more);
}
let labels = 0;

export function options(entries, chosen) {
  return entries.map(([value, text]) => h("option", { value, selected: value === chosen }, text));
}

// Asks once more in *place*: *work* is told the button of the yes, *back* is for the no.
export function ask(widget, place, question, work, back) {
  const yes = button(widget.say("yes"), () => work(yes), { kind: "little bad" });
  const no = button(widget.say("no"), back, { kind: "little" });
  const keys = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    back();
  };
  place.replaceChildren(h("div", { class: "line", role: "group", "aria-label": question, onkeydown: keys }, h("span", { class: "small strong" }, question), no, yes));
  no.focus();
}

// A button that asks once more before it does what can't be taken back.
export function careful(widget, label, question, work, kind = "little") {
  const place = h("span", { class: "line" });
  const rest = (focus) => {
    const first = button(label, () => ask(widget, place, question, go, () => rest(true)), { kind });
    place.replaceChildren(first);
    if (focus) first.focus();
  };
  const go = () => {
    rest(true);
    return work(place.firstChild);
  };
  rest(false);
  return place;
}
