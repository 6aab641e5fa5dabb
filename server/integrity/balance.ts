/**
 * Whether two sets of byte strings are the same, without keeping either.
 *
 * Each item of one side is added as a hash of 64 bits, each of the other taken away, in any order;
 * what is left is nothing when the two are equal. Damage is no adversary: that unequal sets leave
 * nothing has the chance of 2 to the power of -64.
 */
const firstSeed = 0x811c9dc5;
const secondSeed = 0x9747b28c;
const firstPrime = 0x01000193;
const secondPrime = 0x85ebca6b;

export class Balance {
  #count = 0;
  #firstSum = 0;
  #secondSum = 0;
  #first = 0;
  #second = 0;

  /** Nothing is left on either side. */
  get isEven(): boolean {
    return this.#count === 0 && this.#firstSum === 0 && this.#secondSum === 0;
  }

  begin(): this {
    this.#first = firstSeed;
    this.#second = secondSeed;
    return this;
  }

  /** Bytes [start, end) are part of the item that was begun. */
  bytes(bytes: Uint8Array, start: number, end: number): this {
    let first = this.#first;
    let second = this.#second;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number;
      first = Math.imul(first ^ byte, firstPrime);
      second = Math.imul(second ^ (second >>> 15) ^ byte, secondPrime);
    }
    this.#first = first;
    this.#second = second;
    return this;
  }

  number(value: number): this {
    this.#first = Math.imul(this.#first ^ value, firstPrime);
    this.#second = Math.imul(this.#second ^ (this.#second >>> 15) ^ value, secondPrime);
    return this;
  }

  /** The item that was begun is one of the first side. */
  due(): void {
    this.#count += 1;
    this.#firstSum = (this.#firstSum + spread(this.#first)) | 0;
    this.#secondSum = (this.#secondSum + spread(this.#second)) | 0;
  }

  /** The item that was begun is one of the second side. */
  found(): void {
    this.#count -= 1;
    this.#firstSum = (this.#firstSum - spread(this.#first)) | 0;
    this.#secondSum = (this.#secondSum - spread(this.#second)) | 0;
  }
}

/** Every bit of the hash on every other, so that sums of changed items do not meet (murmur3). */
function spread(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
