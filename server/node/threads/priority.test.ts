/** Threads lower their priority for themselves alone, and as far as this machine lets them. */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {test} from 'node:test';
import {Worker} from 'node:worker_threads';
import {addonPath} from '#server/storage/rocksdb/open.ts';
import {offerIdleClass, type Priority} from './priority.ts';
import {threadsOfProcess} from './testing-threads.ts';

const isElsewhere = process.platform !== 'linux' && 'threads have no priority of their own';

/** A thread of that priority: what it answered, and what the kernel says of it. */
async function started(priority: Priority) {
  const before = threadsOfProcess();
  const worker = new Worker(new URL('./testing-lowered.ts', import.meta.url), {
    workerData: priority,
  });
  try {
    const [isIdle] = (await once(worker, 'message')) as [boolean];
    const added = [...threadsOfProcess()].filter(([id]) => !before.has(id));
    const changed = [...threadsOfProcess()].filter(([id, facts]) => {
      const earlier = before.get(id);
      return earlier !== undefined && earlier.niceness !== facts.niceness;
    });
    assert.deepEqual(changed, [], 'others keep theirs');
    return {isIdle, threads: added.map(([, facts]) => facts)};
  } finally {
    await worker.terminate();
  }
}

test('a thread takes a niceness of its own', {skip: isElsewhere}, async () => {
  for (const [priority, niceness] of [
    ['statement', 5],
    ['background', 10],
  ] as const) {
    const {isIdle, threads} = await started(priority);
    assert.equal(isIdle, false);
    assert.ok(threads.some(facts => facts.niceness === niceness && !facts.isIdle));
  }
});

test('the idle class is entered by the addon, and without it comes the last niceness', {
  skip: isElsewhere,
}, async () => {
  const without = await started('idle');
  assert.equal(without.isIdle, false);
  assert.ok(without.threads.some(facts => facts.niceness === 19 && !facts.isIdle));
  offerIdleClass(addonPath('native'));
  try {
    const {isIdle, threads} = await started('idle');
    assert.equal(isIdle, true);
    assert.equal(threads.filter(facts => facts.isIdle).length, 1);
  } finally {
    offerIdleClass(undefined);
  }
});
