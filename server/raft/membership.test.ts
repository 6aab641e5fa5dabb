/** Memberships as a log holds them: in force from their entry on, and gone with it. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {type Membership, MembershipHistory, ordered} from './membership.ts';

function members(...ids: readonly string[]): Membership {
  return ordered(ids.map(id => ({id, role: 'voter', priority: 0})));
}

test('each is in force from its entry on', () => {
  const history = new MembershipHistory(0, members('a'));
  history.add(4, members('a', 'b'));
  history.add(9, members('b'));
  assert.deepEqual(history.at(3), members('a'));
  assert.deepEqual(history.at(4), members('a', 'b'));
  assert.deepEqual(history.at(8), members('a', 'b'));
  assert.deepEqual(history.at(20), members('b'));
  assert.deepEqual(history.current, members('b'));
  assert.deepEqual(history.previous, members('a', 'b'));
  assert.equal(history.since, 9);
});

test('one that is cut off gives way to the one before it', () => {
  const history = new MembershipHistory(0, members('a'));
  history.add(4, members('a', 'b'));
  history.truncate(4);
  assert.deepEqual(history.current, members('a', 'b'));
  history.truncate(3);
  assert.deepEqual(history.current, members('a'));
});

test('what is forgotten leaves behind what it put in force', () => {
  const history = new MembershipHistory(0, members('a'));
  history.add(4, members('a', 'b'));
  history.add(9, members('b'));
  history.compact(6);
  assert.deepEqual(history.at(6), members('a', 'b'));
  assert.throws(() => history.at(5), /base/);
  history.truncate(8);
  assert.deepEqual(history.current, members('a', 'b'));
});
