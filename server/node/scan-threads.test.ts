/** How many threads long reads may take where nobody says, and what heap each of them has. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {GB, MB} from '#server/base/setting-row.ts';
import {scanHeapMegabytes, scanThreadsMax} from './scan-threads.ts';

const server = {heapBytesMax: 4 * GB, processBytesMax: 64 * GB};
const pod = {heapBytesMax: 192 * MB, processBytesMax: 512 * MB};

test('there are as many as statements run at once, as far as there is memory', () => {
  for (const [memory, processors, concurrentMax, expected] of [
    [server, 2, -1, 4],
    [server, 16, -1, 32],
    [server, 16, 6, 15],
    [server, 2, 0, 4],
    [server, 2, 1_000, 64],
    [pod, 2, -1, 1],
    [pod, 4, -1, 3],
  ] as const) {
    assert.equal(scanThreadsMax(memory, {processors, concurrentMax}), expected);
  }
});

test('their heaps take a part of what the process may use beside its own', () => {
  assert.equal(scanHeapMegabytes(server, 2), undefined);
  assert.equal(scanHeapMegabytes(server, 32), 480);
  assert.equal(scanHeapMegabytes(pod, 1), 80);
  assert.equal(scanHeapMegabytes(pod, 4), 48);
});
