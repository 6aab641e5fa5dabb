/**
 * What may be wrong in a database: one row per kind, and one finding per place.
 *
 * A kind says what can be done about it. `fix`: the right bytes follow from others and FIX writes
 * them. `orphan`: nothing refers to it any more; DELETE ORPHANS removes it. `restore`: what is lost
 * is told by nothing else in the database. `user`: the bytes are sound, but mean what somebody has
 * to look at. Nothing is ever made up: a kind without a way to derive has no mend.
 */
import type {RecordWriter} from '#server/transactions/records.ts';
import type {RecordContext} from '#server/transactions/records-context.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';

type Remedy = 'fix' | 'orphan' | 'restore' | 'user';

interface KindRow {
  readonly remedy: Remedy;
  /** Whether a database may come to it without any damage. */
  readonly warning?: true;
}

export const findingKinds = {
  /** Types, buckets or indexes that contradict each other. */
  'schema-broken': {remedy: 'restore'},
  /** Part of the files does not give its bytes, or gives others than were written. */
  'store-unreadable': {remedy: 'restore'},
  /** An entry of the dictionary of names that no name can be read from, or one name twice. */
  'name-damaged': {remedy: 'restore'},
  /** A record or the schema uses a name that the dictionary does not have. */
  'name-missing': {remedy: 'restore'},
  /** As before, where the schema tells the name. */
  'name-declared': {remedy: 'fix'},
  'record-damaged': {remedy: 'restore'},
  'record-type-unknown': {remedy: 'restore'},
  /** A vertex of an edge type and the like. */
  'record-kind-wrong': {remedy: 'restore'},
  /** In a bucket that the schema does not know. */
  'record-without-bucket': {remedy: 'orphan'},
  /** A record that breaks a rule of its type. */
  'rule-broken': {remedy: 'user', warning: true},
  /** A property holds the id of a record that does not exist. */
  'link-dangling': {remedy: 'user', warning: true},
  'edge-end-missing': {remedy: 'orphan'},
  /** A vertex knows nothing of the one-way edges that lead to it, and is deleted without them. */
  'edge-end-deleted': {remedy: 'user', warning: true},
  /** Two edges where the type allows one. */
  'edge-duplicate': {remedy: 'user'},
  'edge-key-missing-out': {remedy: 'fix'},
  'edge-key-missing-in': {remedy: 'fix'},
  /** The key of an edge that has no such record. */
  'edge-key-dangling': {remedy: 'fix'},
  /** A light edge of which one key of two is there. */
  'light-edge-half': {remedy: 'fix'},
  'light-edge-end-missing': {remedy: 'orphan'},
  'index-entry-missing': {remedy: 'fix'},
  /** An entry that says something else than its record. */
  'index-entry-wrong': {remedy: 'fix'},
  /** An entry without a record that has its key. */
  'index-entry-stray': {remedy: 'fix'},
  /** Entries of an index that the schema does not know. */
  'index-unknown': {remedy: 'fix'},
  /** Two records with one key of a unique index. */
  'index-key-duplicate': {remedy: 'user'},
  'member-key-missing': {remedy: 'fix'},
  'member-key-stray': {remedy: 'fix'},
  'count-wrong': {remedy: 'fix'},
  /** New records of the bucket would get the ids of those that are there. */
  'position-low': {remedy: 'fix'},
  /** A key that nothing ever writes. */
  'key-unknown': {remedy: 'orphan'},
} as const satisfies Record<string, KindRow>;

export type FindingKind = keyof typeof findingKinds;

/** What a mend has: a transaction whose view may be newer than that of the finding. */
export interface Mending {
  readonly transaction: Transaction;
  readonly context: RecordContext;
  readonly writer: RecordWriter;
}

/**
 * Looks again whether it is as was found, and if so writes what is right, on condition that
 * nothing it follows from has changed.
 */
export type Mend = (mending: Mending) => void;

export interface Finding {
  readonly kind: FindingKind;
  /** A record's id, or the name of a bucket or index, or a key in hexadecimal. */
  readonly place: string;
  /** What is wrong, in a sentence. */
  readonly says: string;
  /** Name of the index, where one is concerned. */
  readonly index?: string;
  /** Absent where nothing can be derived, and for kinds that are left to the user. */
  readonly mend?: Mend;
}

export function remedyOf(kind: FindingKind): Remedy {
  return findingKinds[kind].remedy;
}

export function isWarning(kind: FindingKind): boolean {
  const row: KindRow = findingKinds[kind];
  return row.warning === true;
}
