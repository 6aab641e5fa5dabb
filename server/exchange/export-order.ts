/** What an export is asked for and tells, and what writes its records. */
import type {RecordKind, RecordValue} from '#server/model/value.ts';
import type {DatabaseSnapshot} from '#server/session/import-session.ts';

export interface WriterOptions extends Pick<ExportOrder, 'database' | 'release'> {
  readonly snapshot: DatabaseSnapshot;
  readonly now: number;
  /** Is called between portions of long work. */
  readonly giveWay: () => Promise<void>;
}

export type ExportFormat = 'jsonl' | 'graphml' | 'graphson';

export interface ExportOrder {
  readonly database: string;
  readonly format: ExportFormat;
  /** Where the `.tgz` is written. */
  readonly path: string;
  readonly overwrite: boolean;
  readonly release: string;
}

export interface ExportCounts {
  documents: number;
  vertices: number;
  edges: number;
}

/** Gives the text of a format, record by record. */
export interface RecordWriter {
  /** Types of records that the format has a place for. */
  readonly kinds: readonly RecordKind[];
  begin(): Iterable<string> | AsyncIterable<string>;
  record(record: RecordValue): string;
  end(counts: ExportCounts): Iterable<string>;
}
