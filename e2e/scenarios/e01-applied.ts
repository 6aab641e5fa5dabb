/**
 * E01: the shortest SvcCluster becomes a cluster of three that takes writes, and when its leader is
 * killed its service for writes follows the next one.
 */
import assert from 'node:assert/strict';
import {eventually} from '../eventually.ts';
import type {KubernetesObject} from '../lab/kubernetes.ts';
import {Cluster} from '../svc/cluster.ts';
import {compareBooks, Ledger} from '../svc/ledger.ts';
import {installOperator, operatorNeeds} from '../svc/operator.ts';
import type {Scenario, World} from './scenario.ts';

type SvcCluster = KubernetesObject & {
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
};

const availableSecondsMax = 60;

export const appliedCluster: Scenario = {
  id: 'E01',
  title: 'an applied SvcCluster is available within 60 s, and its leader may die',
  needs: operatorNeeds,
  async run(world) {
    const {lab, namespace, version, note} = world;
    await installOperator(lab);
    const began = performance.now();
    await lab.kubernetes.apply({
      apiVersion: 'svc.io/v1alpha1',
      kind: 'SvcCluster',
      metadata: {name: 'db', namespace},
      spec: {version, storage: {size: '512Mi'}},
    });
    await untilAvailable(world, 'db');
    note(`from apply to Available: ${((performance.now() - began) / 1_000).toFixed(1)} s`);
    const secret = await lab.kubernetes.get<KubernetesObject & {data: {password: string}}>({
      apiVersion: 'v1',
      kind: 'Secret',
      namespace,
      name: 'db-root',
    });
    const rootPassword = Buffer.from(secret.data.password, 'base64').toString();
    const cluster = new Cluster(lab.kubernetes, {name: 'db', namespace, replicas: 3, rootPassword});
    await cluster.untilWhole();
    const columns = (
      await lab.kubectl('get', 'svcc', 'db', '-n', namespace, '--no-headers')
    ).trim();
    assert.match(columns, new RegExp(`^db +\\S+ +3 +3 +db-\\d +${version} `), columns);

    const ledger = await Ledger.open(await cluster.service('db-rw'));
    const leader = await cluster.leader();
    ledger.takeLongestGapMs();
    await cluster.delete(leader, 0);
    await cluster.replaced(leader);
    await cluster.untilWhole();
    note(`leader killed: longest gap through db-rw ${ledger.takeLongestGapMs()} ms`);
    await ledger.close();
    await compareBooks(cluster, ledger);
    note(`${ledger.acknowledged} entries on each of three members, once`);
  },
};

async function untilAvailable({lab, namespace}: World, name: string): Promise<void> {
  const reference = {apiVersion: 'svc.io/v1alpha1', kind: 'SvcCluster', namespace, name};
  const patience = {seconds: availableSecondsMax};
  await eventually(
    `an available ${name}`,
    async () => {
      const {status} = await lab.kubernetes.get<SvcCluster>(reference);
      const found = status?.conditions?.find(({type}) => type === 'Available');
      if (found?.status === 'True') return true;
      throw new Error(JSON.stringify(status?.conditions ?? 'it has no conditions'));
    },
    patience,
  );
}
