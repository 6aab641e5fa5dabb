/** The formats of a newer release wait for the last member that does not read them. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {peerOf} from '#server/testing/cluster/member-states.ts';
import {membersBehind} from './format-raise.ts';

test('one member of an older release, or that nobody heard of, holds the raise back', () => {
  const newer = {formats: {from: 1, to: 2}};
  const older = {formats: {from: 1, to: 1}};
  const behind = (...peers: Parameters<typeof peerOf>[1][]): string[] =>
    membersBehind({peers: peers.map((changed, at) => peerOf(at, changed))}, 2);
  const [first, second, third] = [0, 1, 2].map(at => peerOf(at).id);
  assert.deepEqual(behind(newer, newer, newer), []);
  assert.deepEqual(behind(newer, older, newer), [second]);
  assert.deepEqual(behind(newer, newer, {formats: undefined}), [third]);
  assert.deepEqual(behind(older, {formats: undefined}, newer), [first, second]);
  assert.deepEqual(behind(newer, {...older, inConfiguration: false}, newer), []);
});
