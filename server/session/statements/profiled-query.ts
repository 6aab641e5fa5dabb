/** What tells of a query: its plan, and how it ran where it was measured. */
import type {Clock} from '#server/platform/clock.ts';
import type {Explanation} from './explain.ts';
import {explained, type PrepareOptions} from './prepared.ts';
import {observed, type PreparedQuery} from './prepared-query.ts';
import type {StatementContext} from './statement-context.ts';
import type {ResultSummary} from '../session.ts';

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
): ProfiledQuery {
  const query = observed(plain, parts.session.functions);
  const {profile} = query;
  const startedAt = clock.monotonic();
  return {
    query,
    report: summary => {
      const elapsedMs = clock.monotonic() - startedAt;
      const told = {isGuarded: isGuarded(parts), run: {profile, elapsedMs}};
      attachPlan(summary, explained(query, optionsOf(parts), told));
      if (parts.request.profile === 'detailed') summary.profile = profileText(elapsedMs);
    },
  };
}

/** By the catalog in force. */
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
