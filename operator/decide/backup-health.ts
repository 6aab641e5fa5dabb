/**
 * Whether a cluster is backed up as its schedules say: the condition BackupHealthy, and the backup
 * that ended last.
 *
 * What matters is the age of the last good backup, not whether a run was seen to fail: a schedule
 * that never worked, or whose operator was away, is as bad as one that fails.
 */
import type {ClusterStatus} from '#operator/api/cluster-status.ts';
import type {NewCondition} from '#operator/api/conditions.ts';
import {nextTick, parseCron} from './cron.ts';
import {conditionOf, type Judged} from './judged.ts';

/** A SvcBackupSchedule of the cluster. Times are milliseconds since 1970. */
export interface ScheduleFacts {
  readonly name: string;
  readonly expression: string;
  readonly isSuspended: boolean;
  readonly startingDeadlineMs: number;
  readonly createdMs: number;
  /** The moment of the last run that had an archive of every database. */
  readonly lastSuccessMs: number | undefined;
}

/** A SvcBackup of the cluster. */
export interface BackupFacts {
  readonly name: string;
  /** Undefined: a person asked for it. */
  readonly schedule: string | undefined;
  readonly phase: string;
  readonly createdMs: number;
  /** RFC 3339; undefined while it runs. */
  readonly finishedAt: string | undefined;
}

export interface BackupsSeen {
  readonly nowMs: number;
  readonly schedules: readonly ScheduleFacts[];
  readonly backups: readonly BackupFacts[];
}

type Verdict = readonly [status: NewCondition['status'], judged: Judged];

const FAILED = new Set(['Failed', 'PartiallyFailed']);

/** The worst of what its schedules come to. */
export function backupHealth(seen: BackupsSeen): NewCondition {
  const verdicts = seen.schedules
    .filter(({isSuspended}) => !isSuspended)
    .map(schedule => verdictOf(schedule, seen));
  const order: readonly NewCondition['status'][] = ['False', 'Unknown', 'True'];
  const [worst] = verdicts.toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  const nothing = 'no SvcBackupSchedule that is not suspended covers this cluster';
  const [status, judged] = worst ?? ['Unknown', ['NoBackupYet', nothing]];
  return conditionOf('BackupHealthy', status, judged);
}

function verdictOf(schedule: ScheduleFacts, {nowMs, backups}: BackupsSeen): Verdict {
  const {name, lastSuccessMs} = schedule;
  const own = backups.filter(backup => backup.schedule === name);
  const last = newestOf(own.filter(isMeaningful));
  if (last !== undefined && FAILED.has(last.phase)) {
    return ['False', ['BackupFailed', `${last.name} ended as ${last.phase}`]];
  }
  const isRunning = own.some(({finishedAt}) => finishedAt === undefined);
  if (!isRunning && isOverdue(schedule, nowMs)) {
    const missing =
      lastSuccessMs === undefined
        ? `${name} never had a good backup`
        : `the last good backup of ${name} is older than two of its ticks`;
    return ['False', ['BackupOverdue', missing]];
  }
  if (lastSuccessMs === undefined) {
    return ['Unknown', ['NoBackupYet', `no run of ${name} has ended yet`]];
  }
  const message = last === undefined ? `${name} has a good backup` : `${last.name} ended well`;
  return ['True', ['BackupsCurrent', message]];
}

/** Two ticks went by since the last good backup, and the second can begin no more. */
function isOverdue(schedule: ScheduleFacts, nowMs: number): boolean {
  const {expression, lastSuccessMs, createdMs, startingDeadlineMs} = schedule;
  const cron = parseCron(expression);
  if (cron === undefined) return true;
  const first = nextTick(cron, lastSuccessMs ?? createdMs);
  const second = first === undefined ? undefined : nextTick(cron, first);
  return second !== undefined && second + startingDeadlineMs < nowMs;
}

/** The backup that ended last, whoever asked for it; one that was skipped is none. */
export function lastBackupOf(backups: readonly BackupFacts[]): ClusterStatus['lastBackup'] {
  const last = newestOf(backups.filter(isMeaningful));
  if (last?.finishedAt === undefined) return undefined;
  return {name: last.name, time: last.finishedAt, result: last.phase};
}

function isMeaningful({finishedAt, phase}: BackupFacts): boolean {
  return finishedAt !== undefined && phase !== 'Skipped';
}

function newestOf(backups: readonly BackupFacts[]): BackupFacts | undefined {
  return backups.toSorted((a, b) => b.createdMs - a.createdMs)[0];
}
