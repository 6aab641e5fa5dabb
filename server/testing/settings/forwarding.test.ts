/** What settings do to requests that a member passes on, and to its reads. */
import assert from 'node:assert/strict';
import {createServer} from 'node:net';
import {afterEach, beforeEach, test} from 'node:test';
import {type ClusterOfTwo, clusterOfTwo} from '../cluster/cluster-of-two.ts';
import type {HttpAnswer} from '../worlds/http-world.ts';

let two: ClusterOfTwo;
beforeEach(async () => {
  two = await clusterOfTwo({});
});
afterEach(() => two.close());

test('svc.ha.readConsistency is what a read sees that names no mode', async () => {
  const read = (): Promise<HttpAnswer> =>
    two.replica.call('/query/db', {body: {language: 'sql', command: 'rows 1'}});
  assert.equal((await read()).status, 200);
  two.replica.set('svc.ha.readConsistency', 'linearizable');
  assert.match((await read()).text, /QuorumNotReachedException/);
  two.replica.set('svc.ha.readConsistency', 'eventual');
  assert.equal((await read()).status, 200);
});

test('svc.ha.proxyBatchReadTimeout: a bulk load gives up a silent leader', async () => {
  const silent = createServer(() => {});
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  assert.ok(address !== null && typeof address === 'object');
  try {
    two.lead(undefined);
    two.replica.cluster.leader = {host: '127.0.0.1', port: address.port};
    two.replica.set('svc.ha.proxyBatchReadTimeout', 50);
    two.replica.set('svc.ha.forwardLeaderWaitTimeoutMs', 50);
    const answer = await two.replica.call('/batch/db', {
      body: '{"@type":"v"}\n',
      headers: {'content-type': 'application/x-ndjson'},
    });
    assert.equal(answer.status, 503);
  } finally {
    silent.close();
  }
});
