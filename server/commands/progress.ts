/**
 * One line that tells how far a transfer is: drawn again and again on a terminal, printed at most
 * once a second into a pipe.
 */
import type {Output} from './command.ts';

const barWidth = 24;
const terminalMillisMin = 100;
const pipeMillisMin = 1_000;

/** Call `sent` with every chunk, `counted` with the other side's news, `end` once. */
export class ProgressLine {
  readonly #output: Output;
  readonly #bytesTotal: number | undefined;
  #bytesSent = 0;
  #counts = '';
  #drawnAt = performance.now();
  #drawnWidth = 0;

  /** @param bytesTotal - `undefined` when nobody knows (standard input): then no bar. */
  constructor(output: Output, bytesTotal: number | undefined) {
    this.#output = output;
    this.#bytesTotal = bytesTotal;
  }

  sent(bytes: number): void {
    this.#bytesSent += bytes;
    this.#draw();
  }

  counted(text: string): void {
    this.#counts = text;
    this.#draw();
  }

  /** Clears the bar; what has been printed as lines stays. */
  end(): void {
    if (this.#drawnWidth > 0) this.#output.write(`\r${' '.repeat(this.#drawnWidth)}\r`);
    this.#drawnWidth = 0;
  }

  #draw(): void {
    const terminal = this.#output.isTTY === true;
    const now = performance.now();
    if (now - this.#drawnAt < (terminal ? terminalMillisMin : pipeMillisMin)) return;
    this.#drawnAt = now;
    const text = this.#text(terminal);
    if (!terminal) {
      this.#output.write(`${text}\n`);
      return;
    }
    const cut = text.slice(0, (this.#output.columns ?? 80) - 1);
    this.#output.write(`\r${cut.padEnd(this.#drawnWidth)}`);
    this.#drawnWidth = cut.length;
  }

  #text(bar: boolean): string {
    const megabytes = (this.#bytesSent / 1e6).toFixed(1);
    const counts = this.#counts === '' ? '' : `, ${this.#counts}`;
    if (this.#bytesTotal === undefined || this.#bytesTotal === 0) {
      return `sent ${megabytes} MB${counts}`;
    }
    const share = Math.min(1, this.#bytesSent / this.#bytesTotal);
    const filled = Math.round(share * barWidth);
    const drawn = bar ? `[${'#'.repeat(filled)}${' '.repeat(barWidth - filled)}] ` : '';
    return `${drawn}${Math.floor(share * 100)} % sent (${megabytes} MB)${counts}`;
  }
}
