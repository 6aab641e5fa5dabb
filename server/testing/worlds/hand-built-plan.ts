/**
 * Plans built and run by hand, over the naive graph: for tests of the algebra.
 *
 * The world is a small social network whose answers can be counted on fingers:
 * ann(30) -> bob(25) -> cat(41) -> dan(25), ann -> cat, dan -> ann (Knows, `since` a year);
 * ann likes m1 and m2, bob likes m2 (Likes); posts m1, m2 by cat and m3 by dan (Wrote).
 */
import {assert} from '#server/base/assert.ts';
import {Catalog} from '#server/catalog/catalog.ts';
import {createIndex} from '#server/catalog/change-index.ts';
import {createProperty} from '#server/catalog/change-property.ts';
import {createType} from '#server/catalog/change-type.ts';
import {type Batch, pause, unitBatch} from '#server/execution/batch.ts';
import {type ExecutionContext, newWriteCounts, SubplanMemo} from '#server/execution/context.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import {Budget, type BudgetLimits} from '#server/execution/budget.ts';
import {RowCursor} from '#server/execution/closure.ts';
import type {Graph, WritableGraph} from '#server/execution/graph.ts';
import {
  aggregate,
  type FunctionFamily,
  FunctionRegistry,
} from '#server/execution/function-registry.ts';
import {PlanPreparation} from '#server/execution/prepare.ts';
import type {PlanProfile} from '#server/execution/profile.ts';
import {addNumbers, isNumberValue} from '#server/model/number.ts';
import {RecordValue, type RecordKind, Rid, type Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {NaiveGraph} from './naive-graph.ts';

// Expressions, in as few letters as a plan written by hand deserves.
export function literal(value: Value): Expression {
  return {kind: 'literal', value};
}

export function slot(number: Slot): Expression {
  return {kind: 'slot', slot: number};
}

export function property(of: Slot | Expression, name: string): Expression {
  return {kind: 'property', of: typeof of === 'number' ? slot(of) : of, name, each: false};
}

export function call(name: string, ...args: readonly Expression[]): Expression {
  return {kind: 'call', name, args};
}

export function equal(left: Expression, right: Expression): Expression {
  return call('op:equal', left, right);
}

/** Every record of a type in a slot. */
export function scan(type: string, into: Slot, where?: Expression): PlanNode {
  const node = {kind: 'scan-type', type, polymorphic: true, slot: into, descending: false} as const;
  return where === undefined ? node : {...node, where};
}

/** Aggregates enough for tests. */
const testFunctions: FunctionFamily = {
  scalars: {
    'test.upper': ([text]) => (typeof text === 'string' ? text.toUpperCase() : null),
  },
  aggregates: {
    'test.collect': aggregate<Value[]>({
      init: () => [],
      step: (list, [value = null]) => {
        if (value !== null) list.push(value);
        return list;
      },
      finish: list => list,
    }),
    'test.sum': aggregate<Value>({
      init: () => null,
      step: (sum, [value = null]) => {
        if (!isNumberValue(value)) return sum;
        return isNumberValue(sum) ? addNumbers(sum, value) : value;
      },
      finish: sum => sum,
    }),
    'test.last': aggregate<Value>({
      init: () => null,
      step: (_last, [value = null]) => value,
      finish: last => last,
    }),
  },
  tables: {
    'test.numbers': {
      outputs: ['number', 'square'],
      *rows([count = null]) {
        for (let n = 1; n <= Number(count); n++) yield [n, n * n];
      },
    },
  },
};

/** Where a world's data lies: the naive maps, or a store. */
export interface WorldData {
  readonly graph: Graph;
  readonly writes: WritableGraph;
}

export class World {
  readonly catalog: Catalog;
  readonly graph: Graph;
  readonly writes: WritableGraph;
  readonly functions: FunctionRegistry = new FunctionRegistry([testFunctions]);
  /** Records by their `name`. */
  readonly named = new Map<string, RecordValue>();

  constructor(data: WorldData = naiveData(), known?: ReadonlyMap<string, RecordValue>) {
    this.catalog = worldCatalog();
    this.graph = data.graph;
    this.writes = data.writes;
    if (known === undefined) this.#fill();
    else for (const [name, record] of known) this.named.set(name, record);
  }

  /** The same world seen through other data access. */
  over(data: WorldData): World {
    return new World(data, this.named);
  }

  #fill(): void {
    for (const [name, age] of [
      ['ann', 30],
      ['bob', 25],
      ['cat', 41],
      ['dan', 25],
    ] as const) {
      this.add('Person', {name, age});
    }
    for (const name of ['m1', 'm2', 'm3']) this.add('Message', {name, length: name.length * 10});
    this.link('Knows', 'ann', 'bob', {since: 2019});
    this.link('Knows', 'bob', 'cat', {since: 2020});
    this.link('Knows', 'cat', 'dan', {since: 2021});
    this.link('Knows', 'ann', 'cat', {since: 2022});
    this.link('Knows', 'dan', 'ann', {since: 2018});
    this.link('Likes', 'ann', 'm1', {});
    this.link('Likes', 'ann', 'm2', {});
    this.link('Likes', 'bob', 'm2', {});
    this.link('Wrote', 'cat', 'm1', {});
    this.link('Wrote', 'cat', 'm2', {});
    this.link('Wrote', 'dan', 'm3', {});
  }

  add(type: string, properties: Readonly<Record<string, Value>>): RecordValue {
    const map = new Map(Object.entries(properties));
    const record = this.writes.create({what: 'any', type, bucket: undefined, properties: map});
    assert(record !== undefined, 'nothing forbids it');
    const name = map.get('name');
    if (typeof name === 'string') this.named.set(name, record);
    return record;
  }

  link(type: string, from: string, to: string, properties: Readonly<Record<string, Value>>): void {
    this.writes.create({
      what: 'edge',
      type,
      bucket: undefined,
      properties: new Map(Object.entries(properties)),
      from: this.rid(from),
      to: this.rid(to),
    });
  }

  rid(name: string): Rid {
    return this.named.get(name)?.rid ?? new Rid(0, 0);
  }

  context(options: RunOptions = {}): ExecutionContext {
    const {limits = {}, cancellation, batchRows = 1024, parameters = {}} = options;
    const monotonic = options.monotonic ?? (() => 0);
    const clock = {now: () => 0, monotonic};
    return {
      graph: this.graph,
      writes: options.readOnly === true ? undefined : this.writes,
      catalog: this.catalog,
      parameters: new Map(Object.entries(parameters)),
      clock,
      random: {u32: () => 4, fill: target => target.fill(4)},
      budget: new Budget(clock, limits, cancellation),
      startedAt: 0,
      format: {},
      batchRows,
      memo: new SubplanMemo(),
      counts: newWriteCounts(),
    };
  }

  /** Runs a plan; answers the given slots of each row, records by their name or `@rid`. */
  run(plan: PlanNode, slots: readonly Slot[], options: RunOptions = {}): unknown[][] {
    const rows: unknown[][] = [];
    const preparation = new PlanPreparation(plan, this.functions, {
      ...(options.profile && {profile: options.profile}),
    });
    for (const batch of preparation.prepare(plan)(this.context(options), unitBatch)) {
      if (batch === pause) continue;
      for (let row = 0; row < batch.rowCount; row++) rows.push(this.#row(batch, row, slots));
    }
    return rows;
  }

  /** The value of an expression that stands outside of any row. */
  evaluate(expression: Expression, options: RunOptions = {}): Value {
    const preparation = new PlanPreparation({kind: 'unit'}, this.functions);
    const closure = preparation.expression(expression);
    return closure(new RowCursor(this.context(options), unitBatch));
  }

  #row(batch: Batch, row: number, slots: readonly Slot[]): unknown[] {
    return slots.map(number => this.plain(batch.get(number, row)));
  }

  /** A value as tests write it: records by name, maps as objects, lists as arrays. */
  plain(value: Value): unknown {
    if (value instanceof RecordValue) return value.get('name') ?? `#${value.typeName}`;
    if (value instanceof Rid) {
      const record = this.graph.record(value);
      return record === undefined ? null : this.plain(record);
    }
    if (Array.isArray(value)) return value.map(item => this.plain(item));
    if (value instanceof Map) {
      return Object.fromEntries([...value].map(([key, item]) => [key, this.plain(item)]));
    }
    if (typeof value === 'object' && value !== null && 'elements' in value) {
      return value.elements.map(element => this.plain(element));
    }
    return value;
  }
}

