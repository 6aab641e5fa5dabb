/**
 * Keys that nothing ever writes: outside of every range that has a meaning, or of no possible
 * shape inside one. They hold nothing that a statement could find.
 */
import {copyBytes} from '#server/base/utf8.ts';
import {namespace} from '#server/layout/namespace.ts';
import type {ScanRange} from '#server/storage/store.ts';
import {systemPrefix} from '#server/transactions/system-keys.ts';
import {type CheckState, type Findings, keyName} from './check-state.ts';
import type {Finding} from './finding.ts';

export function unknownKey(bytes: Uint8Array, says: string): Finding {
  const key = copyBytes(bytes);
  return {
    kind: 'key-unknown',
    place: keyName(key),
    says,
    mend: ({transaction}) => {
      if (transaction.get(key) === undefined) return;
      transaction.require({kind: 'unchanged', key});
      transaction.delete(key);
    },
  };
}

/** Walks everything between the ranges that have a meaning. */
export function* checkUnknownKeys(state: CheckState): Findings {
  yield* state.rows(
    gaps(),
    ({bytes, keyStart, keyEnd}) => [
      unknownKey(bytes.subarray(keyStart, keyEnd), 'no kind of key begins like that'),
    ],
    true,
  );
}

function gaps(): readonly ScanRange[] {
  const known = [systemPrefix, ...Object.values(namespace)].sort((a, b) => a - b);
  return known.map((first, at): ScanRange => {
    const start = Uint8Array.of(first + 1);
    const next = known[at + 1];
    return next === undefined ? {start} : {start, end: Uint8Array.of(next)};
  });
}
