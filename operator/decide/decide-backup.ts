/**
 * Decides for one SvcBackup: which databases are still to be asked for, and how it stands.
 *
 * The work itself is one long request a database, which the operator that began it waits for. One
 * that starts anew finds databases under way that nobody waits for: their archive is looked up by
 * the time at which it was asked for, and where there is none the database counts as failed. A run
 * is never begun a second time.
 */
import {checkSpec} from '#operator/api/check.ts';
import type {NewCondition} from '#operator/api/conditions.ts';
import type {KubeObject} from '#operator/api/kube-object.ts';
import {
  type BackupSpec,
  type BackupStatus,
  backupRules,
  backupSpec,
} from '#operator/api/svc-backup.ts';
import {conditionOf, type Judged} from './judged.ts';

export type DatabaseRun = NonNullable<BackupStatus['databases']>[number];
type Phase = NonNullable<BackupStatus['phase']>;

export interface BackupObservation {
  readonly object: KubeObject;
  readonly stamp: string;
  readonly hasCluster: boolean;
  /** Undefined: no server can say. */
  readonly databases: readonly string[] | undefined;
  /** Databases that this operator waits for. */
  readonly waitedFor: ReadonlySet<string>;
  /** Outcomes that came since the last look. */
  readonly outcomes: readonly DatabaseRun[];
}

export interface BackupDecision {
  readonly spec: BackupSpec | undefined;
  /** What is to be asked for now: the status with them under way is written first. */
  readonly begin: readonly string[];
  /** Runs under way that nobody waits for: their archives are looked up. */
  readonly lookUp: readonly DatabaseRun[];
  readonly status: BackupStatus;
  readonly condition: NewCondition;
  readonly isDone: boolean;
}

/** One at a time: archives share the disk and the network. */
const AT_ONCE = 1;

export function decideBackup(observed: BackupObservation): BackupDecision {
  const {object} = observed;
  const {value: spec, problems} = checkSpec(backupSpec, backupRules, {value: object.spec ?? {}});
  const before = (object.status ?? {}) as Partial<BackupStatus>;
  if (isEnded(before.phase)) return ended(observed, before);
  if (problems.length > 0) {
    return closed(observed, 'Failed', ['SpecInvalid', problems.join('; ')]);
  }
  if (!observed.hasCluster) {
    const message = `there is no SvcCluster ${spec.clusterRef.name}`;
    return closed(observed, 'Failed', ['ClusterMissing', message]);
  }
  const runs = runsOf(observed, spec, before);
  if (runs === undefined) {
    const verdict: Judged = ['NoLeader', 'no server tells which databases there are'];
    return going(observed, {spec, runs: before.databases ?? [], verdict});
  }
  if (runs.length === 0) {
    return closed(observed, 'Failed', ['BackupFailed', 'no database matches spec.databases']);
  }
  const left = runs.filter(({phase}) => !isEnded(phase));
  if (left.length > 0) return going(observed, {spec, runs, verdict: undefined});
  return finished(observed, runs);
}

function isEnded(phase: Phase | undefined): boolean {
  return phase !== undefined && phase !== 'Pending' && phase !== 'Running';
}

function runsOf(
  {databases, outcomes}: BackupObservation,
  spec: BackupSpec,
  before: Partial<BackupStatus>,
): readonly DatabaseRun[] | undefined {
  const known = before.databases ?? databases?.filter(name => isWanted(name, spec)).map(fresh);
  return known?.map(run => outcomes.find(({name}) => name === run.name) ?? run);
}

function fresh(name: string): DatabaseRun {
  const open = {pod: undefined, file: undefined, bytes: undefined, error: undefined};
  return {name, phase: 'Pending', ...open, startedAt: undefined, finishedAt: undefined};
}

