/**
 * Signatures of functions without a family: choices, identity, collections, and the mathematics
 * and texts that have no prefix.
 *
 * `if`, `coalesce` and `ifnull` are made of the algebra's own words where the binder meets them;
 * their rows are for the manual and the count of arguments, and for calls by other languages.
 */
import type {FunctionSignature} from '../functions.ts';
import {constructRow, handled, scalarRow} from '../signature.ts';

const random = {needs: 'random', deterministic: false} as const;

export const generalFunctions: readonly FunctionSignature[] = [
  scalarRow(
    'if(condition, then, otherwise?)',
    'The second if the first is true, else the third or null.',
    ["if(age > 30, 'old', 'young')", '"old"'],
    handled,
  ),
  scalarRow(
    'coalesce(value, others...)',
    'The first argument that is not null.',
    ['coalesce(null, null, 3)', '3'],
    handled,
  ),
  scalarRow(
    'ifnull(value, otherwise, given?)',
    'The first if it is not null, else the second.',
    ["ifnull(nickname, 'none')", '"none"'],
    handled,
  ),
  scalarRow(
    'ifempty(value, otherwise)',
    'The first unless it is null or empty, else the second.',
    ["ifempty('', 'none')", '"none"'],
    handled,
  ),
  constructRow('expand(list)', 'Alone in a projection: each item of a list as a row of its own.', [
    "SELECT expand(tags) FROM Person WHERE name = 'Ada'",
    '{"value":"maths"},{"value":"verse"}',
  ]),
  scalarRow('uuid()', 'A random UUID.', ['uuid().length()', '36'], random),
  scalarRow('version()', 'The version of the server.', ['version()', '"26.11.1"']),
  constructRow(
    'eval(expression)',
    'The value of an expression that stands in the statement as a text.',
    ["eval('age + 1')", '37'],
  ),
  scalarRow('cypherRID(number)', 'The record id that a whole number of asCypherRID stands for.', [
    'cypherRID(140737488355330)',
    '"#1:2"',
  ]),

  scalarRow('abs(number)', 'The number without its sign.', ['abs(-3)', '3']),
  scalarRow('pow(base, exponent)', 'The first to the power of the second.', ['pow(2, 10)', '1024']),
  scalarRow('sqrt(number)', 'The square root.', ['sqrt(16)', '4']),
  scalarRow(
    'randomInt(from?, bound)',
    'A random whole number from 0 (or a bound) up to a bound.',
    ['randomInt(1)', '0'],
    random,
  ),

  scalarRow(
    'format(pattern, values...)',
    'A text with %s, %d, %05.2f, ... replaced.',
    ["format('%s is %05.1f', 'x', 3.14159)", '"x is 003.1"'],
    handled,
  ),
  scalarRow(
    'strcmpci(left, right)',
    'The order of two texts without case: -1, 0 or 1.',
    ["strcmpci('ABC', 'abd')", '-1'],
    handled,
  ),
  scalarRow('encode(value, form)', 'Bytes or a text as base64 or base64url.', [
    "encode('hello', 'base64')",
    '"aGVsbG8="',
  ]),
  scalarRow('decode(text, form)', 'The bytes that a text of base64 or base64url stands for.', [
    "decode('aGVsbG8=', 'base64').asString()",
    '"hello"',
  ]),
];
