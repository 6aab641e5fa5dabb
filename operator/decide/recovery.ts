/**
 * Begins a cluster with databases out of backups (`spec.bootstrap.recovery`).
 *
 * One member begins alone, with the archives on a volume or at an address; it restores them one
 * after the other, starts anew without that volume, and only then do the others join and do clients
 * find a leader. A database that is there is never restored again, so that an operator which starts
 * in the middle goes on where the servers are. An archive that cannot be used stops everything
 * until a person asks for another try: the server that holds what was restored is left to see.
 */
import {annotations} from '#operator/api/group.ts';
import type {RecoveryStatus} from '#operator/api/cluster-status.ts';
import {annotationOf, type KubeObject, listAt, textAt} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {isRecoveredIn} from '#operator/objects/configuration.ts';
import {names} from '#operator/objects/names.ts';
import type {ArchiveVolume} from '#operator/objects/pod-template.ts';
import type {Action, RestoreFrom} from './decision.ts';
import type {ClaimFacts, Observation, RecoveryFacts, RecoverySource} from './observation.ts';
import {type Plan, type Situation, waiting} from './plan.ts';
import {planUpgrade} from './concerns/upgrade.ts';

type Begun = Pick<Observation, 'cluster' | 'live'> & {
  readonly claims: readonly Pick<ClaimFacts, 'isOrphaned'>[];
};

/**
 * Whether a recovery is wanted and not over. A cluster whose claims were there before it has its
 * data, whatever it was once made from.
 */
export function isRecovering({cluster, live, claims}: Begun): boolean {
  if (cluster.spec.bootstrap?.recovery === undefined) return false;
  const {recovery} = cluster.status ?? {};
  if (recovery?.phase === 'Completed') return false;
  if (isRecoveredIn(live.get(`ConfigMap/${names.config(cluster)}`))) return false;
  return recovery !== undefined || claims.length === 0;
}

/** Whether the template has the volume with the archives. */
export function archiveVolumeOf({recovery, cluster}: Observation): ArchiveVolume | undefined {
  const isRestored = cluster.status?.recovery?.phase === 'Restored';
  if (isRestored || recovery?.source.kind !== 'claim') return undefined;
  return recovery.source.volume;
}

/**
 * Finds the archives.
 *
 * @param find - An object of the namespace by its kind and name.
 */
export function sourceOf(
  {spec, metadata}: SvcCluster,
  find: (
    kind: 'SvcBackup' | 'SvcCluster' | 'PersistentVolumeClaim',
    name: string,
  ) => KubeObject | undefined,
): RecoverySource {
  const recovery = spec.bootstrap?.recovery;
  if (recovery?.url !== undefined) return {kind: 'address', base: recovery.url};
  if (recovery?.claim !== undefined) {
    const {name, path} = recovery.claim;
    const subPath = path === '.' ? undefined : path;
    return {kind: 'claim', volume: {claim: name, subPath}, files: undefined};
  }
  const name = recovery?.backupName ?? '';
  const backup = find('SvcBackup', name);
  if (backup === undefined)
    return missing(`there is no SvcBackup ${name} in ${metadata.namespace}`);
  const done = listAt(backup.status, 'databases').filter(
    one => textAt(one, 'phase') === 'Completed',
  );
  if (done.length === 0) return missing(`the SvcBackup ${name} has no archive`);
  const pods = new Set(done.map(one => textAt(one, 'pod') ?? ''));
  const shared = textAt(
    find('SvcCluster', textAt(backup.spec, 'clusterRef', 'name') ?? '')?.spec,
    'backups',
    'volume',
    'sharedClaim',
  );
  const [pod = ''] = pods;
  const files = new Map(done.map(one => [textAt(one, 'name') ?? '', textAt(one, 'file') ?? '']));
  if (shared !== undefined) {
    return {kind: 'claim', volume: {claim: shared, subPath: undefined}, files};
  }
  if (pods.size > 1) {
    return missing(
      `the archives of ${name} lie on the volumes of ${[...pods].join(' and ')}: name one of ` +
        'them with bootstrap.recovery.claim, or copy them to one',
    );
  }
  const own = `backups-${pod}`;
  if (find('PersistentVolumeClaim', own) !== undefined) {
    return {kind: 'claim', volume: {claim: own, subPath: undefined}, files};
  }
  const data = `data-${pod}`;
  if (find('PersistentVolumeClaim', data) === undefined) {
    return missing(
      `there is no claim ${own} or ${data}, on which the archives of ${name} would be`,
    );
  }
  return {kind: 'claim', volume: {claim: data, subPath: 'backups'}, files};
}

function missing(message: string): RecoverySource {
  return {kind: 'missing', message};
}

export interface Recovered {
  readonly plan: Plan;
  readonly status: RecoveryStatus;
}

