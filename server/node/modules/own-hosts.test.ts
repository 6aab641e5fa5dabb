/** The names by which the settings say that a server is reached. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {resolveSettings} from '#server/base/setting-values.ts';
import {ownHosts} from './own-hosts.ts';

const of = (values: Readonly<Record<string, string>>): readonly string[] =>
  ownHosts(resolveSettings([{name: 'test', values}]).settings);

test('a server is reached by where it listens and by its own place in the list of servers', () => {
  assert.deepEqual(of({'svc.server.httpIncomingHost': '0.0.0.0'}), []);
  assert.deepEqual(of({'svc.server.httpIncomingHost': '10.0.0.7'}), ['10.0.0.7']);
  const serverList = 'one@db-a.example,two@db-b.example:{http:2481},[fd00::7]:2434';
  const member = {'svc.server.httpIncomingHost': '::', 'svc.ha.serverList': serverList};
  assert.deepEqual(of({...member, 'svc.server.name': 'two'}), ['db-b.example']);
  assert.deepEqual(of({...member, 'svc.server.name': 'svc-2'}), ['fd00::7']);
  assert.deepEqual(of({...member, 'svc.server.name': 'x', 'svc.ha.enabled': 'false'}), []);
});

test('a pod is reached by its name in its domain', () => {
  const pods = {
    'svc.server.httpIncomingHost': '0.0.0.0',
    'svc.ha.k8s': 'true',
    'svc.ha.k8sSuffix': '.svc.ns.cluster.local',
    'svc.ha.serverList': 'svc-0,svc-1,svc-2',
  };
  const suffix = '.svc.ns.cluster.local';
  assert.deepEqual(of({...pods, 'svc.server.name': 'svc-1'}), [`svc-1${suffix}`]);
  assert.deepEqual(of({...pods, 'svc.server.name': 'svc-7'}), [`svc-7${suffix}`]);
});
