/**
 * The checksum of a file of a snapshot: CRC-32 over all its bytes.
 *
 * Reads without giving way, so it belongs on a thread that serves nobody: a large one takes
 * whole seconds, less with the code of the native store than with zlib's.
 */
import {readSync} from 'node:fs';

/** CRC-32 of bytes behind others whose checksum is `before`, 0 for none: zlib's, or the store's. */
export type Checksummer = (bytes: Uint8Array, before: number) => number;

const readBytes = 1 << 20;

/** Covers the first `bytes` of an open file, or all there are if they are fewer. */
export function checksumOfFile(
  descriptor: number,
  bytes: number,
  checksummer: Checksummer,
): number {
  const piece = Buffer.allocUnsafe(Math.min(readBytes, Math.max(1, bytes)));
  let checksum = 0;
  for (let at = 0; at < bytes; ) {
    const count = readSync(descriptor, piece, 0, Math.min(piece.length, bytes - at), at);
    if (count === 0) break;
    checksum = checksummer(piece.subarray(0, count), checksum);
    at += count;
  }
  return checksum;
}

/** Writes the checksum as it stands in an entity tag. */
export function writtenChecksum(checksum: number): string {
  return checksum.toString(16).padStart(8, '0');
}
