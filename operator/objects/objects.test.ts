/**
 * The objects of three clusters as they were last looked at (testdata/, rewritten with
 * `REWRITE=1`), and what must hold of the objects of every cluster.
 */
import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {dumpYaml, loadYaml} from '@kubernetes/client-node';
import {parse} from 'yaml';
import {isSettingKey} from '#server/base/settings.ts';
import {resolveSettings} from '#server/base/setting-values.ts';
import {checkCluster} from '#operator/api/cluster-check.ts';
import {ownedSettings} from '#operator/api/cluster-rules.ts';
import {
  at,
  canonicalJson,
  type JsonMap,
  type KubeObject,
  listAt,
} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {clusterObject} from '#operator/api/testing-cluster.ts';
import {yamlOf} from '#operator/testing/resource-files.ts';
import {configMap, generatedSecret, initialMembersIn} from './configuration.ts';
import {ordinalOf, ordinalOfPeer, peerIdOf} from './names.ts';
import {podTemplate} from './pod-template.ts';
import {disruptionBudget, networkPolicy} from './protection.ts';
import {headlessService, readService, serviceAccount, writeService} from './services.ts';
import {defaultOf, divided, settingsOf} from './settings.ts';
import {statefulSet} from './stateful-set.ts';

function clusterOf(spec: JsonMap): SvcCluster {
  const {cluster, problems} = checkCluster(clusterObject(spec));
  assert.deepEqual(problems, []);
  return cluster;
}

const template = (cluster: SvcCluster, restartAt?: string) =>
  podTemplate(cluster, {initial: [0, 1, 2], restartAt});

function allObjects(cluster: SvcCluster): readonly KubeObject[] {
  const {replicas} = cluster.spec;
  return [
    serviceAccount(cluster),
    generatedSecret(cluster, 'root', 'chance'),
    generatedSecret(cluster, 'token', 'chance'),
    configMap(cluster, [0, 1, 2]),
    headlessService(cluster),
    writeService(cluster),
    readService(cluster),
    disruptionBudget(cluster, replicas),
    networkPolicy(cluster),
    statefulSet(cluster, template(cluster), replicas),
  ].filter(object => object !== undefined);
}

