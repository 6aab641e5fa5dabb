/**
 * Indexes and constraints: commands of the schema, the same that SQL gives.
 *
 * A label or a relationship type is a type; a property that is only indexed or required is declared
 * to hold any value. What is unique is an index that says so, what must be there is a mandatory
 * property, what is typed a declared one. A constraint is remembered by name among the custom
 * attributes of its type, so that it can be shown and dropped.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {freeIndexName, sameIndex} from '#server/catalog/change-index.ts';
import type {IndexProperty} from '#server/catalog/definition.ts';
import type {DataType} from '#server/model/data-type.ts';
import {
  constraintsOf,
  constraintKey,
  type ConstraintKind,
  type StoredConstraint,
} from '#server/catalog/constraints.ts';
import type {
  PropertyAttributes,
  SchemaCommand as BoundCommand,
  Statement as BoundStatement,
} from '#server/plan/statement.ts';
import {nearestName} from '../expectation.ts';
import type {Name, SchemaCommand} from './ast.ts';
import {type BindContext, cypherAnswers, literal} from './bind-context.ts';
import {bindSearchIndex} from './bind-search-index.ts';

type CreateConstraint = Extract<SchemaCommand, {kind: 'create-constraint'}>;
type CreateIndex = Extract<SchemaCommand, {kind: 'create-index'}>;
type Drop = Extract<SchemaCommand, {kind: 'drop'}>;

/** The types of values that both languages have. */
const dataTypes: ReadonlyMap<string, DataType> = new Map([
  ['ANY', 'ANY'],
  ['BOOLEAN', 'BOOLEAN'],
  ['DATE', 'DATE'],
  ['FLOAT', 'DOUBLE'],
  ['INTEGER', 'LONG'],
  ['LIST', 'LIST'],
  ['MAP', 'MAP'],
  ['STRING', 'STRING'],
]);

/** @throws {Refusal} with the place, for what the schema cannot keep. */
export function bindSchemaCommand(context: BindContext, command: SchemaCommand): BoundStatement {
  switch (command.kind) {
    case 'create-index':
      return bindIndex(context, command);
    case 'create-constraint':
      return bindConstraint(context, command);
    case 'drop':
      return command.what === 'index'
        ? dropIndex(context, command)
        : dropConstraint(context, command);
    default:
      return unreachable(command);
  }
}

/** What is there already, or not there any more, needs nothing done. */
const nothingToDo: BoundStatement = {
  kind: 'query',
  plan: {
    kind: 'project',
    input: {kind: 'filter', input: {kind: 'unit'}, condition: literal(false)},
    output: {kind: 'columns', columns: []},
  },
  slotCount: 0,
  limit: undefined,
  timeoutMs: undefined,
  onTimeout: 'error',
  form: cypherAnswers,
};

function bindIndex(context: BindContext, command: CreateIndex): BoundStatement {
  const {label, name, properties, ifNotExists, entity} = command;
  context.needType(label.text, entity === 'node' ? 'vertex' : 'edge');
  if (command.family !== 'ordered') return bindSearch(context, command);
  const parts = properties.map(property => ({name: property.text}));
  const type = context.catalog.type(label.text);
  const wanted = {properties: indexProperties(properties), kind: 'ordered'} as const;
  const twin = type && sameIndex(context.catalog, type, wanted);
  const named = name && context.catalog.index(name.text);
  if (ifNotExists && (twin ?? named) !== undefined) return nothingToDo;
  return {
    kind: 'schema',
    first: declarations(context, command, {}),
    command: orderedIndex(label.text, parts, {name: name?.text, unique: false}),
    counts: {indexesAdded: 1},
  };
}

function bindSearch(context: BindContext, command: CreateIndex): BoundStatement {
  const {isThere, command: bound, typeOf} = bindSearchIndex(context, command);
  if (command.ifNotExists && isThere) return nothingToDo;
  return {
    kind: 'schema',
    first: declarations(context, command, {}, typeOf),
    command: bound,
    counts: {indexesAdded: 1},
  };
}

function indexProperties(properties: readonly Name[]): readonly IndexProperty[] {
  return properties.map(property => ({name: property.text, ignoreCase: false}));
}

