/**
 * Indexes and constraints: commands of the schema, the same that SQL gives.
 *
 * A label or a relationship type is a type. What is unique is an index that says so, and DROP
 * CONSTRAINT drops it; what is typed is a declared property. An index stands on declared
 * properties only.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {SchemaCommand as BoundCommand} from '#server/plan/statement.ts';
import type {Name, SchemaCommand} from './ast.ts';
import type {BindContext} from './bind-context.ts';

type CreateConstraint = Extract<SchemaCommand, {kind: 'create-constraint'}>;
type CreateIndex = Extract<SchemaCommand, {kind: 'create-index'}>;
type Drop = Extract<SchemaCommand, {kind: 'drop'}>;

/** The types of values that both languages have. */
const dataTypes: ReadonlyMap<string, DataType> = new Map([
  ['BOOLEAN', 'BOOLEAN'],
  ['FLOAT', 'DOUBLE'],
  ['INTEGER', 'LONG'],
  ['LIST', 'LIST'],
  ['MAP', 'MAP'],
  ['STRING', 'STRING'],
]);

/** @throws {Refusal} `not-available` for rules that the schema cannot keep yet. */
export function bindSchemaCommand(context: BindContext, command: SchemaCommand): BoundCommand {
  switch (command.kind) {
    case 'create-index':
      return bindIndex(context, command, false);
    case 'create-constraint':
      return bindConstraint(context, command);
    case 'drop':
      return bindDrop(context, command);
    default:
      return unreachable(command);
  }
}

function bindConstraint(context: BindContext, command: CreateConstraint): BoundCommand {
  const {rule, at} = command;
  if (rule === 'unique') return bindIndex(context, command, true);
  if (typeof rule === 'object') return bindTyped(context, command, rule.type);
  throw new Refusal('not-available', `constraints of the kind '${rule}' are not available yet`, {
    place: context.place(at),
    detail: {name: rule},
  });
}

function bindIndex(
  context: BindContext,
  {label, name, properties, ifNotExists}: CreateIndex | CreateConstraint,
  unique: boolean,
): BoundCommand {
  const declared = context.catalog.type(label.text)?.properties;
  for (const property of properties) {
    if (declared?.has(property.text)) continue;
    throw new Refusal(
      'schema.unknown-property',
      `'${label.text}.${property.text}' is not declared, and an index needs to know its type: ` +
        'say it first with a constraint, such as REQUIRE n.id IS :: INTEGER',
      {
        place: context.place(property.at),
        detail: {type: label.text, property: property.text},
      },
    );
  }
  return {
    kind: 'create-index',
    name: name?.text,
    ifNotExists,
    type: label.text,
    parts: properties.map(property => ({name: property.text})),
    indexKind: 'ordered',
    unique,
    nullStrategy: 'SKIP',
  };
}

/** A declared property; the type that has it is made when it is missing. */
function bindTyped(
  context: BindContext,
  {entity, label, name, properties, ifNotExists, at}: CreateConstraint,
  type: Name,
): BoundCommand {
  const dataType = dataTypes.get(type.text.toUpperCase());
  if (dataType === undefined) {
    const known = [...dataTypes.keys()].join(', ');
    context.refuse(type.at, 'UnexpectedSyntax', `'${type.text}' is none of the types ${known}`);
  }
  const [property, another] = properties;
  if (property === undefined || another !== undefined) {
    context.refuse(at, 'UnexpectedSyntax', 'a type is said of one property at a time');
  }
  if (name !== undefined) {
    context.refuse(name.at, 'UnexpectedSyntax', "a property's type has no name of its own");
  }
  context.needType(label.text, entity === 'node' ? 'vertex' : 'edge');
  return {
    kind: 'create-property',
    type: label.text,
    name: property.text,
    ifNotExists,
    dataType,
    ofType: undefined,
    attributes: {},
    custom: new Map(),
  };
}

/** What is not unique is no constraint; a name that nothing has is left to the schema. */
function bindDrop(context: BindContext, {what, name, ifExists, at}: Drop): BoundCommand {
  if (what === 'constraint' && context.catalog.index(name.text)?.unique === false) {
    throw new Refusal('argument', `'${name.text}' is an index, no constraint: use DROP INDEX`, {
      place: context.place(at),
      detail: {name: name.text},
    });
  }
  return {kind: 'drop-index', name: name.text, ifExists};
}
