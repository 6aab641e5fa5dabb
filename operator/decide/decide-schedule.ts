/**
 * Decides for one SvcBackupSchedule: whether a run begins now, which old runs go, and when to look
 * again.
 *
 * A run is a SvcBackup whose name follows from its tick, so that a tick that is acted upon twice
 * gives one run. Ticks that were missed are made up for by one run at most, and only within the
 * starting deadline; a run that is under way keeps the next one away.
 */
import {conditionOf, type Judged} from './judged.ts';
import type {NewCondition} from '#operator/api/conditions.ts';
import {checkSpec} from '#operator/api/check.ts';
import type {KubeObject} from '#operator/api/kube-object.ts';
import {textAt} from '#operator/api/kube-object.ts';
import {durationMs} from '#operator/api/schema.ts';
import {
  type ScheduleSpec,
  type ScheduleStatus,
  scheduleRules,
  scheduleSpec,
} from '#operator/api/svc-backup.ts';
import {type Cron, nextTick, parseCron} from './cron.ts';

export interface ScheduleObservation {
  readonly nowMs: number;
  readonly object: KubeObject;
  readonly createdMs: number;
  /** RFC 3339 to milliseconds. */
  readonly timeOf: (text: string) => number;
  readonly stamp: (ms: number) => string;
  readonly hasCluster: boolean;
  /** SvcBackups of this schedule. */
  readonly runs: readonly RunFacts[];
}

export interface RunFacts {
  readonly name: string;
  readonly createdMs: number;
  readonly phase: string;
}

export interface ScheduleDecision {
  /** Name of the SvcBackup that begins. */
  readonly begin: {readonly name: string; readonly spec: ScheduleSpec} | undefined;
  /** SvcBackups that are more than the history keeps. */
  readonly drop: readonly string[];
  readonly status: ScheduleStatus;
  readonly conditions: readonly NewCondition[];
  readonly recheckMs: number;
}

const REST_MS = 3_600_000;
const ENDED = new Set(['Completed', 'PartiallyFailed', 'Failed', 'Skipped']);
const FAILED = new Set(['PartiallyFailed', 'Failed']);

export function decideSchedule(observed: ScheduleObservation): ScheduleDecision {
  const {object, runs} = observed;
  const {value: spec, problems} = checkSpec(scheduleSpec, scheduleRules, {
    value: object.spec ?? {},
  });
  if (problems.length > 0) return idle(observed, ['SpecInvalid', problems.join('; ')]);
  const cron = parseCron(spec.schedule);
  if (cron === undefined || nextTick(cron, observed.nowMs) === undefined) {
    return idle(observed, ['ScheduleInvalid', `'${spec.schedule}' never fires`]);
  }
  if (!observed.hasCluster) {
    return idle(observed, ['ClusterMissing', `there is no SvcCluster ${spec.clusterRef.name}`]);
  }
  const active = runs.filter(({phase}) => !ENDED.has(phase));
  const tick = dueTick(observed, spec, cron);
  const isFree = active.length === 0 && !spec.suspend;
  const begin =
    tick !== undefined && isFree && !tick.isLate
      ? {name: `${object.metadata.name}-${Math.floor(tick.atMs / 1_000).toString(36)}`, spec}
      : undefined;
  const next = nextTick(cron, observed.nowMs);
  const verdict: Judged = spec.suspend
    ? ['Suspended', 'spec.suspend is true']
    : tick?.isLate === true
      ? ['MissedTicks', 'ticks went by that are too long ago to be made up for']
      : ['Scheduled', `the next run is at ${next === undefined ? 'never' : observed.stamp(next)}`];
  const acted = tick !== undefined && (begin !== undefined || tick.isLate);
  return {
    begin,
    drop: surplus(runs, spec),
    conditions: conditionsOf(verdict, runs),
    status: statusOf(observed, {
      next: spec.suspend ? undefined : next,
      lastTick: acted ? tick.atMs : undefined,
      active: [...active.map(({name}) => name), ...(begin === undefined ? [] : [begin.name])],
    }),
    recheckMs: next === undefined ? REST_MS : Math.min(REST_MS, next - observed.nowMs + 50),
  };
}

