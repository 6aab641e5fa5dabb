/** What the operator asks of servers, asked of three real ones: answers, changes and refusals. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {startSvcCluster, type SvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {rootPassword} from '#server/testing/worlds/server-process.ts';
import {AdminError, type ServerAddress} from './admin.ts';
import {HttpAdmin} from './http-admin.ts';

const token = 'a-token-of-this-cluster';
const admin = new HttpAdmin();
let cluster: SvcCluster;

before(async () => {
  cluster = await startSvcCluster({size: 3, settings: {'svc.ha.clusterToken': token}});
});

after(async () => {
  admin.close();
  await cluster.dispose();
});

function serverOf({url}: Member, more: Partial<ServerAddress> = {}): ServerAddress {
  const {hostname: host, port} = new URL(url);
  return {host, address: undefined, port: Number(port), password: rootPassword, ...more};
}

function refusedAs(reason: AdminError['reason'], words = /./): (error: unknown) => true {
  return error => {
    assert.ok(error instanceof AdminError, String(error));
    assert.equal(error.reason, reason, error.message);
    assert.match(error.message, words);
    return true;
  };
}

async function parts(): Promise<{readonly leader: Member; readonly follower: Member}> {
  const leader = await untilLed(cluster);
  const follower = cluster.members.find(({name}) => name !== leader.name);
  assert.ok(follower !== undefined);
  return {leader, follower};
}

test('all members tell of one cluster, one term and one leader', async () => {
  const {leader} = await parts();
  const reports = await Promise.all(cluster.members.map(one => admin.status(serverOf(one))));
  const [own] = reports.filter(({isReadyLeader}) => isReadyLeader);
  assert.ok(own !== undefined);
  assert.equal(own.peerId, (await admin.status(serverOf(leader))).peerId);
  for (const report of reports) {
    assert.deepEqual([report.clusterName, report.term], [own.clusterName, own.term]);
    assert.equal(report.leaderId, own.peerId);
  }
  assert.equal(
    own.peers.filter(({inConfiguration, isVoter}) => inConfiguration && isVoter).length,
    3,
  );
  await eventually('all are caught up', async () => {
    const {peers} = await admin.status(serverOf(leader));
    return peers.every(({id, lag, isStuck}) => id === own.peerId || (lag === 0 && !isStuck));
  });
});

test('an address takes the place of the host, and nobody there is silence', async () => {
  const [member] = cluster.members;
  assert.ok(member !== undefined);
  const {host} = serverOf(member);
  const moved = serverOf(member, {host: 'nobody.invalid', address: host});
  assert.ok((await admin.status(moved)).peerId.length > 0);
  await assert.rejects(admin.status(serverOf(member, {port: 1})), refusedAs('silent'));
});

test('a wrong password and a wrong token are refused, the right token is believed', async () => {
  const [member] = cluster.members;
  assert.ok(member !== undefined);
  const wrong = serverOf(member, {password: 'not-the-password'});
  await assert.rejects(admin.status(wrong), refusedAs('refused'));
  await assert.rejects(admin.status({...wrong, token: 'guess'}), refusedAs('refused'));
  assert.ok((await admin.status({...wrong, token})).peerId.length > 0);
});

test('leadership moves from the leader, and a follower says who leads', async () => {
  const {leader, follower} = await parts();
  const {peerId} = await admin.status(serverOf(follower));
  await admin.transferLeadership(serverOf(leader), peerId);
  await eventually('another leader', async () => {
    const report = await admin.status(serverOf(follower));
    return report.isReadyLeader && report.peerId === peerId;
  });
});

test('a member leaves and comes back, and what is so already is a conflict', async () => {
  const {leader, follower} = await parts();
  const {peerId} = await admin.status(serverOf(follower));
  await admin.removePeer(serverOf(leader), peerId);
  const left = await admin.status(serverOf(leader));
  assert.ok(!left.peers.some(({id, inConfiguration}) => id === peerId && inConfiguration));
  const [host = '', raft = ''] = peerId.split('_');
  const address = `${host}:${raft}:${serverOf(follower).port}`;
  const peer = {peerId, address, name: follower.name, priority: 0};
  await admin.addPeer(serverOf(leader), peer);
  await eventually('three voters', async () => {
    const {peers} = await admin.status(serverOf(leader));
    return peers.filter(({inConfiguration, isVoter}) => inConfiguration && isVoter).length === 3;
  });
});

test('archives are made, listed, restored and deleted', async () => {
  const server = serverOf((await parts()).leader);
  const client = cluster.clientOf((await parts()).leader);
  await client.createDatabase('music');
  assert.ok((await admin.databases(server)).includes('music'));
  const archive = await admin.triggerBackup(server, 'music', 60_000);
  assert.ok(archive.bytes > 0);
  assert.deepEqual(
    (await admin.listBackups(server, 'music')).map(({fileName}) => fileName),
    [archive.fileName],
  );
  assert.ok((await admin.archivedDatabases(server)).includes('music'));
  const from = {file: archive.fileName};
  await assert.rejects(
    admin.restoreDatabase(server, 'music', from),
    refusedAs('conflict', /exists/),
  );
  await client.dropDatabase('music');
  await admin.restoreDatabase(server, 'music', from);
  assert.ok((await admin.databases(server)).includes('music'));
  await assert.rejects(
    admin.restoreDatabase(server, 'other', {file: 'other-backup-1.zip'}),
    refusedAs('other', /no archive/),
  );
  await admin.deleteBackup(server, 'music', archive.fileName);
  assert.deepEqual(await admin.listBackups(server, 'music'), []);
});

test('a setting that is none is refused, one that is counts', async () => {
  const server = serverOf((await parts()).follower);
  await admin.setSetting(server, 'svc.ha.replicationLagWarning', '77');
  await assert.rejects(admin.setSetting(server, 'svc.nonsense', '1'), refusedAs('other'));
});

test('the token gives root another password', async () => {
  const {leader, follower} = await parts();
  const renewed = {password: 'another-password'};
  await admin.setRootPassword({...serverOf(follower, renewed), token});
  await eventually('the new password', async () => {
    await admin.status(serverOf(leader, renewed));
    return true;
  });
  await assert.rejects(admin.status(serverOf(leader)), refusedAs('refused'));
});
