/**
 * One loader: the same records leave the same database behind whether they come as lines, as values
 * or through a member that does not lead; a load that is sent again is applied once; and whoever
 * vanishes in the middle of one leaves nothing open.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import {digestDatabase} from '#server/integrity/digest.ts';
import {jsonText} from '#server/model/json.ts';
import {ridText} from '#server/model/rid.ts';
import {Rid, type Value} from '#server/model/value.ts';
import type {LoadCounts, LoadedRecord, LoadRequest, Service} from '#server/session/session.ts';
import {closing} from '#server/testing/closing.ts';
import {type TwoLeaders, twoLeaders} from '#server/testing/protocol/two-leaders.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {root, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const schema = [
  'CREATE VERTEX TYPE Item',
  'CREATE PROPERTY Item.k INTEGER',
  'CREATE INDEX ON Item (k) UNIQUE',
  'CREATE VERTEX TYPE Other',
  'CREATE EDGE TYPE Knows',
  'CREATE DOCUMENT TYPE Note',
  'CREATE VERTEX Item SET k = -1',
];

const properties = (entries: Readonly<Record<string, Value>>): Map<string, Value> =>
  new Map(Object.entries(entries));

const refused =
  (code: RefusalCode) =>
  (error: unknown): boolean =>
    error instanceof Refusal && error.code === code;

async function everyRecord(
  service: Service,
  request: LoadRequest,
  records: Iterable<LoadedRecord>,
): Promise<LoadCounts> {
  const load = await service.loadRecords(root, request);
  try {
    for (const record of records) await load.add(record);
    return await load.finish();
  } finally {
    load.close();
  }
}

/** The same records as the lines of a batch. */
async function everyLine(
  {leaders}: TwoLeaders,
  {database, portionMax = 1}: LoadRequest,
  records: readonly LoadedRecord[],
): Promise<LoadCounts> {
  const load = leaders[0].world.service.loads.beginLines(root, {
    database,
    format: 'json',
    references: 'id',
    ordinalBase: 0,
    lightEdges: false,
    bidirectional: true,
    vertexBatchSize: portionMax,
    edgeBatchSize: portionMax,
    retriesMax: 10,
    retryDelayMs: 1_000,
    tellsIds: false,
    onVertices() {},
    onVerticesEnd() {},
    onEdges() {},
  });
  try {
    const bytes = Buffer.from(records.map(record => `${lineOf(record)}\n`).join(''));
    for (let at = 0; at < bytes.length; at += 100) await load.push(bytes.subarray(at, at + 100));
    await load.finish();
    return load.counts;
  } finally {
    load.close();
  }
}

function lineOf({type, properties: own, id, from, to}: LoadedRecord): string {
  const isEdge = type === 'Knows';
  const attributes = properties({'@type': isEdge ? 'e' : 'v', '@class': type});
  const end = (one: Rid | string): string => (one instanceof Rid ? ridText(one) : one);
  if (id !== undefined) attributes.set('@id', id);
  if (from !== undefined) attributes.set('@from', end(from));
  if (to !== undefined) attributes.set('@to', end(to));
  return jsonText(new Map([...attributes, ...own]));
}

const value = fc.oneof(
  fc.string({maxLength: 20}),
  fc.integer({min: -1e6, max: 1e6}),
  fc.boolean(),
  fc.array(fc.string({maxLength: 3}), {maxLength: 3}),
);

