/**
 * What a member's storage holds behind a crash is what it was told, up to a point in the order in
 * which it was told, and that point is not before what it had reported as durable.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Corruption, Refusal} from '#server/base/errors.ts';
import {SegmentLog} from '#server/log/segment-log.ts';
import {CheckedFile} from '#server/platform/checked-file.ts';
import type {HardState, Persist} from '#server/raft/effect.ts';
import type {Checkpoint, Membership} from '#server/raft/membership.ts';
import {type Entry, type EntryShape, type LogIndex, entryBytes} from '#server/raft/message.ts';
import {Machine, SimulatedCrash} from '#server/simulation/machine.ts';
import {EntryArray} from '#server/simulation/raft/simulated-log.ts';
import {Scheduler} from '#server/simulation/scheduler.ts';
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {memberLogTask} from '#server/simulation/member-log-task.ts';
import type {RaftStorage} from './storage/raft-storage.ts';
import {openStoredLog, type RecoveredLog, type StoredLog} from './stored-log.ts';
import {encodeRecord} from './storage/stored-record.ts';

const directory = '/data/consensus';
const members: Membership = [
  {id: 'a', role: 'voter', priority: 0},
  {id: 'b', role: 'joining', priority: 3},
];

/** All that a storage is to hold. */
interface Twin {
  readonly hardState: HardState;
  readonly membership: Membership;
  readonly log: EntryArray;
}

function copyOf({hardState, membership, log}: Twin): Twin {
  return {hardState, membership, log: new EntryArray(log.base, [...log.entries])};
}

/** The states that the disk goes through while an effect is carried out, the last one last. */
function statesOf(before: Twin, effect: Persist): Twin[] {
  const {hardState, restart, keepThrough} = effect;
  const remembered = {...copyOf(before), hardState};
  const states = [remembered];
  if (restart !== undefined) {
    const log = new EntryArray(restart.last);
    states.push({hardState, membership: restart.membership, log});
  }
  const cut = copyOf(states.at(-1) ?? remembered);
  cut.log.write({...effect, restart: undefined, keepThrough, entries: []});
  const written = copyOf(cut);
  written.log.write({...effect, restart: undefined, keepThrough: cut.log.lastIndex});
  return [...states, cut, written];
}

function text(shape: EntryShape): string {
  return shape.kind === 'membership' ? JSON.stringify(shape) : `${shape.term} ${entryBytes(shape)}`;
}

/** Entries behind the later base; a base may be ahead of the other, never the entries. */
function agrees(recovered: RecoveredLog, twin: Twin): boolean {
  const {term, vote, base, membership} = recovered;
  if (term !== twin.hardState.term || vote !== twin.hardState.vote) return false;
  if (base.index !== twin.log.base.index || base.term !== twin.log.base.term) return false;
  if (JSON.stringify(membership) !== JSON.stringify(twin.membership)) return false;
  const found = [...recovered.entries].map(text);
  return found.join() === twin.log.entries.map(text).join();
}

function randomEntry(random: SeededRandom, term: number): Entry {
  const dice = random.below(10);
  if (dice === 0) return {kind: 'empty', term};
  if (dice === 1) return {kind: 'membership', term, membership: members};
  const data = Buffer.alloc(random.below(600), random.below(256));
  return {kind: 'data', term, data};
}

/** What a core might persist next. */
function randomEffect(random: SeededRandom, twin: Twin, number: number): Persist {
  const {log} = twin;
  const dice = random.below(100);
  const raises = dice < 25;
  const term = Math.max(1, twin.hardState.term + (raises ? 1 : 0));
  const vote = raises ? random.pick(['a', 'b', undefined]) : twin.hardState.vote;
  const hardState = {term, vote};
  if (dice >= 94) {
    const index = log.lastIndex + random.below(20) - 5;
    const last = {index: Math.max(log.base.index + 1, index), term: term + 1};
    const restart = {last, membership: random.chance(50) ? members : []};
    const after = {term: term + 1, vote: undefined};
    return {
      kind: 'persist',
      number,
      hardState: after,
      restart,
      keepThrough: last.index,
      entries: [],
    };
  }
  const cuts = random.chance(20);
  const keepThrough = cuts
    ? Math.max(log.base.index, log.lastIndex - random.below(6))
    : log.lastIndex;
  const count = random.below(5);
  const entries = Array.from({length: count}, () => randomEntry(random, term));
  return {kind: 'persist', number, hardState, restart: undefined, keepThrough, entries};
}

