// Calls of the API. An answer that is no success is thrown as a Problem.

const HERE = new URL(".", import.meta.url);
export const BASE = HERE.href.slice(0, HERE.href.lastIndexOf("/static/"));

// What went wrong; *kind* is stable ("conflict"), "offline" where nothing was heard.
export class Problem extends Error {
  constructor(kind, detail = "", members = {}, status = 0) {
    super(detail);
    this.kind = kind;
    this.members = members;
    this.status = status;
  }
}

export class Api {
  constructor(base, language) {
    this.base = new URL(base ?? BASE, document.baseURI).href.replace(/\/+$/, "");
    this.language = language;
  }

  url(path, query = {}) {
    const each = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
    const said = each.filter(([, value]) => value !== null && value !== undefined && value !== "");
    const text = new URLSearchParams(said).toString();
    return `${this.base}/api/${path}${text && `?${text}`}`;
  }

  get(path, query, signal) {
    return this.call("GET", this.url(path, query), { signal });
  }

  post(path, body) {
    return this.call("POST", this.url(path), { body });
  }

  patch(path, body) {
    return this.call("PATCH", this.url(path), { body });
  }

  headers(more = {}) {
    return { Accept: "application/json", "Accept-Language": this.language, "X-Batchfx": "1", ...more };
  }

  async call(method, url, { body, signal } = {}) {
    const written = body === undefined ? {} : { "Content-Type": "application/json" };
    let answer;
    try {
      const sent = body === undefined ? undefined : JSON.stringify(body);
      answer = await fetch(url, { method, body: sent, signal, headers: this.headers(written), credentials: "include" });
      return judged(answer.status, await answer.text());
    } catch (error) {
      if (error instanceof Problem || error.name === "AbortError") throw error;
      throw new Problem("offline");
    }
  }

  // Sends a file as it is; *told* hears the bytes that are through.
  send(path, query, file, key, told, signal) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("POST", this.url(path, query));
      request.withCredentials = true;
      const headers = this.headers({ "Content-Type": "application/octet-stream", "Idempotency-Key": key });
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = (event) => told(event.loaded, event.total);
      request.onload = () => {
        try {
          resolve(judged(request.status, request.responseText));
        } catch (error) {
          reject(error);
        }
      };
      request.onerror = () => reject(new Problem("offline"));
      request.onabort = () => reject(new DOMException("", "AbortError"));
      signal.addEventListener("abort", () => request.abort());
      request.send(file);
    });
  }
}

function judged(status, text) {
  const content = parsed(text);
  if (status >= 200 && status < 300) return content;
  const kind = String(content?.type ?? "").split(":").pop() || "internal";
  const problem = new Problem(kind, content?.detail, content ?? {}, status);
  if (status === 401) dispatchEvent(new CustomEvent("batchfx-signed-out"));
  throw problem;
}

function parsed(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

// Unlike crypto.randomUUID there is one outside of secure contexts too.
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("");
}
