/**
 * A family of indexes that the server does not have goes the ways of its own ones: declaring,
 * transactions, searches with what stands beside them, CHECK DATABASE, copies, restarts.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {indexFamilies} from '#server/caches/index-families.ts';
import type {CachedFamily} from '#server/caches/index-caches.ts';
import {FamilyTable} from '#server/catalog/index-families.ts';
import {schemaBefore} from '#server/exchange/schema-statements.ts';
import type {SearchRequest} from '#server/indexes/index-family.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import type {Store} from '#server/storage/store.ts';
import {closing} from '../closing.ts';
import {dump} from '../property/damages.ts';
import {root, ServiceWorld, TestDatabase, type WorldOptions} from '../worlds/service-world.ts';
import {withNearest} from './nearest-family.ts';

const schema = [
  'CREATE DOCUMENT TYPE Item',
  'CREATE DOCUMENT TYPE Used EXTENDS Item',
  'CREATE PROPERTY Item.price DOUBLE',
];
const declareIndex = 'CREATE INDEX ON Item (price) NEAREST METADATA {"unit": 10}';
const items = Array.from(
  {length: 40},
  (_, n) => `INSERT INTO ${n % 4 === 0 ? 'Used' : 'Item'} SET n = ${n}, price = ${n * 10}.0`,
);

const nearest = (number: number, more = ''): string =>
  `SELECT n, $score AS s FROM Item WHERE SEARCH_INDEX('Item[price]', ${number}) = true ${more}`;

// Removed behind the file: the worlds in it are closed behind their tests.
const base = mkdtempSync(join(tmpdir(), 'svc-nearest-'));
after(() => rmSync(base, {recursive: true, force: true}));

async function open(options: WorldOptions = {}): Promise<ServiceWorld> {
  return closing(await ServiceWorld.open({}, {families: withNearest, ...options}));
}

async function numbers(database: TestDatabase, text: string): Promise<unknown[]> {
  return (await database.run(text)).map(({n}) => n);
}

test('SQL declares it, with METADATA by its table', async () => {
  const world = await open();
  const database = await world.database([...schema, ...items]);
  await assert.rejects(
    database.run('CREATE INDEX ON Item (price) NEAREST METADATA {"units": 10}'),
    /Unknown METADATA key 'units' of a NEAREST index \(did you mean 'unit'\?\)/,
  );
  await assert.rejects(
    database.run('CREATE INDEX ON Item (price) NEAREST METADATA {"unit": 0}'),
    /METADATA 'unit' is a number from 0.001 to 1000, not 0/,
  );
  await assert.rejects(database.run('CREATE INDEX ON Item (price, n) NEAREST'), /does not exist/);
  await assert.rejects(
    database.run('CREATE INDEX ON Item (price) NEAREST NULL_STRATEGY INDEX'),
    /Index type 'NEAREST' has NULL_STRATEGY SKIP, not INDEX/,
  );
  const [made] = await database.run(declareIndex);
  assert.partialDeepStrictEqual(made, {name: 'Item[price]', type: 'NEAREST', created: true});
  // An ordered index on the same property is another one; what is there need not be made again.
  const [ordered] = await database.run('CREATE INDEX ON Item (price) NOTUNIQUE');
  assert.equal(ordered?.['name'], 'Item[price]_lsm_tree');
  const again = declareIndex.replace('INDEX', 'INDEX IF NOT EXISTS');
  assert.equal((await database.run(again))[0]?.['created'], false);
  assert.partialDeepStrictEqual(await database.run('SELECT FROM schema:index:`Item[price]`'), [
    {indexType: 'NEAREST', valid: true, supportsOrderedIterations: false},
  ]);
  assert.deepEqual(await numbers(database, nearest(101, 'LIMIT 3')), [10, 11, 9]);
  // What an export writes of it makes the same one.
  const other = await world.database(
    schemaBefore(world.service.schemaOf(root, database.name).catalog),
  );
  const shown = 'SELECT FROM schema:indexes ORDER BY name';
  assert.deepEqual(await other.run(shown), await database.run(shown));
});

test('Cypher declares it by a word of its own, and shows it', async () => {
  const world = await open();
  const database = await world.database([]);
  const cypher = (text: string) => database.run(text, {language: 'cypher'});
  await cypher(
    'CREATE NEAREST INDEX near FOR (n:Item) ON (n.price) OPTIONS {indexConfig: {unit: 5}}',
  );
  await cypher('UNWIND range(0, 9) AS n CREATE (:Item {n: n, price: 1.0 * n})');
  assert.partialDeepStrictEqual(await cypher('SHOW INDEXES'), [
    {name: 'near', type: 'NEAREST', indexProvider: 'nearest-1.0'},
  ]);
  const found = await database.run(nearest(6.9, 'LIMIT 2').replace('Item[price]', 'near'));
  assert.deepEqual(found, [
    {n: 7, s: -0.02},
    {n: 6, s: -0.18},
  ]);
  await assert.rejects(
    cypher('CREATE FARTHEST INDEX FOR (n:Item) ON (n.price)'),
    /there is no FARTHEST INDEX: it is one of RANGE, TEXT, FULLTEXT, VECTOR, NEAREST/,
  );
});

test('a transaction finds its own writes, and what is rolled back is found by nobody', async () => {
  const world = await open();
  const database = await world.database([...schema, declareIndex, ...items]);
  const best = nearest(95, 'LIMIT 2');
  assert.deepEqual(await numbers(database, best), [9, 10]);
  const transactionId = await world.service.begin(root, database.name, {
    isolation: 'REPEATABLE_READ',
  });
  await database.run('UPDATE Item SET price = 96 WHERE n = 30', {transactionId});
  await database.run('DELETE FROM Item WHERE n = 9', {transactionId});
  const seen = async () => (await database.run(best, {transactionId})).map(({n}) => n);
  assert.deepEqual(await seen(), [30, 10]);
  assert.deepEqual(await numbers(database, best), [9, 10]);
  await assert.rejects(
    database.run('INSERT INTO Item SET n = 99, price = "dear"', {transactionId}),
    /price|convert/,
  );
  await world.service.rollback(root, database.name, transactionId);
  assert.deepEqual(await numbers(database, best), [9, 10]);
  await database.run('UPDATE Item SET price = 96 WHERE n = 30');
  assert.deepEqual(await numbers(database, best), [30, 9]);
  // An index that is built later holds the same.
  await database.run('REBUILD INDEX `Item[price]`');
  assert.deepEqual(await numbers(database, best), [30, 9]);
});

/** The families, with every search of the index written down. */
function noting(requests: SearchRequest[]): FamilyTable<CachedFamily> {
  const rows = withNearest.all.map((row): CachedFamily => {
    const {ranked} = row;
    if (row.kind !== 'nearest' || ranked === undefined) return row;
    const search: typeof ranked.search = (source, request) => {
      requests.push(request);
      return ranked.search(source, request);
    };
    return {...row, ranked: {queryOf: value => ranked.queryOf(value), search}};
  });
  return new FamilyTable(rows);
}