/** What is next of a recovery whose source is there. */
export function planRecovery(situation: Situation, facts: RecoveryFacts): Recovered {
  const {observed, agreement} = situation;
  const before = observed.cluster.status?.recovery;
  const retry = annotationOf(observed.object, annotations.retryRecovery);
  if (before?.phase === 'Restored') return settled(situation, before);
  const isAsked = retry !== undefined && retry !== before?.retry;
  const base = {retry, databases: isAsked ? [] : (before?.databases ?? [])};
  const told = {type: 'Recovery', target: undefined} as const;
  if (agreement.kind !== 'agreed' || facts.present === undefined) {
    const message = 'the first member starts alone, beside the archives';
    return {
      plan: waiting({...told, step: 'Seed', message}),
      status: {...base, phase: 'Restoring'},
    };
  }
  const wanted = wantedOf(observed.cluster, facts);
  if (wanted === undefined) {
    const message = 'the first member says which archives there are';
    return {
      plan: waiting({...told, step: 'Seed', message}),
      status: {...base, phase: 'Restoring'},
    };
  }
  return restoring(situation, {...facts, present: facts.present}, {wanted, ...base});
}

interface Wanted extends Pick<RecoveryStatus, 'retry' | 'databases'> {
  readonly wanted: readonly string[];
}

function restoring(
  {agreement}: Situation,
  {present, running, failures, source}: RecoveryFacts & {readonly present: readonly string[]},
  {wanted, retry, databases: before}: Wanted,
): Recovered {
  const databases = wanted.map(name => {
    if (present.includes(name)) return {name, phase: 'Restored' as const, error: undefined};
    const error = failures.get(name) ?? before.find(one => one.name === name)?.error;
    return {name, phase: error === undefined ? ('Pending' as const) : ('Failed' as const), error};
  });
  const told = {type: 'Recovery', target: undefined, step: 'Restore'} as const;
  const failed = databases.find(({phase}) => phase === 'Failed');
  if (wanted.length === 0 || failed !== undefined) {
    const message =
      failed === undefined
        ? 'the volume of bootstrap.recovery holds no archives: <path>/<database>/<archive>.zip'
        : `${failed.name}: ${failed.error}`;
    return {
      plan: waiting({...told, step: 'Failed', message}, {isStalled: true}),
      status: {phase: 'Failed', databases, retry},
    };
  }
  const next = databases.find(({phase}) => phase === 'Pending');
  if (next === undefined) {
    const message = `${wanted.length} databases are restored`;
    return {
      plan: waiting({...told, step: 'Restored', message}, {recheckMs: 0}),
      status: {phase: 'Restored', databases, retry},
    };
  }
  const message = `${next.name} is restored, one of ${wanted.length}`;
  const begin: readonly Action[] =
    running !== undefined || agreement.kind !== 'agreed' || source.kind === 'missing'
      ? []
      : [
          {
            kind: 'restore-database',
            peerId: agreement.leader,
            database: next.name,
            from: placeOfArchive(source, next.name),
          },
        ];
  return {
    plan: {
      ...waiting({...told, message}),
      actions: begin,
      told: begin.length === 0 ? [] : [{reason: 'Recovering', message}],
    },
    status: {phase: 'Restoring', databases, retry},
  };
}

function placeOfArchive(
  source: Exclude<RecoverySource, {kind: 'missing'}>,
  database: string,
): RestoreFrom {
  if (source.kind === 'claim') return {kind: 'archive', file: source.files?.get(database)};
  const base = source.base.replace(/\/+$/, '');
  return {kind: 'address', url: `${base}/${encodeURIComponent(database)}.zip`};
}

/** Which databases are to be there; undefined while the volume was not looked at. */
function wantedOf(
  {spec}: SvcCluster,
  {source, offered}: RecoveryFacts,
): readonly string[] | undefined {
  const given = spec.bootstrap?.recovery?.databases ?? [];
  if (source.kind === 'claim' && source.files !== undefined) {
    const held = [...source.files.keys()];
    // One that the backup lacks is asked for all the same: the server says that there is none.
    return given.length === 0 ? held : given;
  }
  return given.length > 0 ? given : offered;
}

/** Everything is restored: the member starts anew without the archives. */
function settled(situation: Situation, before: RecoveryStatus): Recovered {
  const upgrade = planUpgrade(situation);
  const isWell =
    situation.agreement.kind === 'agreed' && situation.members.every(one => one.isHealthy);
  if (upgrade !== undefined || !isWell) {
    const message = 'the first member starts anew without the archives';
    const told = {type: 'Recovery', target: undefined, step: 'Restart'} as const;
    return {
      plan: {...waiting({...told, message}), actions: upgrade?.actions ?? []},
      status: before,
    };
  }
  const message = `${before.databases.length} databases are there, and the other members join`;
  const told = {type: 'Recovery', target: undefined, step: 'Done'} as const;
  return {
    plan: {
      ...waiting({...told, message}, {recheckMs: 0}),
      told: [{reason: 'RecoveryCompleted', message}],
    },
    status: {...before, phase: 'Completed'},
  };
}
