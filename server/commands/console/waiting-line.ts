/**
 * What is said while a statement takes long: for how long it has been running, how far its work on
 * the database is where the server knows, and which key ends it.
 */
import type {Row} from '#server/client/client.ts';
import type {Output} from '../command.ts';
import {StatusLine} from '../progress.ts';
import {visible} from '../table.ts';

/** Silence before anything is said, between two looks, and between two lines in a pipe. */
const patienceMillis = 2_000;
const lookMillis = 500;
const pipeMillis = 10_000;

/** The clocks of two requests may differ by this many milliseconds. */
const toleranceMillis = 200;

export class WaitingLine {
  readonly #line: StatusLine;
  readonly #isStopping: () => boolean;
  readonly #now: () => number;
  readonly #startedAt: number;
  #timer: NodeJS.Timeout | undefined;
  #work = '';
  /** A server that does not answer is not asked again and again. */
  #isLooking = false;

  /** @param now - Milliseconds that never go back. */
  constructor(output: Output, isStopping: () => boolean, now = () => performance.now()) {
    this.#line = new StatusLine(output, pipeMillis, now);
    this.#isStopping = isStopping;
    this.#now = now;
    this.#startedAt = now();
  }

  /** @param progressOf - The rows of the server's list of long work. */
  begin(progressOf: () => Promise<readonly Row[]>): void {
    this.#timer = setInterval(() => {
      const millis = this.#now() - this.#startedAt;
      if (millis < patienceMillis) return;
      this.#line.show(() => this.#text(millis));
      if (!this.#isLooking) void this.#look(progressOf, millis);
    }, lookMillis);
  }

  end(): void {
    clearInterval(this.#timer);
    this.#line.end();
  }

  async #look(progressOf: () => Promise<readonly Row[]>, millis: number): Promise<void> {
    this.#isLooking = true;
    try {
      this.#work = workOf(await progressOf(), millis);
    } catch {
      this.#work = '';
    } finally {
      this.#isLooking = false;
    }
  }

  #text(millis: number): string {
    const key = this.#isStopping() ? 'stopping; Ctrl-C again stops waiting' : 'Ctrl-C stops it';
    return `running for ${Math.round(millis / 1_000)} s${this.#work}; ${key}`;
  }
}

/** What was begun since the statement was; older work is somebody else's. */
function workOf(rows: readonly Row[], millis: number): string {
  const own = rows.filter(row => Number(row['elapsedMs']) <= millis + toleranceMillis);
  return own
    .map(({operation, stepName, percentage}) => {
      const share = Number(percentage) >= 0 ? ` ${Number(percentage)} %` : '';
      return visible(`, ${String(operation)}: ${String(stepName)}${share}`);
    })
    .join('');
}
