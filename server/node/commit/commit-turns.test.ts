/**
 * The commit pipe of a member: entries that the network thread applies at the end of its turn and
 * those that the apply thread gets, requests between them, and a store that must not wait, form
 * one order without a gap. Holds invariant T11.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {setImmediate as turn} from 'node:timers/promises';
import {defaultEngineSettings} from '#server/engine/settings.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import type {Store} from '#server/storage/store.ts';
import type {CommitPipeline, PipelineProgress} from '#server/transactions/commit-pipeline.ts';
import {EntryEncoder} from '#server/transactions/entry.ts';
import {decodePosition, positionKey} from '#server/transactions/system-keys.ts';
import {testHead, testLogId, testPosition} from '#server/transactions/testing-entries.ts';
import {closing} from '#server/testing/closing.ts';
import {startCommitThreads} from './commit-threads.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-turns-'));
after(() => rmSync(root, {recursive: true}));

const start = testPosition(0);

/** A pipe over one store, with a memtable that is changed every few entries. */
class Member {
  readonly store: Store;
  /** Further stores of the pipeline, closed with it. */
  readonly others: Store[] = [];
  readonly pipe: CommitPipeline;
  readonly #encoder = new EntryEncoder();
  readonly #told: number[] = [];
  offered = 0;
  told = (): void => {};
  progress: PipelineProgress | undefined;

