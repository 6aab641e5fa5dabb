/**
 * How rows of an answer become the bytes of a protocol: what a protocol brings along that wants
 * neither JSON nor values.
 *
 * An encoding is asked on the thread that makes the rows, which may be one for long reads. That
 * thread knows an encoding by its name (node/row-encodings.ts); a statement whose encoding it does
 * not know runs on the network thread.
 * Why: docs/design/0046-rows-for-every-protocol.md.
 */
import type {ByteWriter} from '#server/base/byte-writer.ts';
import type {Value} from './value.ts';

export interface RowEncoding {
  readonly name: string;
  /**
   * Begins one answer.
   *
   * @param columns - Names of the columns; undefined: a row is one value, a record or a map.
   */
  begin(columns: readonly string[] | undefined): RowEncoder;
}

export interface RowEncoder {
  /**
   * Appends a row, all of it: a value for each column, or the one that the row is. Records read
   * their properties when they are asked, so they are good during the call alone.
   */
  row(out: ByteWriter, values: readonly Value[]): void;
}
