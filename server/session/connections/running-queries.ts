/**
 * The statements that run now: listed, and told to stop, by id or by the client's tag.
 *
 * Stopping is cooperative: the statement's `signal` says so and its operators notice within
 * 50 ms. It is a plain object that is asked, not an AbortSignal that tells, because every
 * statement pays for it. Source: docs/http.md.
 */
import type {Cancellation} from '#server/base/cancellation.ts';
import {queryTerminated, Refusal} from '#server/base/errors.ts';
import type {QueryProfiler} from '#server/monitoring/query-profiler.ts';
import type {QueryTimings} from '#server/monitoring/query-timings.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {RunningQuery, RunRequest} from '../session.ts';
import type {StepCost} from '#server/monitoring/query-groups.ts';

/** What is known of a statement while it runs; its times are computed when somebody asks. */
export class RegisteredQuery implements Cancellation {
  readonly id: number;
  readonly user: string;
  readonly request: RunRequest;
  readonly startedMonotonic: number;
  /** What the nodes of its plan took, where that was measured. */
  steps: readonly StepCost[] | undefined;
  readonly #slots: Slots;
  readonly #slot: number;
  /** Why it was told to stop. */
  #reason: Refusal | undefined;
  #listener: ((reason: Refusal) => void) | undefined;

  constructor(id: number, user: string, request: RunRequest, clock: Clock, slots: Slots) {
    this.id = id;
    this.user = user;
    this.request = request;
    this.startedMonotonic = clock.monotonic();
    this.#slots = slots;
    this.#slot = slots.free.pop() ?? slots.used.length;
    slots.used[this.#slot] = this;
  }

  /** Told to stop, or its client went away. */
  get aborted(): boolean {
    return this.#reason !== undefined || this.request.signal?.aborted === true;
  }

  /** Only the first reason counts. */
  terminate(reason: Refusal): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#listener?.(reason);
  }

  /** What its client is told when it failed with `error`: that it ended, and why. */
  failure(error: unknown): unknown {
    const hasEnded = error instanceof Refusal && error.code === 'query.terminated';
    return hasEnded ? (this.#reason ?? error) : error;
  }

  /** Calls `listener` when it is told to stop. One listener. */
  onTerminate(listener: (reason: Refusal) => void): void {
    this.#listener = listener;
  }

  done(): void {
    const {used, free} = this.#slots;
    if (used[this.#slot] !== this) return;
    used[this.#slot] = undefined;
    free.push(this.#slot);
    this.#slots.ended(this);
  }
}

/**
 * A place for each that runs, used again. In a Map they would come and go as well, but one that
 * grows anew leaves its former table behind, which keeps what was in it until it is collected.
 */
interface Slots {
  readonly used: (RegisteredQuery | undefined)[];
  readonly free: number[];
  /** Hears of each that has ended. */
  readonly ended: (query: RegisteredQuery) => void;
}

/**
 * The text of a password, in statements about users: it is shown to nobody, also not in the words
 * of other systems, which are refused here.
 */
const secret =
  /(\b(?:password(?:\s+from)?|to|identified\s+by)\s+)('(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?)/gi;

/** The key of an archive, in BACKUP DATABASE. */
const key = /(\bencryptionKey\s*=\s*)('(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|\w+)/gi;

/** Who asks at an address, in what imports, loads or restores from one. */
const addressee = /(:\/\/)[^\s/@'"]*@/g;

function withoutSecrets(whole: string): string {
  const text = whole.includes('://') ? whole.replace(addressee, '$1***@') : whole;
  const keyless = /\bencryptionKey\b/i.test(text) ? text.replace(key, "$1'***'") : text;
  return /\buser\b/i.test(keyless) ? keyless.replace(secret, "$1'***'") : keyless;
}

/** Who is told of statements that have ended. */
export interface QueryWatch {
  /** Where to count them; undefined: nowhere at present. */
  readonly timings: () => QueryTimings | undefined;
  readonly profiler: QueryProfiler | undefined;
}

export class RunningQueries {
  readonly #clock: Clock;
  readonly #slots: Slots;
  #last = 0;

  constructor(clock: Clock, watch: QueryWatch) {
    this.#clock = clock;
    this.#slots = {used: [], free: [], ended: query => this.#ended(query, watch)};
  }

  get count(): number {
    return this.#slots.used.length - this.#slots.free.length;
  }

  start(user: string, request: RunRequest): RegisteredQuery {
    this.#last += 1;
    return new RegisteredQuery(this.#last, user, request, this.#clock, this.#slots);
  }

  #ended({request, startedMonotonic, steps}: RegisteredQuery, watch: QueryWatch): void {
    const timings = watch.timings();
    const isRecording = watch.profiler?.isRecording === true;
    if (timings === undefined && !isRecording) return;
    const elapsedMs = this.#clock.monotonic() - startedMonotonic;
    timings?.add(request, elapsedMs);
    if (!isRecording) return;
    const {database, language, text, clientName, receivedAt = startedMonotonic} = request;
    const deserializationMs = startedMonotonic - receivedAt;
    watch.profiler?.add({
      database,
      language,
      text: withoutSecrets(text),
      totalMs: deserializationMs + elapsedMs,
      deserializationMs,
      steps,
      clientName,
    });
  }

  list(): RunningQuery[] {
    const now = this.#clock.now();
    const monotonic = this.#clock.monotonic();
    return this.#running().map(({id, user, request, startedMonotonic}) => {
      const elapsedMs = Math.round(monotonic - startedMonotonic);
      return {
        id: String(id),
        database: request.database,
        language: request.language,
        text: withoutSecrets(request.text),
        user,
        protocol: request.protocol ?? 'http',
        clientName: request.clientName,
        tag: request.tag,
        startedAt: now - elapsedMs,
        elapsedMs,
      };
    });
  }

  /** Tells every matching statement to stop, and why; how many there were. */
  terminateWhere(
    matches: (query: RegisteredQuery) => boolean,
    reason: Refusal = queryTerminated(),
  ): number {
    const matching = this.#running().filter(matches);
    for (const query of matching) query.terminate(reason);
    return matching.length;
  }

  /** The ids of queries that run in a transaction of a client. */
  idsIn(transactionId: string): readonly string[] {
    const inside = this.#running().filter(({request}) => request.transactionId === transactionId);
    return inside.map(({id}) => String(id));
  }

  /** The longest first. */
  #running(): RegisteredQuery[] {
    return this.#slots.used.filter(query => query !== undefined).toSorted((a, b) => a.id - b.id);
  }
}
