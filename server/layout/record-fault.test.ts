/** What passes as a record can be read whole; what was written passes. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {anyText, anyValue} from '#server/testing/property/any-value.ts';
import {Rid} from '#server/model/value.ts';
import {encodeRecord} from './record-encoding.ts';
import {recordFault} from './record-fault.ts';
import {StoredRecord} from './stored-record.ts';

const header = {kind: 'document', typeId: 3, schemaVersion: 1, recordVersion: 1} as const;
const schema = {typeName: String, propertyName: String, propertyId: () => undefined};
const fields = fc
  .array(fc.oneof(anyValue(), anyText()), {maxLength: 5})
  .map(values => values.map((value, id) => ({id: id + 1, value})));

test('every record that is written is sound', () => {
  fc.assert(
    fc.property(fields, list => {
      const bytes = encodeRecord(header, list);
      assert.equal(recordFault(bytes, 0, bytes.length), undefined);
    }),
    {numRuns: 500},
  );
});

test('a changed byte or end is a fault, or a record that is read without an error', () => {
  let faults = 0;
  fc.assert(
    fc.property(fields, fc.nat(), fc.nat({max: 255}), fc.boolean(), (list, turn, byte, isCut) => {
      const sound = encodeRecord(header, list);
      const bytes = isCut ? sound.slice(0, turn % sound.length) : Uint8Array.from(sound);
      if (!isCut) bytes[turn % bytes.length] = byte;
      if (recordFault(bytes, 0, bytes.length) === undefined) {
        new StoredRecord(new Rid(1, 0), bytes, schema).properties();
      } else faults += 1;
    }),
    {numRuns: 2_000},
  );
  assert.ok(faults > 500, `${faults} of 2000`);
});