function isWanted(name: string, {databases}: BackupSpec): boolean {
  if (databases.length === 0) return true;
  return databases.some(pattern =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

function going(
  observed: BackupObservation,
  {
    spec,
    runs,
    verdict,
  }: {
    readonly spec: BackupSpec;
    readonly runs: readonly DatabaseRun[];
    readonly verdict: Judged | undefined;
  },
): BackupDecision {
  const {waitedFor, stamp, object} = observed;
  const before = (object.status ?? {}) as Partial<BackupStatus>;
  const running = runs.filter(({phase}) => phase === 'Running');
  const pending = runs.filter(({phase}) => phase === 'Pending');
  const room = verdict === undefined ? Math.max(0, AT_ONCE - running.length) : 0;
  const begin = pending.slice(0, room).map(({name}) => name);
  const now = runs.map(
    (run): DatabaseRun =>
      begin.includes(run.name) ? {...run, phase: 'Running', startedAt: stamp} : run,
  );
  const done = runs.filter(({phase}) => isEnded(phase)).length;
  const said = verdict ?? ['BackupRunning', `${done} of ${runs.length} databases are done`];
  return {
    spec,
    begin,
    lookUp: running.filter(({name}) => !waitedFor.has(name)),
    condition: conditionOf('Succeeded', 'Unknown', said),
    status: {
      observedGeneration: object.metadata.generation,
      phase: runs.length === 0 ? 'Pending' : 'Running',
      conditions: undefined,
      startedAt: before.startedAt ?? (runs.length === 0 ? undefined : stamp),
      finishedAt: undefined,
      databases: [...now],
    },
    isDone: false,
  };
}

function finished(observed: BackupObservation, runs: readonly DatabaseRun[]): BackupDecision {
  const by = (phase: Phase): number => runs.filter(run => run.phase === phase).length;
  const [completed, failed] = [by('Completed'), by('Failed')];
  const message = `${completed} of ${runs.length} databases have their archive`;
  if (failed === 0 && completed === 0) {
    return closed(observed, 'Skipped', ['BackupSkipped', 'other backups were under way'], runs);
  }
  if (failed === 0) return closed(observed, 'Completed', ['BackupCompleted', message], runs);
  const phase = completed === 0 ? 'Failed' : 'PartiallyFailed';
  const errors = runs.flatMap(({name, error}) => (error === undefined ? [] : `${name}: ${error}`));
  const isOld = runs.every(({error}) => error?.includes(NOT_AVAILABLE) === true);
  const reason = isOld ? 'BackupNotAvailable' : 'BackupFailed';
  return closed(observed, phase, [reason, [message, ...errors].join('; ')], runs);
}

/** What the controller writes where a server does not know the command. */
export const NOT_AVAILABLE = 'the server does not take backups by command';

function closed(
  {object, stamp}: BackupObservation,
  phase: Phase,
  verdict: Judged,
  runs: readonly DatabaseRun[] = [],
): BackupDecision {
  const before = (object.status ?? {}) as Partial<BackupStatus>;
  const isWell = phase === 'Completed' || phase === 'Skipped';
  return {
    spec: undefined,
    begin: [],
    lookUp: [],
    condition: conditionOf('Succeeded', isWell ? 'True' : 'False', verdict),
    status: {
      observedGeneration: object.metadata.generation,
      phase,
      conditions: undefined,
      startedAt: before.startedAt ?? stamp,
      finishedAt: stamp,
      databases: [...runs],
    },
    isDone: true,
  };
}

/** It says for ever what it said at its end. */
function ended({object}: BackupObservation, before: Partial<BackupStatus>): BackupDecision {
  const old = before.conditions?.find(({type}) => type === 'Succeeded');
  const {status = 'Unknown', reason = 'BackupCompleted', message = ''} = old ?? {};
  return {
    spec: undefined,
    begin: [],
    lookUp: [],
    condition: {type: 'Succeeded', status, reason, message},
    status: {
      observedGeneration: object.metadata.generation,
      phase: before.phase,
      conditions: undefined,
      startedAt: before.startedAt,
      finishedAt: before.finishedAt,
      databases: before.databases,
    },
    isDone: true,
  };
}