class World {
  readonly machine = new Machine();
  readonly disk = new SimulatedDisk(this.machine);
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  storage: RaftStorage;
  /** The log as its thread has it. */
  look: () => StoredLog | undefined = () => undefined;
  durableNumber = 0;

  constructor(seed: number) {
    this.random = createSeededRandom(seed);
    this.scheduler = new Scheduler(createSeededRandom(seed), this.machine);
    this.disk.makeDirectory('/data');
    this.disk.syncDirectory('/');
    this.storage = this.open().storage;
  }

  open(checkpoint?: Checkpoint): {storage: RaftStorage; recovered: RecoveredLog} {
    const {disk, scheduler} = this;
    const random = createSeededRandom(9);
    const options = {disk, directory, segmentBytes: 4 << 10, random, checkpoint};
    const {log, recovered} = openStoredLog(options);
    const {clock, timers} = scheduler;
    const tasks = {soon: (task: () => void) => void timers.after(1, task), after: timers.after};
    const {storage, look} = memberLogTask({disk, clock, network: tasks, thread: tasks}, log);
    this.look = look;
    storage.listen({
      persisted: number => {
        this.durableNumber = number;
      },
      failed: reason => assert.fail(reason),
    });
    this.storage = storage;
    return {storage, recovered};
  }

  /** Everything that was given becomes durable; false when the machine dies over it. */
  settle(): boolean {
    return !diesIn(() => {
      while (this.scheduler.runNext());
    });
  }

  /** The power goes, and every third time once more during the start. */
  reopenAfterCrash(fate: number): RecoveredLog {
    this.scheduler.clear();
    this.disk.crash(createSeededRandom(fate));
    this.machine.boot();
    if (fate % 3 === 0) {
      this.machine.crashAt = this.machine.operationCount + 1 + (fate % 11);
      diesIn(() => void this.open());
      this.disk.crash(createSeededRandom(fate + 1));
      this.machine.boot();
    }
    return this.open().recovered;
  }
}

function diesIn(work: () => void): boolean {
  try {
    work();
    return false;
  } catch (error) {
    if (error instanceof SimulatedCrash) return true;
    throw error;
  }
}

const groups = 25;

/** Lives one history through its crash; gives the number of its operations on the disk. */
function live(seed: number, crashAt: number): number {
  const world = new World(seed);
  const {random, machine} = world;
  let durable: Twin = {
    hardState: {term: 0, vote: undefined},
    membership: [],
    log: new EntryArray({index: 0, term: 0}),
  };
  const begin = machine.operationCount;
  machine.crashAt = begin + crashAt;
  let number = 0;
  for (let group = 0; group < groups; group++) {
    const states = [durable];
    for (let left = 1 + random.below(4); left > 0; left--) {
      const before = states.at(-1) as Twin;
      const isCompacting = random.chance(15);
      const index = before.log.lastIndex - random.below(4);
      if (isCompacting && index > before.log.base.index) {
        const after = {...copyOf(before), membership: members};
        after.log.compact(index);
        states.push(after);
        world.storage.compact({last: after.log.base, membership: members});
        continue;
      }
      const effect = randomEffect(random, before, ++number);
      states.push(...statesOf(before, effect));
      world.storage.persist(effect);
    }
    if (world.settle()) {
      assert.equal(world.durableNumber, number);
      assert.equal(world.storage.pendingBytes, 0);
      durable = states.at(-1) as Twin;
      continue;
    }
    const recovered = world.reopenAfterCrash(crashAt);
    world.durableNumber = number;
    const found = states.findLast(state => agrees(recovered, state));
    assert.ok(found !== undefined, `crash ${crashAt} in group ${group}`);
    durable = found;
  }
  const operations = machine.operationCount - begin;
  machine.boot();
  assert.ok(agrees(world.open().recovered, durable), 'at the end');
  return operations;
}