function orderedIndex(
  type: string,
  parts: readonly {readonly name: string}[],
  {name, unique}: {readonly name: string | undefined; readonly unique: boolean},
): BoundCommand {
  return {
    kind: 'create-index',
    name,
    ifNotExists: false,
    type,
    parts,
    indexKind: 'ordered',
    unique,
    nullStrategy: 'SKIP',
  };
}

/** Declares the properties that nobody has declared, and gives all of them `attributes`. */
function declarations(
  context: BindContext,
  {label, properties}: Pick<CreateIndex, 'label' | 'properties'>,
  attributes: PropertyAttributes,
  typeOf: (at: number) => DataType = () => 'ANY',
): readonly BoundCommand[] {
  const declared = context.catalog.type(label.text)?.properties;
  return properties.flatMap(({text}, at): BoundCommand[] => {
    if (declared?.has(text) !== true) return [property(label.text, text, typeOf(at), attributes)];
    if (Object.keys(attributes).length === 0) return [];
    return [alteration(label.text, text, {attributes})];
  });
}

function property(
  type: string,
  name: string,
  dataType: DataType,
  attributes: PropertyAttributes = {},
  ofType?: string,
): BoundCommand {
  return {
    kind: 'create-property',
    type,
    name,
    ifNotExists: false,
    dataType,
    ofType,
    attributes,
    custom: new Map(),
  };
}

function alteration(
  type: string,
  name: string,
  change: {
    readonly attributes?: PropertyAttributes;
    readonly dataType?: DataType;
    readonly ofType?: string;
  },
): BoundCommand {
  return {kind: 'alter-property', type, name, attributes: {}, custom: new Map(), ...change};
}

const kinds = {unique: 'UNIQUE', key: 'KEY', 'not-null': 'NOT_NULL'} as const;
const endings: Readonly<Record<ConstraintKind, string>> = {
  UNIQUE: 'unique',
  KEY: 'key',
  NOT_NULL: 'existence',
  TYPED: 'type',
};

function bindConstraint(context: BindContext, command: CreateConstraint): BoundStatement {
  const {label, rule, properties, ifNotExists, entity, at} = command;
  const kind = typeof rule === 'object' ? 'TYPED' : kinds[rule];
  const names = properties.map(one => one.text);
  const name =
    command.name?.text ?? `constraint_${[label.text, ...names, endings[kind]].join('_')}`;
  const known = constraintsOf(context.catalog).find(constraint => constraint.name === name);
  if (known !== undefined) {
    if (ifNotExists) return nothingToDo;
    throw new Refusal('schema.exists', `a constraint '${name}' exists already`, {
      place: context.place(command.name?.at ?? at),
      detail: {name},
    });
  }
  context.needType(label.text, entity === 'node' ? 'vertex' : 'edge');
  const isIndexed = kind === 'UNIQUE' || kind === 'KEY';
  const isMandatory = kind === 'NOT_NULL' || kind === 'KEY';
  const stored: StoredConstraint = {
    kind,
    properties: names,
    ...(isIndexed && {
      index: freeIndexName(context.catalog, label.text, {
        properties: indexProperties(properties),
        kind: 'ordered',
      }),
    }),
    ...(typeof rule === 'object' && {propertyType: typeText(rule)}),
  };
  const declared =
    typeof rule === 'object'
      ? [typedProperty(context, command, rule)]
      : declarations(context, command, isMandatory ? {mandatory: true, notNull: true} : {});
  const parts = names.map(one => ({name: one}));
  const index = orderedIndex(label.text, parts, {name: undefined, unique: true});
  return {
    kind: 'schema',
    first: [...declared, ...(isIndexed ? [index] : [])],
    command: remember(label.text, name, stored),
    counts: {constraintsAdded: 1},
  };
}

function remember(
  type: string,
  name: string,
  constraint: StoredConstraint | undefined,
): BoundCommand {
  const value = constraint === undefined ? undefined : JSON.stringify(constraint);
  return {
    kind: 'alter-type',
    name: type,
    changes: [{kind: 'custom', name: constraintKey(name), value}],
  };
}

