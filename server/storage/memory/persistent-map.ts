/**
 * An ordered map from bytes to bytes of which every version stays valid: a treap whose updates
 * copy the path they touch.
 *
 * A snapshot of the memory store is then one pointer, and a range delete two splits. The rank that
 * balances the tree is a hash of the key, so the same contents have the same shape whatever the
 * history, and no chance is needed. Source: Seidel and Aragon, "Randomized Search Trees" (1996).
 */
import {compareBytes} from '#server/base/utf8.ts';

export interface MapNode {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly rank: number;
  readonly left: PersistentMap;
  readonly right: PersistentMap;
  /** Rows in this subtree. */
  readonly rowCount: number;
}

export type PersistentMap = MapNode | undefined;

export function mapGet(map: PersistentMap, key: Uint8Array): Uint8Array | undefined {
  let node = map;
  while (node !== undefined) {
    const order = compareBytes(key, node.key);
    if (order === 0) return node.value;
    node = order < 0 ? node.left : node.right;
  }
  return undefined;
}

/** The map with `key` set; keeps references to both arrays. */
export function mapPut(map: PersistentMap, key: Uint8Array, value: Uint8Array): PersistentMap {
  return insert(map, {key, value, rank: rankOf(key)});
}

export function mapDelete(map: PersistentMap, key: Uint8Array): PersistentMap {
  if (map === undefined) return undefined;
  const order = compareBytes(key, map.key);
  if (order === 0) return join(map.left, map.right);
  if (order < 0) {
    const left = mapDelete(map.left, key);
    return left === map.left ? map : node(map, left, map.right);
  }
  const right = mapDelete(map.right, key);
  return right === map.right ? map : node(map, map.left, right);
}

/** The map without the keys in [start, end). */
export function mapDeleteRange(
  map: PersistentMap,
  start: Uint8Array,
  end: Uint8Array,
): PersistentMap {
  const [before, rest] = split(map, start);
  const [, after] = split(rest, end);
  return join(before, after);
}

/** Walks one map in one direction. */
export class MapCursor {
  readonly #root: PersistentMap;
  readonly #reverse: boolean;
  /** The current row on top; below it the ancestors that come later. */
  readonly #path: MapNode[] = [];

  constructor(root: PersistentMap, reverse: boolean) {
    this.#root = root;
    this.#reverse = reverse;
  }

  get current(): MapNode | undefined {
    return this.#path.at(-1);
  }

  /**
   * Forward: to the first key >= bound. Reverse: to the last key < bound, or to the last of all
   * when `bound` is undefined.
   */
  seek(bound: Uint8Array | undefined): void {
    this.#path.length = 0;
    let at = this.#root;
    while (at !== undefined) {
      const order = bound === undefined ? -1 : compareBytes(at.key, bound);
      if (this.#reverse ? order < 0 : order >= 0) {
        this.#path.push(at);
        at = this.#reverse ? at.right : at.left;
      } else {
        at = this.#reverse ? at.left : at.right;
      }
    }
  }

  advance(): void {
    const last = this.#path.pop();
    let at = this.#reverse ? last?.left : last?.right;
    while (at !== undefined) {
      this.#path.push(at);
      at = this.#reverse ? at.right : at.left;
    }
  }
}

type Row = Pick<MapNode, 'key' | 'value' | 'rank'>;

function node(row: Row, left: PersistentMap, right: PersistentMap): MapNode {
  const rowCount = 1 + (left?.rowCount ?? 0) + (right?.rowCount ?? 0);
  return {key: row.key, value: row.value, rank: row.rank, left, right, rowCount};
}

function insert(map: PersistentMap, row: Row): MapNode {
  if (map === undefined) return node(row, undefined, undefined);
  const order = compareBytes(row.key, map.key);
  if (order === 0) return node(row, map.left, map.right);
  if (row.rank > map.rank) {
    // The key itself cannot be below: its rank would exceed its ancestor's.
    const [left, right] = split(map, row.key);
    return node(row, left, right);
  }
  return order < 0
    ? node(map, insert(map.left, row), map.right)
    : node(map, map.left, insert(map.right, row));
}

/** Splits a map into the keys < bound and the keys >= bound. */
function split(map: PersistentMap, bound: Uint8Array): [PersistentMap, PersistentMap] {
  if (map === undefined) return [undefined, undefined];
  if (compareBytes(map.key, bound) < 0) {
    const [left, right] = split(map.right, bound);
    return [node(map, map.left, left), right];
  }
  const [left, right] = split(map.left, bound);
  return [left, node(map, right, map.right)];
}

/** Every key of `left` is smaller than every key of `right`. */
function join(left: PersistentMap, right: PersistentMap): PersistentMap {
  if (left === undefined) return right;
  if (right === undefined) return left;
  return left.rank >= right.rank
    ? node(left, left.left, join(left.right, right))
    : node(right, join(left, right.left), right.right);
}

/** FNV-1a, then a final mix so that keys that differ at the end get unrelated ranks. */
function rankOf(key: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of key) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
