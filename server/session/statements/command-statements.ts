/**
 * Runs statements that are commands: changes of the schema and of users, and what administers the
 * database. Each is an entry of its own, or none; none stands in a client's transaction.
 */
import {Refusal} from '#server/base/errors.ts';
import {countsText, newWriteCounts} from '#server/execution/context.ts';
import type {MissingType} from '#server/plan/statement.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {SchemaCommand, TransferCommand, UserCommand} from '#server/plan/statement.ts';
import {newSummary, rowsCursor} from '../connections/cursors.ts';
import type {Explanation} from '../preparation/explain.ts';
import {row} from '../preparation/planned-change.ts';
import type {PreparedSchema} from '../preparation/prepared.ts';
import {requireSchemaRight} from '../preparation/statement-preparation.ts';
import {runUserCommand} from '../schema/user-command.ts';
import type {ResultCursor} from '../session.ts';
import {attachPlan} from './profiled-query.ts';
import {
  limitDefault,
  runOptions,
  type StatementContext,
  type StatementDependencies,
} from './statement-context.ts';

export class CommandStatements {
  readonly #dependencies: StatementDependencies;

  constructor(dependencies: StatementDependencies) {
    this.#dependencies = dependencies;
  }

  async changeSchema(
    parts: StatementContext,
    {command, first = [], counts}: PreparedSchema,
  ): Promise<ResultCursor> {
    for (const one of [...first, command]) requireSchemaRight(parts, one);
    for (const one of first) await parts.session.executor.run(one, parts.signal);
    const changed = await this.#changed(parts, command);
    const cursor = this.#done(parts, counts === undefined ? [changed] : []);
    if (counts !== undefined) cursor.summary.stats = countsText(newWriteCounts(), counts);
    return cursor;
  }

  /** A view is filled in its turn among the statements, since it takes memory as they do. */
  #changed(parts: StatementContext, command: SchemaCommand): MapValue | Promise<MapValue> {
    const change = (): Promise<MapValue> => parts.session.change(command, runOptions(parts));
    if (command.kind !== 'refresh-view' && command.kind !== 'create-view') return change();
    return this.#dependencies.admission.within(parts.guard?.user, place =>
      change().finally(() => place.leave()),
    );
  }

  async changeUser(parts: StatementContext, command: UserCommand): Promise<ResultCursor> {
    await runUserCommand(command, parts, this.#dependencies.security);
    return this.#done(parts, []);
  }

  async alignCopies(parts: StatementContext): Promise<ResultCursor> {
    const {request, signal, guard} = parts;
    if (guard !== undefined) {
      const message = `User '${guard.user}' is not allowed to align databases: only root is`;
      throw new Refusal('security.root-only', message);
    }
    const members = await this.#dependencies.align(request.database, signal);
    return this.#done(
      parts,
      members.map(member => row({operation: 'align database', ...member})),
    );
  }

  async transferDatabase(parts: StatementContext, command: TransferCommand): Promise<ResultCursor> {
    const {request, access, guard} = parts;
    if (!access.allows('updateSecurity')) {
      const message = `User '${guard?.user ?? ''}' is not allowed to ${command.what} the database`;
      throw new Refusal('security.denied', message, {detail: {right: 'updateSecurity'}});
    }
    const answer = await this.#dependencies.transfer(parts.principal, request.database, command);
    return this.#done(parts, [answer]);
  }

  /** Makes the types that a statement brings along, an entry each. */
  async makeTypes(parts: StatementContext, missing: readonly MissingType[]): Promise<void> {
    for (const {name, kind, superTypes} of missing) {
      const command: SchemaCommand = {
        kind: 'create-type',
        recordKind: kind,
        name,
        ifNotExists: true,
        supertypes: superTypes,
        buckets: undefined,
        bucketCount: undefined,
        custom: new Map(),
        unidirectional: false,
        lightweight: false,
        unique: false,
      };
      requireSchemaRight(parts, command);
      await parts.session.executor.run(command, parts.signal);
    }
  }

  /** The plan of a command, which is not carried out. */
  explain(parts: StatementContext, explanation: Explanation): ResultCursor {
    const summary = newSummary(limitDefault(this.#dependencies.settings()));
    parts.end();
    attachPlan(summary, explanation);
    return rowsCursor([], parts.request.format, summary);
  }

  /** Ends the statement, which changed something, and answers with `rows`. */
  #done(parts: StatementContext, rows: readonly Value[]): ResultCursor {
    parts.end();
    const summary = newSummary(limitDefault(this.#dependencies.settings()));
    summary.wrote = true;
    return rowsCursor(rows, parts.request.format, summary);
  }
}
