/**
 * What the apply thread does: it writes to the stores what the network thread does not write itself
 * (small batches, docs/design/0027 and 0034).
 *
 * Takes what is durable in the log out of the ring, writes one batch per database and reports.
 * Requests have a place among the entries, and are carried out there.
 */
import {assert} from '#server/base/assert.ts';
import type {Store} from '#server/storage/store.ts';
import {Applier} from '#server/transactions/apply.ts';
import type {ApplyRequest, LentStore, PlacedWork, WorkerNews} from './commit-messages.ts';
import {type RingMemory, RingReader, type RingRecord, word} from './commit-ring.ts';
import type {Progress, ThreadBody, ThreadPort} from './thread-channel.ts';

const batchEntriesMax = 4096;
const batchBytesMax = 4 << 20;

/** How the stores of the network thread are used on the apply thread. */
export interface StoreAccess {
  open(lent: LentStore): Store | Promise<Store>;
  /** Lets go of it; the network thread has its own. */
  close(store: Store): void;
}

/** What was taken out of the ring and is not applied whole. */
interface Taken {
  readonly records: readonly RingRecord[];
  readonly to: number;
}

export class ApplyBody implements ThreadBody {
  readonly #port: ThreadPort<ApplyRequest, WorkerNews>;
  readonly #access: StoreAccess;
  readonly #control: Int32Array;
  readonly #reader: RingReader;
  readonly #outside = new Map<number, Buffer>();
  readonly #stores = new Map<number, Store>();
  readonly #requests: PlacedWork[] = [];
  #applier: Applier | undefined;
  #appliedIndex = 0;
  #fenceCount = 0;
  /** What a store has no room for yet. */
  #waiting: Taken | undefined;
  #isClosed = false;

  readonly patienceMs = Number.POSITIVE_INFINITY;

  constructor(
    port: ThreadPort<ApplyRequest, WorkerNews>,
    {ring}: {readonly ring: RingMemory},
    access: StoreAccess,
  ) {
    this.#port = port;
    this.#access = access;
    this.#control = new Int32Array(ring.control);
    const words = {source: word.head, own: word.applied};
    this.#reader = new RingReader(ring, words, this.#outside);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  work(): Progress | Promise<Progress> {
    if (this.#waiting !== undefined) return this.#apply(this.#waiting, []);
    const {end} = this.#reader;
    this.#receive();
    const [request] = this.#requests;
    const until = request === undefined ? end : this.#nearer(end, request.after);
    if (until !== this.#reader.cursor) return this.#take(until);
    if (request === undefined || !this.#isDue(request)) return 'idle';
    this.#requests.shift();
    const handled = this.#handle(request);
    return handled === undefined ? 'worked' : handled.then(() => 'worked');
  }

  pause(): void {}

  resume(): void {}

  tidy(): void {}

  /** Whether everything that was enqueued before the request is applied, or never will be. */
  #isDue(request: PlacedWork): boolean {
    return request.after === this.#reader.cursor || Atomics.load(this.#control, word.failed) === 1;
  }

  /** The one of two places ahead that comes first. */
  #nearer(end: number, after: number): number {
    const {cursor} = this.#reader;
    return (end - cursor) >>> 0 < (after - cursor) >>> 0 ? end : after;
  }

  #take(end: number): Progress {
    const taken = this.#reader.take(end, batchEntriesMax, batchBytesMax);
    const entries = taken.records.map(({payload, chain}) => ({
      index: ++this.#appliedIndex,
      chain,
      payload,
    }));
    Atomics.add(this.#control, word.begunCount, entries.length);
    return this.#apply(taken, entries);
  }

  #apply(taken: Taken, entries: Parameters<Applier['apply']>[0]): Progress {
    const applier = this.#applier;
    assert(applier !== undefined, 'the apply thread was started');
    if (!applier.apply(entries)) {
      this.#waiting = taken;
      if (this.#reader.waitsForRoom) return 'full';
      applier.giveUpWaiting();
    }
    this.#waiting = undefined;
    const {records, to} = taken;
    for (const {outside} of records) if (outside !== undefined) this.#outside.delete(outside);
    this.#reader.advance(to);
    this.#tellFences();
    Atomics.add(this.#control, word.appliedCount, records.length);
    // One message is enough until the network thread has looked.
    if (Atomics.exchange(this.#control, word.notified, 1) === 0) this.#port.tell({kind: 'applied'});
    return 'worked';
  }

  #receive(): void {
    for (;;) {
      const request = this.#port.receive();
      if (request === undefined) return;
      // Must be there before the ring speaks of it, whatever else waits.
      if (request.kind === 'outside') this.#outside.set(request.number, Buffer.from(request.bytes));
      else this.#requests.push(request);
    }
  }

  #handle(request: PlacedWork): Promise<void> | undefined {
    const applier = this.#applier;
    switch (request.kind) {
      case 'start':
        this.#applier = new Applier(request.logId);
        this.#applier.expectAll();
        this.#appliedIndex = request.startIndex;
        return undefined;
      case 'attach':
        return this.#attach(request);
      case 'detach': {
        const {databaseId, id} = request;
        const result = applier?.detach(databaseId);
        const store = this.#stores.get(databaseId);
        if (store !== undefined) this.#access.close(store);
        this.#stores.delete(databaseId);
        return this.#done(id, result);
      }
      case 'copy':
        return this.#done(request.id, applier?.copy(request.copies, this.#appliedIndex));
      case 'moved':
        for (const [id, move] of request.moves) applier?.follow(id, move);
        this.#appliedIndex = request.index;
        return undefined;
      case 'rest':
        for (const store of this.#stores.values()) store.rest();
        return undefined;
      case 'make-durable': {
        if (!this.#hasLogFailed) applier?.makeDurable();
        const floor = applier?.durableFloor(this.#appliedIndex) ?? 0;
        return this.#done(request.id, {floor, positions: applier?.positions() ?? new Map()});
      }
      default:
        if (!this.#hasLogFailed) applier?.makeDurable();
        for (const store of this.#stores.values()) this.#access.close(store);
        this.#isClosed = true;
        return this.#done(request.id);
    }
  }

  #attach(request: PlacedWork & {readonly kind: 'attach'}): Promise<void> | undefined {
    const {databaseId, position} = request;
    const attach = (store: Store): void => {
      this.#stores.set(databaseId, store);
      this.#applier?.attach(databaseId, store, position);
    };
    const opened = this.#access.open(request.store);
    if (opened instanceof Promise) return opened.then(attach);
    attach(opened);
    return undefined;
  }

  get #hasLogFailed(): boolean {
    return Atomics.load(this.#control, word.failed) === 1;
  }

  /** Who hears that a request is carried out knows of the fences that came with it. */
  #done(id: number, result?: unknown): undefined {
    this.#tellFences();
    this.#port.tell({kind: 'done', id, result});
  }

  #tellFences(): void {
    const applier = this.#applier;
    if (applier === undefined || applier.fenceCount === this.#fenceCount) return;
    this.#fenceCount = applier.fenceCount;
    this.#port.tell({kind: 'fences', fences: applier.fences()});
  }
}