export interface RunOptions {
  /** Operators may then remember what they have read. */
  readonly readOnly?: boolean;
  readonly limits?: BudgetLimits;
  readonly cancellation?: Cancellation;
  readonly batchRows?: number;
  readonly parameters?: Readonly<Record<string, Value>>;
  readonly monotonic?: () => number;
  readonly profile?: PlanProfile;
}

function naiveData(): WorldData {
  const graph = new NaiveGraph(worldCatalog());
  return {graph, writes: graph};
}

/** The schema of every world. */
export function worldCatalog(): Catalog {
  const types: readonly (readonly [string, RecordKind, string?])[] = [
    ['Thing', 'vertex'],
    ['Person', 'vertex', 'Thing'],
    ['Message', 'vertex', 'Thing'],
    ['Knows', 'edge'],
    ['Likes', 'edge'],
    ['Wrote', 'edge'],
    ['Sample', 'document'],
  ];
  let catalog = new Catalog();
  for (const [name, kind, parent] of types) {
    catalog = createType(catalog, {name, kind, superTypes: parent ? [parent] : []}).catalog;
  }
  catalog = createType(catalog, {name: 'Follows', kind: 'edge', lightweight: true}).catalog;
  const indexed = [
    ['Person', 'age', 'INTEGER'],
    ['Thing', 'name', 'STRING'],
  ] as const;
  for (const [at, [typeName, name, type]] of indexed.entries()) {
    catalog = createProperty(catalog, {typeName, name, nameId: at + 1, type}).catalog;
    catalog = createIndex(catalog, {
      name: `${typeName}[${name}]`,
      typeName,
      properties: [{name, ignoreCase: false}],
      kind: 'ordered',
      unique: false,
    }).catalog;
  }
  return catalog;
}
