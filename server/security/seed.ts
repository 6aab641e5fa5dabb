/**
 * Whether two members hold the same users, groups and API tokens, told by digests.
 *
 * The documents travel in the log like everything else, so that members agree by themselves; a
 * member that doubts its copy (it was put back from a backup, or its files were edited) asks the
 * leader to write them again. Source: docs/http.md.
 */
import {hash} from 'node:crypto';

/** Names of the documents as members call them, and those of their files. */
export const seededDocuments = {
  users: 'server-users.jsonl',
  groups: 'server-groups.json',
  apiTokens: 'server-api-tokens.json',
} as const;

export type SeededDocument = keyof typeof seededDocuments;

const kinds = Object.keys(seededDocuments) as readonly SeededDocument[];

type Fingerprints = Readonly<Record<SeededDocument, string>>;

/** SHA-256 in hexadecimal digits; an absent document is an empty one. */
export function fingerprintsOf(
  read: (name: (typeof seededDocuments)[SeededDocument]) => Uint8Array | undefined,
): Fingerprints {
  const digest = (kind: SeededDocument): string =>
    hash('sha256', read(seededDocuments[kind]) ?? new Uint8Array(), 'hex');
  return {users: digest('users'), groups: digest('groups'), apiTokens: digest('apiTokens')};
}

/** What is held here and not there, or is not told of; what is held nowhere is left alone. */
export function differingFrom(
  ours: Fingerprints,
  theirs: Readonly<Partial<Fingerprints>>,
): readonly SeededDocument[] {
  return kinds.filter(kind => ours[kind] !== theirs[kind] && ours[kind] !== emptyDigest);
}

const emptyDigest = hash('sha256', new Uint8Array(), 'hex');
