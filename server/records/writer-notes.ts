/** What the writers of one transaction, one behind the other, know of it. */
import type {RecordKind, Rid} from '#server/model/value.ts';
import {CreatedRecords} from './created-records.ts';
import {RecordChanges} from './record-changes.ts';

/** How many records of each kind. */
export type KindTally = Record<RecordKind, number>;

export interface RecordTally {
  readonly made: KindTally;
  readonly deleted: KindTally;
}

/** Most transactions write one record: what is rarely needed is made when it is. */
export class WriterNotes {
  readonly created = new CreatedRecords();
  readonly changes = new RecordChanges();
  /** Records made and deleted so far, by kind; a vertex's edges go with it. */
  readonly tally: RecordTally = {made: newTally(), deleted: newTally()};
  /** Records written without a property that they must have: whoever wrote may set it yet. */
  incomplete: Map<string, Rid> | undefined;
  /** Names that travel in this transaction because no commit has stored them yet. */
  newNames: Map<number, string> | undefined;
  /** Buckets to which the transaction keeps (bucket selection `thread`), by type. */
  bucketsKept: Map<number, number> | undefined;
}

function newTally(): KindTally {
  return {document: 0, vertex: 0, edge: 0};
}
