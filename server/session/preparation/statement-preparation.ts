/**
 * The way from the text of a statement to what is to run, and what it is refused for before it
 * does: by what it is, where it stands, and who sends it.
 */
import type {DatabaseRight, RecordRight} from '#server/access/rights.ts';
import {assert} from '#server/base/assert.ts';
import {queryTerminated, Refusal} from '#server/base/errors.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {MissingSource} from '#server/execution/missing-prerequisites.ts';
import type {MissingType} from '#server/plan/statement.ts';
import {outputOf} from '#server/execution/output.ts';
import {statementTypes} from '#server/plan/statement-types.ts';
import type {ReadSchema} from '#server/records/context.ts';
import type {SchemaCommand} from '#server/plan/statement.ts';
import type {Timers} from '#server/platform/clock.ts';
import {type PreparedAhead, statementLengthMax} from '../connections/database-session.ts';
import type {RunRequest, StatementDescription} from '../session.ts';
import type {Prepared, PreparedBatched} from './prepared.ts';
import type {PreparedQuery} from './prepared-query.ts';
import type {StatementContext} from '../statements/statement-context.ts';
import {effectsOf, requirePermitted, schemaEffects} from './statement-effects.ts';
import {TypeGuard} from '../type-guard.ts';

type StatementParts = Pick<StatementContext, 'session' | 'request' | 'ahead'> & Partial<Rights>;
type Rights = Pick<StatementContext, 'access' | 'guard'>;

/**
 * Whether a statement changes something, or cannot be proven not to; a promise where its text is
 * long. @throws {Refusal}
 */
export function mayWrite(parts: StatementParts, timers: Timers): boolean | Promise<boolean> {
  if (!isLong(parts)) return !isReadOnly(prepare(parts));
  const {signal} = parts.request;
  return prepareAhead({...parts, signal}, timers).then(ahead => !isReadOnly(prepare(ahead)));
}

/** What is known of a statement before it runs. @throws {Refusal} */
export async function describe(
  parts: StatementParts & {readonly request: RunRequest},
  timers: Timers,
  mayRead: (type: string) => boolean,
): Promise<StatementDescription> {
  const {signal} = parts.request;
  const ready = isLong(parts) ? await prepareAhead({...parts, signal}, timers) : parts;
  const prepared = prepare(ready);
  const writes = !isReadOnly(prepared);
  if (prepared.kind !== 'query') return {writes, columns: undefined, parameters: []};
  const {plan} = prepared.statement;
  const output = outputOf(plan);
  assert(output !== undefined, "a statement's plan says what the client sees");
  const {catalog} = parts.session.schema;
  return {writes, ...statementTypes(plan, output, catalog, mayRead)};
}

/** Whether its text takes so long that it is prepared in turns. */
export function isLong({request, ahead}: StatementParts): boolean {
  return ahead === undefined && request.text.length > statementLengthMax;
}

/** The same with its text prepared, in turns. @throws {Refusal} `query.terminated` between them. */
export async function prepareAhead(
  parts: StatementParts & {readonly signal: Cancellation | undefined},
  timers: Timers,
): Promise<StatementParts & {readonly ahead: PreparedAhead}> {
  const {session, request, signal} = parts;
  const ahead = await session.prepareInTurns(request.language, request.text, async () => {
    await timers.yield();
    if (signal?.aborted === true) throw queryTerminated();
  });
  return {session, request, ahead};
}

/**
 * The statement as it would run now, from the cache where it is there.
 *
 * @throws {Refusal} whatever is wrong with it, `query.not-idempotent`, and `security.denied` when
 *   it may do more than the request permits.
 */
export function prepare(parts: StatementParts, context = parts.session.schema.context): Prepared {
  const {session, request} = parts;
  const plain = preparedIn(parts, context);
  const showsPlan = plain.kind === 'explain' || request.profile !== undefined;
  const prepared =
    showsPlan && request.operation === undefined && isBlind(parts, context.catalog)
      ? session.prepareBlind(request.language, request.text, context)
      : plain;
  if (request.readOnly && !isReadOnly(prepared)) throw notIdempotent();
  if (request.format === 'ndjson' && prepared.kind !== 'query') throw notIdempotent();
  if (request.permitted !== undefined) {
    const bound = session.prepareOptions(context.catalog);
    requirePermitted(request.permitted, effectsOf(prepared, request.text, bound));
  }
  return prepared;
}

function preparedIn({session, request, ahead}: StatementParts, context: ReadSchema): Prepared {
  const {operation} = request;
  if (operation !== undefined) return session.prepareOperation(operation, context);
  if (ahead?.catalog === context.catalog) return ahead.prepared;
  return session.prepare(request.language, request.text, context);
}

/** Whether there is something that the user may not read. */
export function isBlind({access, guard}: Partial<Rights>, catalog: Catalog): boolean {
  if (guard === undefined || access === undefined) return false;
  return [...catalog.types].some(({name}) => !access.allowsOnType('readRecord', name));
}

export function requireBatched(prepared: Prepared): PreparedBatched {
  assert(prepared.kind === 'batched', 'the same text is the same kind of statement');
  return prepared;
}

export function requireQuery(prepared: Prepared): PreparedQuery {
  assert(prepared.kind === 'query', 'the same text is the same kind of statement');
  return prepared;
}

export function sourceInside({address}: MissingSource): Refusal {
  return new Refusal(
    'query.execution',
    `'${address}' would be read in the middle of a transaction: load it by a statement of its own`,
  );
}

/**
 * What becomes known only when a statement runs is asked here too: types that it makes by the way.
 *
 * @throws {Refusal} `security.denied`.
 */
