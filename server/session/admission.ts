/**
 * The query admission gate: how many statements may execute at once, on every protocol.
 *
 * A statement holds its place while it computes, not while it waits for its commit to become
 * durable: commits must queue together to share one fdatasync. Short statements that finish
 * within one turn of the event loop never wait. Over the limits a statement queues, first come
 * first served, up to a time and a length; beyond either it is refused, retryably (503).
 * Source: specification, Limits, "Query admission gate".
 */
import {Refusal} from '#server/base/errors.ts';
import type {Timers} from '#server/platform/clock.ts';

export interface AdmissionLimits {
  /** 0 switches the gate off. */
  readonly concurrentMax: number;
  readonly queueTimeoutMs: number;
  readonly queueLengthMax: number;
}

/** Gives the place back; calling it again does nothing. */
export type Leave = () => void;

interface Waiter {
  admit: () => void;
}

export class Admission {
  readonly #limits: () => AdmissionLimits;
  readonly #timers: Timers;
  readonly #queue: Waiter[] = [];
  #running = 0;

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

  /** A place at once, or undefined when the caller has to `enter`. */
  tryEnter(): Leave | undefined {
    const {concurrentMax} = this.#limits();
    if (concurrentMax > 0 && (this.#running >= concurrentMax || this.#queue.length > 0)) {
      return undefined;
    }
    return this.#take();
  }

  /** Calls `work` with a place: at once when there is one, else when one becomes free. */
  within<T>(work: (leave: Leave) => T | Promise<T>): T | Promise<T> {
    const leave = this.tryEnter();
    return leave === undefined ? this.enter().then(work) : work(leave);
  }

  /** @throws {Refusal} `admission.full` when the queue is full or the wait took too long. */
  async enter(): Promise<Leave> {
    const leave = this.tryEnter();
    if (leave !== undefined) return leave;
    const {queueLengthMax, queueTimeoutMs} = this.#limits();
    if (this.#queue.length >= queueLengthMax) {
      throw new Refusal(
        'admission.full',
        `${this.#queue.length} statements wait already (svc.queryQueueMaxSize); retry later`,
      );
    }
    return this.#wait(queueTimeoutMs);
  }

  #wait(timeoutMs: number): Promise<Leave> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        admit: () => {
          cancel();
          resolve(this.#take());
        },
      };
      const cancel = this.#timers.after(timeoutMs, () => {
        this.#queue.splice(this.#queue.indexOf(waiter), 1);
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

  #take(): Leave {
    this.#running += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#running -= 1;
      const {concurrentMax} = this.#limits();
      if (concurrentMax === 0 || this.#running < concurrentMax) this.#queue.shift()?.admit();
    };
  }
}