for (const seed of [1, 2]) {
  test(`a power loss at every operation of a member’s storage, seed ${seed}`, () => {
    const operations = live(seed, Number.POSITIVE_INFINITY);
    assert.ok(operations > 80);
    for (let crashAt = 1; crashAt <= operations; crashAt++) live(seed, crashAt);
  });
}

function data(term: number, content: string): Entry {
  return {kind: 'data', term, data: Buffer.from(content)};
}

/** A storage that holds `entries`, each a persist effect of its own. */
function storageWith(world: World, entries: readonly Entry[]): void {
  entries.forEach((entry, at) => {
    const hardState = {term: entry.term, vote: undefined};
    const effect = {number: at + 1, hardState, restart: undefined, keepThrough: at};
    world.storage.persist({kind: 'persist', ...effect, entries: [entry]});
    assert.ok(world.settle());
  });
}

test('a creation that is cut short is begun again', () => {
  for (let crashAt = 1; ; crashAt++) {
    const machine = new Machine();
    const disk = new SimulatedDisk(machine);
    disk.makeDirectory('/data');
    disk.syncDirectory('/');
    const random = createSeededRandom(crashAt);
    const options = {disk, directory, segmentBytes: 4 << 10, random};
    machine.crashAt = machine.operationCount + crashAt;
    const died = diesIn(() => void openStoredLog(options));
    disk.crash(random);
    machine.boot();
    const {log, recovered} = openStoredLog(options);
    assert.deepEqual([...recovered.entries], []);
    log.remember({term: 1, vote: undefined});
    log.append(encodeRecord(data(1, 'a')));
    log.flush();
    assert.equal([...openStoredLog(options).recovered.entries].length, 1);
    if (!died) return;
  }
});

test('a laggard is read to, within bounds, until entries are given back', async () => {
  const world = new World(1);
  const entries = Array.from({length: 60}, (_, at) => data(1, `${at + 1} ${'x'.repeat(300)}`));
  entries[30] = {kind: 'membership', term: 1, membership: members};
  storageWith(world, entries);
  const {storage} = world;
  const read = (first: LogIndex, through: LogIndex, bytesMax: number) => {
    const run = storage.read(first, through, bytesMax);
    assert.ok(world.settle());
    return run;
  };
  assert.deepEqual(await read(30, 32, 1 << 20), entries.slice(29, 32));
  assert.equal((await read(1, 60, 1))?.length, 1, 'one at least');
  assert.equal((await read(1, 60, 1000))?.length, 3);
  assert.equal(await read(61, 70, 1000), undefined, 'never came');
  const retained = () => world.look()?.retainedBytes ?? assert.fail('the thread has the log');
  const before = retained();
  storage.compact({last: {index: 50, term: 1}, membership: members});
  world.settle();
  assert.ok(retained() < before);
  assert.equal(await read(1, 60, 1000), undefined, 'gone');
  assert.equal((await read(51, 60, 1 << 20))?.length, 10);
});

test('the identity of the memory is that of its creation, until it is thrown away', () => {
  const world = new World(1);
  const options = {disk: world.disk, directory, segmentBytes: 4 << 10};
  const open = (seed: number, keeps: boolean) => {
    const {log, recovered} = openStoredLog({...options, random: createSeededRandom(seed), keeps});
    log.close();
    return {logId: log.logId, last: [...recovered.entries].length};
  };
  storageWith(world, [data(1, 'one')]);
  const first = open(2, true);
  assert.deepEqual(open(3, true), {logId: first.logId, last: 1});
  const wiped = open(4, false);
  assert.notEqual(wiped.logId, first.logId);
  assert.equal(wiped.last, 0);
});

