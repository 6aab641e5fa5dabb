/** Results as bytes: shapes of rows, elements and documents; caps, ceilings, pieces. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {RecordJson} from '#server/layout/record-json.ts';
import type {Value} from '#server/model/value.ts';
import type {Output, PlanNode} from '#server/plan/node.ts';
import {
  call,
  equal,
  literal,
  property,
  type RunOptions,
  scan,
  slot,
} from '#server/testing/worlds/hand-built-plan.ts';
import {openStoredWorld} from '#server/testing/worlds/stored-world.ts';
import type {ExecutionContext} from '../context.ts';
import {PlanPreparation} from '../prepare.ts';
import {PlanRun} from '../run.ts';
import {outputOf, prepareOutput} from '../output.ts';
import {QueryResult, type ResultOptions} from '../query-result.ts';

const stored = await openStoredWorld();
after(() => stored.close());
const world = await stored.open('committed');

const plain: ResultOptions = {
  format: 'record',
  typeHints: false,
  loneRecords: false,
  rowsMax: undefined,
  ceilingRows: 1_000_000,
  beyondCeiling: 'truncate',
  writes: false,
};

interface Answer {
  readonly pieces: readonly string[];
  readonly text: string;
  readonly returned: number;
  readonly truncated: boolean;
}

const timers = {after: () => () => {}, yield: () => Promise.resolve()};

function start(
  plan: PlanNode,
  options: ResultOptions,
  context: ExecutionContext,
  yieldThread: () => Promise<void> = timers.yield,
): QueryResult {
  const preparation = new PlanPreparation(plan, world.functions);
  const prepared = {plan, operator: preparation.prepare(plan)};
  return new QueryResult({
    run: new PlanRun(prepared, context, {...timers, yield: yieldThread}),
    context,
    output: prepareOutput(outputOf(plan) ?? {kind: 'columns', columns: []}, preparation),
    json: new RecordJson(stored.schema),
    options,
  });
}

async function answer(
  plan: PlanNode,
  options: Partial<ResultOptions> = {},
  run: RunOptions = {},
): Promise<Answer> {
  const result = start(plan, {...plain, ...options}, world.context(run));
  const pieces: string[] = [];
  for (let piece = await result.next(); piece; piece = await result.next()) {
    pieces.push(piece.toString());
  }
  const {returned, truncated} = result;
  return {pieces, text: pieces.join(''), returned, truncated};
}

const element = (input: PlanNode, into = 0): PlanNode => ({
  kind: 'project',
  input,
  output: {kind: 'element', slot: into},
});
const columns = (input: PlanNode, ...list: (Output & {kind: 'columns'})['columns']): PlanNode => ({
  kind: 'project',
  input,
  output: {kind: 'columns', columns: list},
});
const ann = scan('Person', 0, equal(property(0, 'name'), literal('ann')));
const annRid = '#2:0';
const single = (value: Value): PlanNode => ({kind: 'values', slots: [0], rows: [[literal(value)]]});

test('a record is its row; rows have commas between them', async () => {
  const {text, returned} = await answer(element(scan('Person', 0)));
  const rows = JSON.parse(`[${text}]`) as Record<string, unknown>[];
  assert.equal(returned, 4);
  assert.deepEqual(Object.keys(rows[0] ?? {}), ['@rid', '@type', '@cat', 'name', 'age']);
  assert.match(text, /^\{"@rid":"#2:0","@type":"Person","@cat":"v","name":"ann","age":30\},/);
});

test('an edge has its ends behind its category', async () => {
  const {text} = await answer(element({kind: 'limit', input: scan('Knows', 0), count: literal(1)}));
  assert.match(text, /"@cat":"e","@in":"#2:1","@out":"#2:0","since":2019\}$/);
});

test('a record inside a row has its category last; a plain element is a value', async () => {
  const inner = await answer(columns(ann, {name: 'p', value: slot(0)}));
  assert.match(inner.text, /^\{"p":\{"@rid":"#2:0","@type":"Person",.*"@cat":"v"\}\}$/);
  assert.equal((await answer(element(single(7)))).text, '{"value":7}');
  assert.equal((await answer(element(single(new Map([['a', 1]]))))).text, '{"a":1}');
});

test('a spread column puts properties in place, less the exceptions', async () => {
  const all = {spread: slot(0), attributes: true} as const;
  assert.equal((await answer(columns(ann, all))).text, (await answer(element(ann))).text);
  const some = {spread: slot(0), except: ['age'], attributes: true} as const;
  const next = {name: 'next', value: call('op:add', property(0, 'age'), literal(1))};
  assert.equal(
    (await answer(columns(ann, some, next))).text,
    `{"@rid":"${annRid}","@type":"Person","@cat":"v","name":"ann","next":31}`,
  );
});

test('a name stands once in a row, with the value of its last column', async () => {
  const plan = columns(
    ann,
    {name: 'a', value: literal(1)},
    {name: 'b', value: literal(2)},
    {name: 'a', value: literal(3)},
  );
  assert.equal((await answer(plan)).text, '{"a":3,"b":2}');
});

test('counts: vertices have the numbers of their edges', async () => {
  const {text} = await answer(element(ann), {format: 'counts'});
  assert.match(text, /"@cat":"v","@out":4,"@in":1,"name":"ann"/);
});

test('type hints name what JSON loses, on rows that are no records', async () => {
  const plan = columns(
    ann,
    {name: 'name', value: property(0, 'name')},
    {name: 'l', value: literal([1, 2])},
  );
  const {text} = await answer(plan, {typeHints: true});
  assert.equal(text, '{"name":"ann","l":[1,2],"@props":"l:9"}');
});

test('graph: elements once, wherever they are in the rows', async () => {
  const hop: PlanNode = {
    kind: 'follow',
    input: ann,
    from: 0,
    direction: 'out',
    types: ['Knows'],
    to: 1,
    edge: 2,
  };
  const plan = columns(
    hop,
    {name: 'a', value: slot(0)},
    {name: 'e', value: {kind: 'list', items: [slot(2)]}},
    {name: 'b', value: slot(1)},
  );
  const {pieces} = await answer(plan, {format: 'graph'});
  assert.equal(pieces.length, 1);
  const graph = JSON.parse(pieces[0] ?? '') as {
    vertices: {r: string; t: string; i: number; o: number; p: Record<string, unknown>}[];
    edges: {i: string; o: string}[];
  };
  assert.deepEqual(
    graph.vertices.map(vertex => [vertex.p['name'], vertex.i, vertex.o]),
    [
      ['ann', 1, 4],
      ['bob', 1, 2],
      ['cat', 2, 3],
    ],
  );
  assert.deepEqual(Object.keys(graph.vertices[0] ?? {}), ['p', 'r', 't', 'i', 'o']);
  assert.deepEqual(graph.edges[0]?.o, annRid);
  assert.equal(graph.edges.length, 2);
});

test('studio: the rows too, and the edges among the vertices', async () => {
  const {text} = await answer(element(scan('Person', 0)), {format: 'studio'});
  const graph = JSON.parse(text) as {vertices: unknown[]; edges: unknown[]; records: unknown[]};
  assert.equal(graph.vertices.length, 4);
  assert.equal(graph.edges.length, 5);
  assert.equal(graph.records.length, 4);
  const empty = await answer(element(scan('Sample', 0)), {format: 'studio'});
  assert.equal(empty.text, '{"vertices":[],"edges":[],"records":[]}');
});

test('ndjson: whole lines, the first at once', async () => {
  const {pieces, text} = await answer(element(scan('Person', 0)), {format: 'ndjson'});
  assert.equal(pieces.length, 2);
  for (const piece of pieces) assert.match(piece, /\}\n$/);
  const lines = text.trimEnd().split('\n');
  assert.equal(lines.length, 4);
  assert.equal((JSON.parse(lines[0] ?? '') as {record: {name: string}}).record.name, 'ann');
});

const numbers: PlanNode = {
  kind: 'call',
  procedure: 'test.numbers',
  args: [literal(50_000)],
  outputs: [{name: 'number', slot: 0}],
};
const numberRows = columns(numbers, {name: 'n', value: slot(0)});

test('a long result comes in pieces that join to one list', async () => {
  const {pieces, text, returned} = await answer(numberRows);
  assert.ok(pieces.length > 5);
  assert.equal((JSON.parse(`[${text}]`) as unknown[]).length, returned);
});

test('truncated is true only when a row was left out', async () => {
  const exact = await answer(element(scan('Person', 0)), {rowsMax: 4});
  assert.deepEqual([exact.returned, exact.truncated], [4, false]);
  const cut = await answer(element(scan('Person', 0)), {rowsMax: 3});
  assert.deepEqual([cut.returned, cut.truncated], [3, true]);
});

test('beyond the ceiling a result is cut, or refused when the client asked for more', async () => {
  const cut = await answer(numberRows, {ceilingRows: 100});
  assert.deepEqual([cut.returned, cut.truncated], [100, true]);
  await assert.rejects(
    answer(numberRows, {ceilingRows: 100, beyondCeiling: 'refuse'}),
    (error: unknown) => error instanceof Refusal && error.code === 'query.result-too-large',
  );
});

test('rows before a failure come first, then the failure', async () => {
  const inverse = call('op:divide', literal(1), call('op:subtract', literal(30_000), slot(0)));
  const plan = columns(numbers, {name: 'i', value: inverse});
  const context = world.context();
  const result = start(plan, plain, context);
  let text = '';
  await assert.rejects(async () => {
    for (let piece = await result.next(); piece; piece = await result.next()) text += piece;
  }, Refusal);
  assert.equal(result.returned, 29_999);
  assert.equal((JSON.parse(`[${text}]`) as unknown[]).length, 29_999);
});

test('a run gives the thread away between slices', async () => {
  let now = 0;
  const rests: number[] = [];
  const context = world.context({monotonic: () => (now += 0.5)});
  const result = start(numberRows, plain, context, () => {
    rests.push(now);
    return Promise.resolve();
  });
  while ((await result.next()) !== undefined);
  assert.ok(rests.length > 5, `paused ${rests.length} times`);
});
