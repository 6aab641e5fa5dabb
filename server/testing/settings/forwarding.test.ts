/** What settings do to requests that a member passes on, and to its reads. */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {connect, createServer, type Socket} from 'node:net';
import {afterEach, beforeEach, test} from 'node:test';
import {Worker} from 'node:worker_threads';
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

/** A thread that listens and takes nobody: what its queue has no room for is never connected. */
const deaf = `
const {parentPort} = require('node:worker_threads');
const server = require('node:net').createServer();
server.listen({port: 0, host: '127.0.0.1', backlog: 1}, () => {
  parentPort.postMessage(server.address().port);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
`;

/** Fills the queue of a port: it is full once a connection is not made. */
async function fillQueue(port: number): Promise<readonly Socket[]> {
  const waiting: Socket[] = [];
  for (let isFull = false; !isFull; ) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    waiting.push(socket);
    isFull = await new Promise<boolean>(resolve => {
      socket.once('connect', () => resolve(false));
      setTimeout(() => resolve(true), 200);
    });
  }
  return waiting;
}

test('svc.ha.proxyConnectTimeout: a leader that takes no connection is given up', async () => {
  const thread = new Worker(deaf, {eval: true});
  const [port] = (await once(thread, 'message')) as [number];
  const waiting = await fillQueue(port);
  try {
    two.lead(undefined);
    two.replica.cluster.leader = {host: '127.0.0.1', port};
    two.replica.set('svc.ha.proxyReadTimeout', 60_000);
    two.replica.set('svc.ha.proxyCommandTimeout', 60_000);
    two.replica.set('svc.ha.proxyConnectTimeout', 50);
    two.replica.set('svc.ha.forwardLeaderWaitTimeoutMs', 50);
    const body = {language: 'sql', command: 'write'};
    for (const headers of [{}, {'X-Other': '1'}]) {
      const began = performance.now();
      const answer = await two.replica.call('/command/db', {body, headers});
      assert.equal(answer.status, 503, answer.text);
      assert.ok(performance.now() - began < 30_000, 'it waits for a connection, not an answer');
    }
  } finally {
    for (const socket of waiting) socket.destroy();
    await thread.terminate();
  }
});
