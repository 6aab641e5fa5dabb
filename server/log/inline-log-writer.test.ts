/** Which entries the network thread writes itself, as the disk is quick, slow or hanging. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Disk} from '#server/platform/disk.ts';
import {Machine} from '#server/simulation/machine.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {createTailMemory, LogTailOwner} from './log-tail-lease.ts';
import {InlineLogWriter} from './inline-log-writer.ts';
import {SegmentLog} from './segment-log.ts';

/** An appender to an idle log; each sync takes `syncMs` of its clock. */
class Given {
  now = 0;
  syncMs = 0.2;
  readonly appender: InlineLogWriter;
  readonly disk = new SimulatedDisk(new Machine());

  constructor({owes = true} = {}) {
    const {disk} = this;
    disk.makeDirectory('/log');
    const logId = '0'.repeat(32);
    const log = SegmentLog.create({disk, directory: '/log', segmentBytes: 1 << 20}, logId, 1);
    const memory = createTailMemory();
    new LogTailOwner(memory).lend(log.lend());
    const clock = {now: () => this.now, monotonic: () => this.now};
    const options = {disk: this.#timed(disk), directory: '/log', logId, memory};
    this.appender = new InlineLogWriter(options, clock, {owes});
  }

  /** How many of the entries that come every millisecond for `ms` are written here. */
  written(ms: number): number {
    let count = 0;
    for (const end = this.now + ms; this.now < end; this.now++) if (this.append(100)) count++;
    return count;
  }

  append(bytes: number): boolean {
    const {appender} = this;
    return appender.admits(bytes) && appender.append(Buffer.alloc(bytes), () => true) === 'written';
  }

  #timed(disk: Disk): Disk {
    const open: Disk['open'] = (path, mode) => {
      const file = disk.open(path, mode);
      const {sync} = file;
      file.sync = () => {
        sync();
        this.now += this.syncMs;
      };
      return file;
    };
    return Object.assign(Object.create(disk) as Disk, {open});
  }
}

test('a quick disk is written to for as many entries as come one by one', () => {
  assert.equal(new Given().written(1_000), Math.ceil(1_000 / 1.2));
});

test('of syncs that follow each other it does what fits into half of the time', () => {
  const given = new Given();
  let count = 0;
  while (given.now < 1_000) {
    if (given.append(100)) count++;
    else given.now += 0.01;
  }
  const share = (count * given.syncMs) / given.now;
  assert.ok(share > 0.45 && share < 0.51, `${share} of the time`);
});

test('behind a sync that takes longer for once the next entry is written here as well', () => {
  const given = new Given();
  for (let number = 0; number < 100; number++) {
    given.syncMs = number % 10 === 0 ? 1.2 : 0.3;
    assert.ok(given.append(100), `entry ${number}`);
    given.now += 0.5;
  }
});

test('a slow disk is left to the log thread but for a look now and then', () => {
  const given = new Given();
  given.syncMs = 20;
  const began = given.now;
  const count = given.written(60_000);
  const share = (count * given.syncMs) / (given.now - began);
  assert.ok(count > 10 && share < 0.03, `${count} writes, ${share} of the time`);
  given.syncMs = 0.2;
  given.written(1_000);
  assert.ok(given.written(1_000) > 800, 'a disk that is quick again is noticed');
});

test('one sync that hangs for once changes little', () => {
  const given = new Given();
  given.written(100);
  given.syncMs = 30;
  assert.ok(given.append(100));
  given.syncMs = 0.2;
  given.now += 31;
  assert.ok(given.written(100) > 80);
});

test('a large entry is the log thread’s', () => {
  const given = new Given();
  assert.equal(given.append(1 << 20), false);
  assert.equal(given.append(1_000), true);
});

test('the log thread is to look at the segment every 64 KB', () => {
  const given = new Given();
  let looks = 0;
  for (let number = 0; number < 100; number++) {
    given.now++;
    assert.ok(given.append(4_000));
    if (given.appender.takeLook()) looks++;
  }
  assert.equal(looks, Math.floor(100 / 17));
});

test('where a sync keeps nobody waiting they may follow each other without end', () => {
  const given = new Given({owes: false});
  for (let number = 0; number < 1_000; number++) assert.ok(given.append(100), `entry ${number}`);
});

test('a disk that is slow is left to the log thread for others that may come all the same', () => {
  const given = new Given({owes: false});
  given.syncMs = 20;
  assert.ok(given.append(100));
  assert.ok(given.append(100));
  assert.ok(!given.append(100));
});

test('what finds no room within the segment is left to the log thread, and the log goes on', () => {
  const given = new Given();
  given.disk.copiesOnWrite = true;
  assert.ok(given.append(100));
  given.disk.freeBytesLeft = 10;
  given.now += 10;
  assert.equal(
    given.appender.append(Buffer.alloc(100), () => true),
    'left',
  );
  given.disk.freeBytesLeft = 1 << 20;
  assert.ok(given.append(100));
});
