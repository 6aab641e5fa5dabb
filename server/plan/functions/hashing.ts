/** Signatures of `util.*`: digests, compression, validation, waiting. */
import type {FunctionSignature} from '../functions.ts';
import {handled, scalarRow} from '../signature.ts';

const slow = {cost: 5_000} as const;

export const hashingFunctions: readonly FunctionSignature[] = [
  scalarRow(
    'util.md5(value)',
    'The MD5 digest as hexadecimal digits.',
    ["util.md5('abc')", '"900150983cd24fb0d6963f7d28e17f72"'],
    slow,
  ),
  scalarRow(
    'util.sha1(value)',
    'The SHA-1 digest as hexadecimal digits.',
    ["util.sha1('abc')", '"a9993e364706816aba3e25717850c26c9cd0d89d"'],
    slow,
  ),
  scalarRow(
    'util.sha256(value)',
    'The SHA-256 digest as hexadecimal digits.',
    ["util.sha256('abc').left(8)", '"ba7816bf"'],
    slow,
  ),
  scalarRow(
    'util.sha512(value)',
    'The SHA-512 digest as hexadecimal digits.',
    ["util.sha512('abc').left(8)", '"ddaf35a1"'],
    slow,
  ),
  scalarRow(
    'util.compress(text, form?)',
    'A text packed by gzip or deflate, as base64.',
    ["util.compress('hello', 'deflate')", '"eJzLSM3JyQcABiwCFQ=="'],
    slow,
  ),
  scalarRow(
    'util.decompress(bytes, form?)',
    'The text that was packed by util.compress.',
    ["util.decompress(util.compress('hello'))", '"hello"'],
    slow,
  ),
  scalarRow(
    'util.sleep(milliseconds)',
    'Null; the statement takes that much longer.',
    ['util.sleep(1)', 'null'],
    {needs: 'clock', deterministic: false},
  ),
  scalarRow(
    'util.validate(condition, message, values?)',
    'Refuses the statement when a condition is true.',
    ["util.validate(age < 0, 'no age: %d', [age])", 'true'],
    handled,
  ),
];
