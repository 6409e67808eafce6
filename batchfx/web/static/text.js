// What the widgets say, in the language of the page.

const LANGUAGES = ["en", "it", "de"];
const loaded = new Map();

export function languageOf(element) {
  const nearest = element.closest("[lang]")?.lang || element.getRootNode().host?.closest("[lang]")?.lang;
  const wanted = [nearest, document.documentElement.lang, ...navigator.languages];
  const known = wanted.map((each) => (each || "").split("-")[0].toLowerCase());
  return known.find((each) => LANGUAGES.includes(each)) || "en";
}

// Loads a language once for all widgets of the page.
export function textsIn(language) {
  if (!loaded.has(language)) loaded.set(language, load(language));
  return loaded.get(language);
}

async function load(language) {
  try {
    const answer = await fetch(new URL(`messages/${language}.json`, import.meta.url));
    if (!answer.ok) throw new Error(`${answer.status}`);
    return new Texts(language, await answer.json());
  } catch (error) {
    loaded.delete(language);
    throw error;
  }
}

export class Texts {
  constructor(language, messages) {
    this.language = language;
    this.messages = messages;
    this.plural = new Intl.PluralRules(language);
    // Numbers and dates are written as where the reader is: en-GB has its day first.
    this.locale = navigator.languages.find((each) => each.split("-")[0].toLowerCase() === language) ?? language;
  }

  has(key) {
    return key in this.messages;
  }

  // "{n}" is a number, and picks the plural form where there are several.
  say(key, values = {}) {
    const message = this.messages[key] ?? key;
    const form = typeof message === "string" ? message : message[this.plural.select(values.n)] ?? message.other;
    return form.replace(/\{(\w+)\}/g, (whole, name) => {
      const value = values[name];
      return typeof value === "number" ? this.number(value) : value ?? whole;
    });
  }

  number(value, digits = 0) {
    return new Intl.NumberFormat(this.locale, { maximumFractionDigits: digits }).format(value);
  }

  // 99.9 % is no 100 %: only what is whole is shown as whole.
  percent(share) {
    const shown = share >= 1 ? 1 : Math.floor(share * 100) / 100;
    return new Intl.NumberFormat(this.locale, { style: "percent" }).format(shown);
  }

  size(bytes) {
    const units = ["kilobyte", "megabyte", "gigabyte"];
    const step = Math.min(2, bytes > 1000 ? Math.floor(Math.log10(bytes) / 3) - 1 : 0);
    const style = { style: "unit", unit: units[step], maximumFractionDigits: 1 };
    return new Intl.NumberFormat(this.locale, style).format(bytes / 1000 ** (step + 1));
  }

  duration(seconds) {
    const whole = Math.max(1, Math.ceil(seconds));
    const unit = (value, name) =>
      new Intl.NumberFormat(this.locale, { style: "unit", unit: name, unitDisplay: "short" }).format(value);
    if (whole < 60) return unit(whole, "second");
    if (whole < 3600) return unit(Math.ceil(whole / 60), "minute");
    return `${unit(Math.floor(whole / 3600), "hour")} ${unit(Math.floor((whole % 3600) / 60), "minute")}`;
  }

  moment(moment) {
    const style = { dateStyle: "medium", timeStyle: "short" };
    return new Intl.DateTimeFormat(this.locale, style).format(new Date(moment));
  }

  list(texts) {
    return new Intl.ListFormat(this.language).format(texts);
  }
}
