/**
 * Entries read back as they were written, and what cannot be one is refused.
 * Holds invariant T2.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Corruption} from '#server/base/errors.ts';
import {
  decodeEntry,
  decodeServerBody,
  eachOperation,
  EntryEncoder,
  type EntryOperation,
} from './entry.ts';

const slice = fc.uint8Array({maxLength: 300}).map(bytes => Buffer.from(bytes));
const plain = {noNullPrototype: true};
const operation: fc.Arbitrary<EntryOperation> = fc.oneof(
  fc.record({kind: fc.constant('put' as const), key: slice, value: slice}, plain),
  fc.record({kind: fc.constant('delete' as const), key: slice}, plain),
  fc.record({kind: fc.constant('delete-range' as const), start: slice, end: slice}, plain),
);
const head = fc.record(
  {
    kind: fc.constant('transaction' as const),
    databaseId: fc.nat(1_000_000),
    schemaVersion: fc.nat(1_000_000),
    clock: fc.maxSafeNat(),
    newSchemaVersion: fc.option(fc.nat(1_000_000), {nil: undefined}),
    requestId: fc.option(fc.string({minLength: 1, maxLength: 50, unit: 'grapheme'}), {
      nil: undefined,
    }),
    counters: fc.array(
      fc.record(
        {
          kind: fc.constantFrom('position' as const, 'count' as const),
          bucketId: fc.nat(0xffff_ffff),
          value: fc.maxSafeNat(),
        },
        plain,
      ),
      {maxLength: 4},
    ),
  },
  plain,
);

test('an entry reads back as it was written', () => {
  const encoder = new EntryEncoder();
  fc.assert(
    fc.property(head, fc.array(operation, {maxLength: 8}), (written, operations) => {
      const entry = decodeEntry(Buffer.from(encoder.encode(written, operations)));
      const {operationCount, operations: _packed, ...read} = entry;
      assert.deepEqual(read, written);
      assert.equal(operationCount, operations.length);
      assert.deepEqual([...eachOperation(entry)], operations);
    }),
  );
});

test('a cut entry is damage, never another entry', () => {
  const encoder = new EntryEncoder();
  fc.assert(
    fc.property(head, fc.array(operation, {minLength: 1, maxLength: 3}), fc.nat(), (h, o, cut) => {
      const bytes = Buffer.from(encoder.encode(h, o));
      const short = bytes.subarray(0, cut % bytes.length);
      assert.throws(() => [...eachOperation(decodeEntry(short))], Corruption);
    }),
  );
});

test('an unknown version or kind stops the reader by name', () => {
  const bytes = Buffer.from(
    new EntryEncoder().encodeServer('put-document', 5, {
      head: {name: 'x'},
      bytes: Buffer.from('y'),
    }),
  );
  assert.deepEqual(decodeServerBody(decodeEntry(bytes)).head, {name: 'x'});
  for (const [at, value] of [
    [0, 2],
    [1, 99],
  ] as const) {
    const other = Buffer.from(bytes);
    other[at] = value;
    assert.throws(() => decodeEntry(other), /does not know|does not read|not know/);
  }
});
