/**
 * The statements that run now: listed, and told to stop, by id or by the client's tag.
 *
 * Stopping is cooperative: the statement's signal is aborted and its operators notice within
 * 50 ms. Source: oracle.md 3.7 (list queries, terminate query).
 */
import type {Clock} from '#server/platform/clock.ts';
import type {RunningQuery, RunRequest} from './session.ts';

interface Entry {
  readonly query: Omit<RunningQuery, 'elapsedMs'>;
  readonly startedMonotonic: number;
  readonly abort: AbortController;
}

export interface RegisteredQuery {
  readonly signal: AbortSignal;
  done(): void;
}

export class RunningQueries {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(user: string, request: RunRequest): RegisteredQuery {
    this.#last += 1;
    const id = String(this.#last);
    const abort = new AbortController();
    const follow = (): void => abort.abort(request.signal?.reason);
    request.signal?.addEventListener('abort', follow, {once: true});
    if (request.signal?.aborted === true) follow();
    this.#entries.set(id, {
      query: {
        id,
        database: request.database,
        language: request.language,
        text: request.text,
        user,
        tag: request.tag,
        startedAt: this.#clock.now(),
      },
      startedMonotonic: this.#clock.monotonic(),
      abort,
    });
    return {
      signal: abort.signal,
      done: () => {
        this.#entries.delete(id);
        request.signal?.removeEventListener('abort', follow);
      },
    };
  }

  list(): RunningQuery[] {
    const now = this.#clock.monotonic();
    return [...this.#entries.values()].map(entry => ({
      ...entry.query,
      elapsedMs: Math.round(now - entry.startedMonotonic),
    }));
  }

  /** Tells every matching statement to stop; how many there were. */
  terminateWhere(matches: (query: Omit<RunningQuery, 'elapsedMs'>) => boolean): number {
    const matching = [...this.#entries.values()].filter(entry => matches(entry.query));
    for (const entry of matching) entry.abort.abort('terminated');
    return matching.length;
  }
}
