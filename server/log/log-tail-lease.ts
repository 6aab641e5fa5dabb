/**
 * The end of a log, lent by the thread that owns it to another one that writes single batches.
 *
 * The owner has it while it is at work and lends it while it waits; the other takes it without
 * waiting or not at all, and gives it back in the same call. So nothing of the log is done by two
 * threads at a time, and whoever has it knows where it ends. Only the place for the next batch
 * travels, in shared memory: segments are begun, cut, read and given back by the owner alone.
 *
 *     owner       appends 1, 2 | lends (2, end) ............. | takes back (3, end'), appends 4
 *     borrower                 |   takes, appends 3, returns  |
 *     lock        owned        | free   borrowed         free | owned
 *
 * A borrower that comes while it is owned is told no, and its entry goes through the owner's ring.
 * An owner that comes while it is borrowed waits for the one sync that is under way.
 *
 * A failed write of either one is final for both, but for want of room (F1). Source:
 * docs/design/0029-single-entries-on-the-network-thread.md.
 */
import {type Disk, isOutOfRoom} from '#server/platform/disk.ts';
import {batchHeaderBytes, segmentName, segmentSeed} from './segment-format.ts';
import {batchBytesOf, type SegmentEnd, SegmentWriter} from './segment-writer.ts';

/** The active segment as the other thread needs it; everything in it is durable. */
export interface LogTailState extends SegmentEnd {
  readonly generation: number;
  readonly capacity: number;
}

const lockBytes = 8;
/** Who has it. The owner is told when it waits. */
const owned = 0;
const free = 1;
const borrowed = 2;
/** Places of numbers; a generation of 0 is none. */
const place = {generation: 0, capacity: 1, lastIndex: 2, lastChain: 3, end: 4, failed: 5};

/** Memory for both sides; the owner has the end at first. */
export function createTailMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(lockBytes + Object.keys(place).length * 8);
}

class SharedEnd {
  readonly lock: Int32Array;
  readonly #numbers: Float64Array;

  constructor(memory: SharedArrayBuffer) {
    this.lock = new Int32Array(memory, 0, 1);
    this.#numbers = new Float64Array(memory, lockBytes);
  }

  read(): LogTailState {
    return {
      generation: this.#at(place.generation),
      capacity: this.#at(place.capacity),
      lastIndex: this.#at(place.lastIndex),
      lastChain: this.#at(place.lastChain),
      end: this.#at(place.end),
    };
  }

  write(end: LogTailState): void {
    this.#numbers[place.generation] = end.generation;
    this.#numbers[place.capacity] = end.capacity;
    this.advance(end);
  }

  /** The segment ends elsewhere now. */
  advance({lastIndex, lastChain, end}: SegmentEnd): void {
    this.#numbers[place.lastIndex] = lastIndex;
    this.#numbers[place.lastChain] = lastChain;
    this.#numbers[place.end] = end;
  }

  get hasFailed(): boolean {
    return this.#at(place.failed) !== 0;
  }

  fail(): void {
    this.#numbers[place.failed] = 1;
  }

  #at(number: number): number {
    return this.#numbers[number] ?? 0;
  }
}

/** The owner's side. */
export class LogTailOwner {
  readonly #shared: SharedEnd;

  constructor(memory: SharedArrayBuffer) {
    this.#shared = new SharedEnd(memory);
  }

  /** Undefined: there is nothing to write to. */
  lend(end: LogTailState | undefined): void {
    this.#shared.write(end ?? {generation: 0, capacity: 0, lastIndex: 0, lastChain: 0, end: 0});
    Atomics.store(this.#shared.lock, 0, free);
  }

  /** Waits for a batch that is being written, and returns what the other side left. */
  takeBack(): LogTailState | 'failed' {
    const {lock} = this.#shared;
    while (Atomics.compareExchange(lock, 0, free, owned) !== free) {
      Atomics.wait(lock, 0, borrowed);
    }
    return this.#shared.hasFailed ? 'failed' : this.#shared.read();
  }
}

export interface LogTailBorrowerOptions {
  readonly disk: Disk;
  /** The directory of the log. */
  readonly directory: string;
  readonly logId: string;
  readonly memory: SharedArrayBuffer;
}

/** The other side. */
export class LogTailBorrower {
  readonly #options: LogTailBorrowerOptions;
  readonly #shared: SharedEnd;
  readonly #chains = new Uint32Array(1);
  #writer: {readonly generation: number; readonly segment: SegmentWriter} | undefined;

  constructor(options: LogTailBorrowerOptions) {
    this.#options = options;
    this.#shared = new SharedEnd(options.memory);
  }

  /**
   * Appends one entry as a batch, durable on return; false, and nothing was done, when the owner
   * is at work, when the batch does not fit into the segment or the disk has no room for it, which
   * the owner waits for, or when `isIdle` (asked while the end is held) says that the owner was
   * given something. Throws an error of the system, after which neither side writes any more.
   */
  append(entry: Uint8Array, isIdle: () => boolean): boolean {
    const {lock} = this.#shared;
    if (Atomics.compareExchange(lock, 0, free, borrowed) !== free) return false;
    try {
      return isIdle() && this.#append([entry]);
    } finally {
      Atomics.store(lock, 0, free);
      Atomics.notify(lock, 0);
    }
  }

  /** The chain value of the entry that was appended last. */
  get chain(): number {
    return this.#chains[0] ?? 0;
  }

  close(): void {
    this.#writer?.segment.close();
    this.#writer = undefined;
  }

  #append(batch: readonly Uint8Array[]): boolean {
    const tail = this.#shared.read();
    const isPossible = tail.generation > 0 && !this.#shared.hasFailed;
    // The end mark of a close or a cut must fit behind it.
    if (!isPossible || tail.end + batchBytesOf(batch) + batchHeaderBytes > tail.capacity) {
      return false;
    }
    try {
      const writer = this.#writerOf(tail.generation);
      const facts = {durableIndex: tail.lastIndex, relaxed: false};
      const next = appended(() => writer.append(tail, batch, this.#chains, facts));
      if (next === undefined) return false;
      writer.sync();
      this.#shared.advance(next);
      return true;
    } catch (error) {
      this.#shared.fail();
      throw error;
    }
  }

  #writerOf(generation: number): SegmentWriter {
    if (this.#writer?.generation === generation) return this.#writer.segment;
    this.close();
    const {disk, directory, logId} = this.#options;
    const file = disk.open(`${directory}/${segmentName(generation)}`, 'write');
    const segment = new SegmentWriter(file, segmentSeed({generation, logId}));
    this.#writer = {generation, segment};
    return segment;
  }
}

/** Undefined: the disk is full. */
function appended(append: () => SegmentEnd): SegmentEnd | undefined {
  try {
    return append();
  } catch (error) {
    if (isOutOfRoom(error)) return undefined;
    throw error;
  }
}
