/** Plans before and after, as transcripts; and equal rows whatever rule is off. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Catalog} from '#server/catalog/catalog.ts';
import {createIndex, markIndexReady} from '#server/catalog/change-index.ts';
import {createProperty} from '#server/catalog/change-property.ts';
import {createType} from '#server/catalog/change-type.ts';
import type {IndexProperty} from '#server/catalog/definition.ts';
import {createFunctionRegistry} from '#server/execution/standard-functions.ts';
import {bindCypher} from '#server/languages/cypher/bind.ts';
import {parseCypher} from '#server/languages/cypher/parser.ts';
import {bindSql} from '#server/languages/sql/bind-statement.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {planText} from '#server/plan/printer.ts';
import type {PropertyStatistics, Statistics} from '#server/plan/statistics.ts';
import {constantEvaluator} from '#server/session/preparation/constant-evaluator.ts';
import {call, literal, slot} from '#server/testing/worlds/hand-built-plan.ts';
import {testScript} from '#server/testing/script.ts';
import {optimize, rules} from './optimize.ts';

let names = 0;

function property(typeName: string, name: string, type: DataType, attributes = {}) {
  return (catalog: Catalog): Catalog =>
    createProperty(catalog, {typeName, name, nameId: ++names, type, attributes}).catalog;
}

function index(typeName: string, properties: readonly IndexProperty[], unique: boolean) {
  return (catalog: Catalog): Catalog => {
    const made = createIndex(catalog, {typeName, properties, kind: 'ordered', unique});
    const [built] = made.indexesToBuild;
    assert.ok(built);
    return markIndexReady(made.catalog, built.id).catalog;
  };
}

const part = (name: string, ignoreCase = false): IndexProperty => ({name, ignoreCase});

const catalog = [
  (c: Catalog) => createType(c, {name: 'Person', kind: 'vertex'}).catalog,
  property('Person', 'name', 'STRING'),
  property('Person', 'age', 'INTEGER'),
  (c: Catalog) => createType(c, {name: 'Worker', kind: 'vertex', superTypes: ['Person']}).catalog,
  (c: Catalog) => createType(c, {name: 'Item', kind: 'document'}).catalog,
  (c: Catalog) => createType(c, {name: 'Knows', kind: 'edge'}).catalog,
  (c: Catalog) => createType(c, {name: 'Likes', kind: 'edge'}).catalog,
  property('Item', 'kind', 'STRING'),
  property('Item', 'size', 'INTEGER'),
  property('Item', 'label', 'STRING'),
  (c: Catalog) => createType(c, {name: 'Bill', kind: 'document'}).catalog,
  property('Bill', 'number', 'INTEGER', {mandatory: true, notNull: true}),
  property('Bill', 'paid', 'INTEGER', {mandatory: true}),
  property('Person', 'size', 'INTEGER'),
  index('Person', [part('name')], true),
  index('Person', [part('age')], false),
  index('Person', [part('size')], false),
  index('Item', [part('kind'), part('size')], false),
  index('Item', [part('label', true)], false),
  index('Bill', [part('number')], false),
  index('Bill', [part('paid')], false),
].reduce((before, step) => step(before), new Catalog());

function follow(input: PlanNode, type: string): PlanNode & {kind: 'follow'} {
  return {kind: 'follow', input, from: 0, direction: 'out', types: [type], to: 1, edge: undefined};
}

const constant = constantEvaluator(catalog, createFunctionRegistry());

testScript(new URL('./testdata/rules.txt', import.meta.url), ({input}) => {
  const statement = bindSql(input, catalog);
  assert.ok(statement.kind === 'query');
  return planText(optimize(statement.plan, {catalog, constant}));
});

const numbers = (from: number, to: number): readonly number[] =>
  Array.from({length: 33}, (_bound, at) => from + ((to - from) * at) / 32);
const even = (distinct: number, quantiles: readonly Value[]): PropertyStatistics => {
  return {present: 1, distinct, frequent: [], quantiles};
};

const properties: ReadonlyMap<string, PropertyStatistics> = new Map([
  ['Person.name', even(100_000, [])],
  ['Person.age', even(80, numbers(10, 90))],
  ['Person.size', even(20, numbers(0, 20))],
  ['Worker.size', even(20, numbers(0, 20))],
  ['Item.size', even(1_000, numbers(0, 1_000))],
  [
    'Item.kind',
    {
      present: 1,
      distinct: 500,
      frequent: [{value: 'usual', share: 0.6}],
      quantiles: ['a', 'usual', 'z'],
    },
  ],
]);
const counts = new Map([
  ['Person', 100_000],
  ['Worker', 500],
  ['Item', 50_000],
  ['Knows', 1_000_000],
]);

/** A hundred thousand persons, a few of them workers, who know ten others each; and items. */
const counted: Statistics = {
  recordCount: type => counts.get(type),
  property: (type, name) => properties.get(`${type}.${name}`),
  edges: type => {
    const ends = new Map([
      ['Person', 0.995],
      ['Worker', 0.005],
    ]);
    return type === 'Knows' || type === 'Likes'
      ? {count: 1_000_000, from: ends, to: ends}
      : undefined;
  },
};