/** Some of them are refused: a key that is there, an id that nobody has, an unknown type. */
const anyLoad = fc
  .record({
    items: fc.array(fc.record({k: fc.integer({min: -1, max: 5_000}), a: value, b: value}), {
      maxLength: 30,
    }),
    others: fc.array(fc.record({a: value}), {maxLength: 10}),
    edges: fc.array(fc.tuple(fc.nat({max: 60}), fc.nat({max: 60}), value), {maxLength: 30}),
    misnamed: fc.option(fc.nat({max: 60})),
    portionMax: fc.integer({min: 1, max: 12}),
  })
  .map(({items, others, edges, misnamed, portionMax}) => {
    const records: LoadedRecord[] = [
      ...items.map((own, n) => ({type: 'Item', id: `i${n}`, properties: properties(own)})),
      ...others.map((own, n) => ({type: 'Other', id: `o${n}`, properties: properties(own)})),
    ];
    const named = records.map(({id}) => id ?? '');
    const end = (at: number): string | undefined => named[at % Math.max(1, named.length)];
    for (const [from, to, w] of edges) {
      const ends = {from: end(from) ?? 'nobody', to: end(to) ?? 'nobody'};
      records.push({type: 'Knows', properties: properties({w}), ...ends});
    }
    const wrong = misnamed === null ? undefined : records[misnamed];
    if (wrong !== undefined) Object.assign(wrong, {type: 'Nobody'});
    return {records, portionMax};
  });

/** What a load came to, and all that is in its database then but for ids of requests. */
async function trace(
  {leaders}: TwoLeaders,
  database: TestDatabase,
  loading: Promise<LoadCounts>,
): Promise<unknown> {
  const told = await loading.then(
    ({vertices, edges}) => ({vertices, edges}),
    (error: unknown) => {
      assert.ok(error instanceof Refusal, String(error));
      return {code: error.code, line: error.detail['line']};
    },
  );
  const reader = leaders[0].world.stored(database).read();
  try {
    const parts = await digestDatabase(reader, () => Promise.resolve());
    return {told, parts: parts.filter(({kind}) => kind !== 'requests')};
  } finally {
    reader.close();
  }
}

/** A key that is there already, in the middle of a portion. */
const twice = {
  records: [5, 6, 7, 5].map(k => ({type: 'Item', id: `i${k}`, properties: properties({k})})),
  portionMax: 3,
};

test('lines, values and values at a follower leave the same behind', async () => {
  const world = await twoLeaders(false);
  const single = world.leaders[0].world;
  let refusals = 0;
  await fc.assert(
    fc.asyncProperty(anyLoad, async ({records, portionMax}) => {
      const ways: ((request: LoadRequest) => Promise<LoadCounts>)[] = [
        request => everyLine(world, request, records),
        request => everyRecord(single.service, request, records),
        request => everyRecord(world.ways.service, request, records),
        request => everyRecord(single.service, {...request, requestId: 'one'}, records),
        request => everyRecord(world.ways.service, {...request, requestId: 'one'}, records),
      ];
      const traces: unknown[] = [];
      for (const way of ways) {
        const database = await single.database(schema);
        const loading = way({database: database.name, portionMax});
        traces.push(await trace(world, database, loading));
        await single.service.dropDatabase(root, database.name);
      }
      for (const other of traces.slice(1)) assert.deepEqual(other, traces[0]);
      if (JSON.stringify(traces[0]).includes('"code"')) refusals += 1;
    }),
    {numRuns: 12, examples: [[{records: [...ring(9)], portionMax: 4}], [twice]]},
  );
  assert.ok(refusals > 0 && refusals < 12, `${refusals} of 12 loads were refused`);
});

/** People in a ring. */
function* ring(count: number, type = 'Item'): Generator<LoadedRecord> {
  for (let k = 0; k < count; k += 1) yield {type, id: `i${k}`, properties: properties({k})};
  for (let k = 0; k < count; k += 1) {
    const ends = {from: `i${k}`, to: `i${(k + 1) % count}`};
    yield {type: 'Knows', properties: properties({k}), ...ends};
  }
}

async function isRing(database: TestDatabase, count: number): Promise<void> {
  const [items] = await database.run('SELECT count(*) AS n FROM Item WHERE k >= 0');
  const next = 'SELECT k AS edge, @out.k AS k, @in.k AS next FROM Knows ORDER BY edge';
  const found = await database.run(next, {limit: -1});
  assert.equal(items?.['n'], count);
  const expected = Array.from({length: count}, (_one, k) => {
    return {edge: k, k, next: (k + 1) % count};
  });
  assert.deepEqual(found, expected);
}

