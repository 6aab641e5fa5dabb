/**
 * The apply thread: it writes to the stores what the network thread does not write itself (small
 * batches, docs/design/0027 and 0034).
 *
 * Takes what the log thread has made durable out of the ring, writes one batch per database and
 * reports. It waits on a shared word, not on its event loop; only attaching a store needs the
 * loop, so requests are awaited between batches.
 */
import {parentPort, receiveMessageOnPort, workerData} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import {attachStore} from '#server/storage/rocksdb/open.ts';
import type {Store} from '#server/storage/store.ts';
import {Applier} from '#server/transactions/apply.ts';
import type {ApplyRequest, PlacedWork, WorkerNews, WorkerStart} from './commit-messages.ts';
import {RingReader, word} from './commit-ring.ts';
import {DiskSpaceBackoff} from './disk-space-backoff.ts';

const batchEntriesMax = 4096;
const batchBytesMax = 4 << 20;

class ApplyThread {
  readonly #port: NonNullable<typeof parentPort>;
  readonly #control: Int32Array;
  readonly #reader: RingReader;
  readonly #outside = new Map<number, Buffer>();
  readonly #stores = new Map<number, Store>();
  readonly #requests: PlacedWork[] = [];
  #applier: Applier | undefined;
  #appliedIndex = 0;
  #fenceCount = 0;
  #closed = false;

  constructor(port: NonNullable<typeof parentPort>, start: WorkerStart) {
    this.#port = port;
    this.#control = new Int32Array(start.ring.control);
    const words = {source: word.head, own: word.applied};
    this.#reader = new RingReader(start.ring, words, this.#outside);
  }

  async run(): Promise<void> {
    while (!this.#closed) {
      const seen = Atomics.load(this.#control, word.applySignal);
      const {end} = this.#reader;
      this.#receive();
      const [request] = this.#requests;
      const until = request === undefined ? end : this.#nearer(end, request.after);
      if (until !== this.#reader.cursor) this.#apply(until);
      else if (request !== undefined && this.#isDue(request)) {
        this.#requests.shift();
        await this.#handle(request);
      } else Atomics.wait(this.#control, word.applySignal, seen);
    }
  }

  /** Whether everything that was enqueued before the request is applied, or never will be. */
  #isDue(request: PlacedWork): boolean {
    return request.after === this.#reader.cursor || Atomics.load(this.#control, word.failed) === 1;
  }

  /** The one of two places ahead that comes first. */
  #nearer(end: number, after: number): number {
    const {cursor} = this.#reader;
    return (end - cursor) >>> 0 < (after - cursor) >>> 0 ? end : after;
  }

  #apply(end: number): void {
    const applier = this.#applier;
    assert(applier !== undefined, 'the apply thread was started');
    const {records, to} = this.#reader.take(end, batchEntriesMax, batchBytesMax);
    const taken = records.map(({payload, chain}) => ({
      index: ++this.#appliedIndex,
      chain,
      payload,
    }));
    Atomics.add(this.#control, word.begunCount, records.length);
    const wait = new DiskSpaceBackoff();
    for (let done = applier.apply(taken); !done; done = applier.apply([])) {
      if (!wait.again()) applier.giveUpWaiting();
    }
    for (const {outside} of records) if (outside !== undefined) this.#outside.delete(outside);
    this.#reader.advance(to);
    this.#tellFences();
    Atomics.add(this.#control, word.appliedCount, records.length);
    // One message is enough until the network thread has looked.
    if (Atomics.exchange(this.#control, word.notified, 1) === 0) this.#tell({kind: 'applied'});
  }

  #receive(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.#port);
      if (received === undefined) return;
      const message: ApplyRequest = received.message;
      // Must be there before the ring speaks of it, whatever else waits.
      if (message.kind === 'outside') this.#outside.set(message.number, Buffer.from(message.bytes));
      else this.#requests.push(message);
    }
  }

  async #handle(request: PlacedWork): Promise<void> {
    switch (request.kind) {
      case 'start': {
        const {logId, stagedDirectory, startIndex} = request;
        const stagedFile = (digest: string) => `${stagedDirectory}/${digest}`;
        this.#applier = new Applier({logId, stagedFile});
        this.#applier.expectAll();
        this.#appliedIndex = startIndex;
        return;
      }
      case 'attach': {
        const store = await attachStore(request.store);
        this.#stores.set(request.databaseId, store);
        this.#applier?.attach(request.databaseId, store, request.position);
        return;
      }
      case 'detach': {
        const result = this.#applier?.detach(request.databaseId);
        this.#stores.get(request.databaseId)?.close();
        this.#stores.delete(request.databaseId);
        return this.#done(request.id, result);
      }
      case 'copy': {
        const result = this.#applier?.copy(request.copies, this.#appliedIndex);
        return this.#done(request.id, result);
      }
      case 'moved':
        for (const [id, move] of request.moves) this.#applier?.follow(id, move);
        this.#appliedIndex = request.index;
        return;
      case 'rest':
        for (const store of this.#stores.values()) store.rest();
        return;
      case 'make-durable': {
        const applier = this.#applier;
        applier?.makeDurable();
        const floor = applier?.durableFloor(this.#appliedIndex) ?? 0;
        return this.#done(request.id, {floor, positions: applier?.positions() ?? new Map()});
      }
      case 'close': {
        if (Atomics.load(this.#control, word.failed) === 0) this.#applier?.makeDurable();
        for (const store of this.#stores.values()) store.close();
        this.#closed = true;
        return this.#done(request.id);
      }
      default:
        request satisfies never;
    }
  }

  /** Who hears that a request is carried out knows of the fences that came with it. */
  #done(id: number, result?: unknown): void {
    this.#tellFences();
    this.#tell({kind: 'done', id, result});
  }

  #tellFences(): void {
    const applier = this.#applier;
    if (applier === undefined || applier.fenceCount === this.#fenceCount) return;
    this.#fenceCount = applier.fenceCount;
    this.#tell({kind: 'fences', fences: applier.fences()});
  }

  #tell(news: WorkerNews): void {
    this.#port.postMessage(news);
  }
}

if (parentPort !== null) await new ApplyThread(parentPort, workerData as WorkerStart).run();
