/** What tells of a query: its plan, and how it ran where it was measured. */
import type {Clock} from '#server/platform/clock.ts';
import {type Explanation, stepCosts} from '../preparation/explain.ts';
import {explained, type PrepareOptions} from '../preparation/prepared.ts';
import {observed, type PreparedQuery} from '../preparation/prepared-query.ts';
import type {StatementContext, StatementDependencies} from './statement-context.ts';
import type {ResultSummary} from '../session.ts';
import type {StepCost} from '#server/monitoring/query-groups.ts';

export interface ProfiledQuery {
  readonly query: PreparedQuery;
  /** Called when it has run. */
  readonly report: (summary: ResultSummary) => void;
}

/** The query measured as it runs, and what tells of it when it has run. */
export function profiled(
  parts: StatementContext,
  plain: PreparedQuery,
  clock: Clock,
): ProfiledQuery & {readonly steps: () => readonly StepCost[]} {
  const query = observed(plain, parts.session.functions);
  const {profile} = query;
  const startedAt = clock.monotonic();
  return {
    query,
    steps: () => stepCosts(query.plan.plan, profile),
    report: summary => {
      const elapsedMs = clock.monotonic() - startedAt;
      const told = {isGuarded: isGuarded(parts), run: {profile, elapsedMs}};
      attachPlan(summary, explained(query, optionsOf(parts), told));
      if (parts.request.profile === 'detailed') summary.profile = profileText(elapsedMs);
    },
  };
}

/**
 * The query itself, unless the request asks for a profile or the profiler records; measured then.
 */
export function asRequested(
  parts: StatementContext,
  query: PreparedQuery,
  {environment, profiler}: Pick<StatementDependencies, 'environment' | 'profiler'>,
): ProfiledQuery {
  const isRecorded = profiler?.isRecording === true;
  if (parts.request.profile === undefined && !isRecorded) return {query, report: reportNothing};
  const measured = profiled(parts, query, environment.clock);
  if (!isRecorded) return measured;
  return {
    query: measured.query,
    report: summary => {
      if (parts.request.profile !== undefined) measured.report(summary);
      parts.measured(measured.steps());
    },
  };
}

function reportNothing(): void {}

/** The options that the catalog in force leads to. */
export function optionsOf({session}: StatementContext): PrepareOptions {
  return session.prepareOptions(session.schema.catalog);
}

/** Whether the user may not read everything. */
export function isGuarded({guard}: StatementContext): boolean {
  return guard !== undefined;
}

export function attachPlan(summary: ResultSummary, {text, json}: Explanation): void {
  summary.explain = text;
  summary.explainPlan = json;
}

function profileText(elapsedMs: number): string {
  const nanos = Math.round(elapsedMs * 1e6);
  const ms = Math.round(elapsedMs);
  return JSON.stringify({
    deserializationMs: 0,
    deserializationNanos: 0,
    engineMs: ms,
    engineNanos: nanos,
    serializationMs: 0,
    serializationNanos: 0,
    overheadMs: 0,
    overheadNanos: 0,
    totalMs: ms,
    totalNanos: nanos,
  });
}
