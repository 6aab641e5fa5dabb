/**
 * A log that is cut and begun anew holds what a plain array holds: after every operation, after a
 * power loss at each operation of the disk, and after a second one during the start behind it.
 * Holds invariant L2.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Corruption} from '#server/base/errors.ts';
import {Machine, SimulatedCrash} from '#server/simulation/machine.ts';
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {SegmentLog, type SegmentLogOptions} from './segment-log.ts';

const logId = '0123456789abcdef0123456789abcdef';

/** The naive twin: texts from a first index on. What is up to `floor` may have been recycled. */
interface Twin {
  readonly firstIndex: number;
  readonly texts: readonly string[];
  readonly floor: number;
}

function lastOf(twin: Twin): number {
  return twin.firstIndex + twin.texts.length - 1;
}

interface Move {
  readonly name: string;
  readonly after: Twin;
  /** Throws when the machine dies. */
  carryOut(log: SegmentLog): void;
}

/** What a history does next; the same for the same chance, whatever the disk does. */
function nextMove(twin: Twin, random: SeededRandom, number: number): Move {
  const last = lastOf(twin);
  const dice = random.below(100);
  if (dice < 62) {
    const texts = Array.from({length: 1 + random.below(4)}, (_, at) => {
      return `${number}.${at} ${'x'.repeat(random.below(900))}`;
    });
    const bytes = texts.map(text => Buffer.from(text));
    return {
      name: 'append',
      after: {...twin, texts: [...twin.texts, ...texts]},
      carryOut: log => log.append(bytes, new Uint32Array(bytes.length), true),
    };
  }
  if (dice < 84) {
    const keep = Math.max(twin.floor, last - random.below(8));
    return {
      name: `truncate ${keep}`,
      after: {...twin, texts: twin.texts.slice(0, keep - twin.firstIndex + 1)},
      carryOut: log => log.truncate(keep),
    };
  }
  if (dice < 90) {
    const firstIndex = Math.max(1, last - 3 + random.below(30));
    return {
      name: `restart ${firstIndex}`,
      after: {firstIndex, texts: [], floor: firstIndex - 1},
      carryOut: log => log.restart(firstIndex),
    };
  }
  const floor = Math.max(twin.floor, last - random.below(20));
  return {
    name: `recycle ${floor}`,
    after: {...twin, floor},
    carryOut: log => void log.recycle(floor),
  };
}

function holds(log: SegmentLog, twin: Twin): boolean {
  if (log.lastIndex !== lastOf(twin)) return false;
  if (log.firstIndex < twin.firstIndex || log.firstIndex > twin.floor + 1) return false;
  const found = [...log.read(log.firstIndex)].map(record => record.payload.toString());
  const expected = twin.texts.slice(log.firstIndex - twin.firstIndex);
  return found.length === expected.length && found.every((text, at) => text === expected[at]);
}

function open(options: SegmentLogOptions): SegmentLog {
  const visited: number[] = [];
  const log = SegmentLog.open(options, record => visited.push(record.index));
  assert.ok(log !== undefined);
  const expected = log.lastIndex - log.firstIndex + 1;
  assert.equal(visited.length, expected, 'the visitor saw every record once');
  assert.equal(visited[0], expected === 0 ? undefined : log.firstIndex);
  return log;
}

interface Fate {
  readonly crashAt: number;
  /** The start behind the crash is cut short too, at this operation. */
  readonly crashAgainAt: number | undefined;
}

const moveCount = 40;

