/**
 * One line that tells how far something is: drawn again and again on a terminal, printed at most
 * once a while into a pipe.
 */
import type {Output} from './command.ts';

const barWidth = 24;
const terminalMillisMin = 100;
const pipeMillisMin = 1_000;

/** Call `show` as often as there is news, `end` once. */
export class StatusLine {
  readonly #output: Output;
  readonly #pipeMillisMin: number;
  readonly #now: () => number;
  #drawnAt: number;
  #drawnWidth = 0;

  /** @param now - Milliseconds that never go back. */
  constructor(output: Output, pipeMillis = pipeMillisMin, now = () => performance.now()) {
    this.#output = output;
    this.#pipeMillisMin = pipeMillis;
    this.#now = now;
    this.#drawnAt = now();
  }

  get isTerminal(): boolean {
    return this.#output.isTTY === true;
  }

  /** Draws what `text` answers, or does nothing when the last time was a moment ago. */
  show(text: () => string): void {
    const now = this.#now();
    const millisMin = this.isTerminal ? terminalMillisMin : this.#pipeMillisMin;
    if (now - this.#drawnAt < millisMin) return;
    this.#drawnAt = now;
    if (!this.isTerminal) {
      this.#output.write(`${text()}\n`);
      return;
    }
    const cut = text().slice(0, (this.#output.columns ?? 80) - 1);
    this.#output.write(`\r${cut.padEnd(this.#drawnWidth)}`);
    this.#drawnWidth = cut.length;
  }

  /** Clears what is drawn; what has been printed as lines stays. */
  end(): void {
    if (this.#drawnWidth > 0) this.#output.write(`\r${' '.repeat(this.#drawnWidth)}\r`);
    this.#drawnWidth = 0;
  }
}

/** Call `sent` with every chunk, `counted` with the other side's news, `end` once. */
export class ProgressLine {
  readonly #line: StatusLine;
  readonly #bytesTotal: number | undefined;
  #bytesSent = 0;
  #counts = '';

  /** @param bytesTotal - `undefined` when nobody knows (standard input): then no bar. */
  constructor(output: Output, bytesTotal: number | undefined) {
    this.#line = new StatusLine(output);
    this.#bytesTotal = bytesTotal;
  }

  sent(bytes: number): void {
    this.#bytesSent += bytes;
    this.#line.show(() => this.#text());
  }

  counted(text: string): void {
    this.#counts = text;
    this.#line.show(() => this.#text());
  }

  end(): void {
    this.#line.end();
  }

  #text(): string {
    const megabytes = (this.#bytesSent / 1e6).toFixed(1);
    const counts = this.#counts === '' ? '' : `, ${this.#counts}`;
    if (this.#bytesTotal === undefined || this.#bytesTotal === 0) {
      return `sent ${megabytes} MB${counts}`;
    }
    const share = Math.min(1, this.#bytesSent / this.#bytesTotal);
    const filled = Math.round(share * barWidth);
    const bar = `[${'#'.repeat(filled)}${' '.repeat(barWidth - filled)}] `;
    const drawn = this.#line.isTerminal ? bar : '';
    return `${drawn}${Math.floor(share * 100)} % sent (${megabytes} MB)${counts}`;
  }
}
