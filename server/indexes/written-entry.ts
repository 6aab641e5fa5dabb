/** An entry of a search index that was appended to a writer: its key ends with the record id. */
import type {ByteWriter} from '#server/base/byte-writer.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import type {IndexKey} from './index-parts.ts';

export class WrittenEntry implements IndexKey {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly keyEnd: number;
  readonly end: number;
  readonly index: string;
  readonly unique = false;
  readonly #name: string;

  /** The entry that `out` ends with. @param name - What of the record it is of, for people. */
  constructor(
    index: IndexDefinition,
    name: string,
    out: ByteWriter,
    {start, keyEnd}: Pick<IndexKey, 'start' | 'keyEnd'>,
  ) {
    this.bytes = out.bytes;
    this.start = start;
    this.keyEnd = keyEnd;
    this.end = out.length;
    this.index = index.name;
    this.#name = name;
  }

  get key(): Uint8Array {
    return this.bytes.subarray(this.start, this.keyEnd);
  }

  get value(): Uint8Array {
    return this.bytes.subarray(this.keyEnd, this.end);
  }

  get text(): string {
    return `[${this.#name}]`;
  }
}
