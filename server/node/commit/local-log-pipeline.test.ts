/**
 * Entries of one client, which the network thread writes to the log itself, beside those that the
 * log thread gets: one order, nothing lost, and a failed write is final for both.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {setImmediate as nextTurn} from 'node:timers/promises';
import type {Database} from '#server/engine/database.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import {closing} from '#server/testing/closing.ts';
import {nodeScheduler, taskThreads} from './commit-tasks.ts';
import {type CommitThreads, startCommitThreads, type ThreadStarter} from './commit-threads.ts';
import {openThreadedEngine} from './testing-engine.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-logged-'));
after(() => rmSync(root, {recursive: true}));

/** The network thread's disk: counts its syncs, and fails from one on. */
class CountedDisk {
  syncs = 0;
  failsFrom = Number.POSITIVE_INFINITY;

  #now = 0;

  /** Its syncs take next to no time, so that none is slow. */
  get prompt(): {readonly disk: Disk; readonly clock: Clock} {
    const monotonic = (): number => (this.#now += 0.001);
    return {disk: this.#disk, clock: {now: monotonic, monotonic}};
  }

  get #disk(): Disk {
    const real = createDisk();
    const open: Disk['open'] = (path, mode) => {
      const file = real.open(path, mode);
      const sync = file.sync.bind(file);
      file.sync = () => {
        this.syncs += 1;
        if (this.syncs >= this.failsFrom) throw Object.assign(new Error('EIO'), {code: 'EIO'});
        sync();
      };
      return file;
    };
    return Object.assign(Object.create(real) as Disk, {open});
  }
}

/** The threads as tasks that run between two events: the log has its end lent out when it rests. */
const tasks = (disk: Disk): ThreadStarter => taskThreads(nodeScheduler, disk);

const key = (number: number) => Buffer.from(`k${String(number).padStart(6, '0')}`);

function put(database: Database, number: number, bytes = 100): Promise<CommitOutcome> {
  const transaction = database.begin('READ_COMMITTED');
  transaction.put(key(number), Buffer.alloc(bytes, number));
  return transaction.commit();
}

const client = {};

/** A request of one client, which waits for its answer. */
async function write(
  threads: CommitThreads,
  database: Database,
  number: number,
): Promise<CommitOutcome['kind']> {
  await nextTurn();
  threads.asked(client);
  return (await put(database, number)).kind;
}

async function found(directory: string, count: number): Promise<number> {
  const engine = closing(await openThreadedEngine(join(root, directory), startCommitThreads()));
  const snapshot = closing(engine.database('db')?.read() ?? assert.fail('no database'));
  let there = 0;
  while (there < count && snapshot.get(key(there))?.[0] === (there & 0xff)) there++;
  snapshot.close();
  await engine.close();
  return there;
}

test('what one client commits is written at once, and bursts between it as batches', async () => {
  const counted = new CountedDisk();
  const threads = startCommitThreads({
    ringBytes: 64 << 10,
    prompt: counted.prompt,
    threads: tasks(createDisk()),
  });
  const engine = closing(await openThreadedEngine(join(root, 'mixed'), threads));
  const database = await engine.createDatabase('db');
  let number = 0;
  for (let round = 0; round < 6; round++) {
    const before = counted.syncs;
    for (let alone = 0; alone < 40; alone++) {
      assert.equal(await write(threads, database, number++), 'committed');
    }
    // The client is known behind 16 requests; from then on every entry is written here.
    assert.equal(counted.syncs, before + 24);
    const burst = [100, 100, 20_000, 100, 5_000].map(bytes => put(database, number++, bytes));
    const outcomes = await Promise.all(burst);
    assert.deepEqual(
      outcomes.map(({kind}) => kind),
      Array(5).fill('committed'),
    );
    if (round === 2) await engine.checkpoint();
    if (round === 4) {
      // A request between an entry that is written here and its end.
      await engine.createDatabase('other');
      const last = put(database, number++);
      await engine.dropDatabase('other');
      assert.equal((await last).kind, 'committed');
    }
  }
  assert.equal(engine.appliedIndex, engine.readableIndex);
  await engine.close();
  assert.equal(await found('mixed', number), number);
});

test('a write that fails here is final for both, and nothing acknowledged is lost', async () => {
  const counted = new CountedDisk();
  counted.failsFrom = 10;
  const threads = startCommitThreads({prompt: counted.prompt});
  const engine = closing(await openThreadedEngine(join(root, 'failing'), threads));
  const database = await engine.createDatabase('db');
  let committed = 0;
  let outcome: CommitOutcome['kind'];
  for (;;) {
    outcome = await write(threads, database, committed);
    if (outcome !== 'committed') break;
    committed++;
  }
  assert.equal(counted.syncs, 10);
  assert.equal(outcome, 'unknown', 'it may be on the disk');
  assert.match(engine.failure ?? '', /EIO/);
  const next = await put(database, committed + 1);
  assert.ok(next.kind === 'refused' && next.code === 'log-failed');
  await engine.close();
  assert.ok((await found('failing', committed + 1)) >= committed);
});
