/** Puts the operator of this checkout into the lab, as deploy/base describes it. */
import {readdirSync} from 'node:fs';
import {join} from 'node:path';
import {eventually} from '../eventually.ts';
import type {KubernetesObject} from '../lab/kubernetes.ts';
import type {Lab} from '../lab/lab.ts';

type Deployment = KubernetesObject & {
  readonly metadata: {readonly generation: number};
  readonly status?: {readonly observedGeneration?: number; readonly availableReplicas?: number};
};

const root = join(import.meta.dirname, '../..');
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  namespace: 'svc-system',
  name: 'svc-operator',
} as const;

/** What has to be in the checkout. */
export const operatorNeeds = ['operator/main.ts', 'deploy/base/kustomization.yaml'] as const;

/** The definitions of the resources alone. */
export async function applyDefinitions(lab: Lab): Promise<void> {
  const folder = join(root, 'crds');
  const files = readdirSync(folder).filter(name => name.startsWith('svc.io_'));
  for (const file of files) await lab.applyFiles(join(folder, file));
}

/** Resolves when it is available; one that is there already is brought up to date. */
export async function installOperator(lab: Lab): Promise<void> {
  await lab.applyFiles(join(root, 'deploy/base'), {kustomize: true});
  await eventually('the operator', async () => {
    const {metadata, status} = await lab.kubernetes.get<Deployment>(deployment);
    return status?.observedGeneration === metadata.generation && status.availableReplicas === 1;
  });
}
