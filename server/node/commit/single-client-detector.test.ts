/** Who counts as a client that is alone. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {SingleClientDetector} from './single-client-detector.ts';

const one = {};
const other = {};

/** Requests of one client, each with a commit; how many of the commits are of a client alone. */
function commits(client: SingleClientDetector, count: number, asks: object = one): boolean[] {
  return Array.from({length: count}, () => {
    client.onRequest(asks);
    return client.onCommit(true);
  });
}

test('one that comes again and again while nobody else asks for anything is alone', () => {
  const seen = commits(new SingleClientDetector(), 24);
  assert.deepEqual(seen, [...Array(16).fill(false), ...Array(8).fill(true)]);
});

test('with something under way it begins to count anew', () => {
  const client = new SingleClientDetector();
  commits(client, 20);
  client.onRequest(one);
  assert.ok(!client.onCommit(false));
  assert.ok(!commits(client, 16).includes(true));
  assert.deepEqual(commits(client, 1), [true]);
});

test('one between whose commits another one asks for something is not alone', () => {
  const client = new SingleClientDetector();
  commits(client, 20);
  client.onRequest(other);
  assert.ok(!commits(client, 16).includes(true));
  assert.deepEqual(commits(client, 1), [true]);
});

test('one that reads between its commits is alone all the same', () => {
  const client = new SingleClientDetector();
  commits(client, 20);
  client.onRequest(one);
  assert.deepEqual(commits(client, 1), [true]);
});

test('two that take turns are not alone, nor are commits that nobody asked for', () => {
  const client = new SingleClientDetector();
  for (let turn = 0; turn < 40; turn++) {
    assert.deepEqual([...commits(client, 1, one), ...commits(client, 1, other)], [false, false]);
  }
  for (let number = 0; number < 40; number++) {
    client.onRequest(undefined);
    assert.ok(!client.onCommit(true), 'a request of no client');
  }
  commits(client, 20);
  assert.ok(!client.onCommit(true), 'a commit without a request');
});