type TypeRule = Extract<CreateConstraint['rule'], object>;

function typeText({type, of}: TypeRule): string {
  const name = type.text.toUpperCase();
  return of === undefined ? name : `${name}<${of.text.toUpperCase()}>`;
}

function typedProperty(
  context: BindContext,
  {label, properties, at}: CreateConstraint,
  {type, of}: TypeRule,
): BoundCommand {
  const dataType = dataTypeOf(context, type);
  const ofType = of && dataTypeOf(context, of);
  const [first, another] = properties;
  if (first === undefined || another !== undefined) {
    return context.refuse(at, 'UnexpectedSyntax', 'a type is said of one property at a time');
  }
  const known = context.catalog.type(label.text)?.properties.has(first.text) ?? false;
  return known
    ? alteration(label.text, first.text, {dataType, ...(ofType && {ofType})})
    : property(label.text, first.text, dataType, {}, ofType);
}

function dataTypeOf(context: BindContext, {text, at}: Name): DataType {
  const dataType = dataTypes.get(text.toUpperCase());
  if (dataType !== undefined) return dataType;
  const known = [...dataTypes.keys()].join(', ');
  return context.refuse(at, 'UnexpectedSyntax', `'${text}' is none of the types ${known}`);
}

function dropIndex(context: BindContext, {name, ifExists}: Drop): BoundStatement {
  const {catalog} = context;
  if (catalog.index(name.text) === undefined && ifExists) return nothingToDo;
  const owner = constraintsOf(catalog).find(({index}) => index === name.text);
  if (owner !== undefined) {
    throw new Refusal(
      'argument',
      `'${name.text}' is the index of the constraint '${owner.name}': use DROP CONSTRAINT`,
      {place: context.place(name.at), detail: {name: name.text, constraint: owner.name}},
    );
  }
  return {
    kind: 'schema',
    command: {kind: 'drop-index', name: name.text, ifExists},
    counts: {indexesRemoved: 1},
  };
}

/** The rules of other constraints stay; a typed property holds any value from then on. */
function dropConstraint(context: BindContext, {name, ifExists}: Drop): BoundStatement {
  const {catalog} = context;
  const constraints = constraintsOf(catalog);
  const found = constraints.find(constraint => constraint.name === name.text);
  if (found === undefined) {
    if (ifExists) return nothingToDo;
    const near = nearestName(
      name.text,
      constraints.map(constraint => constraint.name),
    );
    const hint =
      catalog.index(name.text) !== undefined
        ? ', but an index: use DROP INDEX'
        : near === undefined
          ? ''
          : `; did you mean ${near}?`;
    throw new Refusal('schema.unknown-index', `there is no constraint '${name.text}'${hint}`, {
      place: context.place(name.at),
      detail: {name: name.text},
    });
  }
  const type = catalog.type(found.typeName);
  const others = constraints.filter(other => other !== found && other.typeName === found.typeName);
  const first: BoundCommand[] = [];
  if (found.index !== undefined && catalog.index(found.index) !== undefined) {
    first.push({kind: 'drop-index', name: found.index, ifExists: true});
  }
  for (const property of found.properties) {
    if (type?.definition.properties.some(own => own.name === property) !== true) continue;
    first.push(...relaxation(found.typeName, property, found.kind, others));
  }
  return {
    kind: 'schema',
    first,
    command: remember(found.typeName, found.name, undefined),
    counts: {constraintsRemoved: 1},
  };
}

function relaxation(
  type: string,
  property: string,
  kind: ConstraintKind,
  others: readonly StoredConstraint[],
): readonly BoundCommand[] {
  const alike: readonly ConstraintKind[] = kind === 'TYPED' ? ['TYPED'] : ['NOT_NULL', 'KEY'];
  if (kind === 'UNIQUE') return [];
  if (others.some(other => alike.includes(other.kind) && other.properties.includes(property))) {
    return [];
  }
  if (kind === 'TYPED') return [alteration(type, property, {dataType: 'ANY'})];
  return [alteration(type, property, {attributes: {mandatory: false, notNull: false}})];
}
