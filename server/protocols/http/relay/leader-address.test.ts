/** How long a request at a server that leads no more is waited for. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {MemoryCluster} from '#server/testing/cluster/memory-cluster.ts';
import {followerState, peerOf} from '#server/testing/cluster/member-states.ts';
import {deposedPatienceMs} from './leader-address.ts';

const target = {host: '127.0.0.1', port: 2481, isSecure: false};

function patienceAt(silentMs: number | undefined, asked = target): number {
  const peers = [peerOf(0), peerOf(1, {silentMs, httpsPort: 2491})];
  return deposedPatienceMs(new MemoryCluster(followerState({peers})), asked);
}

test('a second after its last word, which is a second where it spoke a moment ago', () => {
  assert.equal(patienceAt(0), 1_000);
  assert.equal(patienceAt(400), 600);
  assert.equal(patienceAt(400, {...target, port: 2491, isSecure: true}), 600);
});

test('nothing for one that was silent, a second for one that nobody knows', () => {
  assert.equal(patienceAt(1_000), 0);
  assert.equal(patienceAt(60_000), 0);
  assert.equal(patienceAt(undefined), 1_000);
  assert.equal(patienceAt(60_000, {...target, port: 1}), 1_000);
});
