/** The queue behaves as client-go's: one place in it, one worker a key, backoff by key. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {KeyQueue} from './key-queue.ts';
import {world} from './testing-world.ts';

test('a key that is added often is handed out once', async () => {
  const {means} = world();
  const queue = new KeyQueue(means);
  for (let count = 0; count < 5; count++) queue.add('a/b');
  assert.equal(await queue.get(), 'a/b');
  assert.deepEqual(queue.figures, {depth: 0, adds: 5, retries: 0, unfinished: 1});
});

test('a key that is added while it is worked on comes again afterwards', async () => {
  const {means, time} = world();
  const queue = new KeyQueue(means);
  queue.add('a/b');
  assert.equal(await queue.get(), 'a/b');
  queue.add('a/b');
  queue.add('a/b');
  let second: string | undefined = 'nothing';
  void queue.get().then(key => (second = key));
  await time.run(1_000);
  assert.equal(second, 'nothing');
  queue.done('a/b');
  await time.run(0);
  assert.equal(second, 'a/b');
  queue.done('a/b');
  assert.equal(queue.figures.depth, 0);
});

test('what is of high priority goes first, also when it waited with low priority', async () => {
  const {means} = world();
  const queue = new KeyQueue(means);
  queue.add('a/1');
  queue.add('a/2');
  queue.add('a/3');
  queue.add('a/3', 'high');
  assert.equal(await queue.get(), 'a/3');
  assert.equal(await queue.get(), 'a/1');
  assert.equal(queue.figures.depth, 1);
});

test('of several delays the shortest counts', async () => {
  const {means, time} = world();
  const queue = new KeyQueue(means);
  const taken: number[] = [];
  void queue.get().then(() => taken.push(time.monotonic()));
  queue.addAfter('a/b', 5_000);
  queue.addAfter('a/b', 1_000);
  queue.addAfter('a/b', 9_000);
  await time.run(20_000);
  assert.deepEqual(taken, [1_000]);
  assert.equal(queue.figures.depth, 0);
});

test('failures of a key wait longer and longer, until it is forgotten', async () => {
  const {means, time} = world();
  const queue = new KeyQueue(means);
  const waits: number[] = [];
  for (let failure = 0; failure < 20; failure++) {
    const begun = time.monotonic();
    queue.addRateLimited('a/b');
    await time.run(400_000, () => queue.figures.depth > 0);
    waits.push(time.monotonic() - begun);
    assert.equal(await queue.get(), 'a/b');
    queue.done('a/b');
  }
  assert.ok((waits[0] ?? 0) <= 6, `${waits[0]}`);
  assert.ok(waits.every((wait, at) => at === 0 || wait >= (waits[at - 1] ?? 0) * 0.8));
  assert.ok((waits.at(-1) ?? 0) >= 300_000 && (waits.at(-1) ?? 0) <= 360_000);
  queue.forget('a/b');
  const begun = time.monotonic();
  queue.addRateLimited('a/b');
  await time.run(1_000, () => queue.figures.depth > 0);
  assert.ok(time.monotonic() - begun <= 6);
});

test('failures of many keys together are held to ten a second', async () => {
  const {means, time} = world();
  const queue = new KeyQueue(means);
  for (let key = 0; key < 300; key++) queue.addRateLimited(`a/${key}`);
  await time.run(1_000);
  const soon = queue.figures.depth;
  assert.ok(soon >= 100 && soon <= 115, `${soon} of 300 within a second`);
  await time.run(20_000);
  assert.equal(queue.figures.depth, 300);
});

test('once shut down it hands out nothing, and those who wait hear so', async () => {
  const {means, time} = world();
  const queue = new KeyQueue(means);
  const waiting = queue.get();
  queue.addAfter('a/b', 10);
  queue.shutDown();
  queue.add('a/c');
  await time.run(100);
  assert.equal(await waiting, undefined);
  assert.equal(await queue.get(), undefined);
});
