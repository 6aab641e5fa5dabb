/**
 * E00: the custom resource definitions are taken by a real API server, which keeps their rules:
 * what a person may write is accepted, what breaks a rule is refused in the words of that rule.
 *
 * It goes before all scenarios of the operator, since an API server that refuses a rule in CEL for
 * its cost would keep every one of them from starting.
 */
import assert from 'node:assert/strict';
import {eventually} from '../../eventually.ts';
import {type KubernetesObject, RefusedByApiServer} from '../../lab/kubernetes.ts';
import {applyDefinitions} from '../../svc/operator.ts';
import type {Scenario, World} from '../scenario.ts';

type Definition = KubernetesObject & {
  readonly status?: {
    readonly conditions?: readonly {readonly type: string; readonly status: string}[];
  };
};

type Fields = Readonly<Record<string, unknown>>;

const group = 'svc.io/v1alpha1';
const definitions = {apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition'};
const shortest = {version: '26.11.1', storage: {size: '10Gi'}};

const accepted: Readonly<Record<string, Fields>> = {
  'the shortest spec': {},
  'five members': {replicas: 5},
  'priorities by ordinal': {ha: {priorities: {0: 10, 2: 1}}},
  'a database from the start': {bootstrap: {initialize: {databases: ['shop']}}},
  'a copy of another cluster': {
    bootstrap: {recovery: {url: 'https://example.org/backup', databases: ['shop']}},
  },
  'settings of the server': {settings: {'svc.txRetries': '5'}},
};

const refused: Readonly<Record<string, readonly [Fields, RegExp]>> = {
  'no version': [{version: undefined}, /spec\.version: Required value/],
  'a version of another form': [{version: 'latest'}, /spec\.version/],
  'no members': [{replicas: 0}, /spec\.replicas/],
  'ten members': [{replicas: 10}, /spec\.replicas/],
  'a text for a number': [{replicas: 'three'}, /spec\.replicas/],
  'an unknown quorum': [{ha: {quorum: 'one'}}, /spec\.ha\.quorum/],
  'equal election times': [
    {ha: {electionTimeoutMs: {min: 500, max: 500}}},
    /electionTimeoutMs\.min must be below max/,
  ],
  'a priority by name': [{ha: {priorities: {first: 1}}}, /priorities are named by ordinal/],
  "the operator's own setting": [
    {settings: {'svc.ha.enabled': 'false'}},
    /settings holds a key of the operator's own/,
  ],
  'half the name of a setting': [{settings: {txRetries: '3'}}, /settings are named in full/],
  'two beginnings': [
    {bootstrap: {initialize: {databases: []}, recovery: {url: 'https://example.org/a'}}},
    /bootstrap needs either initialize or recovery/,
  ],
  'two sources': [
    {bootstrap: {recovery: {url: 'https://example.org/a', backupName: 'b'}}},
    /exactly one of backupName, claim and url/,
  ],
  'a log without a size': [
    {storage: {size: '1Gi', raft: {separate: true}}},
    /storage\.raft\.size is given when/,
  ],
  'keys without a Secret': [{tls: {mode: 'Secret'}}, /tls\.secretName is given when/],
};

const changes: Readonly<Record<string, readonly [Fields, RegExp | undefined]>> = {
  'a later patch': [{version: '26.11.3'}, undefined],
  'a later minor': [{version: '27.1.0'}, undefined],
  'an earlier minor': [{version: '26.10.9'}, /version cannot go below/],
  'more members': [{replicas: 5}, undefined],
  'a larger volume': [{storage: {size: '11Gi'}}, undefined],
  'a smaller volume': [{storage: {size: '9Gi'}}, /storage\.size cannot shrink/],
  'another storage class': [{storage: {storageClass: 'other'}}, /storageClass cannot change/],
  'another port': [{ha: {raftPort: 2500}}, /raftPort cannot change/],
  'another name': [{clusterName: 'other'}, /clusterName cannot change/],
};

export const definitionsAccepted: Scenario = {
  id: 'E00',
  title: 'the API server takes the resource definitions and keeps their rules',
  needs: ['crds/svc.io_svcclusters.yaml'],
  async run(world) {
    const {lab, namespace} = world;
    const {kubernetes} = lab;
    await applyDefinitions(lab);
    await eventually('established definitions', async () => {
      const present = await kubernetes.list<Definition>(definitions);
      const own = present.filter(({metadata}) => metadata.name.endsWith('.svc.io'));
      return own.length === 3 && own.every(isEstablished);
    });
    const cluster = (name: string, spec: Fields): KubernetesObject => ({
      apiVersion: group,
      kind: 'SvcCluster',
      metadata: {name, namespace},
      spec: {...shortest, ...spec},
    });
    // Rules come into force a moment behind the definitions.
    await eventually('a first cluster', async () => {
      await kubernetes.create(cluster('first', {}), {isTrial: true});
      return true;
    });
    for (const [what, spec] of Object.entries(accepted)) {
      await compare(what, kubernetes.create(cluster('trial', spec), {isTrial: true}), undefined);
    }
    for (const [what, [spec, words]] of Object.entries(refused)) {
      await compare(what, kubernetes.create(cluster('trial', spec), {isTrial: true}), words);
    }
    await kubernetes.create(cluster('kept', {}));
    const kept = {apiVersion: group, kind: 'SvcCluster', namespace, name: 'kept'};
    for (const [what, [spec, words]] of Object.entries(changes)) {
      await compare(what, kubernetes.patch(kept, {spec}, {isTrial: true}), words);
    }
    await lookAtTools(world);
    const counts = [accepted, refused, changes].map(table => Object.keys(table).length);
    world.note(`${counts[0]} specs accepted, ${counts[1]} refused, ${counts[2]} changes judged`);
  },
};

/** What a person sees: columns, scale, short names, explanations. */
async function lookAtTools({lab, namespace}: World): Promise<void> {
  const columns = (await lab.kubectl('get', 'svcc', '-n', namespace)).split('\n')[0] ?? '';
  assert.match(columns, /^NAME +PHASE +READY +REPLICAS +LEADER +VERSION +AGE/);
  await lab.kubectl('scale', 'svcc/kept', '-n', namespace, '--replicas=5');
  const scaled = ['get', 'svcc', 'kept', '-n', namespace, '-o', 'jsonpath={.spec.replicas}'];
  assert.equal(await lab.kubectl(...scaled), '5');
  const explained = await lab.kubectl('explain', 'svccluster.spec.storage');
  assert.match(explained, /size\s+<string> -required-/);
}

async function compare(what: string, answer: Promise<void>, words: RegExp | undefined) {
  const error = await answer.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (words === undefined) return assert.equal(error, undefined, `${what}: ${String(error)}`);
  assert.ok(error instanceof RefusedByApiServer, `${what} was not refused: ${String(error)}`);
  assert.equal(error.status, 422, what);
  assert.match(error.message, words, what);
}

function isEstablished({status}: Definition): boolean {
  const found = status?.conditions?.find(({type}) => type === 'Established');
  return found?.status === 'True';
}