test('a load that is sent again under its id is applied once, edges and all', async () => {
  const world = await twoLeaders(false);
  const single = world.leaders[0].world;
  for (const service of [single.service, world.ways.service]) {
    const database = await single.database(schema);
    const request = {database: database.name, requestId: 'again', portionMax: 7};
    // The first time it ends in the middle, somewhere behind its first edges.
    const load = await service.loadRecords(root, request);
    for (const record of [...ring(50)].slice(0, 80)) await load.add(record);
    await eventually('edges are stored', () => load.counts.edges > 0);
    load.close();
    for (let times = 0; times < 2; times += 1) {
      const {vertices, edges} = await everyRecord(service, request, ring(50));
      assert.deepEqual([vertices, edges], [50, 50]);
      await isRing(database, 50);
    }
    await assert.rejects(everyRecord(service, request, ring(3)), refused('request.reused'));
  }
});

test('the next leader knows what a load had stored', async () => {
  const world = await twoLeaders(false);
  const {ways, leaders} = world;
  const database = await leaders[0].world.database(schema);
  const request = {database: database.name, requestId: 'moved', portionMax: 5};
  const load = await ways.service.loadRecords(root, request);
  for (const record of [...ring(40)].slice(0, 33)) await load.add(record);
  await eventually('some of it is stored', () => load.counts.vertices > 0);
  world.link.cut();
  world.lead(1);
  await assert.rejects(async () => {
    for (const record of ring(40)) await load.add(record);
    await load.finish();
  }, refused('commit.unknown'));
  load.close();
  await everyRecord(ways.service, request, ring(40));
  await isRing(database, 40);
});

const nothing = {queryMemoryBytes: 0, loadsRunning: 0};

function left(world: TwoLeaders): typeof nothing {
  const loads = [world.own.load, ...world.leaders.map(leader => leader.world.service.load)];
  const sum = (name: keyof typeof nothing): number =>
    loads.reduce((all, load) => all + load[name], 0);
  return {queryMemoryBytes: sum('queryMemoryBytes'), loadsRunning: sum('loadsRunning')};
}

async function allIsGivenBack(world: TwoLeaders): Promise<void> {
  await eventually('all is given back', () => {
    const {queryMemoryBytes, loadsRunning} = left(world);
    return queryMemoryBytes === 0 && loadsRunning === 0;
  });
}

test('a leader or a client that vanishes in the middle leaves nothing open', async () => {
  const world = await twoLeaders(false);
  const {ways, leaders} = world;
  const database = await leaders[0].world.database(schema);
  for (const vanish of ['leader', 'client'] as const) {
    const connection = ways.service.connect();
    const request = {database: database.name, portionMax: 2, ...connection.context};
    const load = await ways.service.loadRecords(root, request);
    for (let n = 0; n < 5; n += 1) {
      await load.add({type: 'Other', properties: properties({n})});
    }
    await eventually('it is under way', () => left(world).loadsRunning > 0);
    if (vanish === 'leader') world.link.cut();
    else connection.close();
    const code = vanish === 'leader' ? 'commit.unknown' : 'query.terminated';
    await assert.rejects(async () => {
      await load.add({type: 'Other', properties: properties({n: 5})});
      await load.finish();
    }, refused(code));
    if (vanish === 'leader') load.close();
    await allIsGivenBack(world);
    const [stored] = await database.run('SELECT count(*) AS n FROM Other');
    assert.ok(Number(stored?.['n']) >= load.counts.vertices, 'what is counted is there');
  }
});

test('a client sends no faster than the leader stores', async () => {
  const world = await twoLeaders(false);
  const database = await world.leaders[0].world.database(schema);
  const load = await world.ways.service.loadRecords(root, {database: database.name});
  const keptBytes = world.own.load.queryMemoryBytes;
  world.link.isSilent = true;
  const text = 'x'.repeat(10_000);
  let sent = 0;
  let waiting: Promise<void> | undefined;
  for (; waiting === undefined && sent < 1_000; sent += 1) {
    waiting = load.add({type: 'Other', properties: properties({text})});
  }
  assert.ok(sent < 100, `${sent} records were taken from the client of a silent leader`);
  assert.equal(world.own.load.queryMemoryBytes, keptBytes);
  load.close();
  await assert.rejects(waiting ?? Promise.resolve(), Refusal);
  await allIsGivenBack(world);
});

