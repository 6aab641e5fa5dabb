/**
 * The documents of users, groups and API tokens: where they live, and what they say.
 *
 * Whatever is wrong with one is told with the name of its file, and its line where it has lines.
 */
import {type ApiTokens, parseApiTokens} from '#server/access/api-tokens.ts';
import {defaultGroups, type Groups, parseGroups} from '#server/access/groups.ts';
import {parseUsers, rootName, type Users} from '#server/access/users.ts';
import {Refusal} from '#server/base/errors.ts';

/** Names of the documents, which are also those of their files. */
export const securityDocuments = [
  'server-users.jsonl',
  'server-groups.json',
  'server-api-tokens.json',
] as const;

export type SecurityDocument = (typeof securityDocuments)[number];

/** Where the documents live. A `read` after a resolved `write` sees what was written. */
export interface SecurityStore {
  read(name: SecurityDocument): Uint8Array | undefined;
  write(name: SecurityDocument, bytes: Uint8Array): Promise<void>;
}

/** What the documents say together. */
export interface Documents {
  readonly users: Users;
  readonly groups: Groups;
  readonly tokens: ApiTokens;
}

/** Reads all of them; one that is not there says nothing. @throws {Refusal} */
export function readDocuments(store: Pick<SecurityStore, 'read'>): Documents {
  const parsed = <T>(name: SecurityDocument, parse: (text: string) => T, absent: T): T => {
    const bytes = store.read(name);
    return bytes === undefined ? absent : named(name, () => parse(textOf(bytes)));
  };
  return {
    users: parsed('server-users.jsonl', parseUsers, new Map()),
    groups: parsed('server-groups.json', parseGroups, defaultGroups),
    tokens: parsed('server-api-tokens.json', parseApiTokens, new Map()),
  };
}

/**
 * Checks a document that a person wrote before it takes the place of the one in force.
 *
 * @throws {Refusal} when it cannot be used, or would lock root out.
 */
export function checkWritten(name: SecurityDocument, bytes: Uint8Array): void {
  const {users} = readDocuments({read: asked => (asked === name ? bytes : undefined)});
  if (name !== 'server-users.jsonl' || (users.get(rootName)?.passwordHash ?? '') !== '') return;
  const advice = 'a server that starts with such a file gives root a new one';
  throw new Refusal('argument', `${name}: no line gives root a password; ${advice}`);
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', {fatal: false}).decode(bytes);
}

function named<T>(name: SecurityDocument, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(error.code, `${name}: ${error.message}`, {place: error.place});
  }
}