  constructor(store: Store) {
    this.store = store;
    const threads = startCommitThreads({withLog: false, ringBytes: 64 << 10});
    const settings = defaultEngineSettings;
    const parts = {
      log: undefined,
      logId: testLogId,
      startIndex: 0,
      settings,
    };
    this.pipe = threads.startPipe(parts);
    this.pipe.listen(progress => {
      this.progress = progress;
      assert.equal(progress.failure, undefined);
      assert.ok(progress.appliedIndex >= (this.#told.at(-1) ?? 0), 'nothing is taken back');
      this.#told.push(progress.appliedIndex);
      this.told();
    });
    this.pipe.attach(1, store, start);
  }

  get applied(): number {
    return this.progress?.appliedIndex ?? 0;
  }

  /** Puts its number under its key, as many bytes long as told. */
  async offer(bytes: number, databaseId = 1): Promise<void> {
    const number = this.offered + 1;
    const head = {...testHead, databaseId};
    const value = Buffer.alloc(bytes, 7);
    value.writeUInt32LE(number);
    const put = {kind: 'put' as const, key: keyOf(number), value};
    const entry = this.#encoder.encode({...head, kind: 'transaction', counters: []}, [put]);
    while (this.pipe.admission(entry.length) !== undefined) await turn();
    this.pipe.enqueue(Buffer.from(entry), 1);
    this.offered = number;
  }

  /** Everything is told and written. */
  async settled(): Promise<void> {
    while (this.applied < this.offered || this.isBehind) await turn();
  }

  get isBehind(): boolean {
    return !this.pipe.flushAcknowledged();
  }

  /** The store holds every entry up to its position, and none behind it. */
  check(position: number): void {
    const stored = decodePosition(this.store.get(positionKey) ?? assert.fail('no position'));
    assert.equal(stored.index, position);
    assert.equal(stored.transactionCount, position);
    for (let number = 1; number <= position; number++) {
      assert.equal(this.store.get(keyOf(number))?.readUInt32LE(), number);
    }
    assert.equal(this.store.get(keyOf(position + 1)), undefined);
  }

  /** The pipeline lets go of its stores before they are closed (T8). */
  async close(): Promise<void> {
    await this.pipe.close();
    for (const store of [this.store, ...this.others]) store.close();
  }
}

const keyOf = (number: number) => Buffer.from(` k${String(number).padStart(8, '0')}`);

test('what is small is applied in its turn, and told at once', async () => {
  const member = closing(new Member(await openStore(join(root, 'small'))));
  for (let number = 1; number <= 50; number++) {
    await member.offer(100);
    await turn();
    assert.equal(member.applied, number, 'no other thread was waited for');
    assert.equal(member.pipe.applyStartedIndex, number);
  }
  member.check(50);
  const {floor, positions} = await member.pipe.makeDurable();
  assert.equal(floor, 50);
  assert.equal(positions.get(1)?.transactionCount, 50, 'the other thread was told');
  await member.close();
});

test('an entry is told before it is written, and who looks finds it', async () => {
  const member = closing(new Member(await openStore(join(root, 'told'))));
  await member.offer(100);
  let seen: readonly (Buffer | undefined)[] = [];
  member.told = () => {
    const before = member.store.get(keyOf(1));
    member.pipe.flushAcknowledged();
    seen = [before, member.store.get(keyOf(1))];
  };
  await turn();
  assert.deepEqual([seen[0], seen[1]?.readUInt32LE()], [undefined, 1]);
  member.told = () => {};
  await member.offer(100);
  await turn();
  assert.equal(member.applied, 2);
  member.check(2);
  await member.close();
});

test('while a store is behind nobody looks, and nothing more is told ahead', async () => {
  const member = closing(new Member(await openStore(join(root, 'behind'))));
  await member.pipe.makeDurable();
  const writeAtOnce = member.store.writeAtOnce.bind(member.store);
  let refusals = 0;
  member.store.writeAtOnce = () => {
    refusals += 1;
    return false;
  };
  await member.offer(100);
  await turn();
  assert.deepEqual([member.applied, refusals], [1, 1], 'the first one was told');
  await member.settled();
  member.check(1);
  const shown: boolean[] = [];
  member.told = () => shown.push(member.isBehind);
  await member.offer(100);
  await member.settled();
  assert.equal(refusals, 2);
  member.store.writeAtOnce = writeAtOnce;
  await member.offer(100);
  await member.settled();
  assert.ok(!shown.includes(true), 'what was told then was written');
  member.check(3);
  await member.close();
});

for (const seed of [1, 2, 3, 4]) {
  test(`entries and requests of two threads form one order (seed ${seed})`, async () => {
    const random = createSeededRandom(seed);
    const path = join(root, `order${seed}`);
    const member = closing(
      new Member(await openStore(path, {engine: 'native', memtableBytes: 128 << 10})),
    );
    const requests: Promise<void>[] = [];
    for (let step = 0; step < 400; step++) {
      const burst = random.chance(5) ? 300 : 1 + random.below(4);
      // Some are too large for a turn, some for the ring.
      for (let count = 0; count < burst; count++) {
        await member.offer(random.chance(2) ? 30_000 : 100 + random.below(600));
      }
      const copyTo = join(root, `copy${seed}-${step}`);
      if (random.chance(3)) requests.push(copied(member, copyTo));
      if (random.chance(3)) {
        const {offered} = member;
        requests.push(member.pipe.makeDurable().then(({floor}) => assert.ok(floor >= offered)));
      }
      if (random.chance(50)) await turn();
      if (random.chance(5)) await member.settled();
    }
    await Promise.all(requests);
    await member.settled();
    member.check(member.offered);
    const position = await member.pipe.detach(1);
    assert.equal(position?.index, member.offered);
    await member.close();
  });
}

test('what one store took is behind no bookmark while another store waits', async () => {
  const member = closing(new Member(await openStore(join(root, 'first'))));
  const second = await openStore(join(root, 'second'));
  member.others.push(second);
  member.pipe.attach(2, second, {...start, databaseId: 2});
  await member.pipe.makeDurable();
  second.writeAtOnce = () => false;
  await member.offer(100);
  await member.offer(100, 2);
  await turn();
  const isShown = member.store.get(keyOf(1)) !== undefined;
  assert.ok(isShown, 'the first store took its entry');
  assert.equal(member.pipe.applyStartedIndex, 2);
  await member.settled();
  assert.notEqual(second.get(keyOf(2)), undefined);
  await member.offer(100);
  await member.settled();
  const {positions} = await member.pipe.makeDurable();
  assert.deepEqual(
    [1, 2].map(id => [positions.get(id)?.index, positions.get(id)?.transactionCount]),
    [
      [3, 2],
      [2, 1],
    ],
  );
  await member.close();
});

/** A copy holds exactly the entries up to the index that it names. */
async function copied(member: Member, directory: string): Promise<void> {
  const {offered} = member;
  const outcome = await member.pipe.copy([{databaseId: 1, directory}]);
  assert.ok(outcome.kind === 'copied' && outcome.index >= offered);
  const store = closing(await openStore(directory, {mustExist: true}));
  const stored = decodePosition(store.get(positionKey) ?? assert.fail('no position'));
  assert.equal(stored.index, outcome.index);
  assert.notEqual(store.get(keyOf(outcome.index)), undefined);
  assert.equal(store.get(keyOf(outcome.index + 1)), undefined);
  store.close();
}
