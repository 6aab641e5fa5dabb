/**
 * E32: the operator comes by `kubectl apply -k`, as docs/kubernetes/operator.md says, in each of
 * the kinds that deploy/ has; the one for its own namespace works without a right beyond it. What
 * the page shows as a manifest is taken by the API server.
 */
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import type {KubernetesObject} from '../../lab/kubernetes.ts';
import {Operated} from '../../svc/operated.ts';
import {installOperator, operatorLogs, removeOperator} from '../../svc/operator.ts';
import type {Scenario, World} from '../scenario.ts';
import {aboutOperator, blocksOf, commandsOf, typeIn} from './documented.ts';
import {defineMonitors, forgetMonitors} from '../../svc/monitor-kinds.ts';

const own = {replicas: 1, storage: {size: '300Mi'}};
const home = 'svc-system';
const development = join(import.meta.dirname, '../../../deploy/overlays/dev');
/** A cluster begins in a fraction of this. */
const ignoredMs = 15_000;

export const kustomizedOperator: Scenario = {
  id: 'E32',
  title: 'the operator comes by kustomize, for all namespaces, for its own, and with a monitor',
  operator: 'sole',
  async run(world) {
    const {lab, note} = world;
    const [whole, namespaced, monitored, ...more] = commandsOf(aboutOperator);
    assert.ok(whole !== undefined && namespaced !== undefined && monitored !== undefined);
    assert.deepEqual(more, [], 'a block that this scenario does not look at');
    try {
      await removeOperator(lab);
      await typeIn(lab, namespaced);
      await worksAtHomeAlone(world);
      await removeOperator(lab, [home]);
      await typeIn(lab, whole);
      await worksAnywhere(world);
      await defineMonitors(lab);
      await typeIn(lab, monitored);
      const kind = {
        apiVersion: 'monitoring.coreos.com/v1',
        kind: 'ServiceMonitor',
        namespace: home,
      };
      assert.equal((await lab.kubernetes.list(kind)).length, 1);
      await lab.applyFiles(development, {kustomize: true});
      await lab.kubectl('rollout', 'status', 'deployment/svc-operator', '-n', home);
      note(`three blocks of commands, and ${await manifestsTaken(world)} manifests of the page`);
    } finally {
      await forgetMonitors(lab);
      await removeOperator(lab);
      await installOperator(lab);
    }
  },
};

async function worksAtHomeAlone({lab, namespace, version}: World): Promise<void> {
  const operated = await Operated.apply({lab, namespace: home, version}, own);
  await operated.untilSettled();
  const cluster = {apiVersion: 'svc.io/v1alpha1', kind: 'SvcCluster'};
  const spec = {version, ...own};
  await lab.kubernetes.apply({...cluster, metadata: {name: 'db', namespace}, spec});
  await sleep(ignoredMs);
  const ignored = await lab.kubernetes.get<KubernetesObject & {readonly status?: object}>({
    ...cluster,
    namespace,
    name: 'db',
  });
  assert.equal(ignored.status, undefined, 'another namespace is left alone');
  assert.doesNotMatch(await operatorLogs(lab, home), /forbidden/i);
  await operated.remove();
}

/** The cluster that was left alone is looked after by the operator of all namespaces. */
async function worksAnywhere({lab, namespace, version}: World): Promise<void> {
  const operated = await Operated.find({lab, namespace, version}, 'db');
  await operated.untilSettled();
}

/** How many manifests of the page the API server would take. */
async function manifestsTaken({lab, namespace, version}: World): Promise<number> {
  const manifests = blocksOf(aboutOperator).filter(
    ({language, text}) => language === 'yaml' && text.startsWith('apiVersion:'),
  );
  for (const {text} of manifests) {
    const manifest = text.replace(/version: \d+\.\d+\.\d+/, `version: ${version}`);
    // Other names than those of what is there: a change of them is not what the page shows.
    const renamed = manifest.replace(/^ {2}name: .*$/m, '  name: shown');
    await lab.applyText(renamed, {isTrial: true, namespace});
  }
  assert.ok(manifests.length >= 2);
  return manifests.length;
}
