/**
 * E28: the definitions of the Prometheus operator come after the operator was installed: an upgrade
 * of the release adds its monitors, rules and dashboard, and the operator itself is not restarted.
 *
 * The definitions are those of the kinds alone, without their fields.
 */
import assert from 'node:assert/strict';
import {join} from 'node:path';
import type {KubernetesObject} from '../../lab/kubernetes.ts';
import {isReady, type Pod} from '../../svc/cluster.ts';
import {OperatorPod, withoutSharedOperator} from '../../svc/operator.ts';
import type {Scenario, World} from '../scenario.ts';
import {defineMonitors, monitorKinds} from '../../svc/monitor-kinds.ts';

const chart = join(import.meta.dirname, '../../../charts/svc-operator');

export const monitoringLater: Scenario = {
  id: 'E28',
  title: 'monitors come with their definitions, later than the operator, without a restart of it',
  operator: 'own',
  async run(world) {
    const {lab, namespace, note} = world;
    await withoutSharedOperator(lab);
    const place = ['svc', chart, '-n', namespace, '--wait', '--timeout', '120s'];
    const values = [`watchNamespaces={${namespace}}`, 'crds.install=false'];
    const set = (more: readonly string[]): string[] =>
      [...values, ...more].flatMap(value => ['--set', value]);
    await lab.helm('install', ...place, ...set([]));
    const before = await operatorIn(world);
    await defineMonitors(lab);
    const enabled = ['serviceMonitor', 'prometheusRule', 'dashboard'].map(
      one => `metrics.${one}.enabled=true`,
    );
    await lab.helm('upgrade', ...place, ...set(enabled));
    for (const kind of monitorKinds) {
      const reference = {apiVersion: 'monitoring.coreos.com/v1', kind, namespace};
      const found = await lab.kubernetes.list<KubernetesObject>(reference);
      assert.equal(found.length, 1, kind);
    }
    const after = await operatorIn(world);
    assert.equal(after.metadata.uid, before.metadata.uid, 'the operator is not restarted');
    assert.ok((await new OperatorPod(after).metric('svc_operator_leader')) >= 0);
    note('monitor, rules and dashboard are there, and the operator is the same pod');
    await lab.helm('uninstall', 'svc', '-n', namespace, '--wait');
  },
};

async function operatorIn({lab, namespace}: World): Promise<Pod> {
  const pods = await lab.kubernetes.list<Pod>({apiVersion: 'v1', kind: 'Pod', namespace});
  const [pod, ...more] = pods.filter(isReady);
  assert.ok(pod !== undefined && more.length === 0, `${pods.length} pods of the operator`);
  return pod;
}
