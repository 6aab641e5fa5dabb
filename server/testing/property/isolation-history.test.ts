/**
 * Random histories hold what the levels promise, and would not if a part of the promise's
 * machinery failed: the same histories with that part broken are found out.
 */
import type {Isolation} from '#server/transactions/transaction-contract.ts';
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {findAnomalies, type History} from '#server/simulation/anomalies.ts';
import {ConflictWindow} from '#server/transactions/conflict-window.ts';
import {ServiceWorld} from '../worlds/service-world.ts';
import {bothLevels, HistoryTally, type LevelOf, runHistory} from './isolation-history.ts';

const seeds = [1, 2, 3, 4];

const worlds: ServiceWorld[] = [];
before(async () => {
  worlds.push(await ServiceWorld.open(), await ServiceWorld.open({}, {reportsLate: true}));
});
after(async () => {
  for (const world of worlds) await world.close();
});

const historyOf = (seed: number, levelOf: LevelOf = bothLevels): Promise<History> =>
  runHistory(worlds[seed % 2] as ServiceWorld, seed, levelOf);

test('random histories of both levels side by side show no anomaly', async context => {
  const tally = new HistoryTally();
  for (const seed of seeds) {
    const history = await historyOf(seed);
    const findings = findAnomalies(history);
    assert.deepEqual(findings.anomalies, [], `seed ${seed}: make fuzz TARGET=isolation`);
    tally.add(history, findings);
  }
  context.diagnostic(tally.toString());
  assert.ok(tally.writeSkews > 0, 'transactions met so closely that some wrote around each other');
});

test('histories of READ_COMMITTED, held to REPEATABLE_READ, show read skew', async () => {
  const level: Isolation = 'REPEATABLE_READ';
  let isFound = false;
  for (let seed = 1; !isFound && seed <= 20; seed += 1) {
    const {attempts, ...rest} = await historyOf(seed, () => 'READ_COMMITTED');
    const promoted = attempts.map(attempt => ({...attempt, level}));
    const {anomalies} = findAnomalies({...rest, attempts: promoted});
    isFound = anomalies.some(text => text.startsWith('G-single'));
  }
  assert.ok(isFound);
});

const {check, record} = ConflictWindow.prototype;

/** Ways in which the memory of commits could fail, each as it would be written by mistake. */
const faults: Readonly<Record<string, Partial<Pick<ConflictWindow, 'check' | 'record'>>>> = {
  'a changed record is no conflict': {
    check(this: ConflictWindow, preconditions) {
      const kept = preconditions.filter(
        one => one.kind !== 'unchanged' || one.unique !== undefined,
      );
      return check.call(this, kept);
    },
  },
  'the commit right behind the snapshot is overlooked': {
    check(this: ConflictWindow, preconditions) {
      const late = preconditions.map(one => ({...one, since: one.since + 1}));
      return check.call(this, late);
    },
  },
  'every other commit is not remembered': {
    record(this: ConflictWindow, index, request) {
      const {preconditions} = request;
      record.call(this, index, index % 2 === 0 ? {operations: [], preconditions} : request);
    },
  },
};

for (const [name, fault] of Object.entries(faults)) {
  test(`the checker finds out when ${name}`, async () => {
    Object.assign(ConflictWindow.prototype, fault);
    try {
      let anomaly: string | undefined;
      for (let seed = 1; anomaly === undefined && seed <= 20; seed += 1) {
        [anomaly] = findAnomalies(await historyOf(seed)).anomalies;
      }
      assert.match(anomaly ?? 'nothing', /^(P4|torn|G0|G1|G-single)/);
    } finally {
      Object.assign(ConflictWindow.prototype, {check, record});
    }
  });
}
