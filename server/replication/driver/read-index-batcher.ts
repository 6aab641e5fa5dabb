/**
 * Linearizable reads of this node: many that wait, one question at a time to the leader.
 *
 * A read is answered by a question that was asked after it began, never by one under way. Those of
 * one turn of the event loop share one. What fails or gets lost is asked again until each read's
 * own time is over. Ids hold the start of the process, so that an answer to an earlier one serves
 * none.
 */
import {Refusal} from '#server/base/errors.ts';
import type {LogIndex} from '#server/raft/message.ts';

export interface ReadQuestionsOptions {
  /** Different for every start of a process on every node. */
  readonly idPrefix: string;
  /** An answer that did not come for so long never will. */
  readonly repeatMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Resolves when what this turn of the event loop brought is there. */
  readonly yield: () => Promise<void>;
  readonly ask: (id: string) => void;
}

interface Waiter {
  readonly deadline: number;
  readonly resolve: (index: LogIndex) => void;
  readonly reject: (error: Refusal) => void;
}

interface Question {
  readonly id: string;
  readonly askedAt: number;
  readonly waiters: readonly Waiter[];
}

const waitersMax = 100_000;

export class ReadIndexBatcher {
  readonly #options: ReadQuestionsOptions;
  #waiting: Waiter[] = [];
  #asked: Question | undefined;
  #isDue = false;
  #count = 0;

  constructor(options: ReadQuestionsOptions) {
    this.#options = options;
  }

  /**
   * The index from which a read that begins now is linearizable.
   *
   * @throws {Refusal} `cluster.no-quorum` when nobody could tell within `timeoutMs`.
   */
  wait(timeoutMs: number): Promise<LogIndex> {
    if (this.#waiting.length >= waitersMax) throw noAnswer('too many reads wait for it');
    const {promise, resolve, reject} = Promise.withResolvers<LogIndex>();
    this.#waiting.push({deadline: this.#options.now() + timeoutMs, resolve, reject});
    this.#askSoon();
    return promise;
  }

  ready(id: string, index: LogIndex): void {
    if (this.#asked?.id !== id) return;
    const {waiters} = this.#asked;
    this.#asked = undefined;
    for (const {resolve} of waiters) resolve(index);
    this.#askSoon();
  }

  /** Asked again at the next tick. */
  failed(id: string): void {
    if (this.#asked?.id === id) this.#takeBack(this.#asked);
  }

  /** Time has passed. */
  tick(): void {
    const {now, repeatMs} = this.#options;
    if (this.#asked !== undefined && now() - this.#asked.askedAt >= repeatMs) {
      this.#takeBack(this.#asked);
    }
    if (this.#waiting.length === 0) return;
    const over = this.#waiting.filter(({deadline}) => deadline <= now());
    if (over.length > 0) this.#waiting = this.#waiting.filter(({deadline}) => deadline > now());
    for (const {reject} of over) reject(noAnswer('no leader that a majority answers'));
    this.#askNext();
  }

  /** Nobody is told any more. */
  close(): void {
    if (this.#asked !== undefined) this.#takeBack(this.#asked);
    for (const {reject} of this.#waiting.splice(0)) reject(noAnswer('this server is stopping'));
  }

  #takeBack({waiters}: Question): void {
    this.#asked = undefined;
    this.#waiting = [...waiters, ...this.#waiting];
  }

  #askSoon(): void {
    if (this.#isDue || this.#asked !== undefined || this.#waiting.length === 0) return;
    this.#isDue = true;
    void this.#options.yield().then(() => {
      this.#isDue = false;
      this.#askNext();
    });
  }

  #askNext(): void {
    if (this.#asked !== undefined || this.#waiting.length === 0) return;
    const waiters = this.#waiting;
    this.#waiting = [];
    const id = `${this.#options.idPrefix}-${++this.#count}`;
    this.#asked = {id, askedAt: this.#options.now(), waiters};
    this.#options.ask(id);
  }
}

function noAnswer(reason: string): Refusal {
  return new Refusal('cluster.no-quorum', `the read cannot be made linearizable: ${reason}`);
}
