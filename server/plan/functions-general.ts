/**
 * Signatures of functions without a family: choices, identity, collections, and the mathematics
 * and texts that have no prefix.
 *
 * `if`, `coalesce` and `ifnull` are constructs of the algebra where the binder meets them; their
 * rows are for completion, the manual and the count of arguments.
 */
import type {FunctionSignature} from './functions.ts';
import {handled, scalarRow, unlimited} from './signature.ts';

const random = {needs: 'random', deterministic: false} as const;
const double = [1, 1] as const;

export const generalFunctions: readonly FunctionSignature[] = [
  scalarRow('if', [2, 3], 'The second if the first is true, else the third or null.', handled),
  scalarRow('coalesce', [1, unlimited], 'The first argument that is not null.', handled),
  scalarRow('ifnull', [2, 3], 'The first if it is not null, else the second.', handled),
  scalarRow('ifempty', [2, 2], 'The first unless it is null or empty, else the second.', handled),
  scalarRow('uuid', [0, 0], 'A random UUID.', random),
  scalarRow('version', [0, 0], 'The version of the server.'),
  scalarRow('eval', [1, 1], 'The value of an expression given as a text.', {
    later: 'expressions in texts',
  }),
  scalarRow('cypherRID', [1, 1], 'A record id as a whole number.', {later: 'Cypher'}),
  scalarRow('duanSSSP', [3, 4], 'A path with the least sum of weights.', {later: 'analytics'}),

  scalarRow('abs', double, 'The number without its sign.'),
  scalarRow('pow', [2, 2], 'The first to the power of the second.'),
  scalarRow('sqrt', double, 'The square root.'),
  scalarRow(
    'randomInt',
    [1, 2],
    'A random whole number from 0 (or a bound) up to a bound.',
    random,
  ),

  scalarRow('format', [1, unlimited], 'A text with %s, %d, %05.2f, ... replaced.', handled),
  scalarRow('strcmpci', [2, 2], 'The order of two texts without case: -1, 0 or 1.', handled),
  scalarRow('encode', [2, 2], 'Bytes or a text as base64 or base64url.'),
  scalarRow('decode', [2, 2], 'The bytes that a text of base64 or base64url stands for.'),
];
