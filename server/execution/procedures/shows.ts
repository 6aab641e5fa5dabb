/** `show.*`: indexes, constraints, users and transactions as tables. */
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {constraintsOf, type NamedConstraint} from '#server/catalog/constraints.ts';
import {byName} from '#server/catalog/names.ts';
import type {Value} from '#server/model/value.ts';
import {type CallContext, shownSchema} from '../context.ts';
import type {FunctionFamily, TableFunction} from '../function-registry.ts';
import type {VisibleServer, VisibleUser} from '../external-access.ts';

/** Rows by the names of their outputs. */
function table(
  names: string,
  rows: (call: CallContext) => readonly Readonly<Record<string, Value>>[],
): TableFunction {
  const outputs = names.split(' ');
  return {
    outputs,
    rows: (_, call) => rows(call).map(row => outputs.map(output => row[output] ?? null)),
  };
}

function entityOf(type: CatalogType | undefined): string {
  return type?.kind === 'edge' ? 'RELATIONSHIP' : 'NODE';
}

function indexRows(call: CallContext): readonly Readonly<Record<string, Value>>[] {
  const {catalog} = call;
  const constraints = constraintsOf(catalog);
  return shownSchema(call).indexes.map((index, at) => {
    const type = catalog.typeById(index.typeId);
    const {shownType} = catalog.families.of(index);
    const isReady = index.state === 'ready';
    return {
      id: at + 1,
      name: index.name,
      state: isReady ? 'ONLINE' : 'POPULATING',
      populationPercent: isReady ? 100 : 0,
      type: shownType,
      entityType: entityOf(type),
      labelsOrTypes: [type?.name ?? ''],
      properties: index.properties.map(property => property.name),
      indexProvider: `${shownType.toLowerCase()}-1.0`,
      owningConstraint: constraints.find(one => one.index === index.name)?.name ?? null,
      lastRead: null,
      readCount: null,
    };
  });
}

function kindText({kind, entity}: NamedConstraint): string {
  const isNode = entity === 'NODE';
  if (kind === 'UNIQUE') return isNode ? 'UNIQUENESS' : 'RELATIONSHIP_UNIQUENESS';
  const what = {KEY: 'KEY', NOT_NULL: 'PROPERTY_EXISTENCE', TYPED: 'PROPERTY_TYPE'}[kind];
  return `${entity}_${what}`;
}

function constraintRows(call: CallContext): readonly Readonly<Record<string, Value>>[] {
  const {catalog, graph} = call;
  const shown = constraintsOf(catalog).filter(({typeName}) => graph.isShown(typeName));
  return shown.map((constraint, at) => ({
    id: at + 1,
    name: constraint.name,
    type: kindText(constraint),
    entityType: constraint.entity,
    labelsOrTypes: [constraint.typeName],
    properties: constraint.properties,
    ownedIndex: constraint.index ?? null,
    propertyType: constraint.propertyType ?? null,
  }));
}

function userRow({name, databases}: VisibleUser): Readonly<Record<string, Value>> {
  return {user: name, databases};
}

function usersOf({server}: CallContext): readonly VisibleUser[] {
  return byName(server?.users() ?? []);
}

function transactionRows(server: VisibleServer): readonly Readonly<Record<string, Value>>[] {
  return server.transactions().map(({id, database, user, text, startedAt, elapsedMs}) => ({
    database,
    transactionId: id,
    currentQueryId: text === undefined ? null : id,
    username: user,
    currentQuery: text ?? null,
    startTime: new Date(startedAt).toISOString(),
    status: text === undefined ? 'Idle' : 'Running',
    elapsedTime: `PT${(elapsedMs / 1000).toFixed(3)}S`,
  }));
}

export const showTables: FunctionFamily = {
  tables: {
    'show.indexes': table(
      'id name state populationPercent type entityType labelsOrTypes properties indexProvider ' +
        'owningConstraint lastRead readCount',
      indexRows,
    ),
    'show.constraints': table(
      'id name type entityType labelsOrTypes properties ownedIndex propertyType',
      constraintRows,
    ),
    'show.users': table('user databases', call => usersOf(call).map(userRow)),
    'show.currentUser': table('user databases', call =>
      usersOf(call)
        .filter(({name}) => name === call.server?.user)
        .map(userRow),
    ),
    'show.transactions': table(
      'database transactionId currentQueryId username currentQuery startTime status elapsedTime',
      ({server}) => (server === undefined ? [] : transactionRows(server)),
    ),
  },
};