test('a search is given the limit, the type and the condition above it', async () => {
  const requests: SearchRequest[] = [];
  const world = await open({families: noting(requests)});
  const database = await world.database([...schema, declareIndex, ...items]);
  const asked = async (text: string): Promise<SearchRequest> => {
    requests.length = 0;
    await database.run(text);
    const [only, ...others] = requests;
    assert.ok(only !== undefined && others.length === 0, `${requests.length} searches`);
    return only;
  };
  assert.partialDeepStrictEqual(await asked(nearest(101, 'LIMIT 3')), {query: 101, k: 3});
  assert.equal((await asked(nearest(101))).k, Number.POSITIVE_INFINITY);
  const ofType = nearest(101, 'LIMIT 3').replace('FROM Item', 'FROM Used');
  assert.notEqual((await asked(ofType)).accept, undefined);
  assert.deepEqual(await numbers(database, ofType), [12, 8, 16]);
  const filtered = nearest(101, 'AND n % 3 = 0 ORDER BY $score DESC LIMIT 3');
  const {k, accept} = await asked(filtered);
  assert.equal(k, 3);
  assert.notEqual(accept, undefined);
  assert.deepEqual(await numbers(database, filtered), [9, 12, 6]);
  const cursor = await world.service.run(root, database.request(`EXPLAIN ${filtered}`));
  cursor.close();
  const {explain = ''} = cursor.summary;
  assert.match(explain, /search Item\[price\] for 101 best 3 as \S+, \S+ where .*% 3/);
  // The score is known behind the search alone.
  const near = nearest(101, 'AND $score > -3 LIMIT 9');
  assert.equal((await asked(near)).accept, undefined);
  assert.deepEqual(await numbers(database, near), [10, 11, 9, 12, 8, 13]);
  // Beside the search itself: asked of records that come another way.
  const beside =
    "SELECT n FROM (SELECT FROM Item WHERE n < 5) WHERE SEARCH_INDEX('Item[price]', 1) = true";
  assert.equal((await database.run(beside)).length, 5);
});

test('a condition that turns nearly everything away is asked of batches', async () => {
  const requests: SearchRequest[] = [];
  const world = await open({families: noting(requests)});
  const database = await world.database([...schema, declareIndex]);
  const values = Array.from({length: 3_000}, (_, n) => `(${n}, ${n})`);
  await database.run(`INSERT INTO Item (n, price) VALUES ${values.join()}`);
  requests.length = 0;
  assert.deepEqual(await numbers(database, nearest(0, 'AND n > 2990 LIMIT 2')), [2991, 2992]);
  assert.deepEqual(
    requests.map(({k}) => k),
    [2, Number.POSITIVE_INFINITY],
  );
});

