/**
 * A member's storage on its thread and a real disk: what is given is durable in order, told once,
 * readable, and there again at the next start; also what is larger than the ring, or more.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import type {Clock} from '#server/platform/clock.ts';
import {createClock, createRandom} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import type {Persist} from '#server/raft/effect.ts';
import type {Entry} from '#server/raft/message.ts';
import type {RaftStorage} from '#server/replication/storage/raft-storage.ts';
import {openStoredLog, type RecoveredLog} from '#server/replication/stored-log.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {closing} from '#server/testing/closing.ts';
import {startMemberLogThread} from './member-log-thread.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-member-log-'));
after(() => rmSync(root, {recursive: true}));

interface Opened {
  readonly storage: RaftStorage;
  readonly recovered: RecoveredLog;
  /** Resolves once everything up to the number is durable. */
  durable(number: number): Promise<void>;
  readonly told: number[];
}

function open(name: string, clock: Clock = createClock()): Opened {
  const disk = createDisk();
  const directory = join(root, name);
  const random = createRandom();
  const thread = startMemberLogThread({clock, ringBytes: 64 << 10});
  const {log, recovered} = openStoredLog({disk, directory, segmentBytes: 2 << 20, random});
  const storage = closing(thread.start(log));
  const told: number[] = [];
  let waiting: {number: number; resolve: () => void}[] = [];
  storage.listen({
    persisted(number) {
      told.push(number);
      for (const one of waiting) if (one.number <= number) one.resolve();
      waiting = waiting.filter(one => one.number > number);
    },
    failed: reason => assert.fail(reason),
  });
  const durable = (number: number) =>
    new Promise<void>(resolve => {
      if ((told.at(-1) ?? 0) >= number) resolve();
      else waiting.push({number, resolve});
    });
  return {storage, recovered, durable, told};
}

function data(term: number, index: number): Entry {
  const bytes = index % 50 === 0 ? 40_000 : 200;
  return {kind: 'data', term, data: Buffer.alloc(bytes, index)};
}

function text(entry: Entry): string {
  if (entry.kind !== 'data') return entry.kind;
  const {data: bytes, term} = entry;
  return `${term} ${bytes.length} of ${bytes[0]} and ${bytes.at(-1)}`;
}

function appending(number: number, keepThrough: number, entries: readonly Entry[]): Persist {
  const hardState = {term: entries.at(-1)?.term ?? 1, vote: 'a'};
  return {kind: 'persist', number, hardState, restart: undefined, keepThrough, entries};
}

test('many effects, cuts among them, are durable in order and read back', async () => {
  const first = open('many');
  let log: Entry[] = [];
  let number = 0;
  for (let turn = 0; turn < 300; turn++) {
    const cut = turn % 40 === 39 ? 7 : 0;
    log = log.slice(0, log.length - cut);
    const term = 1 + Math.floor(turn / 40);
    const entries = Array.from({length: turn % 9}, (_, at) => data(term, log.length + at));
    first.storage.persist(appending(++number, log.length, entries));
    log.push(...entries);
  }
  await first.durable(number);
  assert.equal(first.storage.pendingBytes, 0);
  assert.deepEqual(
    first.told,
    [...new Set(first.told)].sort((left, right) => left - right),
  );
  const run = (await first.storage.read(3, 700, 60_000)) ?? [];
  // One of 40,000 bytes and those of 200 that fit beside it.
  assert.equal(run.length, 97);
  assert.deepEqual(run.map(text), log.slice(2, 99).map(text));
  const base = {last: {index: 500, term: log[499]?.term ?? 0}, membership: []};
  first.storage.compact(base);
  await first.storage.close();

  const second = open('many');
  const terms = [...second.recovered.entries].map(entry => entry.term);
  assert.deepEqual(
    terms,
    log.slice(500).map(entry => entry.term),
  );
  assert.deepEqual(second.recovered.base, base.last);
  assert.equal(second.recovered.vote, 'a');
  second.storage.persist(appending(1, log.length, [data(9, 1)]));
  await second.durable(1);
  assert.equal((await second.storage.read(log.length + 1, log.length + 1, 1))?.[0]?.term, 9);
  await second.storage.close();
});

test('an effect that is larger than the ring goes through in parts', async () => {
  const {storage, durable} = open('large');
  const entries = Array.from({length: 1000}, (_, at) => data(1, at + 1));
  storage.persist(appending(1, 0, entries));
  assert.ok(storage.pendingBytes > 400_000);
  await durable(1);
  const [last] = (await storage.read(1000, 2000, 1 << 20)) ?? [];
  assert.equal(last && text(last), text(data(1, 1000)));
  await storage.close();
});

test('closing makes durable what was given', async () => {
  const {storage} = open('closing');
  storage.persist(appending(1, 0, [data(1, 1), data(1, 2)]));
  await storage.close();
  const {storage: again, recovered} = open('closing');
  assert.equal([...recovered.entries].length, 2);
  await again.close();
});

test('entries that come one by one are durable at the end of their turn', async () => {
  // By this clock no sync takes long.
  const first = open('alone', {now: () => 0, monotonic: () => 0});
  const {storage, told} = first;
  let number = 0;
  let promptly = 0;
  const one = async (): Promise<void> => {
    storage.persist(appending(++number, number - 1, [data(1, 1)]));
    await new Promise(resolve => setImmediate(resolve));
    if (told.at(-1) === number) promptly++;
    await first.durable(number);
  };
  // The first one says who leads, and the thread begins to run meanwhile.
  await one();
  await eventually('the log thread waits', () => one().then(() => promptly > 0));
  promptly = 0;
  for (let count = 0; count < 1_000; count++) {
    await one();
    if (count % 100 === 50) {
      const run = await storage.read(number, number, 1);
      assert.deepEqual(run?.map(text), [text(data(1, 1))], 'it is read on the other thread');
    }
  }
  assert.ok(promptly > 800, `${promptly} of 1000 were written by this thread`);
  await storage.close();
  const again = open('alone');
  assert.equal([...again.recovered.entries].length, number);
  await again.storage.close();
});
