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
import {withoutSharedOperator} from '../../svc/operator.ts';
import type {Scenario, World} from '../scenario.ts';
import {
  accepted,
  changes,
  type Fields,
  laterChanges,
  nameTooLong,
  refused,
  schedules,
  shortest,
} from './spec-cases.ts';

type Definition = KubernetesObject & {
  readonly status?: {
    readonly conditions?: readonly {readonly type: string; readonly status: string}[];
  };
};

const group = 'svc.io/v1alpha1';
const definitions = {apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition'};

export const definitionsAccepted: Scenario = {
  id: 'E00',
  title: 'the API server takes the resource definitions and keeps their rules',
  operator: 'own',
  async run(world) {
    const {lab, namespace} = world;
    const {kubernetes} = lab;
    // What it makes is not to be carried out.
    await withoutSharedOperator(lab);
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
    const named = kubernetes.create(cluster('n'.repeat(64), {}), {isTrial: true});
    await compare('a long name', named, nameTooLong);
    await lookAtBackups(world);
    await lookAtTools(world);
    const counts = [accepted, refused, changes, schedules].map(table => Object.keys(table).length);
    const judged = (counts[2] ?? 0) + laterChanges.length;
    world.note(
      `${counts[0]} clusters accepted, ${counts[1]} refused, ${counts[3]} schedules and ` +
        `${judged} changes judged`,
    );
  },
};

async function lookAtBackups({lab, namespace}: World): Promise<void> {
  const {kubernetes} = lab;
  for (const [what, [spec, words]] of Object.entries(schedules)) {
    const metadata = {name: 'trial', namespace};
    const schedule = {apiVersion: group, kind: 'SvcBackupSchedule', metadata, spec};
    await compare(what, kubernetes.create(schedule, {isTrial: true}), words);
  }
  for (const [kind, before, then, words] of laterChanges) {
    const own = {apiVersion: group, kind};
    await kubernetes.create({...own, metadata: {name: 'kept', namespace}, spec: before});
    const reference = {...own, namespace, name: 'kept'};
    const change = kubernetes.patch(reference, {spec: then}, {isTrial: true});
    await compare(`a change of a ${kind}`, change, words);
  }
}

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
