/** The rows that schema statements answer: what was done, in the shape that clients know. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;
before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.s STRING',
    'CREATE PROPERTY T.i INTEGER',
    'CREATE INDEX ON T (s) UNIQUE',
  ]);
});
after(() => world.close());

const property = {operation: 'alter property', type: 'T', property: 'i'};
const custom = {...property, operation: 'alter property custom', customAttribute: 'k'};
const type = {operation: 'ALTER TYPE', typeName: 'T', result: 'OK'};

// Each runs on what those before it left.
const cases: readonly (readonly [statement: string, row: Readonly<Record<string, unknown>>])[] = [
  [
    'ALTER PROPERTY T.i MANDATORY true',
    {...property, attribute: 'mandatory', oldValue: false, newValue: true},
  ],
  ['ALTER PROPERTY T.i MAX 7', {...property, attribute: 'max', oldValue: null, newValue: 7}],
  ['ALTER PROPERTY T.i MAX null', {...property, attribute: 'max', oldValue: '7', newValue: null}],
  ["ALTER PROPERTY T.i CUSTOM k = 'v'", {...custom, oldValue: null, newValue: 'v'}],
  ['ALTER PROPERTY T.i CUSTOM k = null', {...custom, oldValue: 'v', newValue: null}],
  ['ALTER PROPERTY T.i NAME j', {...property, attribute: 'name', oldValue: 'i', newValue: 'j'}],
  ['ALTER TYPE T BUCKET +more', {...type, addBucket: 'more'}],
  ['ALTER TYPE T BUCKET -more', {...type, removeBucket: 'more'}],
  [
    'TRUNCATE BUCKET T_0',
    {operation: 'truncate bucket', bucketName: 'T_0', bucketId: 1, transactional: true},
  ],
  ['TRUNCATE TYPE T', {operation: 'truncate type', typeName: 'T', transactional: true}],
  [
    'REBUILD INDEX `T[s]`',
    {operation: 'rebuild index', indexes: ['T[s]'], totalIndexed: 0, recordsMisplaced: 0},
  ],
  ['DROP INDEX `T[s]`', {operation: 'drop index', indexName: 'T[s]'}],
  ['DROP BUCKET more', {operation: 'drop bucket', bucketName: 'more', bucketId: 2, dropped: true}],
];

for (const [statement, row] of cases) {
  test(statement, async () => {
    assert.deepEqual(await database.run(statement), [row]);
  });
}
