/**
 * Digests, compression, validation and waiting: `hash`, `util.*`.
 *
 * Digests are of the UTF-8 bytes of texts. What is unpacked is bounded, so that a few bytes do
 * not become gigabytes.
 */
import {createHash} from 'node:crypto';
import {deflateSync, gunzipSync, gzipSync, inflateSync} from 'node:zlib';
import {Refusal} from '#server/base/errors.ts';
import {readUtf8, utf8Bytes} from '#server/base/utf8.ts';
import {base64Text, bytesFromBase64} from '#server/model/base64.ts';
import type {Value} from '#server/model/value.ts';
import {asItems} from '../expressions/access.ts';
import {plainText} from '../expressions/arithmetic.ts';
import {argument, integerAt, refuse, textAt, textLengthMax} from './arguments.ts';
import {formatText} from './text-format.ts';
import type {FunctionFamily, ScalarFunction} from '../function-registry.ts';

/** Names as users write them to the platform's. */
const algorithms: Readonly<Record<string, string>> = {
  MD5: 'md5',
  SHA: 'sha1',
  SHA1: 'sha1',
  'SHA-1': 'sha1',
  'SHA-224': 'sha224',
  SHA256: 'sha256',
  'SHA-256': 'sha256',
  SHA384: 'sha384',
  'SHA-384': 'sha384',
  SHA512: 'sha512',
  'SHA-512': 'sha512',
};

function digest(value: Value, algorithm: string): string {
  const hash = createHash(algorithm);
  for (const item of asItems(value)) {
    hash.update(item instanceof Uint8Array ? item : utf8Bytes(plainText(item)));
  }
  return hash.digest('hex');
}

function hashMethod(args: readonly Value[]): string {
  const name = textAt(args, 1, 'SHA-256');
  const algorithm = algorithms[name.toUpperCase()];
  if (algorithm === undefined) {
    throw new Refusal(
      'query.execution',
      `hash() knows MD5, SHA-1, SHA-256, SHA-384 and SHA-512, not '${name.slice(0, 40)}'`,
    );
  }
  return digest(argument(args, 0), algorithm).toUpperCase();
}

function digestFunction(algorithm: string): ScalarFunction {
  return args => digest(argument(args, 0), algorithm);
}

function packing(args: readonly Value[]): 'gzip' | 'deflate' {
  const name = textAt(args, 1, 'gzip').toLowerCase();
  if (name === 'gzip' || name === 'deflate') return name;
  return refuse(`the algorithm is gzip or deflate, not '${name.slice(0, 40)}'`);
}

function compress(args: readonly Value[]): string {
  const value = argument(args, 0);
  const bytes = value instanceof Uint8Array ? value : utf8Bytes(plainText(value));
  if (bytes.length > textLengthMax) refuse('the text is too long to be compressed');
  const packed = packing(args) === 'gzip' ? gzipSync(bytes) : deflateSync(bytes);
  return base64Text(packed);
}

function decompress(args: readonly Value[]): string {
  const value = argument(args, 0);
  const packed =
    value instanceof Uint8Array
      ? value
      : (bytesFromBase64(plainText(value)) ?? refuse('the text is not base64'));
  const options = {maxOutputLength: textLengthMax};
  const unpack = packing(args) === 'gzip' ? gunzipSync : inflateSync;
  try {
    const bytes = unpack(packed, options);
    return readUtf8(bytes, 0, bytes.length);
  } catch (error) {
    throw new Refusal('argument', `the bytes cannot be unpacked within ${textLengthMax} bytes`, {
      cause: error,
    });
  }
}

/** Refuses the statement, in the user's words, when the condition holds. */
function validate(args: readonly Value[]): Value {
  if (argument(args, 0) !== true) return true;
  const values = asItems(argument(args, 2));
  throw new Refusal('query.execution', formatText(textAt(args, 1, 'validation failed'), values));
}

export const hashing: FunctionFamily = {
  scalars: {
    '.hash': hashMethod,
    'util.md5': digestFunction('md5'),
    'util.sha1': digestFunction('sha1'),
    'util.sha256': digestFunction('sha256'),
    'util.sha512': digestFunction('sha512'),
    'util.compress': compress,
    'util.decompress': decompress,
    'util.sleep': (args, {budget}) => {
      const milliseconds = integerAt(args, 0, 'util.sleep');
      if (milliseconds < 0) refuse(`util.sleep takes no negative time (${milliseconds})`);
      budget.sleep(milliseconds);
      return null;
    },
    'util.validate': validate,
  },
};