testScript(new URL('./testdata/statistics.txt', import.meta.url), ({command, input}) => {
  const statement =
    command === 'sql'
      ? bindSql(input, catalog)
      : bindCypher(input, parseCypher(input), {
          catalog,
          procedures: new Map(),
          databaseName: 'db',
        }).statement;
  assert.ok(statement.kind === 'query');
  return planText(optimize(statement.plan, {catalog, statistics: counted}));
});

test('an index that is being built is not read', () => {
  const made = createIndex(catalog, {
    typeName: 'Item',
    properties: [part('size')],
    kind: 'ordered',
    unique: false,
  });
  const statement = bindSql('SELECT FROM Item WHERE size = 3', made.catalog);
  assert.ok(statement.kind === 'query');
  assert.match(planText(optimize(statement.plan, {catalog: made.catalog})), /scan Item/);
});

test('asking whether a sub-plan has a row becomes an apply between the other terms', () => {
  const exists: Expression = {
    kind: 'subplan',
    mode: 'exists',
    plan: follow({kind: 'argument'}, 'Knows'),
    slot: 1,
    correlated: true,
  };
  const age: Expression = {kind: 'property', of: slot(0), name: 'age', each: false};
  const guard = call('op:notEqual', age, literal(0));
  const behind = call('op:greater', call('op:divide', literal(9), age), literal(1));
  const condition: Expression = {
    kind: 'and',
    terms: [guard, {kind: 'not', of: exists}, behind, exists],
  };
  const input = follow({kind: 'argument'}, 'Knows');
  const plan: PlanNode = {kind: 'filter', input: {...input, to: 0}, condition};
  const off = new Set(['push-filter']);
  assert.equal(
    planText(optimize(plan, {catalog, without: off})),
    [
      'apply semi',
      '├─ filter (9 / $0.age) > 1',
      '│  └─ apply anti',
      '│     ├─ filter $0.age <> 0',
      '│     │  └─ follow $0 -[:Knows]-> $0',
      '│     │     └─ argument',
      '│     └─ follow $0 -[:Knows]-> $1',
      '│        └─ argument',
      '└─ follow $0 -[:Knows]-> $1',
      '   └─ argument',
    ].join('\n'),
  );
});

test('a rule that is switched off changes nothing', () => {
  const statement = bindSql("SELECT FROM Person WHERE name = 'ann' ORDER BY age LIMIT 1", catalog);
  assert.ok(statement.kind === 'query');
  const off = new Set(rules.map(rule => rule.name));
  assert.equal(optimize(statement.plan, {catalog, without: off}), statement.plan);
});
