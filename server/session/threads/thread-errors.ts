/** Errors as data, so that what ends a plan on another thread ends it here as the same error. */
import {AssertionFailure, unreachable} from '#server/base/assert.ts';
import {Corruption, Refusal, type RefusalCode, type RefusalOptions} from '#server/base/errors.ts';

export type PackedError =
  | {
      readonly kind: 'refusal';
      readonly code: RefusalCode;
      readonly message: string;
      readonly options: RefusalOptions;
    }
  | {readonly kind: 'corruption'; readonly message: string; readonly detail: Corruption['detail']}
  | {readonly kind: 'bug' | 'other'; readonly message: string; readonly stack: string | undefined};

export function packError(error: unknown): PackedError {
  if (error instanceof Refusal) {
    const {code, message, detail, place} = error;
    return {kind: 'refusal', code, message, options: {detail, place}};
  }
  if (error instanceof Corruption) {
    return {kind: 'corruption', message: error.message, detail: error.detail};
  }
  const {message, stack} = error instanceof Error ? error : new Error(String(error));
  return {kind: error instanceof AssertionFailure ? 'bug' : 'other', message, stack};
}

export function unpackError(packed: PackedError): Error {
  switch (packed.kind) {
    case 'refusal':
      return new Refusal(packed.code, packed.message, packed.options);
    case 'corruption':
      return new Corruption(packed.message, packed.detail);
    case 'bug':
      return withStack(new AssertionFailure(packed.message), packed.stack);
    case 'other':
      return withStack(new Error(packed.message), packed.stack);
    default:
      return unreachable(packed);
  }
}

function withStack(error: Error, stack: string | undefined): Error {
  if (stack !== undefined) error.stack = stack;
  return error;
}
