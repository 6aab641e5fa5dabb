/**
 * The memory of what is kept beside the stores to answer faster: a limit, and who goes first.
 *
 * What was not used for longest gives way. A run never displaces what it has used itself: one
 * that needs more than there is keeps what fitted, instead of making everything anew each time.
 */

/** Something that can be made again. */
export interface Droppable {
  drop(): void;
}

interface Held {
  bytes: number;
  run: number;
}

export class CacheMemory {
  readonly #bytesMax: () => number;
  /** What is held, ordered by its last use, oldest first. */
  readonly #held = new Map<Droppable, Held>();
  #bytes = 0;
  #runs = 0;

  constructor(bytesMax: () => number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get bytesMax(): number {
    return this.#bytesMax();
  }

  /** Whether anything may be held at all. */
  get isOn(): boolean {
    return this.#bytesMax() > 0;
  }

  /** A number for a run that uses what is held. */
  beginRun(): number {
    return ++this.#runs;
  }

  /** Whether `bytes` more have room, once what others used before is dropped. */
  makeRoom(bytes: number, run: number): boolean {
    const bytesMax = this.#bytesMax();
    if (bytes > bytesMax) return false;
    for (const [item, held] of this.#held) {
      if (this.#bytes + bytes <= bytesMax) return true;
      if (held.run === run) return false;
      this.forget(item);
      item.drop();
    }
    return this.#bytes + bytes <= bytesMax;
  }

  /** `item` is used by `run` and takes so many bytes. */
  hold(item: Droppable, bytes: number, run: number): void {
    this.forget(item);
    this.#held.set(item, {bytes, run});
    this.#bytes += bytes;
  }

  /** `item` holds nothing any more. */
  forget(item: Droppable): void {
    const held = this.#held.get(item);
    if (held === undefined) return;
    this.#bytes -= held.bytes;
    this.#held.delete(item);
  }

  /** Drops everything: the process needs its memory for something else. */
  dropAll(): void {
    for (const item of this.#held.keys()) {
      this.forget(item);
      item.drop();
    }
  }
}
