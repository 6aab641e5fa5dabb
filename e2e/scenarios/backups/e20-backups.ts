/**
 * E20: a schedule of every half minute makes one archive a tick, also when the leader is killed
 * amid them. E21: a backup beside one that runs is skipped, and nothing counts as failed. E22: what
 * a suspended schedule, or an operator that was away, missed is made up for by one run at most.
 */
import assert from 'node:assert/strict';
import {setTimeout as sleep} from 'node:timers/promises';
import {eventually} from '../../eventually.ts';
import {applyBackup, applySchedule, backupsOf, untilEnded} from '../../svc/backups.ts';
import {compareBooks, Ledger} from '../../svc/ledger.ts';
import {Operated} from '../../svc/operated.ts';
import {changeOperator, installOwnOperator} from '../../svc/operator.ts';
import type {Scenario} from '../scenario.ts';

const ticks = 5;
const tickSeconds = 30;
const often = {schedule: `*/${tickSeconds} * * * * *`, retention: {maxFiles: 100}};
const oftener = {...often, schedule: '*/15 * * * * *'};
const history = {historyLimits: {success: 20, failed: 20}};

export const scheduledBackups: Scenario = {
  id: 'E20',
  title: `${ticks} ticks are ${ticks} archives, the leader killed in the third or not`,
  operator: 'shared',
  async run(world) {
    const operated = await Operated.begin(world);
    const {cluster} = operated;
    const ledger = await Ledger.open(await operated.writer(), {writers: 2});
    await applySchedule(world, {...often, ...history});
    const begun = async (count: number) =>
      eventually(`${count} runs`, async () => (await backupsOf(world)).length >= count, {
        seconds: 90,
        everyMs: 50,
      });
    for (let tick = 1; tick <= ticks; tick++) {
      await begun(tick);
      if (tick === 3) await cluster.delete(await cluster.leader(), 0);
    }
    const runs = (await backupsOf(world)).slice(0, ticks);
    const phases: string[] = [];
    for (const {metadata} of runs) {
      const {status} = await untilEnded(world, metadata.name, {seconds: 120});
      phases.push(status?.phase ?? '');
    }
    const names = new Set(runs.map(({metadata}) => metadata.name));
    assert.equal(names.size, ticks);
    const times = runs.map(({metadata}) => metadata.creationTimestamp);
    const begunIn = new Set(times.map(time => Math.floor(Date.parse(time) / 1_000 / tickSeconds)));
    assert.equal(begunIn.size, ticks, times.join(' '));
    for (const [index, phase] of phases.entries()) {
      const isAllowed = phase === 'Completed' || (index === 2 && phase === 'Failed');
      assert.ok(isAllowed, `run ${index + 1} ended as ${phase}`);
    }
    const {status, reason} = await operated.untilCondition('BackupHealthy', {status: 'True'});
    world.note(`${phases.join(', ')}; BackupHealthy is ${status}: ${reason}`);
    await ledger.close();
    await compareBooks(cluster, ledger);
  },
};

export const backupBesideAnother: Scenario = {
  id: 'E21',
  title: 'a backup beside one that runs is skipped, and told as that',
  operator: 'shared',
  async run(world) {
    const operated = await Operated.begin(world);
    const leader = operated.cluster.client(await operated.cluster.leader());
    await leader.server('create database archived');
    await fill(leader.command.bind(leader));
    // Slowly, so that it is still under way when the others come.
    const slow = leader.ask(
      'POST',
      'server',
      {command: 'trigger backup archived', maxMBPerSecond: 0.05},
      {seconds: 120},
    );
    await sleep(1_000);
    await applyBackup(world, 'second');
    const {status} = await untilEnded(world, 'second', {seconds: 60});
    assert.equal(status?.phase, 'Skipped', JSON.stringify(status));
    await slow;
    await applyBackup(world, 'third');
    assert.equal((await untilEnded(world, 'third')).status?.phase, 'Completed');
    const health = await operated.condition('BackupHealthy');
    assert.equal(health?.status, 'Unknown', 'no schedule, and none that failed');
    world.note('the second was skipped beside the first, and the third completed behind it');
  },
};

async function fill(command: (database: string, text: string) => Promise<unknown>): Promise<void> {
  await command('archived', 'CREATE DOCUMENT TYPE Page');
  for (let page = 0; page < 40; page++) {
    const text = Array.from({length: 4_000}, (_, at) => (at * 7 + page * 13).toString(36)).join('');
    await command('archived', `INSERT INTO Page SET text = '${text}'`);
  }
}

export const missedTicks: Scenario = {
  id: 'E22',
  title: 'ticks of a suspended schedule, or without an operator, are one run at most',
  operator: 'own',
  async run(world) {
    const {lab, namespace, note} = world;
    await installOwnOperator(world);
    const operated = await Operated.apply(world);
    await (await operated.writer()).server('create database shop');
    await applySchedule(world, {...oftener, ...history, suspend: true});
    await sleep(20_000);
    assert.equal((await backupsOf(world)).length, 0, 'a suspended schedule begins nothing');
    await applySchedule(world, {...oftener, ...history, suspend: false});
    await sleep(3_000);
    const resumed = (await backupsOf(world)).length;
    assert.ok(resumed <= 1, `${resumed} runs at once`);
    await changeOperator(lab, {replicas: 0}, namespace);
    const before = (await backupsOf(world)).length;
    await sleep(45_000);
    await changeOperator(lab, {replicas: 1}, namespace);
    await sleep(12_000);
    const made = (await backupsOf(world)).length - before;
    // The one that makes up, and a tick that falls into these seconds.
    assert.ok(made >= 1 && made <= 2, `${made} runs behind an absence of three ticks`);
    note(`${resumed} runs when it was resumed, ${made} when the operator was back`);
  },
};
