/**
 * One key's newest write in a transaction, kept small: the key as text (one character a byte),
 * the value as a place in a chunk that many values share. They are operations of a commit as
 * they are; the bytes are made snapshots only where somebody asks.
 */

export class PutWrite {
  readonly kind = 'put';
  readonly text: string;
  readonly chunk: Buffer;
  readonly from: number;
  readonly to: number;

  constructor(text: string, chunk: Buffer, from: number, to: number) {
    this.text = text;
    this.chunk = chunk;
    this.from = from;
    this.to = to;
  }

  get key(): Buffer {
    return Buffer.from(this.text, 'latin1');
  }

  get value(): Buffer {
    return this.chunk.subarray(this.from, this.to);
  }
}

export class DeleteWrite {
  readonly kind = 'delete';
  readonly text: string;
  readonly from = 0;
  readonly to = 0;

  constructor(text: string) {
    this.text = text;
  }

  get key(): Buffer {
    return Buffer.from(this.text, 'latin1');
  }
}

export type PointWrite = PutWrite | DeleteWrite;

/** A small record and what indexes hold of it. */
const chunkBytesMin = 512;
const chunkBytesMax = 1 << 20;

const noChunk = Buffer.alloc(0);

/** Puts values behind one another into chunks, each four times the one before. */
export class ValueChunks {
  #chunk = noChunk;
  #at = 0;

  copy(text: string, value: Uint8Array): PutWrite {
    const write = this.room(text, value.length);
    write.chunk.set(value, write.from);
    return write;
  }

  /** A put whose value is still to be written to its place. */
  room(text: string, length: number): PutWrite {
    if (this.#at + length > this.#chunk.length) {
      const bytes = Math.max(chunkBytesMin, Math.min(chunkBytesMax, this.#chunk.length * 4));
      this.#chunk = Buffer.allocUnsafe(Math.max(bytes, length));
      this.#at = 0;
    }
    const from = this.#at;
    this.#at += length;
    return new PutWrite(text, this.#chunk, from, this.#at);
  }
}
