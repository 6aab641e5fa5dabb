/** Arguments of tools: what is read, what is refused and in which words, and what schemas say. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {parseJsonText} from '#server/model/json-parser.ts';
import type {MapValue} from '#server/model/value.ts';
import {
  anyText,
  flag,
  integer,
  numbers,
  object,
  oneOf,
  optional,
  readArguments,
  schemaOf,
  text,
  texts,
  withDefault,
} from './arguments.ts';
import {notPermitted} from './permissions.ts';
import type {Tool, ToolCall} from './tool.ts';
import {ToolRefusal} from './tool-refusal.ts';
import {tools} from './tools/tool-list.ts';

const fields = {
  database: text('Name of a database', 20),
  value: optional(anyText('Any text')),
  limit: withDefault(integer('Most rows', 1, 100), 10),
  direction: withDefault(oneOf('Which way', ['out', 'in', 'both']), 'out'),
  sparse: optional(flag('Whether it is sparse')),
  types: optional(texts('Names of types', 2)),
  vector: optional(numbers('A vector')),
  keys: optional(object('Properties and values', {minProperties: 1})),
};

const given = (json: string) => parseJsonText(json) as MapValue;
const read = (json: string) => readArguments(fields, given(json));

test('arguments are read as they are described', () => {
  assert.deepEqual(read('{"database":"d","limit":5.0,"direction":"BOTH","zzz":1,"types":null}'), {
    database: 'd',
    value: undefined,
    limit: 5,
    direction: 'both',
    sparse: undefined,
    types: undefined,
    vector: undefined,
    keys: undefined,
  });
  const {vector, keys, value} = read('{"database":"d","vector":[1,0.5],"keys":{"a":1},"value":""}');
  assert.deepEqual([vector, keys, value], [[1, 0.5], new Map([['a', 1]]), '']);
});

test('an argument of a wrong kind is refused by its name', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['{}', "'database' is required"],
    ['{"database":null}', "'database' is required"],
    ['{"database":" "}', "'database' is required"],
    ['{"database":7}', "'database' must be a string"],
    ['{"database":"123456789012345678901"}', "'database' must be at most 20 characters long"],
    ['{"database":"d","limit":0}', "'limit' must be between 1 and 100"],
    ['{"database":"d","limit":9007199254740993}', "'limit' must be between 1 and 100"],
    ['{"database":"d","limit":1.5}', "'limit' must be an integer"],
    ['{"database":"d","limit":"7"}', "'limit' must be an integer"],
    ['{"database":"d","direction":"up"}', "'direction' must be one of out, in, both"],
    ['{"database":"d","sparse":1}', "'sparse' must be true or false"],
    ['{"database":"d","types":["a",1]}', "'types' must be an array of strings"],
    ['{"database":"d","types":["a","b","c"]}', "'types' must be an array of at most 2 strings"],
    ['{"database":"d","vector":[1,"2"]}', "'vector' must be an array of numbers"],
    ['{"database":"d","keys":[]}', "'keys' must be an object"],
    ['{"database":"d","value":[]}', "'value' must be a string"],
  ];
  for (const [json, message] of cases) {
    assert.throws(() => read(json), new ToolRefusal(message), json);
  }
});

test('the schema is what is read', () => {
  const schema = schemaOf(fields);
  assert.deepEqual(schema.required, ['database']);
  assert.deepEqual(schema.properties?.['limit'], {
    type: 'integer',
    description: 'Most rows',
    minimum: 1,
    maximum: 100,
    default: 10,
  });
  assert.deepEqual(schema.properties?.['keys'], {
    type: 'object',
    minProperties: 1,
    description: 'Properties and values',
  });
});

test('list_databases answers what the caller may read', async () => {
  const call = {readableDatabases: () => ['a', 'b']} as unknown as ToolCall;
  const [listDatabases] = tools as readonly [Tool];
  assert.equal(await listDatabases.call(call, new Map()), '{"databases":["a","b"]}');
});

test('what is not permitted is named', () => {
  const message = 'Schema change operations are not allowed by MCP configuration';
  assert.equal(notPermitted('schema').message, message);
});
