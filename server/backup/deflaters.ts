/**
 * What deflates a piece of an archive: zlib, or what whoever runs the archive's thread has that is
 * faster (native/deflate.cc). Source: docs/design/0052-deflate.md.
 */
import {constants, deflateRaw, type ZlibOptions} from 'node:zlib';
import {promisify} from 'node:util';

const deflate: (bytes: Uint8Array, options: ZlibOptions) => Promise<Buffer> = promisify(deflateRaw);

/** Deflates one piece; one that is not the last ends at a byte, without the mark of the end. */
export type Deflater = (piece: Uint8Array, isLast: boolean) => Promise<Buffer>;

/** The platform's own, of any level from 1 to 9. */
export function zlibDeflater(level: number): Deflater {
  return (piece, isLast) =>
    deflate(piece, {level, finishFlush: isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH});
}
