/**
 * The query admission gate: how many statements may execute at once, on every protocol.
 *
 * A statement holds its place while it computes, not while it waits for its commit to become
 * durable (commits must queue together to share one fdatasync), nor while a stream waits for its
 * reader (a client that does not read would keep others out). Short statements that finish
 * within one turn of the event loop never wait. Over the limits, of places or of the memory that
 * running statements hold, a statement queues, first come first served, up to a time and a
 * length; beyond either it is refused, retryably (503). A stream that goes on is never refused.
 * Source: specification, Limits, "Query admission gate".
 */
import {Refusal} from '#server/base/errors.ts';
import type {Timers} from '#server/platform/clock.ts';

export interface AdmissionLimits {
  /** 0 switches the gate off. */
  readonly concurrentMax: number;
  /** What runs holds so much memory that it ends first before something else begins. */
  readonly memoryIsShort: boolean;
  readonly queueTimeoutMs: number;
  readonly queueLengthMax: number;
}

/** What a statement that was let in holds. */
export class ExecutionPermit {
  readonly #running: (by: 1 | -1) => void;
  #state: 'running' | 'parked' | 'left' = 'running';

  /** `running` is told of one more that computes, or one less. */
  constructor(running: (by: 1 | -1) => void) {
    this.#running = running;
    running(1);
  }

  /** Gives the place back for good; calling it again does nothing. */
  leave(): void {
    this.#stop('left');
  }

  /** Gives it back for as long as nothing is computed. */
  park(): void {
    if (this.#state === 'running') this.#stop('parked');
  }

  /** Takes it again, at once; after `leave` nothing. */
  resume(): void {
    if (this.#state !== 'parked') return;
    this.#state = 'running';
    this.#running(1);
  }

  #stop(next: 'parked' | 'left'): void {
    const wasRunning = this.#state === 'running';
    this.#state = next;
    if (wasRunning) this.#running(-1);
  }
}

interface Waiter {
  admit: () => void;
}

export class Admission {
  readonly #limits: () => AdmissionLimits;
  readonly #timers: Timers;
  readonly #queue: Waiter[] = [];
  #running = 0;
  #refused = 0;

  constructor(limits: () => AdmissionLimits, timers: Timers) {
    this.#limits = limits;
    this.#timers = timers;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /** How many were refused since the start. */
  get refused(): number {
    return this.#refused;
  }

  /** Whether who comes now need not wait; what is done within the turn needs no place then. */
  get isOpen(): boolean {
    return this.#queue.length === 0 && this.#hasRoom();
  }

  /** A place at once, or undefined when the caller has to `enter`. */
  tryEnter(): ExecutionPermit | undefined {
    return this.isOpen ? this.#take() : undefined;
  }

  /** Calls `work` with a place: at once when there is one, else when one becomes free. */
  within<T>(work: (place: ExecutionPermit) => T | Promise<T>): T | Promise<T> {
    const place = this.tryEnter();
    return place === undefined ? this.enter().then(work) : work(place);
  }

  /** @throws {Refusal} `admission.full` when the queue is full or the wait took too long. */
  async enter(): Promise<ExecutionPermit> {
    const place = this.tryEnter();
    if (place !== undefined) return place;
    const {queueLengthMax, queueTimeoutMs} = this.#limits();
    if (this.#queue.length >= queueLengthMax) {
      this.#refused += 1;
      throw new Refusal(
        'admission.full',
        `${this.#queue.length} statements wait already (svc.queryQueueMaxSize); retry later`,
      );
    }
    return this.#wait(queueTimeoutMs);
  }

  #wait(timeoutMs: number): Promise<ExecutionPermit> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        admit: () => {
          cancel();
          resolve(this.#take());
        },
      };
      const cancel = this.#timers.after(timeoutMs, () => {
        this.#queue.splice(this.#queue.indexOf(waiter), 1);
        this.#refused += 1;
        reject(
          new Refusal(
            'admission.full',
            `no place became free within ${timeoutMs} ms (svc.queryQueueTimeout); retry later`,
          ),
        );
      });
      this.#queue.push(waiter);
    });
  }

  /** Lets in who waits, as far as there is room; memory was given back, or a place. */
  admitMore(): void {
    while (this.#queue.length > 0 && this.#hasRoom()) this.#queue.shift()?.admit();
  }

  #hasRoom(): boolean {
    const limits = this.#limits();
    const {concurrentMax} = limits;
    if (concurrentMax === 0) return true;
    return this.#running < concurrentMax && !(this.#running > 0 && limits.memoryIsShort);
  }

  #take(): ExecutionPermit {
    return new ExecutionPermit(this.#count);
  }

  readonly #count = (by: 1 | -1): void => {
    this.#running += by;
    if (by < 0) this.admitMore();
  };
}
