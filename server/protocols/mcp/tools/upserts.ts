/**
 * `upsert_entity` and `upsert_relationship`: a vertex by its keys, an edge by its ends, found or
 * else made, in one statement and so in one transaction.
 *
 * MERGE alone may make two where two calls look at the same time and no unique index forbids it.
 * So calls for the same keys take turns, as do calls that make edges of one type, which may name
 * the same ends by other keys. All writes go through the leader, and the turns are its own.
 */
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {Service} from '#server/session/session.ts';
import {flag, object, optional, text, withDefault} from '../arguments.ts';
import {
  answerOf,
  databaseArgument,
  permittedIn,
  quoted,
  recordsOf,
  StatementParameters,
} from '../statement.ts';
import {tool, type ToolAnnotations, type ToolCall} from '../tool.ts';
import {ToolRefusal} from '../tool-refusal.ts';
import {Turns} from '../turns.ts';

const returnRecord = withDefault(
  flag('Whether the record is answered; false: only how many there are'),
  true,
);

const annotations = (title: string): ToolAnnotations => ({
  title,
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
});

/** A property and its value at least, each a text, a number or a truth value. */
const keys = (what: string) => {
  const argument = object(what, {minProperties: 1});
  return {
    ...argument,
    read(value: Value | undefined, name: string): MapValue {
      const given = value === undefined ? undefined : argument.read(value, name);
      if (given === undefined || given.size === 0) {
        throw new ToolRefusal(`'${name}' is required and must contain at least one property`);
      }
      for (const [property, key] of given) requireScalar(key, `${name}.${property}`);
      return given;
    },
  };
};

function requireScalar(value: Value, name: string): void {
  if (typeof value === 'string' || typeof value === 'boolean' || isNumberValue(value)) return;
  throw new ToolRefusal(`'${name}' must be a text, a number, true or false`);
}

export const upsertEntity = tool({
  name: 'upsert_entity',
  description:
    'Finds the vertex of a type that has the match keys, or makes it, and then sets properties ' +
    'of it. The same keys always mean the same vertex, however many calls come at once; the ' +
    'type is made when it is missing. Take the fewest keys that stay the same, best those of a ' +
    'unique index: without an index all vertices of the type are looked at.',
  annotations: annotations('Make or change a vertex'),
  profiles: ['rag'],
  requires: ['update', 'insert'],
  input: {
    database: databaseArgument,
    typeName: text('The type of the vertex'),
    matchKeys: keys('Properties and values that name the vertex'),
    setProperties: optional(object('Properties to set; null takes one away')),
    returnRecord,
  },
  run(call, {database, typeName, matchKeys, setProperties, returnRecord: isShown}) {
    const parameters = new StatementParameters();
    const words = [
      `MERGE (n${patternOf(typeName, 'typeName', matchKeys, 'matchKeys', parameters)})`,
      assignments('n', setProperties, 'setProperties', parameters),
      'RETURN n',
    ];
    const turns = [keyOf(database, matchKeys)];
    return upsert(call, {database, words, parameters, turns, isShown});
  },
});

export const upsertRelationship = tool({
  name: 'upsert_relationship',
  description:
    'Finds the edge of a type from one vertex to another, or makes it, and then sets properties ' +
    'of it. Each vertex is found or made by its match keys, as upsert_entity does. There is one ' +
    'edge of a type from one vertex to another, whatever its properties and however many calls ' +
    'come at once; types are made when they are missing.',
  annotations: annotations('Make or change an edge'),
  profiles: ['rag'],
  requires: ['update', 'insert'],
  input: {
    database: databaseArgument,
    fromType: text('The type of the vertex where the edge begins'),
    fromMatchKeys: keys('Properties and values that name that vertex'),
    toType: text('The type of the vertex where the edge ends'),
    toMatchKeys: keys('Properties and values that name that vertex'),
    relType: text('The type of the edge'),
    relProperties: optional(object('Properties of the edge to set; null takes one away')),
    returnRecord,
  },
  run(call, given) {
    const {database, fromType, fromMatchKeys, toType, toMatchKeys, relType, relProperties} = given;
    const parameters = new StatementParameters();
    const words = [
      `MERGE (a${patternOf(fromType, 'fromType', fromMatchKeys, 'fromMatchKeys', parameters)})`,
      `MERGE (b${patternOf(toType, 'toType', toMatchKeys, 'toMatchKeys', parameters)})`,
      `MERGE (a)-[r:${quoted(relType, 'relType')}]->(b)`,
      assignments('r', relProperties, 'relProperties', parameters),
      'RETURN r',
    ];
    const turns = [
      keyOf(database, fromMatchKeys),
      keyOf(database, toMatchKeys),
      JSON.stringify([database, relType]),
    ];
    return upsert(call, {database, words, parameters, turns, isShown: given.returnRecord});
  },
});

interface Upsert {
  readonly database: string;
  readonly words: readonly string[];
  readonly parameters: StatementParameters;
  readonly turns: readonly string[];
  readonly isShown: boolean;
}

const turnsOf = new WeakMap<Service, Turns>();

async function upsert(
  call: ToolCall,
  {database, words, parameters, turns, isShown}: Upsert,
): Promise<string> {
  call.requireDatabase(database);
  call.require('update', database);
  call.require('insert', database);
  const statement = {
    database,
    language: 'cypher',
    text: words.filter(word => word !== '').join(' '),
    parameters: parameters.values,
    limit: 0,
    // It shows what it has written, and makes the types that it needs.
    permitted: permittedIn(call, database, 'read', 'schema'),
  };
  const all = turnsOf.get(call.service) ?? new Turns();
  turnsOf.set(call.service, all);
  return all.with(turns, async () => {
    if (isShown) return answerOf(call, statement);
    const {count} = await recordsOf(call, statement);
    return JSON.stringify({records: [], count});
  });
}

/** A label and the properties of a pattern, without its variable. */
function patternOf(
  typeName: string,
  typeArgument: string,
  matchKeys: MapValue,
  keysArgument: string,
  parameters: StatementParameters,
): string {
  const properties = [...matchKeys].map(
    ([name, value]) => `${quoted(name, keysArgument)}: ${parameters.add(value)}`,
  );
  return `:${quoted(typeName, typeArgument)} {${properties.join(', ')}}`;
}

function assignments(
  variable: string,
  properties: MapValue | undefined,
  argument: string,
  parameters: StatementParameters,
): string {
  if (properties === undefined || properties.size === 0) return '';
  const items = [...properties].map(
    ([name, value]) => `${variable}.${quoted(name, argument)} = ${parameters.add(value)}`,
  );
  return `SET ${items.join(', ')}`;
}

/** Alike for keys that find the same vertices, whatever type is asked for: types have subtypes. */
function keyOf(database: string, matchKeys: MapValue): string {
  const names = [...matchKeys.keys()].sort();
  const values = names.map(name => {
    const value = matchKeys.get(name) ?? null;
    return isNumberValue(value) ? numberOf(value) : value;
  });
  return JSON.stringify([database, names, values]);
}