/** Lives one history through its crash; gives the number of its operations on the disk. */
function live(seed: number, fate: Fate): number {
  const machine = new Machine();
  const disk = new SimulatedDisk(machine);
  disk.makeDirectory('/log');
  disk.syncDirectory('/');
  const options = {disk, directory: '/log', segmentBytes: 4 << 10};
  const random = createSeededRandom(seed);
  let log = SegmentLog.create(options, logId, 1);
  let twin: Twin = {firstIndex: 1, texts: [], floor: 0};
  const begin = machine.operationCount;
  machine.crashAt = begin + fate.crashAt;
  const recover = () => {
    log = reopen({machine, disk, options}, fate);
  };
  for (let number = 0; number < moveCount; number++) {
    if (number % 7 === 6) {
      const restarted = diesIn(() => {
        if (random.chance(50)) log.close();
        log = open(options);
      });
      if (restarted) recover();
      assert.ok(holds(log, twin), `after the start before move ${number}`);
    }
    const {name, after, carryOut} = nextMove(twin, random, number);
    let outcomes = [after];
    if (diesIn(() => carryOut(log))) {
      recover();
      outcomes = [after, twin];
    }
    const outcome = outcomes.find(one => holds(log, one));
    assert.ok(outcome !== undefined, `move ${number}, ${name}`);
    twin = outcome;
  }
  return machine.operationCount - begin;
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

interface LogUnderTest {
  readonly machine: Machine;
  readonly disk: SimulatedDisk;
  readonly options: SegmentLogOptions;
}

function reopen({machine, disk, options}: LogUnderTest, {crashAt, crashAgainAt}: Fate): SegmentLog {
  disk.crash(createSeededRandom(crashAt));
  machine.boot();
  if (crashAgainAt !== undefined) {
    machine.crashAt = machine.operationCount + crashAgainAt;
    diesIn(() => void SegmentLog.open(options));
    disk.crash(createSeededRandom(crashAt + 1));
    machine.boot();
  }
  return open(options);
}

for (const seed of [3, 4]) {
  test(`a power loss at every operation of a history with cuts, seed ${seed}`, () => {
    const operations = live(seed, {crashAt: Number.POSITIVE_INFINITY, crashAgainAt: undefined});
    assert.ok(operations > 100);
    for (let crashAt = 1; crashAt <= operations; crashAt++) {
      live(seed, {crashAt, crashAgainAt: undefined});
      if (crashAt % 3 === 0) live(seed, {crashAt, crashAgainAt: 1 + (crashAt % 17)});
    }
  });
}

function newLog(): {options: SegmentLogOptions; log: SegmentLog; disk: SimulatedDisk} {
  const disk = new SimulatedDisk(new Machine());
  disk.makeDirectory('/log');
  disk.syncDirectory('/');
  const options = {disk, directory: '/log', segmentBytes: 4 << 10};
  return {options, disk, log: SegmentLog.create(options, logId, 1)};
}

function append(log: SegmentLog, ...texts: string[]): void {
  log.append(
    texts.map(text => Buffer.from(text)),
    new Uint32Array(texts.length),
    true,
  );
}

function damage(disk: SimulatedDisk, text: string): void {
  for (const name of disk.list('/log')) {
    const file = disk.open(`/log/${name}`, 'write');
    const bytes = Buffer.alloc(file.size());
    file.readAt(bytes, 0);
    const at = bytes.indexOf(text);
    if (at < 0) continue;
    file.writeAt(Buffer.from('?'), at);
    return;
  }
  assert.fail(`${text} is nowhere`);
}

test('damage to what was cut is nobody’s loss, damage in front of the cut stops the start', () => {
  for (const [text, stops] of [
    ['in front', true],
    ['behind', false],
  ] as const) {
    const {options, log, disk} = newLog();
    append(log, 'first', 'in front');
    append(log, 'behind');
    log.truncate(2);
    log.handOver();
    damage(disk, text);
    if (stops) assert.throws(() => SegmentLog.open(options), Corruption);
    else assert.equal(SegmentLog.open(options)?.lastIndex, 2);
  }
});

test('a cut in the middle of a batch keeps its chain, and entries go on behind it', () => {
  const {options, log} = newLog();
  append(log, 'a', 'b', 'c', 'd');
  const chain = log.chainAt(2);
  log.truncate(2);
  assert.equal(log.lastChain, chain);
  append(log, 'C', 'D', 'E');
  log.truncate(3);
  log.truncate(1);
  append(log, 'B');
  log.close();
  const again = SegmentLog.open(options);
  assert.ok(again !== undefined);
  assert.deepEqual(
    [...again.read(1)].map(record => record.payload.toString()),
    ['a', 'B'],
  );
});

test('what a cut keeps is durable, though it was appended without a sync', () => {
  for (let seed = 1; seed <= 40; seed++) {
    const {options, log, disk} = newLog();
    log.append(
      ['a', 'b', 'c'].map(text => Buffer.from(text)),
      new Uint32Array(3),
      false,
    );
    log.truncate(2);
    assert.equal(log.durableIndex, 2);
    disk.crash(createSeededRandom(seed));
    assert.equal(SegmentLog.open(options)?.lastIndex, 2, `seed ${seed}`);
  }
});

test('an entry far into a segment is read without what lies before it', () => {
  const disk = new SimulatedDisk(new Machine());
  disk.makeDirectory('/log');
  const options = {disk, directory: '/log', segmentBytes: 8 << 20};
  const log = SegmentLog.create(options, logId, 1);
  const entry = Buffer.alloc(10_000, 7);
  for (let number = 1; number <= 90; number++) log.append([entry], new Uint32Array(1), true);
  log.close();
  const again = SegmentLog.open(options);
  assert.ok(again !== undefined);
  damage(disk, '\u0007\u0007\u0007\u0007');
  const [record] = again.read(80);
  assert.equal(record?.index, 80, 'the damaged first entry was not looked at');
});

test('a damaged entry ends a reading and a cut, and nothing behind it is shown', () => {
  const disk = new SimulatedDisk(new Machine());
  disk.makeDirectory('/log');
  const log = SegmentLog.create({disk, directory: '/log', segmentBytes: 4096}, logId, 1);
  for (let number = 1; number <= 9; number++) {
    log.append([Buffer.from(`entry ${number} ${'x'.repeat(1000)}`)], new Uint32Array(1), true);
  }
  damage(disk, 'entry 2');
  const shown: number[] = [];
  assert.throws(
    () => {
      for (const {index} of log.read(1)) shown.push(index);
    },
    (error: unknown) => error instanceof Corruption && /record 2 of the log/.test(error.message),
  );
  assert.deepEqual(shown, [1]);
  assert.throws(() => log.truncate(2), Corruption);
  assert.equal(log.lastIndex, 9, 'nothing was cut');
  assert.equal(log.failed, undefined, 'what lies behind the damage is still there');
  assert.equal([...log.read(7)].length, 3);
});