test('what is kept of it answers as its entries do, within its share of the memory', async () => {
  const world = await open();
  const forgetful = closing(world.another({'svc.searchMemoryMax': '0'}));
  const database = await world.database([...schema, declareIndex, ...items]);
  const plain = database.over(forgetful);
  const figures = () => world.service.searchFigures(root).get(database.name)?.[0];
  for (let n = 0; n < 20; n += 1) {
    await database.run(`UPDATE Item SET price = ${n * 7} WHERE n = ${39 - n}`);
    const text = nearest(n * 11, 'LIMIT 5');
    assert.deepEqual(await database.run(text), await plain.run(text));
  }
  assert.partialDeepStrictEqual(figures(), {
    type: 'NEAREST',
    lists: 1,
    memoryBytes: 24 * items.length,
  });
  // A change lets go of it, and the shortage of memory too.
  await database.run('DELETE FROM Item WHERE n = 0');
  assert.partialDeepStrictEqual(figures(), {lists: 0, memoryBytes: 0});
  await database.run(nearest(1));
  assert.partialDeepStrictEqual(figures(), {lists: 1});
  world.service.dropViews();
  assert.partialDeepStrictEqual(figures(), {lists: 0});
});

async function withStore<T>(path: string, work: (store: Store) => T): Promise<T> {
  const store = closing(await openStore(path, {mustExist: true}));
  try {
    return work(store);
  } finally {
    store.close();
  }
}

/** Entries of indexes as hexadecimal text. */
function entriesIn(store: Store): readonly (readonly [string, string])[] {
  const rows = [...dump(store)].filter(([key]) => key.startsWith('40'));
  return rows.map(([key, value]) => [key, value.toString('hex')]);
}

/** One entry is lost, one says another number, one more is of no record. */
function damage(store: Store): void {
  const [lost, wrong, stray] = entriesIn(store).map(([key]) => Buffer.from(key, 'hex'));
  assert.ok(lost !== undefined && wrong !== undefined && stray !== undefined);
  const batch = store.batch();
  batch.delete(lost);
  batch.put(wrong, Buffer.alloc(8, 1));
  batch.put(stray.fill(0xff, stray.length - 2), Buffer.alloc(8));
  store.write(batch, {sync: true});
}

test('CHECK DATABASE finds damaged entries, and mends them to the byte', async () => {
  const rootPath = join(base, 'damaged');
  const first = await open({rootPath});
  const {name} = await first.database([...schema, declareIndex, ...items]);
  await first.close();
  const path = join(rootPath, 'databases', name);
  const sound = await withStore(path, entriesIn);
  assert.equal(sound.length, items.length);
  await withStore(path, damage);

  const second = await open({rootPath});
  const database = new TestDatabase(second.service, name);
  const check = async (how = '') =>
    (await database.run(`CHECK DATABASE ${how}`))[0]?.['totalErrors'];
  assert.equal(await check(), 3);
  assert.equal(await check('FIX'), 3);
  assert.equal(await check(), 0);
  await second.close();
  assert.deepEqual(await withStore(path, entriesIn), sound);
});

test('a restart finds it as it was, with its METADATA', async () => {
  const rootPath = join(base, 'restarted');
  const first = await open({rootPath});
  const made = await first.database([...schema, declareIndex, ...items]);
  const text = nearest(101, 'LIMIT 7');
  const expected = await made.run(text);
  assert.deepEqual(expected[0], {n: 10, s: -0.1});
  await first.close();
  const second = await open({rootPath});
  const database = new TestDatabase(second.service, made.name);
  assert.deepEqual(await database.run(text), expected);
  await database.run('UPDATE Item SET price = 101 WHERE n = 0');
  assert.deepEqual((await numbers(database, text))[0], 0);
});

test('a copy is the same index in another engine', async () => {
  const rootPath = join(base, 'copied');
  const [one, other] = [await open(), await open({rootPath})];
  const database = await one.database([...schema, declareIndex, ...items]);
  await one.engine.copyDatabase(database.name, join(rootPath, 'databases/.copy'));
  await other.engine.attachDatabase('.copy');
  await other.engine.renameDatabase('.copy', 'copy', false);
  const copy = new TestDatabase(other.service, 'copy');
  const text = nearest(101, 'LIMIT 7');
  assert.deepEqual(await copy.run(text), await database.run(text));
  await copy.run('UPDATE Item SET price = 101 WHERE n = 0');
  assert.deepEqual((await numbers(copy, text))[0], 0);
  assert.equal((await copy.run('CHECK DATABASE'))[0]?.['totalErrors'], 0);
});

test('a server without the family refuses the database and harms nothing', async () => {
  const rootPath = join(base, 'without');
  const first = await open({rootPath});
  const made = await first.database([...schema, declareIndex, ...items]);
  await first.close();
  const without = await open({rootPath, families: indexFamilies});
  await assert.rejects(
    new TestDatabase(without.service, made.name).run('SELECT FROM Item'),
    /an index 'Item\[price\]' of family 'nearest', which is not known here/,
  );
  await without.close();
  const again = await open({rootPath});
  const database = new TestDatabase(again.service, made.name);
  assert.deepEqual(await numbers(database, nearest(101, 'LIMIT 1')), [10]);
});
