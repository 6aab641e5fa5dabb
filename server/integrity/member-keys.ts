/**
 * The keys of records that lie in another type's bucket: each has its record. That each such record
 * has its key is looked at with the records.
 */
import {copyBytes} from '#server/base/utf8.ts';
import {
  strayMemberKeyBytes,
  strayMembers,
  readForeignMember,
} from '#server/layout/stray-member-key.ts';
import {recordKey} from '#server/layout/record-key.ts';
import {ridText} from '#server/model/rid.ts';
import type {Reader} from '#server/storage/store.ts';
import type {RecordContext} from '#server/records/context.ts';
import {type CheckState, type Findings, soundRecord} from './check-state.ts';
import type {Mend} from './finding.ts';
import {unknownKey} from './unknown-keys.ts';

/** Weighs the keys against the records that demand them. */
export function* surveyMembers(state: CheckState): Findings {
  yield* state.rows([strayMembers], ({bytes, keyStart, keyEnd}) => {
    state.members.begin().bytes(bytes, keyStart, keyEnd).found();
    return [];
  });
  if (!state.members.isEven) state.suspects.members = true;
}

/** They are few: each was made by a statement that changed the labels of one vertex. */
export function* checkMembers(state: CheckState): Findings {
  if (state.scope.rids !== undefined || !state.suspects.members) return;
  yield* state.rows([strayMembers], ({bytes, keyStart, keyEnd}) => {
    const key = copyBytes(bytes, keyStart, keyEnd);
    if (key.length !== strayMemberKeyBytes) {
      return [unknownKey(key, 'no key of a member of a type is that long')];
    }
    const {typeId, rid} = readForeignMember(key, 0);
    if (!state.inScope(rid.bucket) || isMember(state.reader, state.context, key)) return [];
    const type = state.context.catalog.typeById(typeId)?.name ?? `number ${typeId}`;
    const place = ridText(rid);
    const says = `type '${type}' has a key of it as a record elsewhere, which it is not`;
    return [{kind: 'member-key-stray', place, says, mend: dropMember(key)}];
  });
}

/** Whether the key's record is of its type and lies in none of its buckets, or may be so. */
function isMember(reader: Reader, context: RecordContext, key: Uint8Array): boolean {
  const {typeId, rid} = readForeignMember(key, 0);
  const record = soundRecord(reader, context, rid);
  if (record === undefined) return false;
  if (record === 'damaged') return true;
  const isHome = context.catalog.typeById(typeId)?.bucketIds.includes(rid.bucket) === true;
  return record.typeId === typeId && !isHome;
}

function dropMember(key: Uint8Array): Mend {
  return ({transaction, context}) => {
    if (transaction.get(key) === undefined || isMember(transaction, context, key)) return;
    const {rid} = readForeignMember(key, 0);
    for (const one of [key, recordKey(rid)]) transaction.require({kind: 'unchanged', key: one});
    transaction.delete(key);
  };
}