test('a load ends at its deadline, is refused to who only reads, and takes documents', async () => {
  const world = await twoLeaders(false);
  const single = world.leaders[0].world;
  const database = await single.database(schema);
  const {name} = database;
  for (const service of [single.service, world.ways.service]) {
    const load = await service.loadRecords(root, {database: name, timeoutMs: 30});
    await eventually('its time is over', () => left(world).loadsRunning === 0);
    const late = async (): Promise<void> => {
      await load.add({type: 'Note', properties: properties({n: 1})});
      await load.finish();
    };
    await assert.rejects(late, refused('query.timeout'));
    load.close();
    const reading = service.loadRecords(root, {database: name, readOnly: true});
    await assert.rejects(reading, refused('query.not-idempotent'));
    await assert.rejects(service.loadRecords(root, {database: 'none'}), Refusal);
    const counts = await everyRecord(service, {database: name}, [
      {type: 'Note', properties: properties({n: 1})},
    ]);
    assert.equal(counts.vertices, 1);
    const wrong = {type: 'Note', properties: properties({}), from: '#1:0'};
    const refusing = everyRecord(service, {database: name}, [wrong]);
    await assert.rejects(refusing, refused('argument'));
  }
  assert.equal((await database.run('SELECT FROM Note')).length, 2);
  await allIsGivenBack(world);
});

test('what fires triggers is made once, too', async () => {
  const world = await twoLeaders(false);
  const database = await world.leaders[0].world.database([
    ...schema,
    "CREATE TRIGGER told AFTER CREATE ON Other EXECUTE SQL 'INSERT INTO Note SET n = $record.n'",
  ]);
  const request = {database: database.name, requestId: 'triggers'};
  const records = [1, 2, 3].map(n => ({type: 'Other', properties: properties({n})}));
  for (let times = 0; times < 2; times += 1) {
    const {vertices} = await everyRecord(world.ways.service, request, records);
    assert.equal(vertices, 3);
    assert.deepEqual(await database.run('SELECT n FROM Note ORDER BY n'), [{n: 1}, {n: 2}, {n: 3}]);
  }
});

test('a load that gets no memory is not begun, and holds no place', async () => {
  const world = await twoLeaders(false);
  const single = world.leaders[0].world;
  const {name} = await single.database(schema);
  const small = closing(single.another({'svc.keptMemoryMaxPerUser': '1MB'}));
  const who = {name: 'lina', root: false, grants: new Map([[name, ['admin']]])};
  await assert.rejects(small.loadRecords(who, {database: name}), refused('query.memory'));
  assert.deepEqual([small.load.loadsRunning, small.load.queryMemoryBytes], [0, 0]);
});

test('what a release that forgets it may not write in a transaction is kept from it', async () => {
  const world = await twoLeaders(false);
  const [leader] = world.leaders;
  const database = await leader.world.database(schema);
  const begin = leader.service.begin.bind(leader.service);
  // An older leader passes over what it does not know.
  leader.service.begin = (who, name, {readOnly: _readOnly, ...known} = {}) =>
    begin(who, name, known);
  const {service} = world.ways;
  const transactionId = await service.begin(root, database.name, {readOnly: true});
  const run = async (text: string): Promise<unknown> => {
    const cursor = await service.rows(root, {...database.request(text), transactionId});
    try {
      return await cursor.next(1);
    } finally {
      cursor.close();
    }
  };
  assert.deepEqual(await run('SELECT k FROM Item'), [[-1]]);
  await assert.rejects(run('INSERT INTO Item SET k = 1'), refused('query.not-idempotent'));
  await service.rollback(root, database.name, transactionId);
});
