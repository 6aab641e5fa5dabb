/**
 * Frames between peers: how messages lie in the byte stream of one connection.
 *
 * Little endian: u32 magic, u8 version, u8 kind, u16 zero, u32 length of the payload, u32 checksum,
 * payload. The checksum covers everything before it and the payload, and begins with a seed that
 * both ends drew for this connection (handshake.ts) and the number of the frame in its direction:
 * a frame that was recorded on another connection, or earlier on this one, is no frame here.
 *
 * A reader that met a fault reads nothing more: behind it no length can be believed.
 */
import {crc32} from 'node:zlib';
import {assert} from '#server/base/assert.ts';

export const frameVersion = 1;
export const frameHeaderBytes = 16;

/**
 * `hello` and `proof` open a connection; `refusal` says in words why it ends. Later come messages,
 * and pings that are answered by pongs, so that silence means something.
 */
export type FrameKind = 'hello' | 'proof' | 'message' | 'refusal' | 'ping' | 'pong';

export interface Frame {
  readonly kind: FrameKind;
  /** A part of what the reader was fed, or of a copy. */
  readonly payload: Buffer;
}

/** What is wrong with a stream; the connection has to end. */
export interface FrameFault {
  readonly fault: 'foreign' | 'version' | 'kind' | 'too-large' | 'corrupt';
  readonly detail: string;
}

const magic = 0x52435653;
/** A kind's code is its place; new ones come at the end. */
const kinds: readonly FrameKind[] = ['hello', 'proof', 'message', 'refusal', 'ping', 'pong'];
const crcOffset = 12;
/** Copying so much costs less than handing over one more piece. */
const copiedBytesMax = 2 << 10;

/** Writes the frames of one direction. */
export class FrameWriter {
  #seed = 0;
  #count = 0;

  /** Makes checksums begin with `seed` from here on. */
  reseed(seed: number): void {
    this.#seed = seed;
    this.#count = 0;
  }

  /**
   * The next frame, as the pieces that are to be written one behind another: one for a small
   * payload; the pieces of a larger one are not copied.
   */
  frame(kind: FrameKind, payload: readonly Uint8Array[]): readonly Uint8Array[] {
    const bytes = byteLength(payload);
    const isCopied = bytes <= copiedBytesMax;
    const frame = Buffer.allocUnsafe(frameHeaderBytes + (isCopied ? bytes : 0));
    frame.writeUInt32LE(magic, 0);
    frame[4] = frameVersion;
    frame[5] = kinds.indexOf(kind);
    frame[6] = 0;
    frame[7] = 0;
    frame.writeUInt32LE(bytes, 8);
    let checksum = numbered(this.#seed, this.#count++);
    checksum = crc32(frame.subarray(0, crcOffset), checksum);
    let at = frameHeaderBytes;
    for (const piece of payload) {
      checksum = crc32(piece, checksum);
      if (isCopied) frame.set(piece, at);
      at += piece.length;
    }
    frame.writeUInt32LE(checksum, crcOffset);
    return isCopied ? [frame] : [frame, ...payload];
  }
}

/** Reads the frames of one direction out of whatever pieces arrive. */
export class FrameReader {
  #payloadBytesMax: number;
  /** What arrived and is not read yet, joined only where a frame needs it. */
  #pieces: Buffer[] = [];
  #byteLength = 0;
  #seed = 0;
  #count = 0;
  #fault: FrameFault | undefined;

  constructor(payloadBytesMax: number) {
    this.#payloadBytesMax = payloadBytesMax;
  }

  /** Makes checksums begin with `seed` from here on; frames may be larger then. */
  trust(seed: number, payloadBytesMax: number): void {
    this.#seed = seed;
    this.#count = 0;
    this.#payloadBytesMax = payloadBytesMax;
  }

  /** Bytes that arrived; the reader keeps them until they are read. */
  feed(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.#byteLength += bytes.length;
  }

  /** The next whole frame; undefined when more bytes are needed. */
  next(): Frame | FrameFault | undefined {
    if (this.#fault !== undefined) return this.#fault;
    if (this.#byteLength < frameHeaderBytes) return undefined;
    const header = this.#begin(frameHeaderBytes);
    const fault = this.#headerFault(header);
    if (fault !== undefined) return this.#fail(fault);
    const end = frameHeaderBytes + header.readUInt32LE(8);
    if (this.#byteLength < end) return undefined;
    const frame = this.#take(end);
    const payload = frame.subarray(frameHeaderBytes);
    const start = numbered(this.#seed, this.#count++);
    const checksum = crc32(payload, crc32(frame.subarray(0, crcOffset), start));
    if (checksum !== frame.readUInt32LE(crcOffset)) {
      return this.#fail({
        fault: 'corrupt',
        detail: `frame ${this.#count} has another checksum: damaged, repeated, or not for us`,
      });
    }
    const kind = kinds[frame.readUInt8(5)];
    assert(kind !== undefined, 'the kind was checked');
    return {kind, payload};
  }

  #fail(fault: FrameFault): FrameFault {
    this.#fault = fault;
    this.#pieces = [];
    this.#byteLength = 0;
    return fault;
  }

  /** The first `bytes` of what is pending, and perhaps more, in one piece. */
  #begin(bytes: number): Buffer {
    while ((this.#pieces[0]?.length ?? 0) < bytes) {
      const [first, second, ...rest] = this.#pieces;
      assert(first !== undefined && second !== undefined, 'there are so many bytes');
      this.#pieces = [Buffer.concat([first, second]), ...rest];
    }
    return this.#pieces[0] as Buffer;
  }

  #take(bytes: number): Buffer {
    const whole = this.#pieces.length === 1 ? this.#pieces.pop() : Buffer.concat(this.#pieces);
    assert(whole !== undefined, 'there are so many bytes');
    this.#byteLength -= bytes;
    if (this.#byteLength === 0) {
      if (this.#pieces.length > 0) this.#pieces = [];
      return whole;
    }
    this.#pieces = [whole.subarray(bytes)];
    return whole.subarray(0, bytes);
  }

  #headerFault(header: Buffer): FrameFault | undefined {
    if (header.readUInt32LE(0) !== magic) {
      return {fault: 'foreign', detail: 'whoever speaks here is no peer of a cluster'};
    }
    const version = header.readUInt8(4);
    if (version !== frameVersion) {
      const detail = `frames of version ${version}; this release speaks version ${frameVersion}`;
      return {fault: 'version', detail};
    }
    const kind = header.readUInt8(5);
    if (kinds[kind] === undefined || header.readUInt16LE(6) !== 0) {
      return {fault: 'kind', detail: `a frame of kind ${kind} is not known`};
    }
    const length = header.readUInt32LE(8);
    if (length <= this.#payloadBytesMax) return undefined;
    const detail = `a frame of ${length} bytes; at most ${this.#payloadBytesMax} are taken`;
    return {fault: 'too-large', detail};
  }
}

export function byteLength(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

/** A checksum's beginning that no other frame of the connection has soon. */
function numbered(seed: number, count: number): number {
  return (seed ^ Math.imul(count + 1, 0x9e37_79b1)) >>> 0;
}
