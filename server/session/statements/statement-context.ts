/**
 * What a statement is run with: the parts of a server that all statements share, the context of
 * one, and what the runner of scripts may ask of that of statements.
 */
import type {DatabaseAccess} from '#server/access/decide.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {AlignedMember} from '#server/cluster/align.ts';
import type {QueryProfiler} from '#server/monitoring/query-profiler.ts';
import type {Refusal} from '#server/base/errors.ts';
import type {VisibleServer} from '#server/execution/external-access.ts';
import type {Value} from '#server/model/value.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Security} from '#server/security/security.ts';
import type {Admission, ExecutionPermit, Owner} from './admission.ts';
import type {DatabaseSession, PreparedAhead} from '../connections/database-session.ts';
import type {RequestSources} from '../request-sources.ts';
import type {RunRequest} from '../session.ts';
import type {PlanThreads} from '../threads/plan-task.ts';
import type {Transfers} from '../transfers.ts';
import type {ResultOptions, RunEnvironment, RunOptions, WriteData} from './statement-run.ts';
import type {StepCost} from '#server/monitoring/query-groups.ts';

/** What all statements of a server share. */
export interface StatementDependencies {
  readonly environment: RunEnvironment;
  readonly admission: Admission;
  readonly settings: () => Settings;
  readonly security: Security;
  readonly profiler: QueryProfiler | undefined;
  /** Where long reads run; undefined: here. */
  readonly threads: PlanThreads | undefined;
  /** See cluster/align.ts. */
  readonly align: (database: string, signal: Cancellation) => Promise<readonly AlignedMember[]>;
  readonly transfer: Transfers['run'];
}

export interface StatementContext {
  readonly session: DatabaseSession;
  readonly request: RunRequest;
  readonly signal: Cancellation;
  /** Who asked. */
  readonly principal: Principal;
  readonly access: DatabaseAccess;
  readonly guard: RunOptions['guard'];
  readonly sources: RequestSources;
  readonly server: VisibleServer;
  /** Set for a long text, which is not prepared in one turn. */
  readonly ahead?: PreparedAhead;
  /** Calls `listener` when the statement is told to stop, be anybody waiting for it or not. */
  onTerminate(listener: (reason: Refusal) => void): void;
  /** Takes what the nodes of its plan took, where the profiler records; before `end`. */
  measured(steps: readonly StepCost[]): void;
  /** Called when the statement has ended, with what it failed with after it had begun to answer. */
  end(failure?: unknown): void;
}

/** A script gives its place back while it waits. */
export interface ScriptParts extends StatementContext {
  readonly place: ExecutionPermit;
}

/** The side of statement-runner.ts that scripts need. */
export interface StatementHost {
  readonly environment: RunEnvironment;
  beginStatement(session: DatabaseSession, transaction: Transaction): WriteData;
  /** What follows from the commit of a script's or client's transaction. */
  committed(session: DatabaseSession, transaction: Transaction, user: Owner): Promise<void>;
  /** Rows of an answer where the request states no limit. */
  readonly limitDefault: number;
}

export function limitDefault(settings: Settings): number {
  return settings.get('svc.server.httpQueryDefaultLimit');
}

/** What the request and the groups of its user say of the answer. */
export function requestedOptions(
  {request, access}: StatementContext,
  settings: Settings,
): ResultOptions {
  return {
    groupLimit: access.resultSetLimit,
    format: request.format,
    typeHints: request.typeHints,
    limit: request.limit,
    limitDefault: limitDefault(settings),
    ceiling: settings.get('svc.server.httpQueryMaxResultRows'),
  };
}

/** The same parts, some of them others, or more of them. */
export function partsWith<Other extends object>(
  parts: StatementContext,
  other: Other,
): Omit<StatementContext, keyof Other> & Other {
  const {ahead} = parts;
  return {
    session: parts.session,
    request: parts.request,
    signal: parts.signal,
    principal: parts.principal,
    access: parts.access,
    guard: parts.guard,
    sources: parts.sources,
    server: parts.server,
    ...(ahead && {ahead}),
    onTerminate: listener => parts.onTerminate(listener),
    measured: steps => parts.measured(steps),
    end: failure => parts.end(failure),
    ...other,
  };
}

/** @param given - Parameters other than those of the request. */
export function runOptions(
  parts: StatementContext,
  given: ReadonlyMap<string, Value> = parts.request.parameters,
): RunOptions {
  const {session, signal, sources, server, guard} = parts;
  const parameters = session.globals.under(given);
  const {timeoutMs} = parts.request;
  return {session, parameters, signal, sources, server, guard, timeoutMs};
}
