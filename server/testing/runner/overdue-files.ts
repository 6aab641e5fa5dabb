/**
 * Ends test files that go on behind their time, and says so when it happens.
 *
 * The file is asked first (SIGTERM): node's handler then tells which case was running. A loop that
 * never lets go of its thread does not get to the handler, and servers that the file started would
 * outlive it; so whatever is left of it and below it is killed some seconds later.
 */
import {childWith, signalAll, treeOf} from './processes.ts';

/** The time between asking and killing. */
const graceMs = 5_000;

export interface OverdueOptions {
  readonly say: (line: string) => void;
  readonly graceMs?: number;
}

export class OverdueFiles {
  readonly #say: (line: string) => void;
  readonly #graceMs: number;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(options: OverdueOptions) {
    this.#say = options.say;
    this.#graceMs = options.graceMs ?? graceMs;
  }

  /** A child of this process begins to run the file, which may take `msMax`. */
  began(file: string, msMax: number): void {
    this.ended(file);
    this.#timers.set(
      file,
      setTimeout(() => this.#ask(file, msMax), msMax),
    );
  }

  ended(file: string): void {
    clearTimeout(this.#timers.get(file));
    this.#timers.delete(file);
  }

  #ask(file: string, msMax: number): void {
    this.#say(`late ${file} is not done within ${msMax / 1000} s and is ended`);
    const pid = childWith(file);
    if (pid === undefined) return;
    // Once the file is gone, nothing tells that these were its children.
    const pids = treeOf(pid);
    signalAll([pid], 'SIGTERM');
    setTimeout(() => signalAll(pids, 'SIGKILL'), this.#graceMs);
  }
}
