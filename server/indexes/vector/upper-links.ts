/**
 * Neighbours of nodes above the lowest level of a graph: lists of one length in one array.
 *
 * Few nodes have any, and an array object for each list would take several times what stands in
 * it. A list is its number of neighbours, then these. The lists of a node, level by level, lie
 * behind each other; those of a node that is removed are taken by the next with as many levels.
 */
import {assert} from '#server/base/assert.ts';

export const levelsMax = 12;
const placeStep = levelsMax + 1;

export class UpperLinks {
  /** Neighbours of a node on one level, at most. */
  readonly linksMax: number;
  words = new Uint32Array(0);
  #used = 0;
  /** Where the lists of a node begin, times `placeStep`, and how many there are. */
  readonly #places = new Map<number, number>();
  /** Where lists may be put, by their number. */
  readonly #free: number[][] = [];

  constructor(linksMax: number) {
    this.linksMax = linksMax;
  }

  get byteLength(): number {
    return this.words.byteLength;
  }

  /** Nodes that have lists. */
  get size(): number {
    return this.#places.size;
  }

  nodes(): Iterable<number> {
    return this.#places.keys();
  }

  /** 0 of a node without lists. */
  levelsOf(node: number): number {
    return (this.#places.get(node) ?? 0) % placeStep;
  }

  /** Where in `words` the list of a level (from 1) begins; undefined without one. */
  placeOf(node: number, level: number): number | undefined {
    const place = this.#places.get(node);
    if (place === undefined || level > place % placeStep) return undefined;
    return Math.floor(place / placeStep) + (level - 1) * this.#listWords;
  }

  /** Gives a node without lists `levels` empty ones. */
  add(node: number, levels: number): void {
    assert(levels >= 1 && levels <= levelsMax, 'a node has some levels, and not too many');
    const at = this.#free[levels]?.pop() ?? this.#grow(levels);
    for (let level = 0; level < levels; level++) this.words[at + level * this.#listWords] = 0;
    this.#places.set(node, at * placeStep + levels);
  }

  remove(node: number): void {
    const place = this.#places.get(node);
    if (place === undefined) return;
    this.#places.delete(node);
    const levels = place % placeStep;
    (this.#free[levels] ??= []).push(Math.floor(place / placeStep));
  }

  /** The first `count` of `links`, as far as a list has room, in the place of what is there. */
  set(place: number, links: ArrayLike<number>, count: number): void {
    const kept = Math.min(count, this.linksMax);
    this.words[place] = kept;
    for (let at = 0; at < kept; at++) this.words[place + 1 + at] = links[at] ?? 0;
  }

  /** False when the list is full. */
  append(place: number, link: number): boolean {
    const count = this.words[place] ?? 0;
    if (count >= this.linksMax) return false;
    this.words[place + 1 + count] = link;
    this.words[place] = count + 1;
    return true;
  }

  get #listWords(): number {
    return 1 + this.linksMax;
  }

  #grow(levels: number): number {
    const at = this.#used;
    this.#used += levels * this.#listWords;
    if (this.#used > this.words.length) {
      const words = new Uint32Array(Math.ceil(this.#used * 1.125) + 64 * this.#listWords);
      words.set(this.words);
      this.words = words;
    }
    return at;
  }
}
