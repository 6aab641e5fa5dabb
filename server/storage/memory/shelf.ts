/**
 * What lies on the disk of the memory stores: one image per directory.
 *
 * The image is the crash model of RocksDB in two parts: what is durable, and the changes since,
 * of which a power loss keeps a prefix.
 * Invariant D1: `durable` with all of `pending` applied is what the open store answers.
 */
import {assert} from '#server/base/assert.ts';
import type {Random} from '#server/platform/clock.ts';
import {forEachPackedOperation} from '../packed-batch.ts';
import {mapDelete, mapDeleteRange, mapPut, type PersistentMap} from './persistent-map.ts';

/** One batch that a power loss may take; `packed` is owned by the change. */
export interface Change {
  readonly packed: Buffer;
}

/** One directory. */
export interface Image {
  durable: PersistentMap;
  pending: Change[];
  /** Ends the store that has the directory open; undefined when none has. */
  end: (() => void) | undefined;
}

export class InMemoryDisk {
  readonly #images = new Map<string, Image>();

  exists(directory: string): boolean {
    return this.#images.has(directory);
  }

  image(directory: string): Image | undefined {
    return this.#images.get(directory);
  }

  /** Makes a directory with durable contents. */
  create(directory: string, durable: PersistentMap): Image {
    assert(!this.#images.has(directory), 'a store is created in a new directory');
    const image: Image = {durable, pending: [], end: undefined};
    this.#images.set(directory, image);
    return image;
  }

  rename(from: string, to: string): void {
    const image = this.#images.get(from);
    assert(image !== undefined && image.end === undefined, 'a closed store is renamed');
    this.#images.delete(from);
    this.#images.set(to, image);
  }

  remove(directory: string): void {
    assert(this.#images.get(directory)?.end === undefined, 'a closed store is removed');
    this.#images.delete(directory);
  }

  /** A power loss: ends every open store and leaves one of the states that may survive. */
  crash(random: Random): void {
    for (const image of this.#images.values()) crashImage(image, random);
  }
}

/** A power loss for one directory; see the model above. */
export function crashImage(image: Image, random: Random): void {
  image.end?.();
  image.end = undefined;
  const kept = random.u32() % (image.pending.length + 1);
  for (const change of image.pending.slice(0, kept)) {
    image.durable = applyChange(image.durable, change);
  }
  image.pending = [];
}

export function applyChange(map: PersistentMap, change: Change): PersistentMap {
  let changed = map;
  forEachPackedOperation(change.packed, {
    put(key, value) {
      changed = mapPut(changed, key, value);
    },
    delete(key) {
      changed = mapDelete(changed, key);
    },
    deleteRange(start, end) {
      changed = mapDeleteRange(changed, start, end);
    },
  });
  return changed;
}
