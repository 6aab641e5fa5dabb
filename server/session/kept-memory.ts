/**
 * What users have the server keep between or beside their statements: parameters of sessions,
 * global variables, what open transactions wrote, fetched files, large bodies of requests, loads.
 *
 * All of it counts in the pool of the statements that run, so that no sum of them ends the process,
 * and in a share of its user. Root counts too and has no share: the bound of all the others leaves
 * it room. Invariant: what a holder counted is taken back when it is closed.
 */
import {Refusal} from '#server/base/errors.ts';
import type {MemoryPool} from '#server/execution/budget.ts';

/** The share of requests of which nobody knows whose they are; no name of a user. */
export const strangers = '';

export interface KeptLimits {
  /** `svc.keptMemoryMax`: of all users but root. */
  readonly all: number;
  /** `svc.keptMemoryMaxPerUser`. */
  readonly perUser: number;
}

/** What one thing keeps for its user. */
export interface KeptHolder {
  readonly bytes: number;
  /**
   * Counts so many bytes from now on. Fewer than before are never refused.
   *
   * @throws {Refusal} `query.memory` beyond the user's share, `query.memory-total` beyond that of
   *   all; the old figure stands then.
   */
  resize(bytes: number): void;
  /** Counts nothing any more. Idempotent. */
  close(): void;
}

export class KeptMemory {
  readonly #pool: MemoryPool;
  readonly #limits: () => KeptLimits;
  readonly #byUser = new Map<string, number>();
  #bytes = 0;

  constructor(pool: MemoryPool, limits: () => KeptLimits) {
    this.#pool = pool;
    this.#limits = limits;
  }

  /** What all users but root keep. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param user - Undefined: root, who has no share. */
  holder(user: string | undefined): KeptHolder {
    let held = 0;
    const resize = (bytes: number): void => {
      this.#count(user, bytes - held);
      held = bytes;
    };
    return {
      get bytes() {
        return held;
      },
      resize,
      close: () => resize(0),
    };
  }

  #count(user: string | undefined, more: number): void {
    if (more > 0) {
      if (user !== undefined) this.#checkShares(user, more);
      this.#pool.keep(more);
    } else if (more < 0) this.#pool.release(-more);
    if (user === undefined) return;
    this.#bytes += more;
    const own = (this.#byUser.get(user) ?? 0) + more;
    if (own > 0) this.#byUser.set(user, own);
    else this.#byUser.delete(user);
  }

  #checkShares(user: string, more: number): void {
    const {all, perUser} = this.#limits();
    if ((this.#byUser.get(user) ?? 0) + more > perUser) {
      throw new Refusal(
        'query.memory',
        `what ${user === strangers ? 'strangers keep' : `user '${user}' keeps`} in sessions, ` +
          'variables, open transactions, fetched files, bodies and loads is more than ' +
          `${perUser} bytes (svc.keptMemoryMaxPerUser)`,
        {detail: {memoryBytesMax: perUser}},
      );
    }
    if (this.#bytes + more <= all) return;
    throw new Refusal(
      'query.memory-total',
      'what users keep in sessions, variables, open transactions, fetched files, bodies and ' +
        `loads is more than ${all} bytes together (svc.keptMemoryMax); retry later`,
      {detail: {memoryBytesMax: all}},
    );
  }
}
