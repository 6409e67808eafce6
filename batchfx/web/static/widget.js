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
    this.restart();
  }

  disconnectedCallback() {
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
      if (turn === this.turn) this.show(this.complaint(error, () => this.restart()));
    }
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
    return note("error", this.words(error), action);
  }

  // Issues name options as a command line has them; here they are controls.
  plain(message) {
    return message.replace(OPTION, (_, name, value) => {
      const label = this.texts.has(`read.${name}`) ? this.say(`read.${name}`) : name;
      const key = `${name}.${{ ",": "comma", ".": "point" }[value] ?? value}`;
      return `“${label}: ${this.texts.has(key) ? this.say(key) : value.replaceAll('"', "")}”`;
    });
  }

  words(error) {
    if (!(error instanceof Problem)) {
      if (this.texts) console.error(error);
      return this.say("problem.internal");
    }
    const key = `problem.${error.kind}`;
    return this.plain(error.message) || this.say(this.texts?.has(key) ? key : "problem.internal");
  }

  // Runs what a button asks for; an error is shown in *place*, and the button works again.
  async act(pressed, place, work) {
    if (pressed.getAttribute("aria-busy")) return;
    pressed.setAttribute("aria-busy", "true");
    place.replaceChildren();
    try {
      await work();
    } catch (error) {
      if (error.name !== "AbortError") place.replaceChildren(this.complaint(error));
    } finally {
      pressed.removeAttribute("aria-busy");
    }
  }
}

export const OPTION = /--set\s+"?(\w+)(?:\.[^=\s]+)?=("[^"]*"|[.,]|[^\s,."]+)"?/g;

// Where the texts themselves can't be loaded.
const FIRST = { again: "Try again", "problem.internal": "This could not be loaded." };

const SIGNS = { error: "alert", warning: "alert", good: "check", plain: "clock" };

export function note(kind, text, ...more) {
  const role = { error: "alert", good: "status" }[kind];
  const content = h("div", {}, h("p", {}, text), ...more);
  return h("div", { class: `note ${kind}`, role }, icon(SIGNS[kind] ?? SIGNS.plain), content);
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

// A button that asks once more before it does what can't be taken back.
export function careful(widget, label, question, work) {
  const place = h("span", { class: "line" });
  const rest = (focus) => {
    const first = button(label, ask, { kind: "little" });
    place.replaceChildren(first);
    if (focus) first.focus();
  };
  const ask = () => {
    const yes = button(widget.say("yes"), async () => {
      rest(true);
      await work(place.firstChild);
    }, { kind: "little bad" });
    const no = button(widget.say("no"), () => rest(true), { kind: "little" });
    const text = h("span", { class: "small strong" }, question);
    place.replaceChildren(text, no, yes);
    place.onkeydown = (event) => event.key === "Escape" && rest(true);
    no.focus();
  };
  rest(false);
  return place;
}
