/**
 * What may be wrong in a database: one row per kind, and one finding per place.
 *
 * A kind says what can be done about it. `fix`: the right bytes follow from others and FIX writes
 * them. `orphan`: nothing refers to it any more; DELETE ORPHANS removes it, RECLAIM UNREFERENCED
 * FILES where it is a file (`reclaim`). `restore`: what is lost
 * is told by nothing else in the database. `user`: the bytes are sound, but mean what somebody has
 * to look at. Nothing is ever made up: a kind without a way to derive has no mend.
 */
import type {RecordWriter} from '#server/records/records.ts';
import type {RecordContext} from '#server/records/context.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';

type Remedy = 'fix' | 'orphan' | 'reclaim' | 'restore' | 'user';

interface KindRow {
  readonly remedy: Remedy;
  /** Whether a database may come to it without any damage. */
  readonly warning?: true;
  readonly says: string;
}

export const findingKinds = {
  'schema-broken': {
    remedy: 'restore',
    says: 'types, buckets or indexes of the schema contradict each other',
  },
  'store-unreadable': {
    remedy: 'restore',
    says: 'files of the store do not give their bytes, or give others than were written',
  },
  'name-damaged': {
    remedy: 'restore',
    says: 'an entry of the dictionary of names is no name, or is one that is there already',
  },
  'name-missing': {remedy: 'restore', says: 'a record has a property without a name'},
  'name-declared': {remedy: 'fix', says: 'the dictionary lacks a name that the schema tells'},
  'record-damaged': {remedy: 'restore', says: 'the bytes of a record are none'},
  'external-value-missing': {
    remedy: 'restore',
    says: 'a record says that a value lies beside it, and none does',
  },
  'external-value-wrong': {
    remedy: 'restore',
    says: 'the value that lies beside a record is not the one that belongs to it',
  },
  'external-value-stray': {
    remedy: 'orphan',
    says: 'a value lies beside a record that does not say so, or does not exist',
  },
  'record-type-unknown': {remedy: 'restore', says: 'a record is of a type that does not exist'},
  'record-kind-wrong': {remedy: 'restore', says: 'a record is not of the kind of its type'},
  'record-without-bucket': {
    remedy: 'orphan',
    says: 'a record lies in a bucket that the schema does not have',
  },
  'rule-broken': {
    remedy: 'user',
    warning: true,
    says: 'a record breaks a rule that its type was given later',
  },
  'link-dangling': {
    remedy: 'user',
    warning: true,
    says: 'a property holds the id of a record that does not exist',
  },
  'edge-end-missing': {remedy: 'orphan', says: 'an edge ends at no vertex'},
  'edge-end-deleted': {
    remedy: 'user',
    warning: true,
    says: 'a one-way edge leads to a vertex that was deleted, which knew nothing of it',
  },
  'edge-duplicate': {remedy: 'user', says: 'there are two edges where the type allows one'},
  'edge-key-missing-out': {remedy: 'fix', says: 'an edge is not known at its start'},
  'edge-key-missing-in': {remedy: 'fix', says: 'an edge is not known at its end'},
  'edge-key-dangling': {remedy: 'fix', says: 'a vertex knows an edge that does not exist'},
  'light-edge-half': {remedy: 'fix', says: 'a light edge is known at one of its ends only'},
  'light-edge-end-missing': {remedy: 'orphan', says: 'a light edge ends at no vertex'},
  'index-entry-missing': {remedy: 'fix', says: 'an index lacks an entry of a record'},
  'index-entry-wrong': {remedy: 'fix', says: 'an entry says something else than its record'},
  'index-entry-stray': {remedy: 'fix', says: 'an index has an entry that no record has'},
  'index-unknown': {remedy: 'fix', says: 'there are entries of an index that does not exist'},
  'index-key-duplicate': {remedy: 'user', says: 'two records have one key of a unique index'},
  'member-key-missing': {
    remedy: 'fix',
    says: 'a record in the bucket of another type is not known to its own',
  },
  'member-key-stray': {remedy: 'fix', says: 'a type knows a record that is not its own'},
  'count-wrong': {remedy: 'fix', says: 'a bucket counts other records than it has'},
  'position-low': {
    remedy: 'fix',
    says: 'new records of a bucket would get the ids of those that are there',
  },
  'key-unknown': {remedy: 'orphan', says: 'a key of the store that nothing ever writes'},
  'file-unreferenced': {
    remedy: 'reclaim',
    warning: true,
    says: 'a file in the directory of the database that its store has not written',
  },
} as const satisfies Record<string, KindRow>;

export type FindingKind = keyof typeof findingKinds;

/** What a mend has: a transaction whose snapshot may be newer than that of the finding. */
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
