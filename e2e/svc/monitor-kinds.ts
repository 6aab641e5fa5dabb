/** Kinds of the Prometheus operator, without their fields: enough for objects to be there. */
import {eventually} from '../eventually.ts';
import type {KubernetesObject} from '../lab/kubernetes.ts';
import type {Lab} from '../lab/lab.ts';

const group = 'monitoring.coreos.com';
const plurals = {ServiceMonitor: 'servicemonitors', PrometheusRule: 'prometheusrules'} as const;

export const monitorKinds: readonly string[] = Object.keys(plurals);

/** Resolves when objects of them can be made. */
export async function defineMonitors(lab: Lab): Promise<void> {
  for (const [kind, plural] of Object.entries(plurals)) {
    await lab.kubernetes.apply(definition(kind, plural));
  }
  await eventually('the kinds of Prometheus', async () => {
    for (const kind of monitorKinds) {
      await lab.kubernetes.list({apiVersion: `${group}/v1`, kind});
    }
    return true;
  });
}

/** Takes them away, with all objects of them. */
export async function forgetMonitors(lab: Lab): Promise<void> {
  const names = Object.values(plurals).map(plural => `${plural}.${group}`);
  await lab.kubectl('delete', 'crd', '--ignore-not-found', ...names);
}

function definition(kind: string, plural: string): KubernetesObject {
  const schema = {
    openAPIV3Schema: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true},
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {name: `${plural}.${group}`},
    spec: {
      group,
      names: {kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List`},
      scope: 'Namespaced',
      versions: [{name: 'v1', served: true, storage: true, schema}],
    },
  };
}
