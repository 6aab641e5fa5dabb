/** The informer's copy is what the server holds, through every way in which a watch ends. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {KubeObject} from '#operator/api/kube-object.ts';
import {SeededRandom} from '#operator/simulation/seeded-random.ts';
import {ApiError} from './api.ts';
import {Informer} from './informer.ts';
import {kinds} from './kinds.ts';
import {pod, world} from './testing-world.ts';

const scope = {kind: kinds.pod, namespace: undefined, labelSelector: undefined};

function namesOf(objects: readonly KubeObject[]): readonly string[] {
  return objects.map(({metadata}) => metadata.name).sort();
}

function watched(parts: ReturnType<typeof world>) {
  const told: string[] = [];
  const informer = new Informer({
    ...parts.means,
    api: parts.api,
    scope,
    onChange: (now, before) => {
      const verb = now === undefined ? '-' : before === undefined ? '+' : '~';
      told.push(`${verb}${(now ?? before)?.metadata.name}`);
    },
  });
  informer.start();
  return {informer, told};
}

const ref = (name: string) => ({kind: kinds.pod, namespace: 'shop', name});

test('it lists, then follows, and tells of each change once', async () => {
  const parts = world();
  parts.store.create(kinds.pod, pod('a'));
  const {informer, told} = watched(parts);
  await informer.whenSynced();
  parts.store.create(kinds.pod, pod('b'));
  parts.store.patch(ref('a'), {metadata: {labels: {x: 'y'}}});
  parts.store.remove(ref('b'));
  await parts.time.run(100);
  assert.deepEqual(told, ['+a', '+b', '~a', '-b']);
  assert.deepEqual(namesOf(informer.all()), ['a']);
  await informer.stop();
});

test('after a broken watch it tells of what happened meanwhile, deletions too', async () => {
  let isCut = false;
  const parts = world({isWatchCut: () => isCut});
  parts.store.create(kinds.pod, pod('a'));
  parts.store.create(kinds.pod, pod('b'));
  const {informer, told} = watched(parts);
  await parts.time.run(10);
  isCut = true;
  parts.store.patch(ref('a'), {metadata: {labels: {x: '1'}}});
  await parts.time.run(0);
  parts.store.remove(ref('b'));
  parts.store.create(kinds.pod, pod('c'));
  isCut = false;
  await parts.time.run(60_000);
  assert.deepEqual(told.slice(2).toSorted(), ['+c', '-b', '~a']);
  assert.deepEqual(namesOf(informer.all()), ['a', 'c']);
  assert.equal(informer.figures.failures, 1);
  await informer.stop();
});

test('a version that was compacted away makes it list at once', async () => {
  let refusals = 0;
  const parts = world({
    before: ({verb}) => {
      if (verb !== 'watch' || refusals++ > 0) return Promise.resolve();
      parts.store.create(kinds.pod, pod('late'));
      parts.store.compact();
      return Promise.resolve();
    },
  });
  const {informer} = watched(parts);
  await parts.time.run(100);
  assert.deepEqual(namesOf(informer.all()), ['late']);
  assert.deepEqual(
    {lists: informer.figures.lists, failures: informer.figures.failures},
    {lists: 2, failures: 0},
  );
  await informer.stop();
});

test('a watch that falls silent without an error is made good by the next list', async () => {
  const parts = world({deliver: () => {}});
  const {informer} = watched(parts);
  await parts.time.run(10);
  parts.store.create(kinds.pod, pod('unheard'));
  await parts.time.run(300_000);
  assert.deepEqual(informer.all(), []);
  await parts.time.run(301_000);
  assert.deepEqual(namesOf(informer.all()), ['unheard']);
  await informer.stop();
});

test('a server that is away is asked with pauses that grow to half a minute', async () => {
  const asked: number[] = [];
  const parts = world({
    before: ({verb}) => {
      if (verb === 'list') asked.push(parts.time.monotonic());
      return Promise.reject(new ApiError(503, 'Unavailable', 'away'));
    },
  });
  const {informer} = watched(parts);
  await parts.time.run(600_000);
  assert.equal(informer.isSynced, false);
  const pauses = asked.slice(1).map((at, index) => at - (asked[index] ?? 0));
  assert.ok(pauses.length > 10 && Math.max(...pauses) <= 45_000 && Math.min(...pauses) >= 500);
  await informer.stop();
});

test('what a write was answered with is there at once, whatever comes late', async () => {
  const held: (() => void)[] = [];
  const parts = world({deliver: task => void held.push(task)});
  parts.store.create(kinds.pod, pod('a'));
  const {informer} = watched(parts);
  await parts.time.run(10);
  parts.store.patch(ref('a'), {metadata: {labels: {x: 'old'}}});
  informer.learn(parts.store.patch(ref('a'), {metadata: {labels: {x: 'new'}}}));
  for (const task of held.splice(0)) task();
  assert.equal(informer.get('shop/a')?.metadata.labels?.['x'], 'new');
  await informer.stop();
});

for (let seed = 1; seed <= 30; seed++) {
  test(`under faults, seed ${seed}: the copy ends as the server's`, async () => {
    const random = new SeededRandom(seed);
    let isCalm = false;
    const parts = world({
      isWatchCut: () => !isCalm && random.chance(0.1),
      before: () =>
        !isCalm && random.chance(0.2)
          ? Promise.reject(new ApiError(0, 'Network', 'lost'))
          : Promise.resolve(),
    });
    const {informer, told} = watched(parts);
    for (let step = 0; step < 100; step++) {
      const name = `p${random.below(8)}`;
      const present = parts.store.find(ref(name)) !== undefined;
      if (!present) parts.store.create(kinds.pod, pod(name));
      else if (random.chance(0.4)) parts.store.remove(ref(name));
      else parts.store.patch(ref(name), {metadata: {labels: {step: String(step)}}});
      if (random.chance(0.1)) parts.store.compact();
      await parts.time.run(random.below(2_000));
    }
    isCalm = true;
    parts.store.create(kinds.pod, pod('last'));
    await parts.time.run(120_000);
    assert.deepEqual(namesOf(informer.all()), namesOf(parts.store.list(scope)));
    const sum = new Map<string, number>();
    for (const word of told) {
      const name = word.slice(1);
      sum.set(name, (sum.get(name) ?? 0) + (word[0] === '+' ? 1 : word[0] === '-' ? -1 : 0));
    }
    const alive = [...sum].filter(([, count]) => count === 1).map(([name]) => name);
    assert.deepEqual(alive.sort(), namesOf(informer.all()));
    await informer.stop();
  });
}
