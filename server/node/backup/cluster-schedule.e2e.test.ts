/**
 * The schedule of a cluster: set once through any member and in force on all of them; made by the
 * leader, by every member, or by the one that is named; and by the next leader when one is lost in
 * the middle of a backup.
 */
import assert from 'node:assert/strict';
import {existsSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import type {Row} from '#server/client/client.ts';
import {ServerError} from '#server/client/server-error.ts';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {startSvcCluster, type SvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {temporaryRoot} from '#server/testing/worlds/server-process.ts';

const folder = temporaryRoot('cluster-schedule');
let cluster: SvcCluster;

before(async () => {
  // So that an archive of another member can be read where it lies.
  const settings = {'svc.opencypher.loadCsv.allowFileUrls': true};
  cluster = await startSvcCluster({size: 3, folder, settings});
  const leader = cluster.clientOf(await untilLed(cluster));
  await leader.createDatabase('music');
  await leader.command('music', 'CREATE VERTEX TYPE Artist');
  await leader.command('music', "INSERT INTO Artist SET name = 'Ada'");
});

after(async () => {
  await cluster.dispose();
  rmSync(folder, {recursive: true, force: true});
});

const schedule = {type: 'cron', expression: '* * * * * *'};

/** Each step has a directory of its own, so that what is under way of another does not count. */
function configurationFor(backupDirectory: string, defaults: Row): Row {
  return {backupDirectory, defaults: {schedule, retention: {maxFiles: 3}, ...defaults}};
}

function directoryOf(member: Member, backupDirectory: string): string {
  return join(folder, member.name, backupDirectory, 'music');
}

function filesOf(member: Member, backupDirectory: string): readonly string[] {
  const directory = directoryOf(member, backupDirectory);
  return existsSync(directory) ? readdirSync(directory) : [];
}

function archivesOf(member: Member, backupDirectory: string): readonly string[] {
  return filesOf(member, backupDirectory).filter(name => name.endsWith('.zip'));
}

function others(member: Member): readonly Member[] {
  return cluster.members.filter(({name}) => name !== member.name);
}

test('one that a follower is given is in force everywhere', async () => {
  const leader = await untilLed(cluster);
  const [follower] = others(leader);
  assert.ok(follower !== undefined);
  const asked = cluster.clientOf(follower);
  const bad = asked.serverCommand('set backup config', {config: {enabled: 1}});
  await assert.rejects(bad, error => error instanceof ServerError && error.status === 400);
  const config = configurationFor('led', {});
  await asked.serverCommand('set backup config', {config});
  for (const member of cluster.members) {
    await eventually(`${member.name} goes by it`, async () => {
      const answer = await cluster.clientOf(member).serverCommand('get backup config');
      assert.deepEqual([answer['enabled'], answer['config']], [true, config]);
      return true;
    });
    const file = readFileSync(join(folder, member.name, 'config/backup.json'), 'utf8');
    assert.deepEqual(JSON.parse(file), config);
  }
});

test('$leader: the leader makes the archives, and nobody else', async () => {
  const leader = await untilLed(cluster);
  await eventually('two archives', () => archivesOf(leader, 'led').length >= 2);
  for (const member of others(leader)) assert.deepEqual(filesOf(member, 'led'), [], member.name);
});

test('*: every member makes its own', async () => {
  const config = configurationFor('all', {runOnServer: '*'});
  await cluster.clientOf(await untilLed(cluster)).serverCommand('set backup config', {config});
  for (const member of cluster.members) {
    await eventually(`one of ${member.name}`, () => archivesOf(member, 'all').length > 0);
  }
});

test('a name: that member makes them, whoever leads', async () => {
  const leader = await untilLed(cluster);
  const [named, other] = others(leader);
  assert.ok(named !== undefined && other !== undefined);
  const config = configurationFor('named', {runOnServer: named.name});
  await cluster.clientOf(other).serverCommand('set backup config', {config});
  await eventually('two archives', () => archivesOf(named, 'named').length >= 2);
  for (const member of others(named)) assert.deepEqual(filesOf(member, 'named'), [], member.name);
});

test('a leader that is lost in the middle: the next one makes them', {
  timeout: 300_000,
}, async () => {
  const lost = await untilLed(cluster);
  const slow = configurationFor('lost', {maxMBPerSecond: 0.01});
  await cluster.clientOf(lost).serverCommand('set backup config', {config: slow});
  await eventually('a part of an archive', () =>
    filesOf(lost, 'lost').some(name => name.endsWith('.part')),
  );
  await lost.process.kill();
  const next = await untilLed(cluster);
  assert.notEqual(next.name, lost.name);
  const quick = configurationFor('lost', {});
  await cluster.clientOf(next).serverCommand('set backup config', {config: quick});
  await eventually('an archive of the next leader', () => archivesOf(next, 'lost').length > 0);

  lost.process.start();
  await eventually('the lost one goes by the new configuration and has tidied up', async () => {
    const answer = await cluster.clientOf(lost).serverCommand('get backup config');
    assert.deepEqual(answer['config'], quick);
    assert.deepEqual(filesOf(lost, 'lost'), []);
    return true;
  });
  const off = {...quick, enabled: false};
  await cluster.clientOf(next).serverCommand('set backup config', {config: off});
  const leader = cluster.clientOf(await untilLed(cluster));
  const [archive] = archivesOf(next, 'lost');
  const path = `file://${join(directoryOf(next, 'lost'), String(archive))}`;
  const checked = await leader.serverCommand(`restore database music ${path}`, {verify: true});
  assert.match(String(checked['message']), /is whole/);
  assert.deepEqual(await leader.databases(), ['music']);
});
