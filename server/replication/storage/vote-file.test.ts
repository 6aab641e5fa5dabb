/** What a member voted outlives crashes and bad blocks, and is never forgotten in silence. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Corruption} from '#server/base/errors.ts';
import type {HardState} from '#server/raft/effect.ts';
import {Machine, SimulatedCrash} from '#server/simulation/machine.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {VoteFile} from './vote-file.ts';

const path = '/data/votes';
const logId = '00112233445566778899aabbccddeeff';
const blockBytes = 4096;
const blocks = 4;

function state(term: number): HardState {
  return {term, vote: term % 3 === 0 ? undefined : `peer-${term}`};
}

function made(through: number): {machine: Machine; disk: SimulatedDisk; votes: VoteFile} {
  const machine = new Machine();
  const disk = new SimulatedDisk(machine);
  disk.makeDirectory('/data');
  disk.syncDirectory('/');
  const votes = VoteFile.create(disk, path, logId, state(0));
  for (let term = 1; term <= through; term++) votes.write(state(term));
  return {machine, disk, votes};
}

function damage(disk: SimulatedDisk, block: number): void {
  overwrite(disk, block * blockBytes + 20, Buffer.from('?'));
}

function overwrite(disk: SimulatedDisk, at: number, bytes: Buffer): void {
  const file = disk.open(path, 'write');
  file.writeAt(bytes, at);
  file.sync();
  file.close();
}

test('a power loss at every operation leaves the newest durable state or the one under way', () => {
  let crashes = 0;
  for (let crashAt = 1, died = true; died; crashAt++) {
    for (let fate = 0; fate < 8; fate++) {
      const {machine, disk, votes} = made(3);
      machine.crashAt = machine.operationCount + crashAt;
      let durable = 3;
      died = false;
      try {
        for (let term = 4; term <= 9; term++) {
          votes.write(state(term));
          durable = term;
        }
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) throw error;
        died = true;
        crashes++;
      }
      disk.crash(createSeededRandom(crashAt * 100 + fate));
      machine.boot();
      const {hardState} = VoteFile.open(disk, path, logId);
      assert.ok([durable, durable + 1].some(term => hardState.term === term));
      assert.deepEqual(hardState, state(hardState.term));
      disk.crash(createSeededRandom(fate));
      machine.boot();
      const again = VoteFile.open(disk, path, logId);
      assert.deepEqual(again.hardState, hardState, 'what was answered is durable');
    }
  }
  assert.ok(crashes > 50);
});

test('one bad block is answered by its copy, and mended by the start', () => {
  for (const through of [6, 7]) {
    for (let block = 0; block < blocks; block++) {
      const {disk, votes} = made(through);
      votes.close();
      damage(disk, block);
      const opened = VoteFile.open(disk, path, logId);
      assert.deepEqual(opened.hardState, state(through));
      opened.votes.close();
      damage(disk, block ^ 2);
      assert.deepEqual(VoteFile.open(disk, path, logId).hardState, state(through));
    }
  }
});

test('a write of another file that fell across two blocks makes nothing forgotten', () => {
  const stray = Buffer.alloc(blockBytes, 7);
  for (const through of [6, 7]) {
    for (let at = 0; at + blockBytes <= blocks * blockBytes; at += 512) {
      const {disk, votes} = made(through);
      votes.close();
      overwrite(disk, at, stray);
      const {hardState} = VoteFile.open(disk, path, logId);
      assert.deepEqual(hardState, state(through), `at ${at}`);
    }
  }
});

test('a file whose copies lie side by side, as before, is taken over at every power loss', () => {
  for (const through of [6, 7]) {
    for (let crashAt = 1; crashAt <= 4; crashAt++) {
      for (let fate = 0; fate < 8; fate++) {
        const {machine, disk, votes} = made(through);
        votes.close();
        const file = disk.open(path, 'write');
        const bytes = Buffer.alloc(blocks * blockBytes);
        file.readAt(bytes, 0);
        const block = (number: number) =>
          bytes.subarray(number * blockBytes).subarray(0, blockBytes);
        file.writeAt(Buffer.concat([block(0), block(2), block(1), block(3)]), 0);
        file.sync();
        file.close();
        machine.crashAt = machine.operationCount + crashAt;
        try {
          assert.deepEqual(VoteFile.open(disk, path, logId).hardState, state(through));
        } catch (error) {
          if (!(error instanceof SimulatedCrash)) throw error;
        }
        disk.crash(createSeededRandom(fate));
        machine.boot();
        assert.deepEqual(VoteFile.open(disk, path, logId).hardState, state(through));
      }
    }
  }
});

test('a file that is gone, damaged or of another memory stops the start', () => {
  const cases = [
    ['gone', (disk: SimulatedDisk) => disk.unlink(path), logId, /is gone/],
    [
      'damaged',
      (disk: SimulatedDisk) => {
        for (let block = 0; block < blocks; block++) damage(disk, block);
      },
      logId,
      /is damaged/,
    ],
    ['of another memory', () => {}, 'ffeeddccbbaa99887766554433221100', /is damaged/],
  ] as const;
  for (const [name, harm, asked, says] of cases) {
    const {disk, votes} = made(5);
    votes.close();
    harm(disk);
    assert.throws(
      () => VoteFile.open(disk, path, asked),
      (error: unknown) => error instanceof Corruption && says.test(error.message),
      name,
    );
  }
});

test('another thread goes on where the first one stopped', () => {
  const {disk, votes} = made(2);
  const resumed = VoteFile.resume(disk, votes.handOver());
  resumed.write(state(4));
  resumed.close();
  assert.deepEqual(VoteFile.open(disk, path, logId).hardState, state(4));
});
