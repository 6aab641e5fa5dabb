/**
 * What the simulated clients do: inserts under a unique key, updates, deletes, transfers between
 * two records, emptying of a bucket, requests sent twice, and reads that check a snapshot against
 * itself. Every transaction writes a marker, so that the ledger can tell whether it happened.
 */
import type {Database} from '#server/engine/database.ts';
import type {ReadContext, Transaction} from '#server/transactions/transaction-contract.ts';
import {type Attempt, type Effect, type Ledger, readAll, Violation} from './ledger.ts';
import type {Scheduler} from './scheduler.ts';
import type {SeededRandom} from './seeded-random.ts';
import {plainText, storedText} from './simulated-formats.ts';

const buckets = [1, 2];
const uniqueKeys = 40;

export interface ClientOptions {
  readonly database: Database;
  readonly ledger: Ledger;
  readonly random: SeededRandom;
  readonly scheduler: Scheduler;
  readonly nextNumber: () => number;
  /** A request of a client begins. */
  readonly asked?: (client: unknown) => void;
}

/** Does `operations` operations, one after another, pausing between them. */
export async function runClient(options: ClientOptions, operations: number): Promise<void> {
  const client = {};
  for (let count = 0; count < operations; count++) {
    await options.scheduler.sleep(options.random.below(4));
    options.asked?.(client);
    await runOne(options);
  }
}

/** One operation, which ends when its outcome is known. */
export async function runOne(options: ClientOptions): Promise<void> {
  const {database, random} = options;
  const choice = random.below(100);
  if (choice < 8) return checkSnapshot(database);
  const isolation = random.chance(50) ? 'READ_COMMITTED' : 'REPEATABLE_READ';
  const draft = new Draft(database.begin(isolation), options);
  if (choice < 50) insert(draft, random);
  else if (choice < 72) update(draft, random, 1);
  else if (choice < 84) update(draft, random, 2);
  else if (choice < 97) remove(draft, random);
  else empty(draft, random);
  // Between reading and committing others have their turn.
  if (random.chance(60)) await options.scheduler.sleep(random.below(3));
  if (random.chance(5)) return draft.transaction.rollback();
  const twice = random.chance(10);
  const requestId = twice ? `request-${draft.number}` : undefined;
  const first = draft.finish();
  options.ledger.add(first);
  const outcome = draft.transaction.commit(requestId);
  const again = twice ? sendAgain(options, first, requestId ?? '') : undefined;
  await Promise.all([outcome.then(told => options.ledger.settle(first, told)), again]);
}

/** The same request as a client would send it after a lost answer. */
async function sendAgain(options: ClientOptions, first: Attempt, id: string): Promise<void> {
  const {database, ledger, random, scheduler} = options;
  await scheduler.sleep(random.below(3));
  const draft = new Draft(database.begin('READ_COMMITTED'), options);
  draft.put(key(0x50, random.below(200)), `again ${draft.number}`);
  const again = draft.finish(first);
  ledger.add(again);
  ledger.settle(again, await draft.transaction.commit(id));
}

/** A transaction and what the ledger will know of it. */
export class Draft {
  readonly transaction: Transaction;
  readonly number: number;
  readonly #effects: Effect[] = [];
  readonly #seen = new Map<string, string | undefined>();
  readonly #countDeltas = new Map<number, number>();
  readonly #created: string[] = [];

  constructor(transaction: Transaction, {nextNumber}: ClientOptions) {
    this.transaction = transaction;
    this.number = nextNumber();
  }

  /** Reads a key and makes the commit depend on what it held. */
  guard(keyBytes: Buffer): string | undefined {
    const stored = this.transaction.get(keyBytes)?.toString('latin1');
    const value = stored === undefined ? undefined : plainText(keyBytes, stored);
    this.transaction.require({kind: 'unchanged', key: keyBytes});
    this.#seen.set(keyBytes.toString('latin1'), value);
    return value;
  }

  put(keyBytes: Buffer, value: string): void {
    const stored = storedText(keyBytes, value, this.transaction.formatLevel);
    this.transaction.put(keyBytes, Buffer.from(stored, 'latin1'));
    this.#effects.push({kind: 'put', key: keyBytes.toString('latin1'), value});
  }

  delete(keyBytes: Buffer): void {
    this.transaction.delete(keyBytes);
    this.#effects.push({kind: 'delete', key: keyBytes.toString('latin1')});
  }

  deleteRange(start: Buffer, end: Buffer): void {
    this.transaction.require({kind: 'range-untouched', start, end});
    this.transaction.deleteRange(start, end);
    const texts = {start: start.toString('latin1'), end: end.toString('latin1')};
    this.#effects.push({kind: 'delete-range', ...texts});
  }

