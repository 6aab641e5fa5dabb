/**
 * A map by key text whose longest step does not grow with it.
 *
 * A Map that grows moves all of its keys at once, and nobody has a turn meanwhile. So beyond some
 * thousand keys this one is many small ones, among which a key's last characters choose: keys of
 * one kind differ there most.
 */
import type {KeyTexts} from '../key-text.ts';

const wholeSizeMax = 1 << 15;
/** A power of two. */
const partCount = 64;
const hashedLength = 8;

export class KeyMap<Value> implements KeyTexts {
  /** A single one up to `wholeSizeMax` keys. */
  #parts: Map<string, Value>[] = [new Map()];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): Value | undefined {
    return this.#partOf(key).get(key);
  }

  has(key: string): boolean {
    return this.#partOf(key).has(key);
  }

  set(key: string, value: Value): void {
    const part = this.#partOf(key);
    const {size} = part;
    part.set(key, value);
    this.#size += part.size - size;
    if (this.#size > wholeSizeMax && this.#parts.length === 1) this.#divide(part);
  }

  delete(key: string): void {
    if (this.#partOf(key).delete(key)) this.#size -= 1;
  }

  /**
   * The keys, in the same order for the same calls, up to `wholeSizeMax` that of the insertions.
   */
  keys(): Iterable<string> {
    return this.#of(part => part.keys());
  }

  /** The values, in the order of `keys`. */
  values(): Iterable<Value> {
    return this.#of(part => part.values());
  }

  #of<Item>(items: (part: Map<string, Value>) => Iterable<Item>): Iterable<Item> {
    const [first] = this.#parts;
    return this.#parts.length === 1 && first !== undefined
      ? items(first)
      : this.#parts.flatMap(part => [...items(part)]);
  }

  #partOf(key: string): Map<string, Value> {
    const parts = this.#parts;
    return parts[parts.length === 1 ? 0 : hashOf(key) & (partCount - 1)] as Map<string, Value>;
  }

  #divide(whole: Map<string, Value>): void {
    this.#parts = Array.from({length: partCount}, () => new Map<string, Value>());
    for (const [key, value] of whole) this.#partOf(key).set(key, value);
  }
}

function hashOf(key: string): number {
  let hash = 0;
  for (let at = Math.max(0, key.length - hashedLength); at < key.length; at += 1) {
    hash = Math.imul(hash, 31) + key.charCodeAt(at);
  }
  return hash ^ (hash >>> 8);
}
