/**
 * Reads on threads of their own: the same answers as here, stopped when they are told to, bounded
 * by whoever reads them, and gone without a trace.
 */
import assert from 'node:assert/strict';
import {after, before, beforeEach, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {ScanThreads} from '#server/node/scan-threads.ts';
import {jsonText} from '#server/model/json.ts';
import {Rid, type Value} from '#server/model/value.ts';
import {createTimers} from '#server/platform/real/clock.ts';
import {graph, queryPairs} from '#server/testing/property/query-pairs.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import type {Principal} from '#server/security/principal.ts';
import type {JsonRowFormat} from '#server/execution/query-result.ts';
import type {RunRequest} from '../session.ts';
import type {PlanTask, PlanTaskEvent, PlanThreads} from './plan-task.ts';
import {ThreadResult} from './thread-result.ts';

const records = 20_000;

function scanThreads(threadsMax: number, heapMegabytesMax?: number): ScanThreads {
  return new ScanThreads({threadsMax, timers: createTimers(), heapMegabytesMax});
}

/** A world where every read takes a thread while one is free. */
function openFar(
  threads: PlanThreads,
  settings: Readonly<Record<string, string>> = {},
): Promise<ServiceWorld> {
  return ServiceWorld.open({'svc.scanWorkerCostMin': '0', ...settings}, {threads});
}

const threads = scanThreads(2);
let far: ServiceWorld;
let near: ServiceWorld;
let there: TestDatabase;
let here: TestDatabase;

before(async () => {
  far = await openFar(threads);
  near = await ServiceWorld.open();
  there = await filled(far);
  here = await filled(near);
});

// A thread is free some moments after its answer is whole.
beforeEach(() => eventually('all threads are free', () => threads.busy === 0));

after(async () => {
  await far.close();
  await near.close();
});

async function filled(world: ServiceWorld): Promise<TestDatabase> {
  const database = await world.database(['CREATE DOCUMENT TYPE D', 'CREATE DOCUMENT TYPE Own']);
  const rows = Array.from({length: records}, (_, at) => `(${at}, 'text ${at}')`);
  await database.run(`INSERT INTO D (n, t) VALUES ${rows.join(',')}`);
  for (const text of graph) await database.run(text, {language: 'cypher'});
  const one = '"SELECT count(*) AS c FROM D WHERE n < :a" PARAMETERS [a] LANGUAGE sql';
  await database.run(`DEFINE FUNCTION f.below ${one}`);
  await database.run(
    'DEFINE FUNCTION f.twice "RETURN f.below($a) * 2" PARAMETERS [a] LANGUAGE cypher',
  );
  await database.run('DEFINE FUNCTION f.js "return a.length" PARAMETERS [a] LANGUAGE js');
  await database.run('DEFINE FUNCTION f.types "SELECT name FROM schema:types" LANGUAGE sql');
  return database;
}

/** What a client gets: the bytes and what is said about them, or the refusal. */
async function answerOf(
  database: TestDatabase,
  text: string,
  more: Partial<RunRequest> = {},
  who: Principal = root,
): Promise<unknown> {
  try {
    const cursor = await database.service.run(who, {...database.request(text), ...more});
    const pieces: string[] = [];
    for (let piece = await cursor.next(); piece; piece = await cursor.next()) {
      pieces.push(piece.toString('utf8'));
    }
    cursor.close();
    const {returned, truncated, limit} = cursor.summary;
    return [pieces.join(''), returned, truncated, limit];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const {code, message, place, detail} = error;
    return {code, message, place, detail};
  }
}

async function isSameThere(text: string, more: Partial<RunRequest> = {}): Promise<void> {
  await eventually('all threads are free', () => threads.busy === 0);
  const takenBefore = threads.taken;
  assert.deepEqual(await answerOf(there, text, more), await answerOf(here, text, more), text);
  assert.equal(threads.taken, takenBefore + 1, `on a thread: ${text}`);
}

const formats: readonly JsonRowFormat[] = ['record', 'graph', 'studio', 'counts', 'ndjson'];

for (const format of formats) {
  test(`an answer as ${format} is the same from a thread`, async () => {
    await isSameThere('SELECT FROM D WHERE n % 3 = 0', {format, limit: 5_000});
    await isSameThere('SELECT n, t FROM D LIMIT 3', {format});
    await isSameThere('SELECT FROM D WHERE n < 0', {format});
  });
}

const statements: readonly (readonly [text: string, language: string])[] = [
  ['SELECT sum(n) AS s, max(t) AS m FROM D GROUP BY n % 7 ORDER BY s', 'sql'],
  ['SELECT FROM D ORDER BY t.toUpperCase() DESC LIMIT 10', 'sql'],
  ['SELECT n, (SELECT count(*) FROM D WHERE n < $parent.$current.n) AS c FROM D LIMIT 3', 'sql'],
  ['SELECT f.below(n) AS c, f.twice(n) AS d, f.js(t) AS j FROM D LIMIT 3', 'sql'],
  ['SELECT FROM D LIMIT 200000', 'sql'],
  ['SELECT n / (n - 15000) AS q FROM D', 'sql'],
  ['SELECT [1, 2].asDate() FROM D', 'sql'],
  ['MATCH (d:D) RETURN d.n AS n ORDER BY n SKIP 19990', 'cypher'],
  ['MATCH (d:D) WHERE d.n > 3 RETURN toInteger([d.t]) AS x', 'cypher'],
];

test('what columns do not hold is sorted on a thread, once a run has shown it', async () => {
  const lists = `UNWIND range(1, ${records}) AS n CREATE (:L {l: [n]})`;
  for (const database of [there, here]) await database.run(lists, {language: 'cypher'});
  const text = 'SELECT l FROM L ORDER BY l DESC LIMIT 2';
  const takenBefore = threads.taken;
  assert.deepEqual(await answerOf(there, text), await answerOf(here, text));
  assert.equal(threads.taken, takenBefore);
  await isSameThere(text);
});

for (const [text, language] of statements) {
  test(`the same from a thread: ${text}`, () => isSameThere(text, {language}));
}

test('two languages and 200 questions are answered alike by threads and by none', async () => {
  const takenBefore = threads.taken;
  for (const {sql, cypher} of queryPairs(20_261_122, 200)) {
    for (const [text, language] of [
      [sql, 'sql'],
      [cypher, 'cypher'],
    ] as const) {
      assert.deepEqual(
        await answerOf(there, text, {language}),
        await answerOf(here, text, {language}),
        text,
      );
    }
  }
  assert.ok(threads.taken - takenBefore > 200, `${threads.taken - takenBefore} on threads`);
});

test('parameters of every kind arrive', () =>
  isSameThere('SELECT :a AS a, :b AS b, :c.x AS c FROM D LIMIT 1', {
    parameters: new Map<string, Value>([
      ['a', new Rid(3, 4)],
      ['b', [2n ** 63n - 1n, 0.5, new Uint8Array([1, 2])]],
      ['c', new Map([['x', 'y']])],
    ]),
  }));

test('names of properties and types that are new are known', async () => {
  await there.run('CREATE DOCUMENT TYPE Later IF NOT EXISTS');
  await there.run('INSERT INTO Later SET first = 1');
  assert.deepEqual(await there.run('SELECT first FROM Later'), [{first: 1}]);
  await there.run('INSERT INTO Later SET second = 2');
  assert.deepEqual(await there.run('SELECT second FROM Later WHERE second = 2'), [{second: 2}]);
});

test('a profile tells what each node did', async () => {
  const cursor = await there.service.run(root, {
    ...there.request('SELECT FROM D WHERE n % 100 = 0'),
    profile: 'plan',
  });
  while ((await cursor.next()) !== undefined);
  assert.match(cursor.summary.explain ?? '', /scan.*\b200\b/s);
});

test('who may not read a type is refused on a thread as well', async () => {
  const reader: Principal = {name: 'ann', root: false, grants: new Map([['*', ['none']]])};
  const before = threads.taken;
  const [refused, same] = [
    await answerOf(there, 'SELECT count(*) FROM D', {}, reader),
    await answerOf(here, 'SELECT count(*) FROM D', {}, reader),
  ];
  assert.deepEqual(refused, same);
  assert.match(JSON.stringify(refused), /security.denied/);
  assert.equal(threads.taken, before + 1);
});

test('a transaction that wrote sees what it wrote', async () => {
  const {name, service} = there;
  const transactionId = await service.begin(root, name, {isolation: 'REPEATABLE_READ'});
  const count = (): Promise<unknown> => there.run('SELECT count(*) AS c FROM Own', {transactionId});
  const before = threads.taken;
  assert.deepEqual(await count(), [{c: 0}]);
  assert.equal(threads.taken, before + 1, 'on a thread as long as nothing is written');
  await there.run('INSERT INTO Own SET n = 1', {transactionId});
  assert.deepEqual(await count(), [{c: 1}]);
  assert.equal(threads.taken, before + 1, 'here from then on');
  await service.rollback(root, name, transactionId);
});

test('what is not about records is answered here', async () => {
  const before = threads.taken;
  assert.ok((await there.run('SELECT name FROM schema:types')).length > 3);
  assert.ok((await there.run('SELECT f.types() AS names FROM D LIMIT 1')).length === 1);
  await there.run('SHOW TRANSACTIONS YIELD transactionId RETURN *', {language: 'cypher'});
  assert.equal(threads.taken, before);
});

test('searches are answered here, where their lists are kept', async () => {
  await there.run('CREATE PROPERTY D.t STRING');
  await there.run('CREATE INDEX ON D (t) FULL_TEXT');
  const takenBefore = threads.taken;
  for (const condition of ["SEARCH_INDEX('D[t]', '7') = true", "t CONTAINSTEXT '7'"]) {
    assert.deepEqual(await there.run(`SELECT n FROM D WHERE ${condition}`), [{n: 7}]);
  }
  assert.equal(threads.taken, takenBefore);
});

test('a read that is told to stop is answered, and its thread is free', async () => {
  const stop = new AbortController();
  const cross = 'MATCH (a:D), (b:D) WHERE a.n + b.n < 0 RETURN count(*)';
  const running = answerOf(there, cross, {language: 'cypher', signal: stop.signal});
  await eventually('a thread is busy', () => threads.busy === 1);
  stop.abort();
  assert.match(JSON.stringify(await running), /query.terminated/);
  await eventually('all threads are free', () => threads.busy === 0);
});

test('a reader that does not read holds up the plan, not the memory', async () => {
  const request = {...there.request('SELECT FROM D'), limit: -1, format: 'ndjson' as const};
  const cursor = await there.service.run(root, request);
  await cursor.next();
  await new Promise(resolve => setTimeout(resolve, 50));
  const others = await there.run('SELECT count(*) AS c FROM D');
  assert.deepEqual(others, [{c: records}]);
  let bytes = 0;
  for (let piece = await cursor.next(); piece; piece = await cursor.next()) bytes += piece.length;
  cursor.close();
  assert.ok(bytes > 1 << 20);
});

test('rows as values are made on the thread', async () => {
  const text = "SELECT n, n + 0.5 AS half, @this AS d FROM D WHERE t LIKE '%5%' LIMIT 3000";
  const rows = async (database: TestDatabase): Promise<unknown[]> => {
    const request = {...database.request(text), limit: 0};
    const cursor = await database.service.rows(root, request);
    assert.deepEqual(cursor.columns, ['n', 'half', 'd']);
    const all: unknown[] = [];
    for (let portion = await cursor.next(700); portion.length > 0; ) {
      all.push(...portion.map(row => row.map(value => jsonText(value))));
      portion = await cursor.next(700);
    }
    cursor.close();
    return all;
  };
  const takenBefore = threads.taken;
  const made = await rows(there);
  assert.equal(threads.taken, takenBefore + 1);
  assert.equal(made.length, 3_000);
  assert.deepEqual(made, await rows(here));
});

test('beyond the threads there are, reads run here', async () => {
  const answers = await Promise.all(
    Array.from({length: 6}, () => there.run('SELECT sum(n) AS s FROM D')),
  );
  for (const rows of answers) assert.deepEqual(rows, [{s: (records * (records - 1)) / 2}]);
});

test('memory counts on all threads together, and what is too large ends alone', async () => {
  const world = await openFar(scanThreads(2), {'svc.queryMemoryTotalMax': '2MB'});
  try {
    const database = await world.database(['CREATE DOCUMENT TYPE D', 'INSERT INTO D SET n = 1']);
    const sorted = 'UNWIND range(1, 1000000) AS a WITH a ORDER BY a RETURN a';
    const answer = await answerOf(database, sorted, {language: 'cypher'});
    assert.match(JSON.stringify(answer), /query.memory-total/);
    assert.deepEqual(await database.run('SELECT n FROM D'), [{n: 1}]);
    await eventually('nothing is held', () => world.service.load.queryMemoryBytes === 0);
  } finally {
    await world.close();
  }
});

test('a thread that runs out of memory ends its statement alone', async () => {
  const world = await openFar(scanThreads(1, 64));
  try {
    const database = await world.database(['CREATE DOCUMENT TYPE D', 'INSERT INTO D SET n = 1']);
    const bomb = "UNWIND range(1, 3000000) AS a RETURN size(collect(toString(a) + 'more text'))";
    const answer = await answerOf(database, bomb, {language: 'cypher'});
    assert.match(JSON.stringify(answer), /query.memory/);
    assert.deepEqual(await database.run('SELECT n FROM D'), [{n: 1}]);
  } finally {
    await world.close();
  }
});

test('one call that takes long holds nobody up, and is stopped like anything else', async () => {
  const counted = scanThreads(1);
  // By its estimate it is short, so it begins on the thread that serves everybody.
  const world = await ServiceWorld.open({}, {threads: counted});
  try {
    const database = await world.database(['CREATE DOCUMENT TYPE D', 'INSERT INTO D SET n = 1']);
    const stop = new AbortController();
    const language = 'cypher';
    const sums = (count: number): string =>
      `RETURN reduce(s = 0, x IN range(1, ${count}) | s + size(range(1, ${count}))) AS r`;
    const running = answerOf(database, sums(100_000), {language, signal: stop.signal});
    await eventually('a thread is busy', () => counted.busy === 1);
    assert.deepEqual(await database.run('SELECT n FROM D'), [{n: 1}]);
    stop.abort();
    assert.match(JSON.stringify(await running), /query.terminated/);
    assert.deepEqual(await database.run(sums(10), {language}), [{r: 100}]);
    assert.equal(counted.taken, 1);
  } finally {
    await world.close();
  }
});

test('what cannot pause runs on a thread before it is long: long texts and ranges', async () => {
  // A world closes the threads that it was given.
  const threads = scanThreads(1);
  await using own = await ServiceWorld.open({}, {threads});
  const database = await own.database([]);
  const long = 'x\u{1f600}'.repeat(500_000);
  for (const [text, v, expected, isLong] of [
    ["RETURN $v STARTS WITH 'x' AS n", 'x', true, false],
    ["RETURN $v STARTS WITH 'x' AS n", long, true, true],
    ['RETURN size($v) AS n', long, 1_000_000, true],
    ['RETURN size(range(1, 10)) AS n', '', 10, false],
    ['RETURN size(range(1, 250000)) AS n', '', 250_000, true],
  ] as const) {
    await eventually('all threads are free', () => threads.busy === 0);
    const takenBefore = threads.taken;
    const more = {language: 'cypher', parameters: new Map([['v', v]])};
    const [rows] = (await answerOf(database, text, more)) as unknown[];
    assert.equal(rows, `{"n":${expected}}`);
    assert.equal(threads.taken - takenBefore, isLong ? 1 : 0, text);
  }
});

test('a database is dropped while a thread reads it', async () => {
  const database = await filled(far);
  const cross = 'MATCH (a:D), (b:D) WHERE a.n + b.n < 0 RETURN count(*)';
  const running = answerOf(database, cross, {language: 'cypher'});
  await eventually('a thread is busy', () => threads.busy === 1);
  await far.service.dropDatabase(root, database.name);
  assert.match(JSON.stringify(await running), /query.terminated/);
});

test('a thread that does not notice is ended, and its snapshot given back', async () => {
  const clock = new ManualTimers();
  const heard: ((news: PlanTaskEvent) => void)[] = [];
  let ended = 0;
  let released = 0;
  const result = new ThreadResult({
    thread: {
      run: (_order, hear) => void heard.push(hear),
      end: () => {
        ended += 1;
        heard[0]?.({kind: 'lost', reason: 'other', message: 'ended'});
        return Promise.resolve();
      },
    },
    order: {control: new Int32Array(new SharedArrayBuffer(8))} as PlanTask,
    signal: {aborted: false},
    timers: clock,
    profile: undefined,
    onKeysRead: () => {},
    release: () => {
      released += 1;
    },
  });
  result.close();
  clock.advance(999);
  assert.deepEqual([ended, released], [0, 0]);
  clock.advance(1);
  assert.deepEqual([ended, released], [1, 1]);
});

test('H3: of the threads one is for root, and one for whoever has not all others', async () => {
  const threads = scanThreads(4);
  await using world = await openFar(threads, {'svc.queryMaxConcurrent': '0'});
  const database = await world.database([]);
  const stop = new AbortController();
  const more = {language: 'cypher', signal: stop.signal};
  const endless = 'UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN sum(a * b)';
  const running: Promise<unknown>[] = [];
  const begin = async (who: Principal, busy: number): Promise<void> => {
    const {taken, declined} = threads;
    running.push(answerOf(database, endless, more, who));
    await eventually('it runs', () => threads.taken + threads.declined > taken + declined);
    assert.equal(threads.busy, busy);
  };
  const user = (name: string): Principal => ({
    name,
    root: false,
    grants: new Map([['*', ['admin']]]),
  });
  for (const busy of [1, 2, 2]) await begin(user('anna'), busy);
  for (const busy of [3, 3]) await begin(user('bert'), busy);
  await begin(root, 4);
  stop.abort();
  await Promise.all(running);
});