test('a checkpoint that the log does not hold replaces it, one that it holds shortens it', () => {
  const world = new World(1);
  storageWith(world, [data(1, 'a'), data(1, 'b'), data(2, 'c')]);
  const at = (index: LogIndex, term: number) => {
    const {recovered} = world.open({last: {index, term}, membership: members});
    return {term: recovered.term, base: recovered.base, left: [...recovered.entries].length};
  };
  assert.deepEqual(at(2, 1), {term: 2, base: {index: 2, term: 1}, left: 1});
  assert.deepEqual(at(3, 4), {term: 4, base: {index: 3, term: 4}, left: 0});
  assert.deepEqual(at(90, 4), {term: 4, base: {index: 90, term: 4}, left: 0});
});

test('the log of a server without cluster is not taken for one, and not harmed', () => {
  const world = new World(1);
  const options = {disk: world.disk, directory: '/data/log', segmentBytes: 4 << 10};
  world.disk.makeDirectory('/data/log');
  const local = SegmentLog.create(options, '0123456789abcdef0123456789abcdef', 1);
  local.append([Buffer.from('entry')], new Uint32Array(1), true);
  local.close();
  const random = createSeededRandom(1);
  assert.throws(
    () => openStoredLog({...options, random}),
    (error: unknown) => error instanceof Refusal && /no member of a cluster/.test(error.message),
  );
  assert.equal(SegmentLog.open(options)?.lastIndex, 1);
});

test('a memory whose entries are gone, or whose term is damaged, stops the start', () => {
  for (const [loses, says] of [
    ['segments', /is gone/],
    ['consensus', /is damaged/],
    ['votes', /is gone/],
  ] as const) {
    const world = new World(1);
    storageWith(world, [data(1, 'a')]);
    const {disk} = world;
    if (loses === 'segments') {
      for (const name of disk.list(directory)) {
        if (name.startsWith('segment')) disk.unlink(`${directory}/${name}`);
      }
    } else if (loses === 'votes') {
      disk.unlink(`${directory}/votes`);
    } else {
      disk.open(`${directory}/consensus`, 'write').writeAt(Buffer.from('9'), 45);
    }
    assert.throws(
      () => world.open(),
      (error: unknown) => error instanceof Corruption && says.test(error.message),
    );
  }
});

test('a term that is older than the log stops the start: a vote was forgotten', () => {
  const world = new World(1);
  storageWith(world, [data(1, 'a')]);
  const votes = world.disk.open(`${directory}/votes`, 'write');
  const older = Buffer.alloc(votes.size());
  votes.readAt(older, 0);
  const effect = {number: 2, hardState: {term: 2, vote: 'b'}, restart: undefined, keepThrough: 1};
  world.storage.persist({kind: 'persist', ...effect, entries: [data(2, 'b')]});
  assert.ok(world.settle());
  votes.writeAt(older, 0);
  assert.throws(
    () => world.open(),
    (error: unknown) => error instanceof Corruption && /is older than the log/.test(error.message),
  );
});

test('a memory of a release without a file of votes is taken over, at every power loss', () => {
  const hardState = {term: 4, vote: 'b'};
  const old = (disk: SimulatedDisk): void => {
    const path = `${directory}/consensus`;
    const file = {disk, path, kind: 'svc-consensus', title: 'the memory'};
    const {hasVotes, ...kept} = new CheckedFile<Record<string, unknown>>({
      ...file,
      version: 2,
    }).load() as Record<string, unknown>;
    assert.equal(hasVotes, true);
    new CheckedFile({...file, version: 1}).save({...kept, hardState});
    disk.unlink(`${directory}/votes`);
    disk.syncDirectory(directory);
  };
  for (let crashAt = 1; ; crashAt++) {
    const world = new World(1);
    storageWith(world, [data(1, 'a')]);
    old(world.disk);
    world.machine.crashAt = world.machine.operationCount + crashAt;
    const died = diesIn(() => void world.open());
    world.machine.crashAt = Number.POSITIVE_INFINITY;
    const {term, vote} = died ? world.reopenAfterCrash(crashAt) : world.open().recovered;
    assert.deepEqual({term, vote}, hardState);
    if (!died) return;
  }
});

