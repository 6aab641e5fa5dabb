/**
 * What is stored of a password for logins by SCRAM-SHA-256 (RFC 5802), as the text of RFC 5803:
 *
 *     SCRAM-SHA-256$<rounds>:<salt>$<StoredKey>:<ServerKey>
 *
 * It is made from the password under a salt of its own. The hash of the password (passwords.ts)
 * would, under the same salt, be the salted password, from which anybody makes the key of a client.
 * As it is, who steals the hash, the verifier, or both, can log in by neither. The salt follows
 * from the hash, whose own salt nobody is told: a verifier that stands beside another hash, since
 * somebody wrote a new one into the file of users, counts for nothing.
 */
import {createHash, createHmac, hash} from 'node:crypto';

export interface ScramVerifier {
  readonly rounds: number;
  /** What clients are told of it: base64. */
  readonly salt: string;
  /** The digest of the key by which a client proves that it knows the password. */
  readonly storedKey: Buffer;
  /** The key by which the server proves that it knows of the password. */
  readonly serverKey: Buffer;
}

/** @param salted - The key that is derived from the password with `rounds` and `salt`. */
export function verifierOf(
  salted: Uint8Array,
  made: {readonly rounds: number; readonly salt: string},
): ScramVerifier {
  const storedKey = sha256(hmac(salted, 'Client Key'));
  return {...made, storedKey, serverKey: hmac(salted, 'Server Key')};
}

/** The salt that belongs to a hash, as text. */
export function saltBeside(passwordHash: string): string {
  return hash('sha256', `scram ${passwordHash}`, 'base64');
}

export const base64 = (salt: string): string => Buffer.from(salt, 'utf8').toString('base64');

const keyForm = '([A-Za-z0-9+/]{43}=)';
const form = new RegExp(
  `^SCRAM-SHA-256\\$([1-9]\\d{0,7}):([A-Za-z0-9+/]+={0,2})\\$${keyForm}:${keyForm}$`,
);

/** What is stored beside a hash; undefined for none, another format, and that of another hash. */
export function verifierBeside(
  passwordHash: string,
  text: string | undefined,
): ScramVerifier | undefined {
  const verifier = parseVerifier(text);
  return verifier?.salt === base64(saltBeside(passwordHash)) ? verifier : undefined;
}

export function parseVerifier(text: string | undefined): ScramVerifier | undefined {
  const [, rounds, salt = '', stored = '', server = ''] = form.exec(text ?? '') ?? [];
  if (rounds === undefined) return undefined;
  const [storedKey, serverKey] = [Buffer.from(stored, 'base64'), Buffer.from(server, 'base64')];
  return {rounds: Number(rounds), salt, storedKey, serverKey};
}

export function printVerifier({rounds, salt, storedKey, serverKey}: ScramVerifier): string {
  const keys = `${storedKey.toString('base64')}:${serverKey.toString('base64')}`;
  return `SCRAM-SHA-256$${rounds}:${salt}$${keys}`;
}

const spaces = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/gu;
const unseen =
  /\u00ad|\u034f|\u1806|[\u180b-\u180d]|[\u200b-\u200d]|\u2060|[\ufe00-\ufe0f]|\ufeff/gu;

/** The password as clients prepare it before they derive a key from it (SASLprep, RFC 4013). */
export function preparedPassword(password: string): string {
  return password.replace(spaces, ' ').replace(unseen, '').normalize('NFKC');
}

export function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest();
}

export function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
