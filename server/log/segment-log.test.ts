/**
 * Segment files keep what was appended, cut what was torn, and refuse what was damaged below the
 * floor. Runs on the simulated disk; the commit path's own crashes are in simulation/.
 * Holds invariants F1 and L1.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Corruption} from '#server/base/errors.ts';
import {Machine} from '#server/simulation/machine.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {batchHeaderBytes, recordHeaderBytes, segmentHeaderBytes} from './segment-format.ts';
import {LogFailure, LogFull, SegmentLog, type SegmentLogOptions} from './segment-log.ts';

const id = '0123456789abcdef0123456789abcdef';

function newDisk(): {disk: SimulatedDisk; machine: Machine; options: SegmentLogOptions} {
  const machine = new Machine();
  const disk = new SimulatedDisk(machine);
  disk.makeDirectory('/log');
  disk.syncDirectory('/');
  return {disk, machine, options: {disk, directory: '/log', segmentBytes: 8 << 10}};
}

function append(log: SegmentLog, texts: readonly string[], sync = true): void {
  log.append(
    texts.map(text => Buffer.from(text)),
    new Uint32Array(texts.length),
    sync,
  );
}

function texts(log: SegmentLog): string[] {
  return [...log.read(log.firstIndex)].map(record => record.payload.toString());
}

function reopen(options: SegmentLogOptions): SegmentLog {
  const log = SegmentLog.open(options);
  assert.ok(log !== undefined);
  return log;
}

/** Changes one byte of the segment that holds `text`. */
function damage(disk: SimulatedDisk, text: string): void {
  for (const name of disk.list('/log').filter(entry => entry.startsWith('segment'))) {
    const file = disk.open(`/log/${name}`, 'write');
    const bytes = Buffer.alloc(file.size());
    file.readAt(bytes, 0);
    const at = bytes.indexOf(text);
    if (at < 0) continue;
    file.writeAt(Buffer.from([(bytes[at] ?? 0) ^ 0xff]), at);
    file.sync();
    return;
  }
  assert.fail(`${text} is in no segment`);
}

test('entries are there in order after a clean close, indexes go on', () => {
  const {options} = newDisk();
  const log = SegmentLog.create(options, id, 41);
  append(log, ['a', 'b']);
  append(log, ['c']);
  const chain = log.lastChain;
  log.close();
  const again = reopen(options);
  assert.deepEqual(texts(again), ['a', 'b', 'c']);
  assert.equal(again.firstIndex, 41);
  assert.equal(again.lastIndex, 43);
  assert.equal(again.chainAt(43), chain);
  append(again, ['d']);
  assert.deepEqual(texts(again), ['a', 'b', 'c', 'd']);
});

test('what was synced survives a power loss, what was not is whole batches or nothing', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const {disk, options} = newDisk();
    const log = SegmentLog.create(options, id, 1);
    append(log, ['one', 'two']);
    append(log, ['x'.repeat(1500), 'y'.repeat(700)], false);
    disk.crash(createSeededRandom(seed));
    const found = texts(reopen(options)).map(text => text[0]);
    assert.ok(['o,t', 'o,t,x,y'].includes(found.join()), `seed ${seed}: ${found.join()}`);
  }
});

test('a cut tail never comes back behind what is written over it', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const {disk, options} = newDisk();
    const random = createSeededRandom(seed);
    const log = SegmentLog.create(options, id, 1);
    append(log, ['kept']);
    append(log, ['torn-a', 'z'.repeat(900)], false);
    append(log, ['torn-b'], false);
    disk.crash(random);
    const second = reopen(options);
    const before = texts(second);
    append(second, ['new']);
    disk.crash(random);
    assert.deepEqual(texts(reopen(options)), [...before, 'new']);
  }
});

test('damage to an acknowledged entry stops the start and names the place', () => {
  const {disk, options} = newDisk();
  const log = SegmentLog.create(options, id, 1);
  append(log, ['first entry']);
  append(log, ['second entry']);
  append(log, ['third entry']);
  log.handOver();
  damage(disk, 'second entry');
  assert.throws(
    () => SegmentLog.open(options),
    (error: unknown) =>
      error instanceof Corruption && /record 2 .* acknowledged/.test(error.message),
  );
});