const specs: Readonly<Record<string, JsonMap>> = {
  small: {replicas: 1, networkPolicy: {enabled: false}},
  usual: {bootstrap: {initialize: {databases: ['shop', 'music']}}},
  everything: {
    replicas: 5,
    clusterName: 'west',
    image: {
      repository: 'example.test/svc',
      digest: `sha256:${'a'.repeat(64)}`,
      pullSecrets: ['key'],
    },
    ha: {quorum: 'all', raftPort: 2500, priorities: {0: 2, 1: 1}},
    storage: {size: '10Gi', storageClass: 'fast', raft: {separate: true, size: '4Gi'}},
    backups: {volume: {size: '50Gi', storageClass: 'slow'}},
    settings: {'svc.txRetries': '7', 'svc.network.connectionsMax': '500'},
    secrets: {root: {name: 'mine'}, clusterToken: {name: 'mine', key: 'cluster'}},
    tls: {mode: 'Secret', secretName: 'keys'},
    services: {rw: {type: 'LoadBalancer', annotations: {a: 'b'}}, ro: {labels: {c: 'd'}}},
    podTemplate: {
      labels: {team: 'shop'},
      resources: {limits: {memory: '2Gi'}},
      nodeSelector: {disk: 'nvme'},
      tolerations: [{key: 'db', operator: 'Exists'}],
      topologySpread: [{maxSkew: 1, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule'}],
      priorityClassName: 'high',
      env: [{name: 'TZ', value: 'UTC'}],
    },
  },
};

for (const [name, spec] of Object.entries(specs)) {
  const objects = allObjects(clusterOf(spec));

  test(`the objects of ${name} are those of testdata/${name}.yaml`, () => {
    const file = join(import.meta.dirname, `testdata/${name}.yaml`);
    const text = objects.map(yamlOf).join('---\n');
    if (process.env['REWRITE'] === '1') writeFileSync(file, text);
    assert.equal(text, readFileSync(file, 'utf8'));
  });

  test(`every field of ${name} is one that Kubernetes knows`, () => {
    for (const object of objects) {
      // The library's models drop what they do not know.
      const back: unknown = parse(dumpYaml(loadYaml(yamlOf(object))));
      assert.equal(canonicalJson(back), canonicalJson(object), object.kind);
    }
  });

  test(`the pods of ${name} may run where the restricted standard is enforced`, () => {
    const {template: pod} = template(clusterOf(spec));
    assert.equal(at(pod, 'spec', 'securityContext', 'runAsNonRoot'), true);
    assert.equal(at(pod, 'spec', 'securityContext', 'seccompProfile', 'type'), 'RuntimeDefault');
    for (const container of listAt(pod, 'spec', 'containers')) {
      const context = at(container, 'securityContext');
      assert.equal(at(context, 'allowPrivilegeEscalation'), false);
      assert.equal(at(context, 'readOnlyRootFilesystem'), true);
      assert.deepEqual(at(context, 'capabilities'), {drop: ['ALL']});
    }
    const kinds = listAt(pod, 'spec', 'volumes').flatMap(volume => Object.keys(Object(volume)));
    const allowed = ['name', 'configMap', 'secret', 'emptyDir', 'persistentVolumeClaim'];
    assert.deepEqual(
      [...new Set(kinds)].filter(kind => !allowed.includes(kind)),
      [],
    );
  });

  test(`the settings of ${name} are accepted by the server's own table`, () => {
    const values = settingsOf(clusterOf(spec), [0, 1, 2]);
    const {refused} = resolveSettings([{name: 'operator', values}]);
    assert.deepEqual(
      refused.map(({message}) => message),
      [],
    );
    for (const key of Object.keys(values)) {
      const isGiven = key in Object(spec['settings'] ?? {});
      assert.ok(isGiven || (ownedSettings as readonly string[]).includes(key), `${key} is owned`);
    }
  });
}

test('settings that are owned are settings', () => {
  for (const key of ownedSettings) assert.ok(isSettingKey(key), key);
});

test('a setting goes back to a default that the server accepts', () => {
  for (const key of ['svc.txRetries', 'svc.txTimeout', 'svc.txSizeMax', 'svc.log.level']) {
    const {refused} = resolveSettings([{name: 'back', values: {[key]: defaultOf(key)}}]);
    assert.deepEqual(refused, [], key);
  }
});

const hashes: readonly (readonly [string, JsonMap, boolean])[] = [
  ['another version', {version: '26.11.2'}, true],
  ['another setting that needs a restart', {settings: {'svc.network.connectionsMax': '9'}}, true],
  ['another setting that does not', {settings: {'svc.txRetries': '9'}}, false],
  ['another priority', {ha: {priorities: {1: 4}}}, true],
  ['another number of members', {replicas: 5}, false],
  ['a larger volume', {storage: {size: '20Gi'}}, false],
  ['another Service', {services: {rw: {type: 'NodePort'}}}, false],
  ['more memory', {podTemplate: {resources: {limits: {memory: '1Gi'}}}}, true],
  ['another rule of upgrades', {upgrade: {settleSeconds: 1}}, false],
];

for (const [what, spec, isNew] of hashes) {
  test(`${what} ${isNew ? 'replaces' : 'does not replace'} pods`, () => {
    const before = template(clusterOf({})).hash;
    assert.equal(template(clusterOf(spec)).hash !== before, isNew);
  });
}

test('a new word for restarts replaces pods, a member that joins does not', () => {
  const cluster = clusterOf({});
  assert.notEqual(template(cluster, 'now').hash, template(cluster).hash);
  const others = podTemplate(cluster, {initial: [0], restartAt: undefined});
  assert.equal(others.hash, template(cluster).hash);
});

test('settings divide into those that a running server takes and the others', () => {
  const {dynamic, fixed} = divided(settingsOf(clusterOf(specs['everything'] ?? {}), [0]));
  assert.equal(dynamic['svc.txRetries'], '7');
  assert.equal(fixed['svc.network.connectionsMax'], '500');
});

test('names lead to ordinals and back, and those of others to none', () => {
  const cluster = clusterOf({});
  assert.equal(ordinalOf(cluster, 'db-2'), 2);
  assert.equal(ordinalOf(cluster, 'data-db-11', 'data'), 11);
  for (const name of ['db-02', 'db--1', 'db-x', 'dbx-1', 'db', 'data-db-1']) {
    assert.equal(ordinalOf(cluster, name), undefined, name);
  }
  assert.equal(ordinalOfPeer(cluster, peerIdOf(cluster, 4)), 4);
  assert.equal(ordinalOfPeer(cluster, 'db-4.x-headless.shop.svc.local_2434'), undefined);
});

test('a budget lets as many go as the quorum can do without', () => {
  const minAvailable = [1, 2, 3, 4, 5, 7, 9].map(replicas =>
    at(disruptionBudget(clusterOf({replicas}), replicas), 'spec', 'minAvailable'),
  );
  assert.deepEqual(minAvailable, [undefined, 2, 2, 3, 3, 4, 5]);
});

test('who began a cluster is read back from its ConfigMap', () => {
  const cluster = clusterOf({});
  assert.deepEqual(initialMembersIn(configMap(cluster, [0, 1, 2])), [0, 1, 2]);
  assert.equal(initialMembersIn(undefined), undefined);
  assert.equal(initialMembersIn(clusterObject()), undefined);
});

test('the data lie on the volume, whatever the image says of their place', () => {
  const cluster = clusterOf({});
  const [container] = listAt(template(cluster).template, 'spec', 'containers');
  const mounts = listAt(container, 'volumeMounts');
  const data = mounts.find(one => at(one, 'name') === 'data');
  const place = listAt(container, 'env').find(one => at(one, 'name') === 'SVC_SERVER_ROOTPATH');
  const image = readFileSync(join(import.meta.dirname, '../../images/server.Dockerfile'), 'utf8');
  const said = /ENV SVC_SERVER_ROOTPATH=(\S+)/.exec(image)?.[1];
  assert.deepEqual([at(data, 'mountPath'), at(place, 'value')], [said, said]);
  assert.equal(settingsOf(cluster, [0])['svc.server.rootPath'], said);
});
