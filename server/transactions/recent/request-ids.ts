/**
 * Which requests were committed, so that one that is sent again is answered and not repeated.
 *
 * An id lies in the database's own store, written in the batch of the commit it names, so it is
 * as durable as what it speaks of. The entry that adds one also deletes those that are too old,
 * so every node forgets the same. Too old is what was committed long ago by the clocks of the
 * entries and by the time that passed here since: a clock that jumps ahead forgets nothing.
 */
import {eachRow, createPackedRows} from '#server/storage/packed-rows.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {Store} from '#server/storage/store.ts';
import type {CommitOutcome, LogIndex, Operation} from '../commit.ts';
import {requestKey, requestOrderKey, systemPrefix} from '../system-keys.ts';

export interface RequestIdLimits {
  /** Milliseconds after which an id is forgotten. */
  readonly ageMsMax: number;
  readonly countMax: number;
}

/** What an entry says of the request that it carries out. */
export interface IdentifiedRequest {
  readonly id: string;
  readonly index: LogIndex;
  readonly clock: number;
  readonly note?: Uint8Array | undefined;
}

interface Known extends Pick<IdentifiedRequest, 'id' | 'index' | 'clock'> {
  /** Monotonic time at which this process learnt of it. */
  readonly seenAt: number;
}

/** A commit whose outcome is open. */
interface Pending {
  readonly outcome: Promise<CommitOutcome>;
  readonly note: Uint8Array;
}

const expiredPerCommit = 4;
/** Bytes in front of a note: the index of the entry, its clock. */
const headBytes = 16;
const noNote = new Uint8Array(0);

export class RequestIds {
  readonly #store: () => Store;
  readonly #clock: Clock;
  readonly #limits: RequestIdLimits;
  readonly #pending = new Map<string, Pending>();
  #order: Known[] | undefined;
  #head = 0;
  /** Ids that the entry being made forgets; they are forgotten here when it is appended. */
  #expiring = 0;

  constructor(store: () => Store, clock: Clock, limits: RequestIdLimits) {
    this.#store = store;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** The outcome of a request with this id: under way, committed, or undefined when unknown. */
  find(id: string): Promise<CommitOutcome> | undefined {
    const pending = this.#pending.get(id);
    if (pending !== undefined) {
      const {outcome, note} = pending;
      return outcome.then(known => asRepeated(known, note));
    }
    const value = this.#store().get(requestKey(id));
    if (value === undefined) return undefined;
    const committed = {kind: 'committed', index: value.readDoubleLE(0)} as const;
    return Promise.resolve(asRepeated(committed, value.subarray(headBytes)));
  }

  /** What the entry at `index` writes for its id, and the ids that it makes forgotten. */
  operationsFor({id, index, clock, note = noNote}: IdentifiedRequest): Operation[] {
    const order = this.#loadOrder();
    const value = Buffer.alloc(headBytes + note.length);
    value.writeDoubleLE(index, 0);
    value.writeDoubleLE(clock, 8);
    value.set(note, headBytes);
    const operations: Operation[] = [
      {kind: 'put', key: requestKey(id), value},
      {kind: 'put', key: requestOrderKey(index), value: orderValue(id, clock)},
    ];
    this.#expiring = 0;
    while (this.#expiring < expiredPerCommit) {
      const oldest = order[this.#head + this.#expiring];
      if (oldest === undefined || !this.#isExpired(oldest, clock)) break;
      this.#expiring++;
      operations.push({kind: 'delete', key: requestKey(oldest.id)});
      operations.push({kind: 'delete', key: requestOrderKey(oldest.index)});
    }
    return operations;
  }

  /** Called when the entry is appended. */
  began(request: IdentifiedRequest, outcome: Promise<CommitOutcome>): void {
    const {id, index, clock, note = noNote} = request;
    const order = this.#loadOrder();
    order.push({id, index, clock, seenAt: this.#clock.monotonic()});
    this.#head += this.#expiring;
    this.#expiring = 0;
    if (this.#head > 1024 && this.#head * 2 > order.length) {
      this.#order = order.slice(this.#head);
      this.#head = 0;
    }
    this.#pending.set(id, {outcome, note});
    const forget = () => this.#pending.delete(id);
    outcome.then(forget, forget);
  }

  #isExpired(known: Known, clock: number): boolean {
    const count = (this.#order?.length ?? 0) - this.#head - this.#expiring;
    const {ageMsMax, countMax} = this.#limits;
    const isOld =
      known.clock + ageMsMax < clock && known.seenAt + ageMsMax < this.#clock.monotonic();
    return isOld || count > countMax;
  }

  #loadOrder(): Known[] {
    if (this.#order !== undefined) return this.#order;
    const order: Known[] = [];
    const seenAt = this.#clock.monotonic();
    const start = Buffer.from([systemPrefix, 0x21]);
    const scanner = this.#store().scan([{start, end: Buffer.from([systemPrefix, 0x22])}]);
    const rows = createPackedRows(64 << 10);
    try {
      do {
        for (const {key, value} of eachRow(scanner.next(rows))) {
          const index = key.readUInt32BE(2) * 0x1_0000_0000 + key.readUInt32BE(6);
          if (value === undefined) continue;
          const id = value.toString('utf8', 8);
          order.push({index, clock: value.readDoubleLE(0), id, seenAt});
        }
      } while (!rows.done);
    } finally {
      scanner.close();
    }
    this.#order = order;
    return order;
  }
}

function orderValue(id: string, clock: number): Buffer {
  const text = Buffer.from(id, 'utf8');
  const value = Buffer.alloc(8 + text.length);
  value.writeDoubleLE(clock, 0);
  value.set(text, 8);
  return value;
}

function asRepeated(outcome: CommitOutcome, note: Uint8Array): CommitOutcome {
  if (outcome.kind !== 'committed') return outcome;
  return {...outcome, repeated: true, ...(note.length > 0 && {note})};
}
