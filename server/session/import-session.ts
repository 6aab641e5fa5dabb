/**
 * A database as imports and exports see it: a place to put records into and to read them from as of
 * one moment, and statements for what only statements do. All of it is done in the name of whoever
 * asked, with the rights that he has then.
 */
import type {Refusal} from '#server/base/errors.ts';
import type {BulkEntry} from '#server/bulk/entry.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Database} from '#server/engine/database.ts';
import type {Graph} from '#server/execution/graph.ts';
import {GraphReader} from '#server/execution/graph-reader.ts';
import type {Value} from '#server/model/value.ts';
import type {RecordContext} from '#server/records/context.ts';
import type {Principal} from '#server/security/principal.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import type {DatabaseSession} from './connections/database-session.ts';
import {guardGraph} from './guarded-graph.ts';
import {schemaVersionFor} from './schema/bulk-schema.ts';
import type {Service} from './session.ts';
import {statementRequest} from './statement-request.ts';
import {refusalOf} from './statements/outcome.ts';
import type {CurrentGuard} from './type-guard.ts';

/** One moment of a database. */
export interface DatabaseSnapshot {
  readonly catalog: Catalog;
  readonly graph: Graph;
  close(): void;
}

export class ImportSession {
  readonly #service: Service;
  readonly #principal: Principal;
  readonly #session: DatabaseSession;
  /** @throws {Refusal} `security.*` when whoever asked may not use the database any more. */
  readonly guard: CurrentGuard;

  constructor(
    service: Service,
    principal: Principal,
    {session, guard}: {readonly session: DatabaseSession; readonly guard: CurrentGuard},
  ) {
    this.#service = service;
    this.#principal = principal;
    this.#session = session;
    this.guard = guard;
  }

  get database(): Database {
    return this.#session.database;
  }

  /** The newest schema. */
  get context(): RecordContext {
    return this.#session.schema.context;
  }

  schemaVersionFor(entry: BulkEntry, made: Catalog): number {
    return schemaVersionFor(entry, made, this.#session.schema.catalog);
  }

  refusalOf(outcome: CommitOutcome): Refusal | undefined {
    return refusalOf(outcome);
  }

  /** Runs a statement of SQL, on its own. */
  async define(text: string, parameters: ReadonlyMap<string, Value> = new Map()): Promise<void> {
    const request = statementRequest(this.database.name, text, parameters);
    const cursor = await this.#service.run(this.#principal, request);
    cursor.close();
  }

  /** Whether a statement of a source makes something of a schema, and does nothing else. */
  makesSchema(text: string): boolean {
    const prepared = this.#session.prepare('sql', text);
    if (prepared.kind !== 'schema') return false;
    const {kind} = prepared.command;
    return kind.startsWith('create-') || kind === 'alter-type';
  }

  /** Makes the type of vertices that have these labels, with those of each. */
  async defineLabels(labels: readonly string[]): Promise<void> {
    const names = labels.map(label => `:\`${label}\``).join('');
    // A statement of Cypher makes the types that it needs, and nothing else where it has no rows.
    const request = statementRequest(this.database.name, `UNWIND [] AS none CREATE (${names})`);
    const cursor = await this.#service.run(this.#principal, {...request, language: 'cypher'});
    cursor.close();
  }

  /** Resolves when views that follow what was written have followed. */
  async settled(): Promise<void> {
    await this.#session.views.followAll(this.#principal.root ? undefined : this.#principal.name);
  }

  snapshot(): DatabaseSnapshot {
    const reader = this.database.read();
    const {context} = this;
    const {catalog} = context;
    const graph = new GraphReader(reader, context);
    const guard = this.guard();
    const readable = guard === undefined ? graph : guardGraph(graph, guard, catalog);
    return {catalog, graph: readable, close: () => reader.close()};
  }
}
