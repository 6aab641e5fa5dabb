/** Settings that contradict each other are refused by both names; single servers are left alone. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {isClusterWanted} from './cluster-wanted.ts';
import {contradictions} from './setting-checks.ts';
import {type RawSetting, resolveSettings, type Settings} from './setting-values.ts';

function settingsOf(values: Record<string, RawSetting>): Settings {
  const {settings, refused} = resolveSettings([{name: 'test', values}]);
  assert.deepEqual(refused, []);
  return settings;
}

const refusals = [
  [{'svc.ha.electionTimeoutMin': '6s'}, 'svc.ha.electionTimeoutMax', 'svc.ha.electionTimeoutMin'],
  [{'svc.ha.appendBufferSize': '40MB'}, 'svc.ha.writeBufferSize', 'svc.ha.appendBufferSize'],
  [{'svc.ha.grpcMessageSizeMax': '32MB'}, 'svc.ha.grpcMessageSizeMax', 'svc.ha.appendBufferSize'],
  [
    {'svc.ha.groupCommitMaxQueuedBytes': '100MB'},
    'svc.ha.groupCommitMaxQueuedBytes',
    'svc.ha.grpcMessageSizeMax',
  ],
] as const;

for (const [values, greater, lesser] of refusals) {
  test(`${Object.entries(values).join()} is refused because of ${lesser}`, () => {
    const [refused, ...more] = contradictions(settingsOf({...values, 'svc.ha.enabled': true}));
    assert.deepEqual(more, []);
    assert.equal(refused?.code, 'setting.value');
    assert.ok(refused.message.startsWith(`${greater} is `), refused.message);
    assert.ok(refused.message.includes(` and ${lesser} is `), refused.message);
    assert.deepEqual(contradictions(settingsOf(values)), []);
  });
}

test('the defaults contradict nothing, and a suffix begins with a dot', () => {
  assert.deepEqual(contradictions(settingsOf({'svc.ha.enabled': true})), []);
  const [refused] = contradictions(
    settingsOf({'svc.ha.enabled': true, 'svc.ha.k8sSuffix': 'svc.local'}),
  );
  assert.match(refused?.message ?? '', /begins with a dot/);
});

test('a list of members turns the cluster on, unless it is turned off', () => {
  const serverList = 'a:2434,b:2434';
  assert.equal(isClusterWanted(settingsOf({})), false);
  assert.equal(isClusterWanted(settingsOf({'svc.ha.serverList': serverList})), true);
  assert.equal(isClusterWanted(settingsOf({'svc.ha.serverList': ' '})), false);
  const off = {'svc.ha.serverList': serverList, 'svc.ha.enabled': false};
  assert.equal(isClusterWanted(settingsOf(off)), false);
});
