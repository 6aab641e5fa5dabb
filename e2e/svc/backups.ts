/** SvcBackups and SvcBackupSchedules of a scenario, as a person applies and reads them. */
import {eventually, type Patience} from '../eventually.ts';
import type {KubernetesObject} from '../lab/kubernetes.ts';
import type {Place} from './operated.ts';

export type SvcBackup = KubernetesObject & {
  readonly metadata: {readonly creationTimestamp: string};
  readonly status?: {
    readonly phase?: string;
    readonly databases?: readonly {
      readonly name: string;
      readonly phase: string;
      readonly pod?: string;
      readonly file?: string;
      readonly error?: string;
    }[];
  };
};

const group = 'svc.io/v1alpha1';
const ended = new Set(['Completed', 'PartiallyFailed', 'Failed', 'Skipped']);

export async function applyBackup({lab, namespace}: Place, name: string): Promise<void> {
  const spec = {clusterRef: {name: 'db'}};
  await lab.kubernetes.apply({
    apiVersion: group,
    kind: 'SvcBackup',
    metadata: {name, namespace},
    spec,
  });
}

/** @param spec - Beside the cluster. */
export async function applySchedule({lab, namespace}: Place, spec: object): Promise<void> {
  await lab.kubernetes.apply({
    apiVersion: group,
    kind: 'SvcBackupSchedule',
    metadata: {name: 'often', namespace},
    spec: {clusterRef: {name: 'db'}, ...spec},
  });
}

/** The backups, in the order in which they were made. */
export async function backupsOf({lab, namespace}: Place): Promise<readonly SvcBackup[]> {
  const all = await lab.kubernetes.list<SvcBackup>({
    apiVersion: group,
    kind: 'SvcBackup',
    namespace,
  });
  return all.toSorted((a, b) =>
    a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1,
  );
}

export function untilEnded(place: Place, name: string, patience?: Patience): Promise<SvcBackup> {
  const {lab, namespace} = place;
  const reference = {apiVersion: group, kind: 'SvcBackup', namespace, name};
  return eventually(
    `the end of the backup ${name}`,
    async () => {
      const found = await lab.kubernetes.get<SvcBackup>(reference);
      if (ended.has(found.status?.phase ?? '')) return found;
      throw new Error(JSON.stringify(found.status ?? 'it has no status'));
    },
    patience,
  );
}