test('damage to the last batch, which nothing tells to be durable, is a torn tail', () => {
  const {disk, options} = newDisk();
  const log = SegmentLog.create(options, id, 1);
  append(log, ['first entry']);
  append(log, ['second entry']);
  log.handOver();
  damage(disk, 'second entry');
  assert.deepEqual(texts(reopen(options)), ['first entry']);
});

test('segments roll, are recycled in order, and their remains are never read', () => {
  const {disk, options} = newDisk();
  const log = SegmentLog.create(options, id, 1);
  for (let number = 1; number <= 100; number++) append(log, [`entry ${number} ${'.'.repeat(400)}`]);
  assert.ok(log.segmentCount > 3);
  assert.ok(log.recycle(70) > 0);
  assert.ok(log.firstIndex > 1 && log.firstIndex <= 71);
  for (let number = 101; number <= 200; number++) append(log, [`entry ${number}`]);
  log.recycle(150);
  const {firstIndex} = log;
  disk.crash(createSeededRandom(5));
  const again = reopen(options);
  assert.equal(again.firstIndex, firstIndex);
  assert.equal(again.lastIndex, 200);
  const numbers = texts(again).map(text => Number(text.split(' ')[1]));
  assert.deepEqual(
    numbers,
    Array.from({length: 201 - firstIndex}, (_, at) => firstIndex + at),
  );
});

test('an entry larger than a segment gets a segment of its own', () => {
  const {options} = newDisk();
  const log = SegmentLog.create(options, id, 1);
  append(log, ['small', 'L'.repeat(50_000), 'small again']);
  append(log, ['after']);
  log.close();
  assert.deepEqual(
    texts(reopen(options)).map(text => text.length),
    [5, 50_000, 11, 5],
  );
});

test('after a failed sync nothing is appended any more', () => {
  const {machine, options} = newDisk();
  const log = SegmentLog.create(options, id, 1);
  append(log, ['a']);
  machine.failSyncAt = (machine.counts.get('sync') ?? 0) + 1;
  assert.throws(() => append(log, ['b']), LogFailure);
  assert.throws(() => append(log, ['c']), LogFailure);
  assert.match(log.failed ?? '', /cannot write any more/);
});

test('what a start reads after a failed sync and a kill stays, or was never there', () => {
  // The system shows bytes that it gave up writing; found by world 40391.
  for (let crashAfter = 1; crashAfter <= 12; crashAfter++) {
    const {disk, machine, options} = newDisk();
    const log = SegmentLog.create(options, id, 1);
    append(log, ['kept']);
    machine.failSyncAt = (machine.counts.get('sync') ?? 0) + 1;
    assert.throws(() => append(log, ['unsure']), LogFailure);
    disk.kill();
    machine.crashAt = machine.operationCount + crashAfter;
    let seen: string[] | undefined;
    try {
      seen = texts(reopen(options));
    } catch (error) {
      assert.ok(machine.dead, String(error));
    }
    machine.boot();
    disk.crash(createSeededRandom(crashAfter));
    const found = texts(reopen(options)).join();
    if (seen === undefined) assert.ok(['kept', 'kept,unsure'].includes(found), found);
    else assert.equal(found, seen.join());
  }
});

/** A log of three batches, the second one in the middle, and the path of its only segment. */
function threeBatches(): {disk: SimulatedDisk; options: SegmentLogOptions; path: string} {
  const {disk, options} = newDisk();
  const log = SegmentLog.create(options, id, 1);
  for (const text of ['first entry', 'second entry', 'third entry']) append(log, [text]);
  log.handOver();
  const [name] = disk.list('/log').filter(entry => entry.startsWith('segment'));
  return {disk, options, path: `/log/${name}`};
}

const secondBatchAt = segmentHeaderBytes + batchHeaderBytes + recordHeaderBytes + 11;
const secondBatchEnd = secondBatchAt + batchHeaderBytes + recordHeaderBytes + 12;
const parts = [
  {part: 'header of a segment', from: 0, to: 60, says: /header of the log segment .* damaged/},
  {
    part: 'header of a batch, its records and their heads',
    from: secondBatchAt,
    to: secondBatchEnd,
    says: /record 2 .* damaged in .* acknowledged/,
  },
];

