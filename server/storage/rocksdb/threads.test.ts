/**
 * One open store used by several threads: each reads what another wrote, snapshots cross between
 * threads and stay at their time, and closing waits for nobody but refuses while others are there.
 */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {Worker} from 'node:worker_threads';
import {closing} from '#server/testing/closing.ts';
import type {ShareableStore, Store} from '../store.ts';
import {attachStore, openStore} from './open.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-threads-'));
after(() => rmSync(root, {recursive: true}));

for (const engine of ['native', 'fallback'] as const) {
  test(`${engine}: a worker reads what this thread writes, and the reverse of close`, async () => {
    const store = closing(await openStore(join(root, engine), {engine}));
    write(store, 'a', 'first');
    const worker = startWorker(store);
    assert.equal(await ask(worker, {get: 'a'}), 'first');
    write(store, 'a', 'second');
    assert.equal(await ask(worker, {get: 'a'}), 'second');
    assert.throws(() => store.close(), /used by 1 other threads/);
    assert.equal(store.get(Buffer.from('a'))?.toString(), 'second', 'and it is open still');
    worker.postMessage({close: true});
    await once(worker, 'exit');
    store.close();
    if (engine === 'native')
      await assert.rejects(attachStore(shareableOf(store)), /store is closed/);
  });
}

test('a snapshot crosses to another thread and outlives its first holder', async () => {
  const store = closing(await openStore(join(root, 'snapshot'), {engine: 'native'}));
  write(store, 'a', 'old');
  const snapshot = store.snapshot();
  write(store, 'a', 'new');
  const worker = startWorker(store);
  assert.equal(await ask(worker, {attach: snapshot.handle}), 'attached');
  snapshot.release();
  store.makeDurable();
  store.compact();
  assert.equal(await ask(worker, {viewGet: 'a'}), 'old');
  assert.equal(await ask(worker, {get: 'a'}), 'new');
  assert.equal(await ask(worker, {release: true}), 'released');
  assert.match(await ask(worker, {attach: snapshot.handle}), /snapshot is released/);
  worker.postMessage({close: true});
  await once(worker, 'exit');
  store.close();
});

test('a thread that ends without closing detaches, whatever it held', async () => {
  const store = closing(await openStore(join(root, 'terminated'), {engine: 'native'}));
  write(store, 'a', '1');
  const snapshot = store.snapshot();
  for (let round = 0; round < 3; round++) {
    const worker = startWorker(store);
    await ask(worker, {attach: snapshot.handle});
    await ask(worker, {holdScanner: true});
    await worker.terminate();
    assert.equal(snapshot.get(Buffer.from('a'))?.toString(), '1');
  }
  snapshot.release();
  store.close();
  const again = closing(await openStore(join(root, 'terminated'), {engine: 'native'}));
  again.close();
});

test('snapshots are whole while another thread writes', async () => {
  for (const engine of ['native', 'fallback'] as const) {
    const store = closing(await openStore(join(root, `whole-${engine}`), {engine}));
    const worker = startWorker(store);
    const torn = ask(worker, {watch: 150});
    let done = false;
    void torn.then(() => {
      done = true;
    });
    for (let round = 0; !done; round++) {
      const batch = store.batch();
      for (const key of ['a', 'm', 'z']) batch.put(Buffer.from(key), Buffer.from(`${round}`));
      store.write(batch);
      if (round % 50 === 0) await new Promise(resolve => setImmediate(resolve));
    }
    assert.equal(await torn, '0 torn');
    worker.postMessage({close: true});
    await once(worker, 'exit');
    store.close();
  }
});

function write(store: Store, key: string, value: string): void {
  const batch = store.batch();
  batch.put(Buffer.from(key), Buffer.from(value));
  store.write(batch);
}

function startWorker(store: Store): Worker {
  const worker = new Worker(join(import.meta.dirname, 'testing-thread.ts'), {
    workerData: store.shareable,
    execArgv: ['--conditions=source'],
  });
  after(() => worker.terminate());
  return worker;
}

async function ask(worker: Worker, question: object): Promise<string> {
  worker.postMessage(question);
  const [answer] = (await once(worker, 'message')) as [string];
  return answer;
}

function shareableOf(store: Store): ShareableStore {
  assert.ok(store.shareable);
  return store.shareable;
}
