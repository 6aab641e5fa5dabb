/**
 * What the clients were told, and the check of the database against it.
 *
 * Commits are kept in the order of their calls, which is the order of the log. Committed ones
 * must be there, refused and conflicting ones must not, and one of unknown outcome is there as a
 * whole or not at all: a marker key that every transaction writes tells which. The model replays
 * what happened; the whole key space of the store must equal it, byte for byte.
 */
import {createPackedRows, eachRow} from '#server/storage/packed-rows.ts';
import type {Reader} from '#server/storage/store.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import {isOld, plainText} from './simulated-formats.ts';

/** Raised by every check that fails; the world reports it with the seed. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

export type Effect =
  | {readonly kind: 'put'; readonly key: string; readonly value: string}
  | {readonly kind: 'delete'; readonly key: string}
  | {readonly kind: 'delete-range'; readonly start: string; readonly end: string};

/** One transaction as its client meant it. */
export interface Attempt {
  readonly number: number;
  readonly marker: string;
  readonly effects: readonly Effect[];
  /** What the guarded keys held when the client read them; undefined: absent. */
  readonly seen: ReadonlyMap<string, string | undefined>;
  readonly countDeltas: ReadonlyMap<number, number>;
  /** Record keys that this transaction creates: never used before. */
  readonly created: readonly string[];
  /** Sent again under the id of an earlier attempt: happens only if that one did not. */
  readonly repeats: Attempt | undefined;
  outcome: 'pending' | 'committed' | 'unknown' | 'absent';
}

/** What is committed by the cluster is there, whoever could not apply it. */
const outcomes: Readonly<Record<CommitOutcome['kind'], Attempt['outcome']>> = {
  committed: 'committed',
  unapplied: 'committed',
  unknown: 'unknown',
  conflict: 'absent',
  refused: 'absent',
};

export class Ledger {
  readonly #attempts: Attempt[] = [];
  readonly #model = new Map<string, string>();
  readonly #counts = new Map<number, number>();
  readonly #created = new Set<string>();
  readonly tallies = {committed: 0, unknown: 0, absent: 0};
  #checked = 0;

  add(attempt: Attempt): void {
    this.#attempts.push(attempt);
  }

  settle(attempt: Attempt, outcome: CommitOutcome): void {
    attempt.outcome = outcomes[outcome.kind];
  }

  /** The process has ended: whoever still waits does not know. */
  endOfLife(): void {
    for (const attempt of this.#attempts.slice(this.#checked)) {
      if (attempt.outcome === 'pending') attempt.outcome = 'unknown';
    }
  }

  /**
   * The order of the log, where that is not the one of the calls: the place of an attempt, or
   * undefined for one that is not in the log.
   */
  reorder(placeOf: (attempt: Attempt) => number | undefined): void {
    const places = new Map<Attempt, number>();
    for (const attempt of this.#attempts) {
      places.set(attempt, placeOf(attempt) ?? Number.POSITIVE_INFINITY);
    }
    const placed = (attempt: Attempt): number => places.get(attempt) ?? 0;
    this.#attempts.sort((left, right) => {
      // Infinity minus infinity is no number.
      return placed(left) === placed(right) ? 0 : placed(left) - placed(right);
    });
  }

  /** Replays what happened since the last check and compares everything. */
  check(reader: Reader, recordCount: (bucketId: number) => number): void {
    const found = readAll(reader);
    for (const attempt of this.#attempts.slice(this.#checked)) this.#replay(attempt, found);
    this.#checked = this.#attempts.length;
    for (const [key, value] of this.#model) {
      const stored = found.get(key);
      if (stored !== value) throw new Violation(`${hex(key)} is ${stored}, should be ${value}`);
    }
    for (const key of found.keys()) {
      if (!this.#model.has(key)) throw new Violation(`${hex(key)} should not be there`);
    }
    for (const [bucketId, count] of this.#counts) {
      const stored = recordCount(bucketId);
      if (stored !== count) {
        throw new Violation(`bucket ${bucketId} counts ${stored} records, should be ${count}`);
      }
    }
  }

  #replay(attempt: Attempt, found: ReadonlyMap<string, string>): void {
    const {number, outcome, repeats} = attempt;
    if (outcome === 'pending') throw new Violation(`commit ${number} was never answered`);
    const marked = found.has(attempt.marker);
    // A repeated request is answered for the first one: its own effects must not be there then.
    const mustBe = outcome === 'committed' && (repeats === undefined || !happened(repeats));
    if (mustBe && !marked) throw new Violation(`commit ${number} was acknowledged and is lost`);
    if (outcome === 'absent' && marked)
      throw new Violation(`commit ${number} was refused and is there`);
    if (repeats !== undefined && marked && happened(repeats)) {
      throw new Violation(`request of commit ${number} was applied twice`);
    }
    this.tallies[outcome]++;
    attempt.outcome = marked ? 'committed' : 'absent';
    if (!marked) return;
    for (const [key, value] of attempt.seen) {
      const before = this.#model.get(key);
      if (before !== value) {
        throw new Violation(`commit ${number} saw ${hex(key)} as ${value}, it was ${before}`);
      }
    }
    for (const key of attempt.created) {
      if (this.#created.has(key)) throw new Violation(`position ${hex(key)} was handed out twice`);
      this.#created.add(key);
    }
    for (const effect of attempt.effects) this.#apply(effect);
    for (const [bucketId, delta] of attempt.countDeltas) {
      this.#counts.set(bucketId, (this.#counts.get(bucketId) ?? 0) + delta);
    }
  }

  #apply(effect: Effect): void {
    if (effect.kind === 'put') this.#model.set(effect.key, effect.value);
    else if (effect.kind === 'delete') this.#model.delete(effect.key);
    else {
      for (const key of this.#model.keys()) {
        if (effect.start <= key && key < effect.end) this.#model.delete(key);
      }
    }
  }
}

function happened(attempt: Attempt): boolean {
  return attempt.outcome === 'committed';
}

/** Everything but the commit path's own keys, as the workload means it. */
export function readAll(
  reader: Reader,
  from: Buffer = Buffer.from([1]),
  to?: Buffer,
): Map<string, string> {
  const found = new Map<string, string>();
  for (const {key, stored} of eachStored(reader, from, to)) {
    found.set(key.toString('latin1'), plainText(key, stored));
  }
  return found;
}

/** Rows of records that an earlier format level wrote. */
export function countOldRows(reader: Reader): number {
  let count = 0;
  for (const {key, stored} of eachStored(reader, Buffer.from([1]))) {
    if (isOld(key, stored)) count++;
  }
  return count;
}

function* eachStored(
  reader: Reader,
  from: Buffer,
  to?: Buffer,
): Generator<{readonly key: Buffer; readonly stored: string}> {
  const scanner = reader.scan([to === undefined ? {start: from} : {start: from, end: to}]);
  const rows = createPackedRows(16 << 10);
  try {
    do {
      for (const {key, value} of eachRow(scanner.next(rows))) {
        yield {key, stored: value?.toString('latin1') ?? ''};
      }
    } while (!rows.done);
  } finally {
    scanner.close();
  }
}

function hex(key: string): string {
  return Buffer.from(key, 'latin1').toString('hex');
}
