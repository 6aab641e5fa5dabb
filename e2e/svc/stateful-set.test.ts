/**
 * The StatefulSet that is written by hand: its settings are the server's, it asks for no right that
 * the strictest standard forbids, and its parts know each other by the right names.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {environmentName, resolveSettings} from '#server/base/setting-values.ts';
import {contradictions} from '#server/base/setting-checks.ts';
import {settingKeys} from '#server/base/settings.ts';
import {planCluster} from '#server/node/cluster/cluster-plan.ts';
import {environmentOf, type Members, ports, statefulSet} from './stateful-set.ts';

const members: Members = {
  name: 'db',
  namespace: 'shop',
  replicas: 3,
  image: 'svc/server:1.2.3',
  rootPassword: 'not-in-the-pod',
  token: 'nor-this',
};

test('every setting of a pod is one of the server, with a value that it takes', () => {
  const byName = new Map(settingKeys.map(key => [environmentName(key), key]));
  const environment = environmentOf(members);
  const unknown = Object.keys(environment).filter(name => !byName.has(name));
  assert.deepEqual(unknown, []);
  const values = Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [byName.get(name) ?? '', value]),
  );
  const {settings, refused} = resolveSettings([{name: 'the pod', values}]);
  assert.deepEqual([...refused, ...contradictions(settings)], []);
  for (let ordinal = 0; ordinal < members.replicas; ordinal++) {
    const {id, peers} = planCluster(settings.with('svc.server.name', `db-${ordinal}`, 'HOSTNAME'));
    assert.equal(id, `db-${ordinal}.db-headless.shop.svc.cluster.local_${ports.raft}`);
    assert.equal(peers.length, members.replicas);
  }
});

test('secrets reach a pod as files alone', () => {
  const objects = statefulSet(members);
  const holding = objects.filter(object => JSON.stringify(object).includes(members.token));
  assert.deepEqual(
    holding.map(({kind}) => kind),
    ['Secret'],
  );
  assert.ok(!JSON.stringify(environmentOf(members)).includes(members.rootPassword));
});

test('the services and the budget choose the pods of the StatefulSet', () => {
  const objects = statefulSet(members);
  const set = objects.find(({kind}) => kind === 'StatefulSet') as unknown as {
    spec: {
      serviceName: string;
      selector: {matchLabels: object};
      template: {metadata: {labels: object}};
    };
  };
  const {labels} = set.spec.template.metadata;
  assert.deepEqual(set.spec.selector.matchLabels, labels);
  for (const {kind, spec} of objects as unknown as {kind: string; spec: {selector: object}}[]) {
    if (kind === 'Service') assert.deepEqual(spec.selector, labels);
    if (kind === 'PodDisruptionBudget') assert.deepEqual(spec.selector, {matchLabels: labels});
  }
  assert.ok(objects.some(({metadata}) => metadata.name === set.spec.serviceName));
});