export function requireSchemaRight(
  {access, guard, session, request}: Omit<StatementParts, 'ahead'> & Rights,
  command: SchemaCommand,
): void {
  if (request.permitted !== undefined) {
    requirePermitted(request.permitted, schemaEffects(command));
  }
  const {right, what} = rightFor(command);
  if (!access.allows(right)) {
    throw new Refusal('security.denied', `User '${guard?.user ?? ''}' is not allowed to ${what}`, {
      detail: {right},
    });
  }
  if (guard === undefined) return;
  const types = new TypeGuard(access, guard.user);
  for (const {record, type} of recordRightsFor(command, session.schema.catalog)) {
    types.require(record, type);
  }
}

/**
 * The rights on records that a change of the schema needs beside its own: what renames, restrains,
 * indexes, watches or empties a type could be used to read or to lose its records.
 */
function recordRightsFor(
  command: SchemaCommand,
  catalog: Catalog,
): readonly {readonly record: RecordRight; readonly type: string}[] {
  const familyOf = (
    record: RecordRight,
    name: string | undefined,
  ): ReturnType<typeof recordRightsFor> =>
    (name === undefined ? [] : (catalog.type(name)?.family ?? [])).map(type => ({
      record,
      type: type.name,
    }));
  /** Records of a subtype stand among those of the type. */
  const among = (names: readonly string[]): ReturnType<typeof recordRightsFor> =>
    names.flatMap(name => {
      const type = catalog.type(name);
      return type === undefined ? [] : [{record: 'createRecord', type: type.name}];
    });
  switch (command.kind) {
    case 'create-type':
      return among(command.supertypes);
    case 'alter-type':
      return [
        ...familyOf('readRecord', command.name),
        ...among(command.changes.flatMap(one => (one.kind === 'add-supertype' ? [one.name] : []))),
      ];
    case 'rebuild-type':
      return familyOf('readRecord', command.name);
    case 'create-property':
    case 'alter-property':
    case 'drop-property':
    case 'create-index':
      return familyOf('readRecord', command.type);
    case 'drop-index':
    case 'rebuild-index':
    case 'compact-index':
      return typesOfIndexes(catalog, command.name).flatMap(type => familyOf('readRecord', type));
    case 'create-trigger':
      return familyOf('readRecord', command.trigger.typeName);
    case 'drop-trigger':
      return familyOf('readRecord', typeOfTrigger(catalog, command.name));
    case 'check-database':
      return checked(command, catalog);
    case 'drop-view':
    case 'drop-type':
    case 'truncate-type':
      return familyOf('deleteRecord', command.name);
    case 'drop-bucket':
    case 'truncate-bucket':
      return familyOf('deleteRecord', typeOfBucket(catalog, command.name));
    default:
      return [];
  }
}

/** A check tells how many records there are, and what of them is damaged. */
function checked(
  {types, buckets, fix}: Extract<SchemaCommand, {kind: 'check-database'}>,
  catalog: Catalog,
): ReturnType<typeof recordRightsFor> {
  const named = [...types, ...buckets.flatMap(bucket => typeOfBucket(catalog, bucket) ?? [])];
  const whole =
    named.length === 0
      ? [...catalog.types]
      : named.flatMap(name => [...(catalog.type(name)?.family ?? [])]);
  const rights: readonly RecordRight[] = fix ? ['readRecord', 'updateRecord'] : ['readRecord'];
  return whole.flatMap(({name}) => rights.map(record => ({record, type: name})));
}

/** The types that the named index is on, or with `*` all of them are. */
function typesOfIndexes(catalog: Catalog, name: string): readonly string[] {
  const named = catalog.indexes.filter(index => name === '*' || index.name === name);
  return named.flatMap(({typeId}) => catalog.typeById(typeId)?.name ?? []);
}

function typeOfTrigger(catalog: Catalog, name: string): string | undefined {
  const trigger = catalog.triggers.find(known => known.name === name);
  return trigger && catalog.typeById(trigger.typeId)?.name;
}

function typeOfBucket(catalog: Catalog, name: string): string | undefined {
  const bucket = catalog.bucket(name);
  return bucket && catalog.typeOfBucket(bucket.id)?.name;
}

/** The right that a change of the schema needs. Code in JavaScript is a matter of security. */
function rightFor(command: SchemaCommand): {readonly right: DatabaseRight; readonly what: string} {
  switch (command.kind) {
    case 'alter-database':
      return {right: 'updateDatabaseSettings', what: 'update the settings of the database'};
    case 'create-function':
      if (command.definition.language !== 'js') break;
      return {right: 'updateSecurity', what: 'define functions in JavaScript'};
    case 'create-trigger':
      if (command.trigger.language !== 'js') break;
      return {right: 'updateSecurity', what: 'create triggers in JavaScript'};
    default:
  }
  return {right: 'updateSchema', what: 'update the schema'};
}

/** A script is taken to write: what it does is known only when it runs. */
function isReadOnly(prepared: Prepared): boolean {
  if (prepared.kind === 'explained-command') return true;
  if (prepared.kind === 'explain') return !prepared.execute || !prepared.inner.writes;
  return prepared.kind === 'query' && !prepared.writes;
}

export function withoutSession(): Refusal {
  return new Refusal(
    'query.execution',
    'the statement is about the session that it is sent in, and it is sent in none: ' +
      'begin a transaction by the protocol and give its id along',
  );
}

export function typesInside(missing: readonly MissingType[]): Refusal {
  const names = missing.map(type => `'${type.name}'`).join(', ');
  return new Refusal(
    'query.execution',
    `the statement needs the types ${names}, and making a type is an entry of its own: ` +
      'make them before the transaction, or commit what it wrote',
  );
}

export function notIdempotent(): Refusal {
  return new Refusal(
    'query.not-idempotent',
    'the statement changes data or cannot be proven to only read: send it to /command',
  );
}
