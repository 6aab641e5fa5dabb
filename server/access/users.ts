/**
 * The users document as a value, and the rules a user must keep.
 *
 * Format of `config/server-users.jsonl` (docs/http.md): one line a user,
 * `{name, password, scram, databases: {"<db>|*": ["group"]}}`, the password hashed; `scram` is
 * absent of a user of an earlier release who has not shown his password since. A name may hold no
 * colon, since Basic credentials end the name there (API tokens use such names for the same
 * reason), and no control character. A grant may name a group that does not exist (yet).
 */
import {Refusal, type RefusalCode} from '#server/base/errors.ts';

/** Database name (or `*`) to group names. */
export type Grants = ReadonlyMap<string, readonly string[]>;

export interface User {
  readonly name: string;
  /** `PBKDF2WithHmacSHA256$<rounds>$<salt>$<hash>`; empty for a user who cannot log in. */
  readonly passwordHash: string;
  /** What logins by SCRAM-SHA-256 are judged by: `SCRAM-SHA-256$...`. */
  readonly scramVerifier: string | undefined;
  readonly grants: Grants;
}

/** The users keyed by their name, in the order of their creation. */
export type Users = ReadonlyMap<string, User>;

/** The one user who may do everything. */
export const rootName = 'root';

const nameLengthMin = 4;
const nameLengthMax = 256;
const passwordLengthMin = 8;
const passwordLengthMax = 256;

/**
 * Reads the document. Blank lines are skipped.
 *
 * @throws {Refusal} `json.invalid` or `argument`, with the line.
 */
export function parseUsers(text: string): Users {
  const users = new Map<string, User>();
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const place = {line: index + 1, column: 1};
    const user = parseUser(line, place);
    if (users.has(user.name)) {
      throw new Refusal('argument', `User '${user.name}' stands on two lines`, {place});
    }
    users.set(user.name, user);
  }
  return users;
}

/** The document's text: one line a user, in their order. */
export function printUsers(users: Users): string {
  let text = '';
  for (const {name, passwordHash, scramVerifier, grants} of users.values()) {
    const databases = Object.fromEntries(grants);
    const line = {name, password: passwordHash, scram: scramVerifier, databases};
    text += `${JSON.stringify(line)}\n`;
  }
  return text;
}

/** @throws {Refusal} `user.invalid`. */
export function checkUserName(name: string): void {
  if (name.length < nameLengthMin) {
    throw invalid(`User name too short (<${nameLengthMin} characters)`);
  }
  if (name.length > nameLengthMax) {
    throw invalid(`User name too long (>${nameLengthMax} characters)`);
  }
  if (/[:\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)) {
    throw invalid(`User name holds a colon, or a character that cannot be seen`);
  }
  if (name !== name.trim()) throw invalid(`User name begins or ends with a blank`);
}

/** @throws {Refusal} `user.invalid`. */
export function checkPassword(password: string): void {
  if (password.length < passwordLengthMin) {
    throw invalid(`User password too short (<${passwordLengthMin} characters)`);
  }
  if (password.length > passwordLengthMax) {
    throw invalid(`User password too long (>${passwordLengthMax} characters)`);
  }
}

/**
 * Reads grants as clients and the file write them: an object, or a map, of lists.
 *
 * @throws {Refusal} `code` (a client's mistake is `user.invalid`, a file's is `argument`).
 */
export function parseGrants(value: unknown, code: RefusalCode): Grants {
  const shape = 'must be an object of lists: {"<database>": ["<group>"]}';
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Refusal(code, `'databases' ${shape}`);
  }
  const grants = new Map<string, readonly string[]>();
  for (const [database, groups] of value instanceof Map ? value : Object.entries(value)) {
    if (!Array.isArray(groups) || !groups.every(group => typeof group === 'string')) {
      throw new Refusal(code, `The grant on '${database}' in 'databases' ${shape}`);
    }
    grants.set(database, groups);
  }
  return grants;
}

function parseUser(line: string, place: {line: number; column: number}): User {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Refusal('json.invalid', `Line ${place.line} of the users is not valid JSON`, {place});
  }
  const fields = (value ?? {}) as Readonly<Record<string, unknown>>;
  const {name, password, scram, databases = {}} = fields;
  if (typeof name !== 'string' || name === '' || typeof password !== 'string') {
    const message = `Line ${place.line} of the users needs 'name' and 'password', both texts`;
    throw new Refusal('argument', message, {place});
  }
  const scramVerifier = typeof scram === 'string' ? scram : undefined;
  return {name, passwordHash: password, scramVerifier, grants: parseGrants(databases, 'argument')};
}

function invalid(message: string): Refusal {
  return new Refusal('user.invalid', message);
}
