/**
 * Two sides write one log by turns, on the simulated disk: whatever each of them did is there for
 * the other, in the order of the turns, and after a power loss.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Machine} from '#server/simulation/machine.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {createTailMemory, LogTailBorrower, LogTailOwner} from './log-tail-lease.ts';
import {LogFailure, SegmentLog, type SegmentLogOptions} from './segment-log.ts';

const logId = '0123456789abcdef0123456789abcdef';
const always = (): boolean => true;

class Sides {
  readonly machine = new Machine();
  readonly disk = new SimulatedDisk(this.machine);
  readonly options: SegmentLogOptions;
  readonly log: SegmentLog;
  readonly lender: LogTailOwner;
  readonly borrower: LogTailBorrower;

  constructor() {
    const {disk} = this;
    const directory = '/log';
    disk.makeDirectory(directory);
    disk.syncDirectory('/');
    this.options = {disk, directory, segmentBytes: 8 << 10};
    this.log = SegmentLog.create(this.options, logId, 1);
    const memory = createTailMemory();
    this.lender = new LogTailOwner(memory);
    this.borrower = new LogTailBorrower({disk, directory, logId, memory});
  }

  /** The owner waits while `work` is done. */
  lent<T>(work: () => T): T {
    this.lender.lend(this.log.lend());
    try {
      return work();
    } finally {
      this.log.takeBack(this.lender.takeBack());
    }
  }

  append(text: string): void {
    this.log.append([Buffer.from(text)], new Uint32Array(1), true);
  }

  borrow(text: string): boolean {
    return this.borrower.append(Buffer.from(text), always);
  }

  texts(log: SegmentLog = this.log): string[] {
    return [...log.read(log.firstIndex)].map(({payload}) => payload.toString());
  }
}

test('what either side wrote, cut or began is what both know, and survives', () => {
  let written = 0;
  let refused = 0;
  for (let seed = 1; seed <= 100; seed++) {
    const sides = new Sides();
    const random = createSeededRandom(seed);
    let model: string[] = [];
    for (let step = 0; step < 60; step++) {
      const text = `${seed}.${step} ${'.'.repeat(random.u32() % 900)}`;
      const kind = random.u32() % 10;
      if (kind < 6) {
        const isDone = sides.lent(() => sides.borrow(text));
        if (isDone) model.push(text);
        if (isDone) written++;
        else refused++;
      } else if (kind < 9) {
        sides.append(text);
        model.push(text);
      } else {
        const kept = random.u32() % (model.length + 1);
        sides.log.truncate(kept);
        model = model.slice(0, kept);
      }
      assert.equal(sides.log.lastIndex, model.length, `seed ${seed}, step ${step}`);
    }
    assert.deepEqual(sides.texts(), model, `seed ${seed}`);
    if (seed % 2 === 0) sides.log.close();
    sides.borrower.close();
    sides.disk.crash(random);
    const again = SegmentLog.open(sides.options);
    assert.ok(again !== undefined);
    assert.deepEqual(sides.texts(again), model, `seed ${seed}`);
  }
  // A full segment is left to the owner.
  assert.ok(written > 2_000 && refused > 50, `${written} were written, ${refused} refused`);
});

test('nothing is written while the owner works, has work, or lends nothing', () => {
  const sides = new Sides();
  const before = sides.machine.operationCount;
  assert.equal(sides.borrow('at work'), false);
  sides.lent(() => {
    assert.equal(
      sides.borrower.append(Buffer.from('has work'), () => false),
      false,
    );
  });
  sides.lender.lend(undefined);
  assert.equal(sides.borrow('nothing lent'), false);
  sides.log.takeBack(sides.lender.takeBack());
  assert.equal(sides.machine.operationCount, before);
  assert.deepEqual(sides.texts(), []);
});

test('what is not durable yet is not lent', () => {
  const sides = new Sides();
  sides.log.append([Buffer.from('unsynced')], new Uint32Array(1), false);
  assert.equal(sides.log.lend(), undefined);
  sides.log.sync();
  assert.equal(sides.log.lend()?.lastIndex, 1);
});

test('after a failed write of one side neither writes any more', () => {
  const sides = new Sides();
  sides.append('durable');
  sides.machine.failSyncAt = (sides.machine.counts.get('sync') ?? 0) + 1;
  sides.lender.lend(sides.log.lend());
  assert.throws(() => sides.borrow('lost'), {code: 'EIO'});
  assert.equal(sides.borrow('next'), false);
  sides.log.takeBack(sides.lender.takeBack());
  assert.throws(() => sides.append('next'), LogFailure);

  const others = new Sides();
  others.machine.failSyncAt = (others.machine.counts.get('sync') ?? 0) + 1;
  assert.throws(() => others.append('lost'), LogFailure);
  assert.equal(
    others.lent(() => others.borrow('next')),
    false,
  );
});
