/**
 * Every value that lies beside a record: there is the record, and it says so. Whether each record
 * has what it says lies beside it is looked at with the record (verify-record.ts).
 */
import {
  allExternals,
  externalBucketRange,
  externalKeyBytes,
  externalRange,
  readExternalKey,
} from '#server/layout/external-key.ts';
import {recordFault} from '#server/layout/record-fault.ts';
import {recordKey} from '#server/layout/record-key.ts';
import {StoredRecord} from '#server/layout/stored-record.ts';
import type {RowWalker} from '#server/indexes/row-walker.ts';
import {ridText} from '#server/model/rid.ts';
import type {Rid} from '#server/model/value.ts';
import {copyBytes} from '#server/base/utf8.ts';
import type {RecordSchema} from '#server/layout/record.ts';
import type {ScanRange} from '#server/storage/store.ts';
import type {CheckState, Findings} from './check-state.ts';
import type {Finding} from './finding.ts';
import {unknownKey} from './unknown-keys.ts';

/** What the record that was looked at last says. */
interface Said {
  readonly rid: Rid;
  /** Undefined: it cannot be read, so nobody knows. */
  readonly properties: readonly number[] | undefined;
}

export function* checkExternalValues(state: CheckState): Findings {
  let last: Said | undefined;
  const saysOf = (rid: Rid): Said => {
    const isSame = last?.rid.bucket === rid.bucket && last.rid.position === rid.position;
    if (last === undefined || !isSame) {
      last = {rid, properties: saidBy(state.get(recordKey(rid)), rid, state.context.schema)};
    }
    return last;
  };
  yield* state.rows(rangesOf(state), walker => rowFindings(walker, saysOf, state), true);
}

function rangesOf({scope}: CheckState): readonly ScanRange[] {
  if (scope.rids !== undefined) return scope.rids.map(externalRange);
  if (scope.bucketIds !== undefined) return [...scope.bucketIds].map(externalBucketRange);
  return [allExternals];
}

function rowFindings(
  {bytes, keyStart, keyEnd}: RowWalker,
  saysOf: (rid: Rid) => Said,
  {context}: CheckState,
): readonly Finding[] {
  if (keyEnd - keyStart !== externalKeyBytes) {
    const key = bytes.subarray(keyStart, keyEnd);
    return [unknownKey(key, 'no key of a value beside a record is that long')];
  }
  const {rid, property} = readExternalKey(bytes, keyStart);
  const {properties} = saysOf(rid);
  if (properties === undefined || properties.includes(property)) return [];
  return [stray(copyBytes(bytes, keyStart, keyEnd), context.schema.propertyName(property))];
}

function stray(key: Uint8Array, name: string): Finding {
  const {rid, property} = readExternalKey(key, 0);
  return {
    kind: 'external-value-stray',
    place: ridText(rid),
    says: `a value of '${name}' lies beside it, which it does not say`,
    mend: ({transaction, context}) => {
      const said = saidBy(transaction.get(recordKey(rid)), rid, context.schema);
      if (said === undefined || said.includes(property)) return;
      transaction.require({kind: 'unchanged', key: recordKey(rid)});
      transaction.delete(key);
    },
  };
}

/** The properties whose values the record says lie beside it; undefined where it is damaged. */
function saidBy(
  bytes: Uint8Array | undefined,
  rid: Rid,
  schema: RecordSchema,
): readonly number[] | undefined {
  if (bytes === undefined) return [];
  if (recordFault(bytes, 0, bytes.length) !== undefined) return undefined;
  return new StoredRecord(rid, bytes, schema).propertiesBeside();
}