test('on a full disk what was given waits for room, once each, and then is there', () => {
  const world = new World(1);
  world.disk.freeBytesLeft = 0;
  const entries = Array.from({length: 40}, (_, at) => data(3, `${at} ${'x'.repeat(400)}`));
  entries.forEach((entry, at) => {
    const hardState = {term: 3, vote: 'a'};
    const effect = {number: at + 1, hardState, restart: undefined, keepThrough: at};
    world.storage.persist({kind: 'persist', ...effect, entries: [entry]});
  });
  for (let turn = 0; turn < 20; turn++) world.scheduler.runNext();
  assert.equal(world.durableNumber, 0);
  world.disk.freeBytesLeft = 1 << 20;
  assert.ok(world.settle());
  assert.equal(world.durableNumber, 40);
  assert.deepEqual([...world.open().recovered.entries].map(text), entries.map(text));
});

/** Lives until `lives`, on a disk that refuses bytes; the reasons that the log ended for. */
function beside(
  disk: SimulatedDisk,
  resume: {readonly retriesMax: number; readonly everyMs: number},
): {
  readonly failures: string[];
  readonly persisted: () => number;
  readonly pass: (ms: number) => void;
} {
  const machine = new Machine();
  const scheduler = new Scheduler(createSeededRandom(1), machine);
  const random = createSeededRandom(9);
  const {log} = openStoredLog({disk, directory, segmentBytes: 4 << 10, random});
  disk.freeBytesLeft = 1_000;
  const {clock, timers} = scheduler;
  const tasks = {soon: (task: () => void) => void timers.after(1, task), after: timers.after};
  const given = {disk, clock, network: tasks, thread: tasks, resume};
  const {storage} = memberLogTask(given, log);
  const failures: string[] = [];
  let durable = 0;
  storage.listen({
    persisted: number => {
      durable = number;
    },
    failed: reason => failures.push(reason),
  });
  let number = 0;
  let last = 0;
  const write = (): void => {
    const entries: Entry[] = Array.from({length: 4}, () => ({
      kind: 'data',
      term: 1,
      data: Buffer.alloc(700),
    }));
    const hardState = {term: 1, vote: undefined};
    number += 1;
    const effect = {kind: 'persist', number, hardState, restart: undefined} as const;
    storage.persist({...effect, keepThrough: last, entries});
    last += entries.length;
  };
  write();
  write();
  return {
    failures,
    persisted: () => durable,
    pass: ms => {
      const until = scheduler.nowMs + ms;
      while (scheduler.nowMs < until && scheduler.runNext());
    },
  };
}

function smallDisk(freeBytes: () => number): SimulatedDisk {
  const disk = new SimulatedDisk(new Machine());
  disk.makeDirectory('/data');
  disk.syncDirectory('/');
  disk.freeBytes = freeBytes;
  return disk;
}

test('a full disk is waited for however long, and the log goes on with room', () => {
  const disk = smallDisk(() => 0);
  const {failures, persisted, pass} = beside(disk, {retriesMax: 0, everyMs: 100});
  pass(3_600_000);
  assert.deepEqual(failures, []);
  assert.ok(persisted() < 2);
  disk.freeBytesLeft = Number.MAX_SAFE_INTEGER;
  pass(5_000);
  assert.equal(persisted(), 2);
  assert.deepEqual(failures, []);
});

test('a disk with room for two segments that takes nothing ends the log, with the reason', () => {
  const disk = smallDisk(() => 2 * (4 << 10));
  const {failures, persisted, pass} = beside(disk, {retriesMax: 3, everyMs: 1_000});
  pass(3_900);
  assert.deepEqual(failures, []);
  pass(60_000);
  assert.ok(persisted() < 2);
  assert.match(failures[0] ?? '', /room for two segments, and yet 4 attempts to go on failed/);
  assert.equal(failures.length, 1);
});
