/**
 * Random questions to records under indexes of every kind, and to the same records without: by
 * whole keys, prefixes and ranges, in both directions, from keys alone, while records change.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import type {Value} from '#server/model/value.ts';
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const world = await ServiceWorld.open();
after(() => world.close());

const rows = 160;
const questions = 250;

const properties = [
  'id INTEGER',
  'a INTEGER',
  'b LONG',
  'c STRING',
  'd DOUBLE',
  's STRING',
  'l LIST',
  'm MAP',
];

const indexes = [
  'id) UNIQUE',
  'a, b, c) NOTUNIQUE',
  'b, id) UNIQUE_HASH',
  's COLLATE CI, a) NOTUNIQUE NULL_STRATEGY INDEX',
  'c) NOTUNIQUE_HASH',
  'd, a) NOTUNIQUE',
  'l BY ITEM) NOTUNIQUE',
  'm BY KEY) NOTUNIQUE',
  'm BY VALUE) NOTUNIQUE_HASH',
];

const letters = ['a', 'A', 'b', 'B', 'ab', 'Ab', 'ß', 'é', ''];

function orNull(random: SeededRandom, value: () => Value): Value {
  return random.chance(15) ? null : value();
}

function record(random: SeededRandom, id: number): Map<string, Value> {
  const some = (): number => random.below(6) - 1;
  return new Map<string, Value>([
    ['id', id],
    ['a', orNull(random, some)],
    ['b', orNull(random, some)],
    ['c', orNull(random, () => random.pick(letters))],
    ['d', orNull(random, () => random.pick([-0.5, 0, 0.5, 1, 1e300, NaN, Infinity]))],
    ['s', orNull(random, () => random.pick(letters))],
    ['l', orNull(random, () => Array.from({length: random.below(4)}, some))],
    [
      'm',
      orNull(
        random,
        () => new Map(letters.slice(0, random.below(4)).map(key => [`k${key}`, some()])),
      ),
    ],
  ]);
}

function condition(random: SeededRandom): string {
  const number = (): number => random.below(6) - 1;
  const letter = (): string => `'${random.pick(letters)}'`;
  const sign = (): string => random.pick(['=', '<', '<=', '>', '>=', '<>']);
  return random.pick([
    () => `a = ${number()}`,
    () => `a ${sign()} ${number()}`,
    () => `b ${sign()} ${number()}`,
    () => `a IN [${number()}, ${number()}, ${number()}]`,
    () => `a = ${number()} AND b = ${number()} AND c ${sign()} ${letter()}`,
    () => `a = ${number()} AND b ${sign()} ${number()}`,
    () => `a = ${number()} AND b BETWEEN ${number()} AND ${number()}`,
    () => `a BETWEEN ${number()} AND ${number()}`,
    () => `a >= ${number()} AND a < ${number()}`,
    () => 'a IS NULL',
    () => 'b IS NOT NULL',
    () => `c ${sign()} ${letter()}`,
    () => `d ${sign()} ${random.pick(['-0.5', '0', '0.5', '1e300', '5'])}`,
    () => `s = ${letter()}`,
    () => `s.toLowerCase() = ${letter()}.toLowerCase()`,
    () => `s > ${letter()} AND a = ${number()}`,
    () => "s LIKE 'a%'",
    () => `l CONTAINS ${number()}`,
    () => `l CONTAINSANY [${number()}, ${number()}]`,
    () => "m CONTAINSKEY 'ka'",
    () => `m CONTAINSVALUE ${number()}`,
    () => `NOT (a = ${number()})`,
    () => `(a = ${number()} OR c = ${letter()})`,
  ])();
}

/** Makes a query with T for the type; `isOrdered` when the order of the answer is determined. */
function question(random: SeededRandom): {readonly text: string; readonly isOrdered: boolean} {
  const count = 1 + random.below(3);
  const where = Array.from({length: count}, () => condition(random)).join(' AND ');
  const descending = random.chance(50) ? ' DESC' : '';
  const [what, end, isOrdered] = random.pick([
    ['id', '', false],
    ['id, a, b', '', false],
    ['a, b, c', '', false],
    ['count(*) AS n, sum(b) AS s', '', false],
    ['a, count(*) AS n', 'GROUP BY a', false],
    ['id', `ORDER BY id${descending}`, true],
    ['id, a', `ORDER BY a${descending}, id`, true],
    ['a, b, id', `ORDER BY a${descending}, b${descending}, id LIMIT 7`, true],
    ['id', `ORDER BY b${descending}, id${descending} SKIP 2 LIMIT 5`, true],
    ['d, id', `ORDER BY d${descending}, id`, true],
  ] as const);
  return {text: `SELECT ${what} FROM T WHERE ${where} ${end}`, isOrdered};
}

async function answers(database: TestDatabase, type: string, asked: string): Promise<string[]> {
  const found = await database.run(asked.replace('FROM T ', `FROM ${type} `));
  return found.map(row => JSON.stringify(row));
}

for (const seed of [1, 2]) {
  test(`indexes answer what a scan answers, seed ${seed}`, async () => {
    const random = createSeededRandom(seed);
    const database = await world.database([
      'CREATE DOCUMENT TYPE Plain',
      'CREATE DOCUMENT TYPE Base',
      ...properties.flatMap(each => [
        `CREATE PROPERTY Plain.${each}`,
        `CREATE PROPERTY Base.${each}`,
      ]),
      // Keys of subtypes stand among those of the type.
      'CREATE DOCUMENT TYPE Sub EXTENDS Base',
      ...indexes.slice(0, 5).map(each => `CREATE INDEX ON Base (${each}`),
    ]);
    const both = async (text: string, parameters: Map<string, Value>): Promise<void> => {
      const type = random.pick(['Base', 'Sub']);
      for (const each of ['Plain', text.startsWith('INSERT') ? type : 'Base']) {
        await database.run(text.replace(' T ', ` ${each} `), {parameters});
      }
    };
    for (let id = 0; id < rows; id += 1) {
      // The others are built from records that are there.
      if (id === rows / 2) {
        for (const each of indexes.slice(5)) await database.run(`CREATE INDEX ON Base (${each}`);
      }
      await both('INSERT INTO T CONTENT :c', new Map([['c', record(random, id)]]));
    }
    for (let asked = 0; asked < questions; asked += 1) {
      if (random.chance(20)) {
        const id = random.below(rows);
        const changed = new Map<string, Value>([
          ['id', id],
          ['c', record(random, id)],
        ]);
        const isKept = random.chance(80);
        await both(`${isKept ? 'UPDATE T MERGE :c' : 'DELETE FROM T '} WHERE id = :id`, changed);
      }
      const {text, isOrdered} = question(random);
      const [indexed, scanned] = [
        await answers(database, 'Base', text),
        await answers(database, 'Plain', text),
      ];
      if (!isOrdered) for (const each of [indexed, scanned]) each.sort();
      assert.deepEqual(indexed, scanned, text);
    }
  });
}