for (const {part, from, to, says} of parts) {
  test(`every flipped bit in the ${part} stops the start by name`, () => {
    for (let at = from; at < to; at++) {
      const {disk, options, path} = threeBatches();
      const file = disk.open(path, 'write');
      const byte = Buffer.alloc(1);
      file.readAt(byte, at);
      byte[0] = (byte[0] ?? 0) ^ (1 << (at % 8));
      file.writeAt(byte, at);
      assert.throws(
        () => SegmentLog.open(options),
        (error: unknown) => error instanceof Corruption && says.test(error.message),
        `byte ${at}`,
      );
    }
  });
}

test('a batch that was written in the place of another stops the start', () => {
  const {disk, options, path} = threeBatches();
  const file = disk.open(path, 'write');
  const first = Buffer.alloc(secondBatchAt - segmentHeaderBytes);
  file.readAt(first, segmentHeaderBytes);
  file.writeAt(first, secondBatchAt);
  assert.throws(() => SegmentLog.open(options), /record 2 .* acknowledged/);
});

test('a segment under the name of another stops the start', () => {
  const {disk, options} = newDisk();
  const log = SegmentLog.create(options, id, 1);
  for (let number = 1; number <= 60; number++) append(log, [`entry ${number} ${'.'.repeat(400)}`]);
  log.handOver();
  const names = disk.list('/log').filter(entry => entry.startsWith('segment'));
  const [first = '', second = ''] = names;
  assert.ok(names.length > 2);
  disk.rename(`/log/${second}`, `/log/${first}`);
  assert.throws(() => SegmentLog.open(options), Corruption);
});

test('a start that finds no room says what to do, and goes on with room', () => {
  for (const copiesOnWrite of [false, true]) {
    const {disk, options} = newDisk();
    disk.copiesOnWrite = copiesOnWrite;
    const log = SegmentLog.create(options, id, 1);
    append(log, ['a', 'b']);
    const held = texts(log);
    disk.crash(createSeededRandom(1));
    disk.freeBytesLeft = 0;
    for (let start = 0; start < 3; start++) {
      assert.throws(() => SegmentLog.open(options), {
        code: 'start.refused',
        message: /disk of the log \(\/log\) has no room .* nothing is lost; make room/,
      });
    }
    disk.freeBytesLeft = Number.MAX_SAFE_INTEGER;
    assert.deepEqual(texts(reopen(options)), held);
  }
});

test('a disk that writes copies and is full takes nothing, and the same once it has room', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const {disk, options} = newDisk();
    disk.copiesOnWrite = true;
    const log = SegmentLog.create(options, id, 1);
    append(log, ['a']);
    for (const left of [0, 40, 700]) {
      disk.freeBytesLeft = left;
      const long = 'b'.repeat(800);
      assert.throws(() => append(log, [`${left}`, long]), LogFull);
      assert.equal(log.failed, undefined);
      disk.freeBytesLeft = Number.MAX_SAFE_INTEGER;
      append(log, [`${left}`, long]);
    }
    // The next segment finds no room at its head or behind it.
    for (let entry = 0; entry < 12; entry++) {
      disk.freeBytesLeft = 100 * seed;
      try {
        append(log, [`entry ${entry}`, 'c'.repeat(1_200)]);
      } catch (error) {
        assert.ok(error instanceof LogFull, String(error));
        disk.freeBytesLeft = Number.MAX_SAFE_INTEGER;
        append(log, [`entry ${entry}`, 'c'.repeat(1_200)]);
      }
    }
    const held = texts(log);
    assert.equal(held.length, 1 + 3 * 2 + 12 * 2);
    disk.freeBytesLeft = seed % 2 === 0 ? 0 : Number.MAX_SAFE_INTEGER;
    if (seed % 3 === 0) log.close();
    else disk.crash(createSeededRandom(seed));
    disk.freeBytesLeft = Number.MAX_SAFE_INTEGER;
    assert.deepEqual(texts(reopen(options)), held);
  }
});
