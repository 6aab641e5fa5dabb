/**
 * Record ids as text: `#bucket:position`.
 *
 * A light edge has no record. Its id holds the serial number by which two light edges between
 * the same ends differ, as position -1 - serial; its text is always `#bucket:-1`, so the text
 * of a light edge does not find it again.
 */
import {Rid} from './value.ts';

export const bucketIdMax = 0xffffffff;
export const positionMax = 2 ** 48 - 1;

export function ridText(rid: Rid): string {
  return `#${rid.bucket}:${rid.position < 0 ? -1 : rid.position}`;
}

/** Reads `#b:p` or `b:p`; undefined when `text` is neither or a part is out of range. */
export function parseRid(text: string): Rid | undefined {
  let at = text.charCodeAt(0) === 0x23 ? 1 : 0;
  const bucketStart = at;
  let bucket = 0;
  for (; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) break;
    bucket = bucket * 10 + digit;
    if (bucket > bucketIdMax) return undefined;
  }
  if (at === bucketStart || text.charCodeAt(at) !== 0x3a) return undefined;
  at++;
  if (at === text.length - 2 && text.endsWith('-1')) return new Rid(bucket, -1);
  const positionStart = at;
  let position = 0;
  for (; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return undefined;
    position = position * 10 + digit;
    if (position > positionMax) return undefined;
  }
  return at === positionStart ? undefined : new Rid(bucket, position);
}

/**
 * The id that a text stands for where other values may stand too: JSON has no ids, so a client
 * sends them as text. Only `#b:p` does; a time of day is no id.
 */
export function ridOfText(text: string): Rid | undefined {
  return text.startsWith('#') ? parseRid(text) : undefined;
}

const positionBits = 47n;

/**
 * The id as one number, the bucket above 47 bits of the position: what Cypher's `id()` answers.
 * Buckets from 65,536 on need more than 64 bits; the text keeps those apart.
 */
export function ridNumber({bucket, position}: Rid): bigint {
  return (BigInt(bucket) << positionBits) + BigInt(position);
}

/** The id that `ridNumber` made the number of; undefined for what it makes of none. */
export function ridOfNumber(number: bigint): Rid | undefined {
  const bucket = number >> positionBits;
  if (bucket < 0n || bucket > BigInt(bucketIdMax)) return undefined;
  return new Rid(Number(bucket), Number(BigInt.asUintN(Number(positionBits), number)));
}

export function ridsEqual(left: Rid, right: Rid): boolean {
  return left.bucket === right.bucket && left.position === right.position;
}

export function compareRids(left: Rid, right: Rid): number {
  if (left.bucket !== right.bucket) return left.bucket < right.bucket ? -1 : 1;
  if (left.position === right.position) return 0;
  return left.position < right.position ? -1 : 1;
}
