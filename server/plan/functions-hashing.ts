/** Signatures of `util.*`: digests, compression, validation. */
import type {FunctionSignature} from './functions.ts';
import {handled, scalarRow} from './signature.ts';

const slow = {cost: 5_000} as const;

export const hashingFunctions: readonly FunctionSignature[] = [
  scalarRow('util.md5', [1, 1], 'The MD5 digest as hexadecimal digits.', slow),
  scalarRow('util.sha1', [1, 1], 'The SHA-1 digest as hexadecimal digits.', slow),
  scalarRow('util.sha256', [1, 1], 'The SHA-256 digest as hexadecimal digits.', slow),
  scalarRow('util.sha512', [1, 1], 'The SHA-512 digest as hexadecimal digits.', slow),
  scalarRow('util.compress', [1, 2], 'A text packed by gzip or deflate, as base64.', slow),
  scalarRow('util.decompress', [1, 2], 'The text that was packed by util.compress.', slow),
  scalarRow('util.sleep', [1, 1], 'Waits for milliseconds.', {later: 'waiting inside a row'}),
  scalarRow('util.validate', [2, 3], 'Refuses the statement when a condition is true.', handled),
];
