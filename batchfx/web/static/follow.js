// Follows a batch: by its event stream, by asking where no stream gets through.

export const ENDED = ["checked", "completed", "stopped", "failed", "cancelled"];

const TRIES = 3; // of the stream in vain, until it is asked for instead
const ASKED_EVERY = 2000; // ms, then
const STREAM_AGAIN = 15; // of these
const SILENCE = 20000; // ms without an event, until it is asked for nevertheless
const LONGEST = 15000; // ms between two tries

// *heard* is told the batch as it is, *lost* whether the connection is down.
export class Follower {
  constructor(api, batch, heard, lost) {
    Object.assign(this, { api, heard, lost, known: batch, cursor: batch.cursor, vain: 0, asked: 0 });
    this.path = `batches/${batch.number}`;
    this.online = () => this.later(() => this.ask(), 0);
    addEventListener("online", this.online);
    this.open();
  }

  stop() {
    this.isOver = true;
    clearTimeout(this.timer);
    this.source?.close();
    removeEventListener("online", this.online);
  }

  open() {
    const source = new EventSource(this.api.url(`${this.path}/events`, { after: this.cursor }), { withCredentials: true });
    this.source = source;
    source.onopen = () => {
      this.vain = 0;
      this.lost(false);
      this.later(() => this.ask(), SILENCE);
    };
    source.onmessage = (event) => this.take(event);
    for (const name of ["snapshot", "reset", "end"]) {
      source.addEventListener(name, (event) => this.restart(JSON.parse(event.data).batch, name === "end"));
    }
    source.onerror = () => this.close();
    this.later(() => this.close(), SILENCE);
  }

  // The stream gave out: close it, so that it is this class that says when to go on.
  close() {
    this.source.close();
    this.source = null;
    this.vain += 1;
    this.later(() => this.ask(), wait(this.vain));
  }

  take(event) {
    const { cursor, seq, kind, state, total, tally, progress } = JSON.parse(event.data);
    this.cursor = cursor;
    this.later(() => this.ask(), SILENCE);
    if (state) this.tell({ ...this.known, cursor, seq, state, total, tally, progress, waits_for: null });
    // Events don't say what it waits for or what may be done now, nor what is at work.
    if (kind !== "progressed" || state === "paused") this.refresh();
  }

  restart(batch, isLast) {
    this.cursor = batch.cursor;
    this.tell(batch);
    if (isLast) this.stop();
  }

  tell(batch) {
    if (this.isOver) return;
    this.known = batch;
    this.lost(false);
    this.heard(batch);
  }

  async refresh() {
    const batch = await this.api.get(this.path).catch(() => null);
    if (batch) this.tell(batch);
  }

  async ask() {
    try {
      this.tell(await this.api.get(this.path));
    } catch (problem) {
      return this.excuse(problem);
    }
    if (this.isOver) return;
    if (ENDED.includes(this.known.state)) this.stop();
    else if (this.source) this.later(() => this.ask(), SILENCE);
    else if (this.vain < TRIES || (this.asked += 1) % STREAM_AGAIN === 0) this.open();
    else this.later(() => this.ask(), ASKED_EVERY);
  }

  excuse(problem) {
    if (this.isOver) return;
    if (problem.status >= 400 && problem.status < 500) return void this.stop();
    this.lost(true);
    this.vain += 1;
    this.later(() => this.ask(), wait(this.vain));
  }

  later(what, milliseconds) {
    clearTimeout(this.timer);
    if (!this.isOver) this.timer = setTimeout(what, milliseconds);
  }
}

// Longer from try to try, and not the same for all who lost the same server.
const wait = (tries) => Math.min(LONGEST, 500 * 2 ** (tries - 1)) * (0.75 + Math.random() / 2);