  count(bucketId: number, delta: number): void {
    this.transaction.count(bucketId, delta);
    this.#countDeltas.set(bucketId, (this.#countDeltas.get(bucketId) ?? 0) + delta);
  }

  creates(keyBytes: Buffer): void {
    this.#created.push(keyBytes.toString('latin1'));
  }

  finish(repeats?: Attempt): Attempt {
    const marker = key(0x60, this.number);
    this.put(marker, 'x');
    return {
      number: this.number,
      marker: marker.toString('latin1'),
      effects: this.#effects,
      seen: this.#seen,
      countDeltas: this.#countDeltas,
      created: this.#created,
      repeats,
      outcome: 'pending',
    };
  }
}

function insert(draft: Draft, random: SeededRandom): void {
  const unique = random.below(uniqueKeys);
  const bucketId = random.pick(buckets);
  if (draft.guard(key(0x40, unique)) !== undefined) return;
  const position = draft.transaction.nextPosition(bucketId);
  const record = recordKey(bucketId, position);
  draft.creates(record);
  const filler = 'f'.repeat(random.below(random.chance(5) ? 3000 : 60));
  draft.put(record, `1:${draft.number}:${unique}:${filler}`);
  draft.put(key(0x40, unique), record.toString('latin1'));
  draft.count(bucketId, 1);
}

function update(draft: Draft, random: SeededRandom, count: number): void {
  const records = recordsOf(draft.transaction);
  for (let left = count; left > 0 && records.length > 0; left--) {
    const [chosen] = records.splice(random.below(records.length), 1);
    if (chosen === undefined) return;
    const value = draft.guard(Buffer.from(chosen, 'latin1'));
    if (value === undefined) return;
    const [version, , unique, filler] = value.split(':');
    draft.put(
      Buffer.from(chosen, 'latin1'),
      `${Number(version) + 1}:${draft.number}:${unique}:${filler}`,
    );
  }
}

function remove(draft: Draft, random: SeededRandom): void {
  const records = recordsOf(draft.transaction);
  const chosen = records[random.below(records.length)];
  if (chosen === undefined) return;
  const record = Buffer.from(chosen, 'latin1');
  const unique = draft.guard(record)?.split(':')[2];
  if (unique === undefined) return;
  draft.guard(key(0x40, Number(unique)));
  draft.delete(record);
  draft.delete(key(0x40, Number(unique)));
  draft.count(record[1] ?? 0, -1);
}

/** Everything of one bucket at once, by a range and the unique keys one by one. */
function empty(draft: Draft, random: SeededRandom): void {
  const bucketId = random.pick(buckets);
  const start = recordKey(bucketId, 0);
  const end = recordKey(bucketId + 1, 0);
  const records = readAll(draft.transaction, start, end);
  draft.deleteRange(start, end);
  for (const value of records.values()) {
    const unique = key(0x40, Number(value.split(':')[2]));
    draft.guard(unique);
    draft.delete(unique);
  }
  if (readAll(draft.transaction, start, end).size > 0) {
    throw new Violation('a transaction does not see the range that it emptied as empty');
  }
  draft.count(bucketId, -records.size);
}

function recordsOf(context: ReadContext): string[] {
  return [...readAll(context, Buffer.from([0x20]), Buffer.from([0x21])).keys()];
}

/** Counters, records and unique keys of one snapshot agree with each other. */
function checkSnapshot(database: Database): void {
  const session = database.read();
  try {
    const records = readAll(session, Buffer.from([0x20]), Buffer.from([0x21]));
    const uniques = readAll(session, Buffer.from([0x40]), Buffer.from([0x41]));
    if (records.size !== uniques.size) {
      throw new Violation(
        `a snapshot holds ${records.size} records and ${uniques.size} unique keys`,
      );
    }
    for (const [unique, record] of uniques) {
      if (!records.has(record)) throw new Violation(`unique key ${unique} names a missing record`);
    }
    for (const bucketId of buckets) {
      const counted = [...records.keys()].filter(name => name.charCodeAt(1) === bucketId).length;
      if (session.recordCount(bucketId) !== counted) {
        throw new Violation(`a snapshot counts ${session.recordCount(bucketId)}, holds ${counted}`);
      }
    }
  } finally {
    session.close();
  }
}

/** The key of a thing of this workload; each kind has a prefix. */
export function key(prefix: number, number: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes[0] = prefix;
  bytes.writeUInt32BE(number, 1);
  return bytes;
}

function recordKey(bucketId: number, position: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes[0] = 0x20;
  bytes[1] = bucketId;
  bytes.writeUInt32BE(position, 2);
  return bytes;
}
