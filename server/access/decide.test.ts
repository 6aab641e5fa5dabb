/** Access decisions as a table, and the documents they are made from. Holds invariant A1. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import {type Action, accessTo, may, type Subject} from './decide.ts';
import {defaultGroups, parseGroups, printGroups} from './groups.ts';
import {checkPassword, checkUserName, parseUsers, printUsers} from './users.ts';

const groups = parseGroups(
  JSON.stringify({
    version: 2,
    databases: {
      '*': {
        groups: {
          admin: {access: ['updateSchema'], types: {'*': {access: ['readRecord']}}},
          '*': {access: []},
          reader: {types: {'*': {access: ['readRecord']}}, resultSetLimit: 50},
        },
      },
      shop: {
        groups: {
          clerk: {
            types: {'*': {access: ['readRecord', 'flyRecord']}, Secret: {access: []}},
            resultSetLimit: 100,
          },
          admin: {access: ['updateDatabaseSettings']},
        },
      },
    },
  }),
);

function user(grants: Record<string, string[]>): Subject {
  return {root: false, grants: new Map(Object.entries(grants))};
}
const open: Action = {kind: 'open'};
const schema: Action = {kind: 'database', right: 'updateSchema'};
const settings: Action = {kind: 'database', right: 'updateDatabaseSettings'};
const read = (type: string): Action => ({kind: 'record', right: 'readRecord', type});
const create = (type: string): Action => ({kind: 'record', right: 'createRecord', type});

const cases: readonly (readonly [Subject, string, Action, boolean, string])[] = [
  // subject                          database  action         may    because
  [{root: true, grants: new Map()}, 'shop', create('T'), true, 'root may do everything'],
  [user({}), 'shop', open, false, 'no grant, no access'],
  [user({other: ['admin']}), 'shop', open, false, 'a grant elsewhere gives nothing here'],
  [user({'*': ['reader']}), 'shop', read('T'), true, 'the star grant reaches every database'],
  [user({'*': ['reader']}), 'shop', create('T'), false, 'reading does not give creating'],
  [user({'*': ['admin'], shop: ['reader']}), 'shop', schema, false, 'the own grant replaces star'],
  [user({shop: ['admin']}), 'shop', settings, true, 'the database defines its own admin'],
  [user({shop: ['admin']}), 'shop', schema, false, 'which replaces the shared one'],
  [user({shop: ['clerk', 'reader']}), 'shop', read('Secret'), true, 'groups add up'],
  [user({shop: ['clerk']}), 'shop', read('Secret'), false, 'an exact type replaces star'],
  [user({shop: ['clerk']}), 'shop', read('Other'), true, 'star stands for the other types'],
  [user({shop: ['nobody']}), 'shop', open, true, 'an unknown group still opens'],
  [user({shop: ['nobody']}), 'shop', schema, false, 'but falls back to group star'],
];

for (const [subject, database, action, expected, because] of cases) {
  test(`may is ${expected}: ${because}`, () => {
    assert.equal(may(groups, subject, database, action), expected);
  });
}

test('the smallest limit of all groups counts', () => {
  const both = accessTo(groups, user({shop: ['clerk', 'reader']}), 'shop');
  assert.equal(both?.resultSetLimit, 50);
  assert.equal(both?.readTimeout, -1);
});

test('the groups document survives printing, and a version 1 admin gains a right', () => {
  assert.deepEqual(parseGroups(printGroups(groups)), groups);
  assert.deepEqual(parseGroups(printGroups(defaultGroups)), defaultGroups);
  const old = parseGroups('{"version":1,"databases":{"*":{"groups":{"admin":{"access":[]}}}}}');
  assert.equal(may(old, user({'*': ['admin']}), 'any', settings), true);
});

test('the users document survives printing', () => {
  const name = fc.string({minLength: 1}).filter(text => text.trim() !== '');
  const grants = fc.dictionary(fc.string(), fc.array(fc.string()));
  fc.assert(
    fc.property(fc.uniqueArray(name), grants, (names, databases) => {
      const users = new Map(
        names.map(name => [
          name,
          {
            name,
            passwordHash: 'x$1$y$z',
            scramVerifier: name.length % 2 === 0 ? undefined : 'SCRAM-SHA-256$1:eA==$x:y',
            grants: new Map(Object.entries(databases)),
          },
        ]),
      );
      assert.deepEqual(parseUsers(printUsers(users)), users);
    }),
    {numRuns: 50},
  );
});

test('a wrong line of the users document is named', () => {
  const good = '{"name":"anna","password":"","databases":{}}';
  for (const bad of ['{', '[]', '5', 'null', '{"name":1,"password":""}', good]) {
    assert.throws(
      () => parseUsers(`${good}\n\n${bad}\n`),
      (error: unknown) => error instanceof Refusal && error.place?.line === 3,
      bad,
    );
  }
  assert.throws(
    () => parseUsers('{"name":"anna","password":"","databases":{"*":"admin"}}'),
    Refusal,
  );
});

test('names and passwords keep their bounds', () => {
  for (const name of ['abc', 'x'.repeat(257), 'apitoken:x', 'a\u0000bcd', 'ab\ncd']) {
    assert.throws(() => checkUserName(name), {code: 'user.invalid'}, JSON.stringify(name));
  }
  checkUserName('anna');
  checkUserName('žluť 漢字');
  assert.throws(() => checkPassword('x'.repeat(7)), {code: 'user.invalid'});
  assert.throws(() => checkPassword('x'.repeat(257)), {code: 'user.invalid'});
  checkPassword('a:b:c:d:');
});
