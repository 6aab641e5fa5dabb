/**
 * Answers kept for repeated requests: the same id, sent again, gets the same answer and runs
 * nothing (docs/http.md).
 *
 * A client that lost the connection cannot know whether its write happened; it sends the request
 * again under the same `X-Request-Id`. The key is a hash of user, id, method, path, the identity
 * of the database (not its name: a database created anew starts afresh) and the body. Only
 * answers of 2xx to requests that changed something are kept. While the first is under way a
 * second waits for it. Bounds: requests, bytes, age; the oldest goes first.
 */
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Administration} from '#server/session/administration.ts';

export interface StoredAnswer {
  readonly status: number;
  readonly body: string | Buffer;
  readonly contentType: string;
}

interface RememberedRequest {
  /** Undefined while the request is under way. */
  answer: StoredAnswer | undefined;
  storedAt: number;
  readonly waiting: ((answer: StoredAnswer | undefined) => void)[];
}

export type Begun =
  /** Run it, then call `settle`. */
  | {readonly kind: 'run'}
  | {readonly kind: 'replay'; readonly answer: StoredAnswer}
  | {readonly kind: 'still-running'};

const waitMs = 5_000;

export class IdempotentAnswers {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #administration: Administration;
  /** Requests in the order of storing: the first is the oldest. */
  readonly #requests = new Map<string, RememberedRequest>();
  #bytes = 0;
  #sweepIsDue = false;

  constructor(options: {clock: Clock; timers: Timers; administration: Administration}) {
    this.#clock = options.clock;
    this.#timers = options.timers;
    this.#administration = options.administration;
  }

  /** Claims `key` for the caller, or gives the answer that it has. */
  async begin(key: string): Promise<Begun> {
    for (;;) {
      const remembered = this.#requests.get(key);
      if (remembered === undefined || this.#isStale(remembered)) {
        this.#remove(key);
        this.#requests.set(key, {answer: undefined, storedAt: 0, waiting: []});
        return {kind: 'run'};
      }
      if (remembered.answer !== undefined) return {kind: 'replay', answer: remembered.answer};
      const outcome = await this.#wait(remembered);
      if (outcome === 'timeout') return {kind: 'still-running'};
      if (outcome !== undefined) return {kind: 'replay', answer: outcome};
      // The first one failed and left nothing: whoever looks first takes its place.
    }
  }

  /** Ends a `run`: keeps the answer, or forgets the request when there is none to keep. */
  settle(key: string, answer: StoredAnswer | undefined): void {
    const remembered = this.#requests.get(key);
    if (remembered === undefined || remembered.answer !== undefined) return;
    this.#requests.delete(key);
    const bodyMax = this.#administration.settings().get('svc.ha.idempotencyCacheMaxBodyBytes');
    if (answer !== undefined && answer.body.length <= bodyMax) {
      this.#requests.set(key, {answer, storedAt: this.#clock.monotonic(), waiting: []});
      this.#bytes += answer.body.length;
      this.#trim();
      this.#sweepLater();
    }
    for (const resume of remembered.waiting) resume(answer);
  }

  #wait(remembered: RememberedRequest): Promise<StoredAnswer | undefined | 'timeout'> {
    return new Promise(resolve => {
      const cancel = this.#timers.after(waitMs, () => resolve('timeout'));
      remembered.waiting.push(answer => {
        cancel();
        resolve(answer);
      });
    });
  }

  #isStale(remembered: RememberedRequest): boolean {
    if (remembered.answer === undefined) return false;
    const lifetimeMs = this.#administration.settings().get('svc.ha.idempotencyCacheTtlMs');
    return this.#clock.monotonic() - remembered.storedAt >= lifetimeMs;
  }

  /** Frees what is too old also when no further answer comes. */
  #sweepLater(): void {
    if (this.#sweepIsDue) return;
    this.#sweepIsDue = true;
    const lifetimeMs = this.#administration.settings().get('svc.ha.idempotencyCacheTtlMs');
    this.#timers.after(lifetimeMs, () => {
      this.#sweepIsDue = false;
      this.#trim();
      if (this.#bytes > 0) this.#sweepLater();
    });
  }

  /** Drops the oldest answers until age, number and bytes are within bounds. */
  #trim(): void {
    const settings = this.#administration.settings();
    const entriesMax = settings.get('svc.ha.idempotencyCacheMaxEntries');
    const bytesMax = settings.get('svc.ha.idempotencyCacheMaxBytes');
    for (const [key, remembered] of this.#requests) {
      if (remembered.answer === undefined) continue;
      const within = this.#requests.size <= entriesMax && this.#bytes <= bytesMax;
      if (within && !this.#isStale(remembered)) return;
      this.#remove(key);
    }
  }

  #remove(key: string): void {
    const remembered = this.#requests.get(key);
    if (remembered === undefined) return;
    this.#bytes -= remembered.answer?.body.length ?? 0;
    this.#requests.delete(key);
  }
}
