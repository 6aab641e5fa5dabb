/**
 * One request to run a statement, as its runner sees it. What few statements ask for is made when
 * it is asked for.
 */
import type {DatabaseAccess} from '#server/access/decide.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Refusal} from '#server/base/errors.ts';
import type {Database} from '#server/engine/database.ts';
import type {VisibleServer} from '#server/execution/external-access.ts';
import type {KeptMemory} from '../kept-memory.ts';
import type {SourceReader} from '#server/platform/source-reader.ts';
import type {Principal} from '#server/security/principal.ts';
import {RequestSources} from '../request-sources.ts';
import type {StatementContext} from '../statements/statement-context.ts';
import {toldRefusal} from '../statements/told-refusals.ts';
import {TypeGuard} from '../type-guard.ts';
import type {DatabaseSession} from './database-session.ts';
import type {RegisteredQuery} from './running-queries.ts';
import type {RunRequest} from '../session.ts';
import type {StepCost} from '#server/monitoring/query-groups.ts';

/** What the requests of a server share. */
export interface RequestSurroundings {
  readonly sourceReader: SourceReader;
  readonly settings: () => Settings;
  readonly memory: KeptMemory;
  /** What SHOW may tell a principal. */
  serverOf(principal: Principal): VisibleServer;
  /** Hears what a statement failed with after it had begun to answer, or that it did not. */
  ended(database: Database, failure: unknown): void;
}

export class RequestRun implements StatementContext {
  readonly session: DatabaseSession;
  readonly request: RunRequest;
  readonly signal: RegisteredQuery;
  readonly principal: Principal;
  readonly access: DatabaseAccess;
  readonly #surroundings: RequestSurroundings;
  #sources: RequestSources | undefined;

  constructor(
    query: RegisteredQuery,
    session: DatabaseSession,
    {principal, access}: {readonly principal: Principal; readonly access: DatabaseAccess},
    surroundings: RequestSurroundings,
  ) {
    this.session = session;
    this.request = query.request;
    this.signal = query;
    this.access = access;
    this.principal = principal;
    this.#surroundings = surroundings;
  }

  /** Who may do everything is asked nothing. */
  get guard(): StatementContext['guard'] {
    const {root, name} = this.principal;
    return root ? undefined : {access: this.access, user: name};
  }

  /** What the statement failed with, as its user may be told. */
  told(error: unknown): unknown {
    const {guard, access} = this;
    const types = guard && new TypeGuard(access, guard.user);
    return toldRefusal(error, types, this.session.schema.catalog);
  }

  get sources(): RequestSources {
    const {sourceReader, settings, memory} = this.#surroundings;
    this.#sources ??= new RequestSources(sourceReader, settings, {
      mayReadFiles: this.access.allows('updateSecurity'),
      isRoot: this.principal.root,
      keep: () => memory.holder(this.guard?.user),
    });
    return this.#sources;
  }

  get server(): VisibleServer {
    return this.#surroundings.serverOf(this.principal);
  }

  onTerminate(listener: (reason: Refusal) => void): void {
    this.signal.onTerminate(listener);
  }

  measured(steps: readonly StepCost[]): void {
    this.signal.steps = steps;
  }

  end(failure?: unknown): void {
    this.signal.done();
    this.#sources?.close();
    if (failure !== undefined) this.#surroundings.ended(this.session.database, failure);
  }
}
