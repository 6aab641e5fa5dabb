/**
 * A hundred damages below the transactions: each is found with its place, what follows from other
 * bytes is mended to the byte, nothing is made up, and a sound database gives no finding.
 */
import assert from 'node:assert/strict';
import {
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import {findingKinds, type FindingKind, isWarning} from '#server/integrity/finding.ts';
import type {Value} from '#server/model/value.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import type {Store} from '#server/storage/store.ts';
import {anyText, anyValue} from '#server/testing/property/any-value.ts';
import {
  derivable,
  dump,
  type Expected,
  groupStatements,
  lossy,
  orphaned,
  StoredImage,
} from '#server/testing/property/damages.ts';
import {SeededRandom} from '#server/testing/property/seeded-random.ts';
import {root, ServiceWorld, TestDatabase} from '#server/testing/worlds/service-world.ts';
import {closing} from '#server/testing/closing.ts';

const damageCount = 100;
const seed = Number(process.env['SEED'] ?? 1);
const random = new SeededRandom(seed);
const base = mkdtempSync(join(tmpdir(), 'svc-check-'));
after(() => rmSync(base, {recursive: true, force: true}));
const sound = join(base, 'sound');
await make(sound);

interface Found {
  readonly kind: FindingKind;
  readonly place: string;
  readonly says: string;
  readonly repair: string;
}

interface Answer {
  readonly findings: readonly Found[];
  readonly totalErrors: number;
  readonly autoFix: number;
  readonly [key: string]: unknown;
}

async function make(rootPath: string): Promise<void> {
  const world = closing(await ServiceWorld.open({}, {rootPath}));
  await world.database(groupStatements(damageCount, random));
  await world.close();
}

/** Statements of a server that is started for them, on the database under `rootPath`. */
async function asked(rootPath: string, ...statements: readonly string[]): Promise<Answer[]> {
  const world = closing(await ServiceWorld.open({}, {rootPath}));
  const database = new TestDatabase(world.service, 'db1');
  const answers: Answer[] = [];
  try {
    for (const text of statements) answers.push(...((await database.run(text)) as Answer[]));
  } finally {
    await world.close();
  }
  return answers;
}

async function withStore<T>(rootPath: string, work: (store: Store) => T): Promise<T> {
  const store = closing(await openStore(join(rootPath, 'databases/db1'), {mustExist: true}));
  try {
    return work(store);
  } finally {
    store.close();
  }
}

/** A copy with damages of the kinds given, in turn, a group each. */
async function damaged(
  name: string,
  kinds: Readonly<Record<string, (typeof derivable)[string]>>,
): Promise<{
  readonly rootPath: string;
  readonly image: StoredImage;
  readonly expected: readonly (Expected & {readonly name: string})[];
}> {
  const rootPath = join(base, name);
  cpSync(sound, rootPath, {recursive: true});
  const named = Object.entries(kinds);
  return withStore(rootPath, store => {
    const image = new StoredImage(store, random);
    const expected = image.groups.map((group, number) => {
      const [what, damage] = named[number % named.length] as (typeof named)[number];
      return {...damage(image, group), name: what};
    });
    image.write(store);
    return {rootPath, image, expected};
  });
}

function missed(
  answer: Answer | undefined,
  expected: readonly (Expected & {readonly name: string})[],
): readonly string[] {
  const found = new Set(answer?.findings.map(({kind, place}) => `${kind} ${place}`));
  return expected
    .filter(({kind, place}) => !found.has(`${kind} ${shortened(place)}`))
    .map(({name, kind, place}) => `${name}: ${kind} ${place}`);
}

function shortened(place: string): string {
  return place.length > 96 ? `${place.slice(0, 96)}... (${place.length / 2} bytes)` : place;
}

/** All rows but those that tell of commits. */
function rowsOf(rootPath: string): Promise<Map<string, string>> {
  return withStore(rootPath, store => {
    const rows = [...dump(store)].filter(([key]) => !/^00(01|2)/.test(key));
    return new Map(rows.map(([key, value]) => [key, value.toString('hex')]));
  });
}

test(`a sound database gives no finding (SEED=${seed})`, async () => {
  const [answer] = await asked(sound, 'CHECK DATABASE');
  assert.deepEqual(answer?.findings, []);
  assert.equal(answer?.totalErrors, 0);
  assert.equal(answer?.['totalActiveVertices'], damageCount * 3);
  assert.equal(answer?.['totalActiveEdges'], damageCount * 3);
  assert.equal(answer?.['totalActiveDocuments'], damageCount * 3);
  assert.deepEqual(answer?.['warnings'], []);
});

/** Values of every kind, under every kind of index, written, changed, moved and deleted. */
test(`random contents give no finding (SEED=${seed})`, async () => {
  const world = closing(await ServiceWorld.open());
  after(() => world.close());
  const database = await world.database([
    'CREATE VERTEX TYPE V BUCKETS 3',
    'CREATE VERTEX TYPE W EXTENDS V',
    'CREATE PROPERTY V.k LONG',
    'CREATE PROPERTY V.v ANY',
    'CREATE PROPERTY V.t STRING',
    'CREATE PROPERTY V.l LIST',
    'CREATE PROPERTY V.m MAP',
    ...['v', 'm', 'l'].map(name => `ALTER PROPERTY V.${name} EXTERNAL true`),
    ...['t', 'm', 'l'].map(name => `ALTER PROPERTY V.${name} COMPRESSION 'lz4'`),
    'CREATE INDEX ON V (k) UNIQUE',
    'CREATE INDEX ON V (v, k) NOTUNIQUE NULL_STRATEGY INDEX',
    'CREATE INDEX ON V (t COLLATE CI) NOTUNIQUE',
    'CREATE INDEX ON V (l BY ITEM, t) NOTUNIQUE',
    'CREATE INDEX ON V (m BY KEY) NOTUNIQUE',
    'CREATE INDEX ON V (m BY VALUE) NOTUNIQUE_HASH',
    'CREATE EDGE TYPE E',
    'CREATE EDGE TYPE U UNIQUE',
    'CREATE EDGE TYPE L LIGHTWEIGHT',
  ]);
  const some = fc.sample(anyValue(), {seed, numRuns: 250});
  const texts = fc.sample(anyText(), {seed, numRuns: 250});
  let refused = 0;
  for (const [number, value] of some.entries()) {
    const content = new Map<string, Value>([
      ['k', number % 7 === 0 ? null : number],
      ['v', value],
      ['t', texts[number] ?? null],
      ['l', [value, texts[number] ?? null, number % 5]],
      ['m', new Map<string, Value>([[texts[number] ?? '', value]])],
      [`free${number % 50}`, value],
    ]);
    const [first, second] = [random.below(number + 1), random.below(number + 1)];
    const parameters = new Map<string, Value>([
      ['c', content],
      ['f', first],
      ['s', second],
    ]);
    const ends = 'FROM (SELECT FROM V WHERE k = :f) TO (SELECT FROM V WHERE k = :s)';
    for (const text of [
      `INSERT INTO ${random.pick(['V', 'W'])} CONTENT :c`,
      `CREATE EDGE ${random.pick(['E', 'U', 'L'])} ${ends} ${random.pick(['', 'UNIDIRECTIONAL'])}`,
      random.pick([
        'UPDATE V SET v = :c.v, l = :c.l WHERE k = :f',
        'UPDATE V REMOVE t, m WHERE k = :f',
        'MOVE VERTEX (SELECT FROM V WHERE k = :f) TO TYPE:W',
        'MOVE VERTEX (SELECT FROM V WHERE k = :f) TO TYPE:V',
        'DELETE VERTEX V WHERE k = :f AND k % 4 = 0',
      ]),
    ]) {
      await database.run(text, {parameters}).catch((error: unknown) => {
        if (!(error instanceof Refusal)) throw error;
        refused += 1;
      });
    }
  }
  const [answer] = (await database.run('CHECK DATABASE')) as unknown as Answer[];
  const damage = answer?.findings.filter(({kind}) => !isWarning(kind));
  assert.deepEqual(damage, []);
  assert.ok(Number(answer?.['totalActiveVertices']) > 120, `${refused} statements were refused`);
  assert.ok(Number(answer?.['totalActiveEdges']) > 60, `${refused} statements were refused`);
});

test('a bucket with records is not taken from its type', async () => {
  const world = closing(await ServiceWorld.open());
  after(() => world.close());
  const database = await world.database([
    'CREATE DOCUMENT TYPE D BUCKETS 2',
    'INSERT INTO D SET a = 1',
    'INSERT INTO D SET a = 2',
  ]);
  await assert.rejects(database.run('ALTER TYPE D BUCKET -D_1'), {code: 'schema.conflict'});
  assert.deepEqual(await database.run('SELECT count(*) AS n FROM D'), [{n: 2}]);
  await database.run('DELETE FROM D WHERE a = 2');
  await database.run('ALTER TYPE D BUCKET -D_1');
  const [answer] = (await database.run('CHECK DATABASE')) as unknown as Answer[];
  assert.deepEqual(answer?.findings, []);
});

test(`what follows from other bytes is mended to the byte (SEED=${seed})`, async () => {
  const {rootPath, expected} = await damaged('derivable', derivable);
  assert.equal(expected.length, damageCount);
  const before = await rowsOf(rootPath);
  const [looked] = await asked(rootPath, 'CHECK DATABASE');
  assert.deepEqual(missed(looked, expected), []);
  assert.deepEqual(await rowsOf(rootPath), before, 'who looks changes nothing');
  const [fixed, again] = await asked(rootPath, 'CHECK DATABASE FIX', 'CHECK DATABASE');
  assert.deepEqual(missed(fixed, expected), []);
  assert.ok(fixed?.findings.every(({repair}) => repair === 'done'));
  assert.deepEqual(again?.findings, []);
  assert.deepEqual(await rowsOf(rootPath), await rowsOf(sound));
});

test(`a hundred damages are found, and none is made good by invention (SEED=${seed})`, async () => {
  const all = {...lossy, ...orphaned, ...derivable};
  assert.ok(Object.keys(all).length >= 20);
  const {rootPath, image, expected} = await damaged('all', all);
  const [looked, fixed, again, removed, last] = await asked(
    rootPath,
    'CHECK DATABASE',
    'CHECK DATABASE FIX',
    'CHECK DATABASE',
    'CHECK DATABASE FIX DELETE ORPHANS',
    'CHECK DATABASE',
  );
  assert.deepEqual(missed(looked, expected), []);
  assert.deepEqual(missed(fixed, expected), []);
  const remedies = (answer: Answer | undefined): Set<string> =>
    new Set(answer?.findings.map(({kind}) => findingKinds[kind].remedy));
  assert.ok(!remedies(again).has('fix'), 'what can be derived is mended at once');
  assert.ok(remedies(again).has('orphan'));
  assert.ok(Number(removed?.['removedRecords']) > 0);
  assert.deepEqual([...remedies(last)].sort(), ['restore', 'user']);
  // Nothing that is left was written: what a restore puts back is what had been lost.
  await withStore(rootPath, store => image.restore(store));
  const [, restored] = await asked(rootPath, 'CHECK DATABASE FIX', 'CHECK DATABASE');
  const left = restored?.findings.map(({kind}) => kind);
  assert.deepEqual(
    new Set(left),
    new Set(['edge-duplicate']),
    "the second edge is a user's matter",
  );
});

test(`FIX mends beside writers, and what they write stays (SEED=${seed})`, async () => {
  const {rootPath, expected} = await damaged('busy', derivable);
  const world = closing(await ServiceWorld.open({}, {rootPath}));
  after(() => world.close());
  const database = new TestDatabase(world.service, 'db1');
  let isDone = false;
  const fixed = database.run('CHECK DATABASE FIX').finally(() => {
    isDone = true;
  });
  // Counters that cannot be read refuse writes to their bucket until they are mended.
  let written = 0;
  const write = async (number: number): Promise<void> => {
    const own = `(SELECT FROM Person WHERE name = 'w${number}')`;
    const ends = `FROM ${own} TO (SELECT FROM Person LIMIT 1)`;
    await database.run(`INSERT INTO Person SET name = 'w${number}', tags = [${number}, 'w']`);
    await database.run(`CREATE EDGE Knows ${ends} SET since = ${number}`);
    await database.run(`CREATE EDGE Light ${ends}`);
    if (number % 3 === 0) await database.run(`DELETE VERTEX Person WHERE name = 'w${number}'`);
    else written += 1;
  };
  for (let number = 0; !isDone; number += 4) {
    await Promise.all([0, 1, 2, 3].map(one => write(number + one)));
  }
  const [answer] = (await fixed) as unknown as Answer[];
  assert.deepEqual(missed(answer, expected), []);
  const [again] = (await database.run('CHECK DATABASE')) as unknown as Answer[];
  assert.deepEqual(again?.findings, []);
  assert.ok(written > 0);
  const [count] = await database.run("SELECT count(*) AS n FROM Person WHERE name LIKE 'w%'");
  assert.deepEqual(count, {n: written});
});

test('a file that does not give its bytes ends a part of the check and nothing else', async () => {
  const rootPath = join(base, 'unreadable');
  const world = closing(await ServiceWorld.open({}, {rootPath}));
  const database = await world.database(['CREATE DOCUMENT TYPE T']);
  const text = Array.from({length: 2_000}, (_, n) => `('${'x'.repeat(99)}${n}')`).join();
  for (let turn = 0; turn < 5; turn++) await database.run(`INSERT INTO T (t) VALUES ${text}`);
  await world.close();
  const directory = join(rootPath, 'databases/db1');
  const [path = ''] = readdirSync(directory)
    .filter(name => name.endsWith('.sst'))
    .map(name => join(directory, name))
    .sort((one, other) => statSync(other).size - statSync(one).size);
  const file = openSync(path, 'r+');
  writeSync(file, 'damage', Math.floor(statSync(path).size / 2));
  closeSync(file);
  const [looked, fixed] = await asked(rootPath, 'CHECK DATABASE', 'CHECK DATABASE FIX');
  for (const answer of [looked, fixed]) {
    assert.deepEqual(
      new Set(answer?.findings.map(({kind}) => kind)),
      new Set(['store-unreadable']),
    );
    assert.match(String(answer?.findings[0]?.says), /checksum.*\.sst/);
    assert.equal(answer?.autoFix, 0);
  }
});

test('files that the store has not written are told, and removed on demand', async () => {
  const rootPath = join(base, 'files');
  cpSync(sound, rootPath, {recursive: true});
  const directory = join(rootPath, 'databases/db1');
  for (const name of ['left-over.sst.part', 'notes.txt']) writeFileSync(join(directory, name), 'x');
  const before = readdirSync(directory).filter(name => /^(CURRENT|.*\.sst)$/.test(name));
  const [looked, fixed, reclaimed, last] = await asked(
    rootPath,
    'CHECK DATABASE',
    'CHECK DATABASE FIX',
    'CHECK DATABASE FIX RECLAIM UNREFERENCED FILES',
    'CHECK DATABASE',
  );
  for (const answer of [looked, fixed]) {
    assert.deepEqual(answer?.['unreferencedFiles'], ['left-over.sst.part', 'notes.txt']);
    assert.deepEqual(answer?.['reclaimedUnreferencedFiles'], []);
  }
  assert.equal(looked?.totalErrors, 0);
  assert.deepEqual(reclaimed?.['reclaimedUnreferencedFiles'], ['left-over.sst.part', 'notes.txt']);
  assert.deepEqual(last?.findings, []);
  for (const name of before) assert.ok(readdirSync(directory).includes(name), name);
  await assert.rejects(asked(rootPath, 'CHECK DATABASE RECLAIM UNREFERENCED FILES'), {
    code: 'query.semantic',
  });
});

test('a check that is terminated ends', async () => {
  const world = closing(await ServiceWorld.open());
  after(() => world.close());
  const database = await world.database(['CREATE DOCUMENT TYPE T']);
  const rows = Array.from({length: 5_000}, (_, n) => `(${n})`).join();
  for (let turn = 0; turn < 10; turn++) await database.run(`INSERT INTO T (n) VALUES ${rows}`);
  for (const text of ['CHECK DATABASE', 'CHECK DATABASE FIX']) {
    const running = database.run(text, {tag: 'check'});
    const refused = assert.rejects(running, {code: 'query.terminated'});
    await new Promise(setImmediate);
    world.service.terminateTagged(root, 'check');
    await refused;
  }
  assert.deepEqual(world.service.progress(root, database.name), []);
});