/** The latest tick that was not acted upon. */
function dueTick(
  {nowMs, createdMs, object, timeOf}: ScheduleObservation,
  spec: ScheduleSpec,
  cron: Cron,
): {readonly atMs: number; readonly isLate: boolean} | undefined {
  const last = textAt(object.status, 'lastScheduleTime');
  if (last === undefined && spec.immediate) return {atMs: createdMs, isLate: false};
  const deadlineMs = durationMs(spec.startingDeadline);
  const since = last === undefined ? createdMs : timeOf(last);
  const first = nextTick(cron, since);
  if (first === undefined || first > nowMs) return undefined;
  // Ticks before the deadline's reach are passed over in one step.
  let atMs = nextTick(cron, Math.max(since, nowMs - deadlineMs - 1_000));
  if (atMs === undefined || atMs > nowMs) return {atMs: first, isLate: true};
  for (;;) {
    const later = nextTick(cron, atMs);
    if (later === undefined || later > nowMs) return {atMs, isLate: false};
    atMs = later;
  }
}

function surplus(runs: readonly RunFacts[], {historyLimits}: ScheduleSpec): readonly string[] {
  const newestFirst = runs.toSorted((a, b) => b.createdMs - a.createdMs);
  const ended = newestFirst.filter(({phase}) => ENDED.has(phase));
  const good = ended.filter(({phase}) => !FAILED.has(phase)).slice(historyLimits.success);
  const bad = ended.filter(({phase}) => FAILED.has(phase)).slice(historyLimits.failed);
  return [...good, ...bad].map(({name}) => name);
}

function conditionsOf(scheduled: Judged, runs: readonly RunFacts[]): readonly NewCondition[] {
  const [reason] = scheduled;
  const last = lastEnded(runs);
  const isWell = last !== undefined && !FAILED.has(last.phase);
  const outcome: Judged =
    last === undefined
      ? ['NoBackupYet', 'no run has ended yet']
      : isWell
        ? ['BackupsCurrent', `${last.name} ended as ${last.phase}`]
        : ['BackupFailed', `${last.name} ended as ${last.phase}`];
  const verdict = last === undefined ? 'Unknown' : isWell ? 'True' : 'False';
  return [
    conditionOf('Scheduled', reason === 'Scheduled' ? 'True' : 'False', scheduled),
    conditionOf('LastRunSucceeded', verdict, outcome),
  ];
}

function lastEnded(runs: readonly RunFacts[]): RunFacts | undefined {
  return runs
    .filter(({phase}) => ENDED.has(phase) && phase !== 'Skipped')
    .toSorted((a, b) => b.createdMs - a.createdMs)[0];
}

function statusOf(
  {object, runs, stamp}: ScheduleObservation,
  {
    next,
    lastTick,
    active,
  }: {
    readonly next: number | undefined;
    readonly lastTick: number | undefined;
    readonly active: readonly string[];
  },
): ScheduleStatus {
  const before = (object.status ?? {}) as Partial<ScheduleStatus>;
  const last = lastEnded(runs);
  const byAge = runs
    .filter(({phase}) => ENDED.has(phase))
    .toSorted((a, b) => b.createdMs - a.createdMs);
  const good = byAge.findIndex(({phase}) => !FAILED.has(phase));
  const succeeded = byAge.find(({phase}) => phase === 'Completed');
  return {
    observedGeneration: object.metadata.generation,
    conditions: undefined,
    lastScheduleTime: lastTick === undefined ? before.lastScheduleTime : stamp(lastTick),
    lastSuccessfulTime:
      succeeded === undefined ? before.lastSuccessfulTime : stamp(succeeded.createdMs),
    nextScheduleTime: next === undefined ? undefined : stamp(next),
    lastRun: last === undefined ? before.lastRun : {name: last.name, result: last.phase},
    active: active.slice(0, 16),
    consecutiveFailures: good < 0 ? byAge.length : good,
  };
}

function idle(observed: ScheduleObservation, verdict: Judged): ScheduleDecision {
  const active = observed.runs.filter(({phase}) => !ENDED.has(phase)).map(({name}) => name);
  return {
    begin: undefined,
    drop: [],
    conditions: conditionsOf(verdict, observed.runs),
    status: statusOf(observed, {next: undefined, lastTick: undefined, active}),
    recheckMs: REST_MS,
  };
}
