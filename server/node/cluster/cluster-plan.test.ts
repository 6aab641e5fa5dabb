/** Who this server is in its cluster, as the settings say. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {type RawSetting, resolveSettings, type Settings} from '#server/base/setting-values.ts';
import {planCluster, raftOptions} from './cluster-plan.ts';

function settingsOf(values: Record<string, RawSetting>): Settings {
  const {settings, refused} = resolveSettings([{name: 'test', values}]);
  assert.deepEqual(refused, []);
  return settings;
}

const list = 'db-0,db-1:{priority:2},db-2:{raft:9}';
const pod = {'svc.ha.k8s': true, 'svc.ha.k8sSuffix': '.db.local', 'svc.ha.serverList': list};

const places: readonly (readonly [Record<string, RawSetting>, string])[] = [
  [{'svc.ha.serverList': list, 'svc.server.name': 'db-1'}, 'db-1_2434'],
  [{'svc.ha.serverList': list, 'svc.server.name': 'svc_2'}, 'db-2_9'],
  [{...pod, 'svc.server.name': 'db-0'}, 'db-0.db.local_2434'],
  [{...pod, 'svc.server.name': 'db-7'}, 'db-7.db.local_2434'],
  [{...pod, 'svc.server.name': 'db-7', 'svc.ha.raftPort': 77}, 'db-7.db.local_77'],
];

for (const [values, id] of places) {
  test(`${JSON.stringify(values)}: this server is ${id}`, () => {
    assert.equal(planCluster(settingsOf(values)).id, id);
  });
}

test('a pod beyond the list votes only when it was added', () => {
  const {membership, id} = planCluster(settingsOf({...pod, 'svc.server.name': 'db-7'}));
  assert.equal(membership.length, 3);
  assert.ok(!membership.some(member => member.id === id));
});

test('a server that the list does not name, and a replica of rank, do not start', () => {
  const unnamed = settingsOf({'svc.ha.serverList': list, 'svc.server.name': 'other'});
  assert.throws(() => planCluster(unnamed), {message: /which entry is this server, 'other'/});
  const role = {'svc.ha.serverRole': 'replica'};
  const ranked = {'svc.ha.serverList': list, 'svc.server.name': 'db-1', ...role};
  assert.throws(() => planCluster(settingsOf(ranked)), {
    code: 'start.refused',
    message: /priority 2, and svc.ha.serverRole is replica/,
  });
});

test('a replica never leads', () => {
  const options = (role: string) => raftOptions(settingsOf({'svc.ha.serverRole': role}), 'a', 1);
  assert.equal(options('replica').neverLeads, true);
  assert.equal(options('any').neverLeads, false);
});
