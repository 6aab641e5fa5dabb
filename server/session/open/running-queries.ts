/**
 * The statements that run now: listed, and told to stop, by id or by the client's tag.
 *
 * Stopping is cooperative: the statement's `signal` says so and its operators notice within
 * 50 ms. It is a plain object that is asked, not an AbortSignal that tells, because every
 * statement pays for it. Source: oracle.md 3.7 (list queries, terminate query).
 */
import type {Cancellation} from '#server/base/cancellation.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {RunningQuery, RunRequest} from '../session.ts';

/** What is known of a statement while it runs; its times are computed when somebody asks. */
export class RegisteredQuery implements Cancellation {
  readonly id: number;
  readonly user: string;
  readonly request: RunRequest;
  readonly startedMonotonic: number;
  readonly #entries: Map<number, RegisteredQuery>;
  #terminated = false;
  #listener: (() => void) | undefined;

  constructor(
    id: number,
    user: string,
    request: RunRequest,
    clock: Clock,
    entries: Map<number, RegisteredQuery>,
  ) {
    this.id = id;
    this.user = user;
    this.request = request;
    this.startedMonotonic = clock.monotonic();
    this.#entries = entries;
  }

  /** Told to stop, or its client went away. */
  get aborted(): boolean {
    return this.#terminated || this.request.signal?.aborted === true;
  }

  terminate(): void {
    this.#terminated = true;
    this.#listener?.();
  }

  /** Calls `listener` when it is told to stop. One listener. */
  onTerminate(listener: () => void): void {
    this.#listener = listener;
  }

  done(): void {
    this.#entries.delete(this.id);
  }
}

/** The text of a password, in statements about users: it is shown to nobody. */
const secret = /(\bpassword\s+(?:from\s+)?|\bto\s+)('(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?)/gi;

function withoutSecrets(text: string): string {
  return /\buser\b/i.test(text) ? text.replace(secret, "$1'***'") : text;
}

export class RunningQueries {
  readonly #clock: Clock;
  readonly #entries = new Map<number, RegisteredQuery>();
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#entries.size;
  }

  start(user: string, request: RunRequest): RegisteredQuery {
    this.#last += 1;
    const query = new RegisteredQuery(this.#last, user, request, this.#clock, this.#entries);
    this.#entries.set(query.id, query);
    return query;
  }

  list(): RunningQuery[] {
    const now = this.#clock.now();
    const monotonic = this.#clock.monotonic();
    return [...this.#entries.values()].map(({id, user, request, startedMonotonic}) => {
      const elapsedMs = Math.round(monotonic - startedMonotonic);
      return {
        id: String(id),
        database: request.database,
        language: request.language,
        text: withoutSecrets(request.text),
        user,
        tag: request.tag,
        startedAt: now - elapsedMs,
        elapsedMs,
      };
    });
  }

  /** Tells every matching statement to stop; how many there were. */
  terminateWhere(matches: (query: RegisteredQuery) => boolean): number {
    const matching = [...this.#entries.values()].filter(matches);
    for (const query of matching) query.terminate();
    return matching.length;
  }
}
