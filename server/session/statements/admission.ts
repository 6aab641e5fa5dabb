/**
 * The query admission gate: how many statements may execute at once, on every protocol.
 *
 * A statement holds its place while it computes, not while it waits for its commit to become
 * durable (commits must queue together to share one fdatasync), nor while a stream waits for its
 * reader (a client that does not read would keep others out). Short statements that finish
 * within one turn of the event loop never wait. Over the limits, of places or of the memory that
 * running statements hold, a statement queues, up to a time and a length; beyond either it is
 * refused, retryably (503). A stream that goes on is never refused.
 *
 * Users take turns in the queue. One place is for root alone, and one more for whoever is not the
 * user that holds all the others, so that no user keeps others out with statements that never end.
 * A setting may leave each user fewer.
 * Source: docs/limits.md.
 */
import {Refusal} from '#server/base/errors.ts';
import {FairQueue} from '#server/security/fair-queue.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {MemoryPool} from '#server/execution/budget.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Machine} from '#server/platform/machine.ts';

export interface AdmissionLimits {
  /** 0 switches this bound off. */
  readonly concurrentMax: number;
  /** How many of one user; 0: as many as leave a place for another one, and one for root. */
  readonly concurrentMaxOfUser: number;
  /** What runs holds so much memory that it ends first before something else begins. */
  readonly memoryIsShort: boolean;
  readonly queueTimeoutMs: number;
  readonly queueLengthMax: number;
}

/** Reads the limits anew whenever they are asked for. */
export function admissionLimits(
  settings: () => Settings,
  machine: Machine,
  pool: MemoryPool,
): AdmissionLimits {
  return {
    get concurrentMax() {
      const concurrent = settings().get('svc.queryMaxConcurrent');
      return concurrent < 0 ? 2 * machine.processors : concurrent;
    },
    get concurrentMaxOfUser() {
      return settings().get('svc.queryMaxConcurrentPerUser');
    },
    get memoryIsShort() {
      return pool.isShort(settings().get('svc.queryAdmissionHeapWatermark') / 100);
    },
    get queueTimeoutMs() {
      return settings().get('svc.queryQueueTimeout');
    },
    get queueLengthMax() {
      return settings().get('svc.queryQueueMaxSize');
    },
  };
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
  readonly admit: () => void;
  readonly displace: () => void;
}

/** Who a place is for; undefined: root, or the server itself. */
export type Owner = string | undefined;

export class Admission {
  readonly #limits: () => AdmissionLimits;
  readonly #timers: Timers;
  readonly #queue = new FairQueue<Waiter>();
  readonly #rootQueue = new FairQueue<Waiter>();
  /** Places that each user holds, root left out, and those of all of them. */
  readonly #held = new Map<string, number>();
  #heldByUsers = 0;
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
    return this.#queue.size + this.#rootQueue.size;
  }

  /** How many were refused since the start. */
  get refused(): number {
    return this.#refused;
  }

  /** Whether who comes now need not wait; what is done within the turn needs no place then. */
  isOpen(owner: Owner): boolean {
    return !this.#waitsBefore(owner) && this.#hasRoom(owner);
  }

  /** A place at once, or undefined when the caller has to `enter`. */
  tryEnter(owner?: Owner): ExecutionPermit | undefined {
    return this.isOpen(owner) ? this.take(owner) : undefined;
  }

  /** A place at once, whatever is free: for what follows from something that had one. */
  take(owner: Owner): ExecutionPermit {
    return new ExecutionPermit(by => this.#count(owner, by));
  }

  /** Calls `work` with a place: at once when there is one, else when one becomes free. */
  within<T>(owner: Owner, work: (place: ExecutionPermit) => T | Promise<T>): T | Promise<T> {
    const place = this.tryEnter(owner);
    return place === undefined ? this.enter(owner).then(work) : work(place);
  }

  /** @throws {Refusal} `admission.full` when the queue is full or the wait took too long. */
  async enter(owner?: Owner): Promise<ExecutionPermit> {
    const place = this.tryEnter(owner);
    if (place !== undefined) return place;
    const {queueLengthMax, queueTimeoutMs} = this.#limits();
    if (this.#queueOf(owner).size >= queueLengthMax) {
      const displaced = owner === undefined ? undefined : this.#queue.displace(owner);
      if (displaced === undefined) throw this.#full(queueLengthMax);
      displaced.displace();
    }
    return this.#wait(owner, queueTimeoutMs);
  }

  #full(queueLengthMax: number): Refusal {
    this.#refused += 1;
    return new Refusal(
      'admission.full',
      `${queueLengthMax} statements wait already (svc.queryQueueMaxSize); retry later`,
    );
  }

  #wait(owner: Owner, timeoutMs: number): Promise<ExecutionPermit> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        admit: () => {
          cancel();
          resolve(this.take(owner));
        },
        displace: () => {
          cancel();
          reject(this.#full(this.#limits().queueLengthMax));
        },
      };
      const cancel = this.#timers.after(timeoutMs, () => {
        this.#queueOf(owner).remove(owner ?? '', waiter);
        this.#refused += 1;
        reject(
          new Refusal(
            'admission.full',
            `no place became free within ${timeoutMs} ms (svc.queryQueueTimeout); retry later`,
          ),
        );
      });
      this.#queueOf(owner).push(owner ?? '', waiter);
    });
  }

  #queueOf(owner: Owner): FairQueue<Waiter> {
    return owner === undefined ? this.#rootQueue : this.#queue;
  }

  /** Lets in who waits, as far as there is room; memory was given back, or a place. */
  admitMore(): void {
    while (this.#rootQueue.size > 0 && this.#hasRoom(undefined)) this.#rootQueue.shift()?.admit();
    while (this.#queue.size > 0) {
      const next = this.#queue.shift(this.#mayTurn);
      if (next === undefined) return;
      next.admit();
    }
  }

  readonly #mayTurn = (owner: string): boolean => this.#hasRoom(owner);

  /** Whether somebody waits whose turn comes before that of whoever comes now. */
  #waitsBefore(owner: Owner): boolean {
    if (this.#rootQueue.size > 0) return true;
    return owner !== undefined && this.#queue.size > 0 && this.#queue.hasTurn(this.#mayTurn);
  }

  #hasRoom(owner: Owner): boolean {
    const limits = this.#limits();
    const {concurrentMax} = limits;
    if (owner !== undefined && this.#hasShare(owner, limits.concurrentMaxOfUser)) return false;
    if (concurrentMax === 0) return true;
    if (this.#running > 0 && limits.memoryIsShort) return false;
    if (this.#running >= concurrentMax) return false;
    if (owner === undefined) return true;
    const ofUsers = Math.max(1, concurrentMax - 1);
    const ofOne = Math.max(1, concurrentMax - 2);
    return this.#heldByUsers < ofUsers && (this.#held.get(owner) ?? 0) < ofOne;
  }

  /** Whether a user holds all that he may, whatever is free. */
  #hasShare(owner: string, concurrentMaxOfUser: number): boolean {
    return concurrentMaxOfUser > 0 && (this.#held.get(owner) ?? 0) >= concurrentMaxOfUser;
  }

  #count(owner: Owner, by: 1 | -1): void {
    this.#running += by;
    if (owner !== undefined) {
      this.#heldByUsers += by;
      const held = (this.#held.get(owner) ?? 0) + by;
      if (held > 0) this.#held.set(owner, held);
      else this.#held.delete(owner);
    }
    if (by < 0) this.admitMore();
  }
}
