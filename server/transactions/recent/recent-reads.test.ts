/** What is answered from memory is what the snapshot answers, and only what was read last is. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {RecentReads} from './recent-reads.ts';

test('the two newest reads are answered from memory, under keys of their own', () => {
  const asked: string[] = [];
  const reader = {
    get(key: Uint8Array): Buffer | undefined {
      const name = Buffer.from(key).toString();
      asked.push(name);
      if (name === 'absent') return undefined;
      return name === 'large' ? Buffer.alloc(8 << 10) : Buffer.from(`value of ${name}`);
    },
  };
  const reads = new RecentReads();
  const get = (name: string) => reads.get(Buffer.from(name), reader)?.toString();
  for (const name of ['hub', 'one', 'hub', 'two', 'hub', 'three', 'three', 'hub']) {
    assert.equal(get(name), `value of ${name}`);
  }
  assert.deepEqual(asked, ['hub', 'one', 'two', 'three']);
  asked.length = 0;
  for (const name of ['absent', 'absent', 'large', 'large', 'hub', 'hu']) get(name);
  assert.deepEqual(asked, ['absent', 'absent', 'large', 'large', 'hu']);
});

test('a key that its caller uses again is kept as it was', () => {
  const reads = new RecentReads();
  const key = Buffer.from('a');
  const reader = {get: (of: Uint8Array) => Buffer.from(of)};
  reads.get(key, reader);
  key.write('b');
  assert.equal(reads.get(key, reader)?.toString(), 'b');
  assert.equal(reads.get(Buffer.from('a'), reader)?.toString(), 'a');
});
