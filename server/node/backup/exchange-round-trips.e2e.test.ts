/**
 * Round trips: databases that are generated from a seed go out in each format and come in again,
 * and hold what they held; the small network of LDBC as well, through every format that carries it.
 *
 * JSON Lines carry everything, so that two exports are equal but for record ids. GraphML and
 * GraphSON carry vertices and edges with the types that they know, and are compared by what they
 * become: after a first trip nothing changes any more.
 */
import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {type ExchangeWorld, startExchangeWorld} from './testing-exchange.ts';

const seeds = (process.env['SEEDS'] ?? '1 2 3').split(' ').map(Number);
const shared = process.env['SVC_SHARED'] ?? '';
const ldbc = join(shared, 'data/ldbc-snb-mini/vanilla');
let world: ExchangeWorld;

before(async () => {
  world = await startExchangeWorld('exchange-round-trips');
});
after(() => world.close());

/** Numbers from 0 to below `limit`, the same for one seed. */
function chance(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return limit => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** A literal of SQL for a value of each type; those of the first list every format can carry. */
const plainValues = [
  (n: number) => String(n),
  (n: number) => String(-n),
  (n: number) => `${n}.5`,
  (n: number) => String(9_007_199_254_740_993n + BigInt(n)),
  (n: number) => (n % 2 === 0 ? 'true' : 'false'),
  (n: number) => `'text ${n}'`,
  (n: number) => `'<&> "é" 漢 \\n\\t ${n}'`,
];
const richValues = [
  ...plainValues,
  () => 'null',
  (n: number) => `date('2024-02-${String(1 + (n % 28)).padStart(2, '0')}', 'yyyy-MM-dd')`,
  (n: number) => `'${n}.10'.asDecimal()`,
  (n: number) => `[${n}, 'a', null, [1.5]]`,
  (n: number) => `{'a': ${n}, '$date': {'b': [true]}}`,
  (n: number) => `{'@type': 'Note', 'text': 'inner ${n}'}`,
  () => "'AAEC'",
  () => "''",
];

async function generate(database: string, seed: number, isRich: boolean): Promise<void> {
  const next = chance(seed);
  await world.client.createDatabase(database);
  const values = isRich ? richValues : plainValues;
  const properties = (): string =>
    Array.from({length: 1 + next(5)}, (_, at) => {
      const value = values[next(values.length)] ?? String;
      // A property has one type in GraphML: its name says which value it is.
      return `p${isRich ? at : values.indexOf(value)} = ${value(next(1_000))}`;
    })
      .filter(
        (text, at, all) => all.findIndex(one => one.split(' ')[0] === text.split(' ')[0]) === at,
      )
      .join(', ');
  const statements = [
    'CREATE VERTEX TYPE Base',
    'CREATE VERTEX TYPE Thing EXTENDS Base BUCKETS 3',
    'CREATE EDGE TYPE Likes',
    'CREATE DOCUMENT TYPE Note',
    'CREATE PROPERTY Base.k INTEGER (mandatory true)',
    'CREATE INDEX ON Base (k) UNIQUE',
    'CREATE PROPERTY Thing.at DATETIME_NANOS',
    'CREATE PROPERTY Thing.raw BINARY',
    'CREATE PROPERTY Thing.vec ARRAY_OF_FLOATS',
    'CREATE PROPERTY Thing.friend LINK OF Base',
  ];
  for (const statement of statements) await world.client.command(database, statement);
  const count = 20 + next(20);
  for (let k = 0; k < count; k += 1) {
    const type = next(2) === 0 ? 'Base' : 'Thing';
    const special =
      isRich && type === 'Thing'
        ? ", at = '2024-02-29 12:13:14.123456789', raw = 'AAEC', vec = [0.5, 1, -2]"
        : '';
    await world.client.command(
      database,
      `INSERT INTO ${type} SET k = ${k}${special}, ${properties()}`,
    );
  }
  for (let at = 0; at < count; at += 1) {
    const ends = [next(count), next(count)].map(k => `(SELECT FROM Base WHERE k = ${k})`);
    const edge = `CREATE EDGE Likes FROM ${ends[0]} TO ${ends[1]} SET n = ${at}, ${properties()}`;
    await world.client.command(database, edge);
  }
  if (!isRich) return;
  await world.client.command(database, 'CREATE (:A:B {x: 1})', {language: 'cypher'});
  await world.client.command(database, `INSERT INTO Note SET ${properties()}`);
  const [zero] = await world.rows(database, 'SELECT @rid AS r FROM Base WHERE k = 0');
  const friend = `UPDATE Thing SET friend = ${String(zero?.['r'])}`;
  await world.client.command(database, friend);
}

/** Lines of an export without its moment and with record ids by what their records hold. */
function dump(lines: string): readonly string[] {
  const rows = lines.split('\n').filter(line => line !== '' && !line.startsWith('{"t":"info"'));
  return rows.map(line => line.replaceAll(/#\d+:-?\d+/g, '#')).sort((a, b) => (a < b ? -1 : 1));
}

for (const seed of seeds) {
  test(`a database of every type of value through JSON Lines, seed ${seed}`, async () => {
    await generate(`rich-${seed}`, seed, true);
    const first = await world.exported(`rich-${seed}`);
    await world.send(`rich-${seed}-again`, first);
    assert.deepEqual(dump(await world.exported(`rich-${seed}-again`)), dump(first));
  });

  test(`a graph through GraphML and GraphSON, seed ${seed}`, async () => {
    await generate(`plain-${seed}`, seed, false);
    const records = (lines: string): readonly string[] =>
      dump(lines).filter(line => /^\{"t":"[ve]"/.test(line));
    const expected = records(await world.exported(`plain-${seed}`));
    for (const format of ['graphml', 'graphson']) {
      const copy = `plain-${seed}-${format}`;
      await world.send(copy, await world.exported(`plain-${seed}`, format));
      assert.deepEqual(records(await world.exported(copy)), expected, format);
    }
  });
}

const tables = [
  ['dynamic/person_0_0.csv', 'Person'],
  ['dynamic/forum_0_0.csv', 'Forum'],
  ['dynamic/post_0_0.csv', 'Post'],
  ['dynamic/comment_0_0.csv', 'Comment'],
] as const;
const links = [
  ['dynamic/person_knows_person_0_0.csv', 'knows', 'Person', 'Person'],
  ['dynamic/forum_hasMember_person_0_0.csv', 'hasMember', 'Forum', 'Person'],
  ['dynamic/comment_replyOf_post_0_0.csv', 'replyOf', 'Comment', 'Post'],
  ['dynamic/person_likes_post_0_0.csv', 'likes', 'Person', 'Post'],
] as const;

test('the small network of LDBC from CSV, and through every format', {
  skip: !existsSync(ldbc) && 'SVC_SHARED names no folder with data/ldbc-snb-mini',
}, async () => {
  const lines = (path: string): number =>
    readFileSync(join(ldbc, path), 'utf8').trimEnd().split('\n').length - 1;
  await world.client.createDatabase('ldbc');
  const common = {new: 'false', delimiter: '|', typeIdProperty: 'id', maxPropertySize: '65536'};
  const counts = {vertices: 0, edges: 0};
  for (const [path, vertexType] of tables) {
    const options = {...common, rows: 'vertex', vertexType, typeIdType: 'LONG'};
    const made = await world.send('ldbc', readFileSync(join(ldbc, path)), options);
    assert.equal(made['vertices'], lines(path), path);
    counts.vertices += lines(path);
  }
  for (const [path, edgeType, edgeFromType, edgeToType] of links) {
    const bytes = readFileSync(join(ldbc, path));
    const more = bytes.toString().split('\n', 1)[0]?.split('|').length === 3 ? ',at' : '';
    const ends = {edgeType, edgeFromType, edgeToType, header: `from,to${more}`, skipEntries: '1'};
    const made = await world.send('ldbc', bytes, {...common, rows: 'edge', ...ends});
    assert.equal(made['edges'], lines(path), path);
    counts.edges += lines(path);
  }
  const expected = dump(await world.exported('ldbc')).filter(line => /^\{"t":"[ve]"/.test(line));
  for (const format of ['jsonl', 'graphml', 'graphson']) {
    const copy = `ldbc-${format}`;
    const made = await world.send(copy, await world.exported('ldbc', format));
    assert.deepEqual([made['vertices'], made['edges']], [counts.vertices, counts.edges], format);
    const found = dump(await world.exported(copy)).filter(line => /^\{"t":"[ve]"/.test(line));
    assert.deepEqual(found, expected, format);
  }
});
