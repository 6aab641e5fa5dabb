/**
 * The encryption of a whole archive: 16 bytes of salt, 16 bytes of the first counter, then the ZIP
 * under AES-256 in counter mode, its key from the password by PBKDF2-HMAC-SHA256.
 *
 * Counter mode opens at any place, and changes no length; that nothing was changed by somebody
 * without the key is shown by the manifest, which is signed with a second key from the same
 * derivation.
 * Source: docs/backup.md.
 */
import {createCipheriv, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual} from 'node:crypto';

export const cipherHeaderBytes = 32;

const saltBytes = 16;
const keyBytes = 32;
const rounds = 65_536;
const blockBytes = 16;
/** A file that begins with these bytes is a ZIP and not encrypted. */
const zipStart = Buffer.from('PK');

/** What a password is with the salt and counter of one archive. */
export class ArchiveKey {
  readonly #cipherKey: Buffer;
  readonly #signingKey: Buffer;
  readonly #counter: bigint;
  /** What stands in front of the encrypted bytes. */
  readonly header: Buffer;

  /** Slow on purpose, as guessing a password has to be. @param header - Made anew without it. */
  constructor(password: string, header: Buffer = newHeader()) {
    this.header = header;
    const salt = header.subarray(0, saltBytes);
    // The first block of the derivation does not depend on how many follow.
    const derived = pbkdf2Sync(password, salt, rounds, keyBytes * 2, 'sha256');
    this.#cipherKey = derived.subarray(0, keyBytes);
    this.#signingKey = derived.subarray(keyBytes);
    this.#counter = readCounter(header.subarray(saltBytes, cipherHeaderBytes));
  }

  /** Encrypts, or decrypts, what begins at byte `at` of the ZIP. */
  cipherAt(at: number): (bytes: Uint8Array) => Buffer {
    const block = Math.floor(at / blockBytes);
    const counter = writeCounter(this.#counter + BigInt(block));
    const cipher = createCipheriv('aes-256-ctr', this.#cipherKey, counter);
    cipher.update(Buffer.alloc(at % blockBytes));
    return bytes => cipher.update(bytes);
  }

  /** @returns Hexadecimal digits. */
  sign(text: string): string {
    return createHmac('sha256', this.#signingKey).update(text, 'utf8').digest('hex');
  }

  isSigned(text: string, signature: string): boolean {
    const expected = Buffer.from(this.sign(text), 'utf8');
    const given = Buffer.from(signature, 'utf8');
    return expected.length === given.length && timingSafeEqual(expected, given);
  }
}

function newHeader(): Buffer {
  for (;;) {
    const header = randomBytes(cipherHeaderBytes);
    if (!header.subarray(0, zipStart.length).equals(zipStart)) return header;
  }
}

export function isPlainZip(start: Buffer): boolean {
  return start.subarray(0, zipStart.length).equals(zipStart);
}

function readCounter(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex')}`);
}

/** Counters begin anew behind the last one, as those of the cipher do. */
function writeCounter(counter: bigint): Buffer {
  return Buffer.from(BigInt.asUintN(128, counter).toString(16).padStart(32, '0'), 'hex');
}
