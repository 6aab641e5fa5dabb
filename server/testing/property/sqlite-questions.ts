/**
 * Random SELECTs in the words of this server and in those of SQLite: what both can say, with one
 * meaning. A question that has an answer in both has the same one.
 *
 * Seeded. Left out is what the two mean differently on purpose: comparisons across classes of
 * values, division by zero, numbers beyond 53 bits, case of other letters than ASCII. Rows that
 * are cut off by a limit are ordered by a key that every row has of its own.
 */
import type {SeededRandom} from './seeded-random.ts';

/** One meaning in both dialects. */
export interface Both {
  readonly ours: string;
  readonly lite: string;
}

export interface SqliteQuestion extends Both {
  /** Which of the kinds of questions below. */
  readonly kind: string;
  /** Whether the rows' order is part of the answer. */
  readonly ordered: boolean;
}

/** A row of the table that is asked; null where nothing is known. */
export interface Fact {
  readonly id: number;
  readonly a: number | null;
  readonly b: number;
  readonly c: number | null;
  readonly s: string | null;
  readonly t: string;
  readonly ok: boolean;
}

/** The columns of a fact, in the order of its values. */
export const columns = ['id', 'a', 'b', 'c', 's', 't', 'ok'] as const;

/** Tables of the same rows; the second is indexed. */
export const tables = ['Plain', 'Indexed'] as const;

const words = ['', 'a', 'A', 'ab', 'aB', 'abc', 'b', 'Bc', 'c d', 'x%y', 'zé'];

/** Few different values, so that conditions meet and groups have several rows. */
export function facts(random: SeededRandom, count: number): readonly Fact[] {
  return Array.from({length: count}, (_, at) => ({
    id: at + 1,
    a: random.once(5) ? null : random.below(30) - 8,
    b: random.below(12) - 3,
    // Quarters add up exactly, in whatever order.
    c: random.once(6) ? null : random.below(80) / 4 - 5,
    s: random.once(4) ? null : random.pick(words),
    t: random.pick(words),
    ok: random.once(2),
  }));
}

/** The question of this number; the kinds take turns. */
export function sqliteQuestion(random: SeededRandom, number: number): SqliteQuestion {
  const kinds = Object.entries(questions);
  const [kind, question] = kinds[number % kinds.length] as (typeof kinds)[number];
  return {kind, ...question(random, random.pick(tables))};
}

type Question = (random: SeededRandom, table: string) => Omit<SqliteQuestion, 'kind'>;

const questions: Readonly<Record<string, Question>> = {
  filter: (random, table) => ({
    ...text`SELECT id, ${value(random)} AS v FROM ${table} WHERE ${condition(random)}`,
    ordered: false,
  }),
  order: (random, table) => {
    const keys = some(random, columns, 2).map(key => `${key} ${random.pick(['ASC', 'DESC'])}`);
    const where = random.once(3) ? same('') : text` WHERE ${condition(random)}`;
    const order = [...keys, `id ${random.pick(['ASC', 'DESC'])}`].join(', ');
    const from = text`SELECT id, t, a FROM ${table}${where} ORDER BY ${order}`;
    return {...text`${from}${cutOff(random)}`, ordered: true};
  },
  distinct: (random, table) => {
    const keys = some(random, ['a', 'b', 's', 't', 'ok'], 2).join(', ');
    return {
      ...text`SELECT DISTINCT ${keys} FROM ${table} WHERE ${condition(random)}`,
      ordered: false,
    };
  },
  aggregate: (random, table) => ({
    ...text`SELECT ${aggregate(random)} AS x, ${aggregate(random)} AS y, count(*) AS n
      FROM ${table} WHERE ${condition(random)}`,
    ordered: false,
  }),
  group: (random, table) => {
    const key = random.pick(['a', 's', 't', 'ok', 'b % 3', 'a + b']);
    const having = random.once(2) ? '' : ` HAVING count(*) > ${random.below(6)}`;
    return {
      ...text`SELECT ${key} AS k, ${aggregate(random)} AS x, count(*) AS n FROM ${table}
        WHERE ${condition(random)} GROUP BY ${key}${having}
        ORDER BY k ${random.pick(['ASC', 'DESC'])}`,
      ordered: true,
    };
  },
  groups: (random, table) => {
    const keys = some(random, ['a', 'b', 's', 't', 'ok'], 2);
    const list = keys.join(', ');
    return {
      ...text`SELECT ${list}, ${aggregate(random)} AS x FROM ${table} WHERE ${condition(random)}
        GROUP BY ${list} ORDER BY ${list}${cutOff(random)}`,
      ordered: true,
    };
  },
  member: (random, table) => {
    const column = random.pick(['a', 'b', 's', 't']);
    const other = random.pick(tables);
    const known = text`SELECT ${column} FROM ${other}
      WHERE ${column} IS NOT NULL AND ${condition(random)}`;
    return {
      ...text`SELECT id FROM ${table} WHERE ${column} ${random.pick(['IN', 'NOT IN'])} (${known})
        AND ${condition(random)}`,
      ordered: false,
    };
  },
  scalar: (random, table) => {
    const column = random.pick(['a', 'b', 'c']);
    const found = text`SELECT ${random.pick(['min', 'max'])}(${column}) FROM ${table}
      WHERE ${condition(random)}`;
    return {
      ...text`SELECT id FROM ${table}
        WHERE ${column} ${random.pick(comparisons)} (${found}) AND ${condition(random)}`,
      ordered: false,
    };
  },
  nested: (random, table) => {
    const inner = text`SELECT id, a, b, c, s, t, ok, ${value(random)} AS v FROM ${table}
      WHERE ${condition(random)}`;
    return {
      ...text`SELECT id, v FROM (${inner}) WHERE ${condition(random)} ORDER BY id${cutOff(random)}`,
      ordered: true,
    };
  },
};

const comparisons = ['=', '<>', '<', '<=', '>', '>='];

/** A tree of conditions on the columns of a fact. */
function condition(random: SeededRandom, depth = 3): Both {
  if (depth > 0 && random.once(2)) {
    const left = condition(random, depth - 1);
    const right = condition(random, depth - 1);
    return text`(${left} ${random.pick(['AND', 'OR'])} ${right})`;
  }
  if (depth > 0 && random.once(5)) return text`NOT (${condition(random, depth - 1)})`;
  return random.pick(tests)(random);
}

const tests: readonly ((random: SeededRandom) => Both)[] = [
  random =>
    text`${random.pick(['id', 'a', 'b', 'c'])} ${random.pick(comparisons)} ${number(random)}`,
  random => text`${random.pick(['s', 't'])} ${random.pick(comparisons)} ${word(random)}`,
  random => text`${numeric(random)} ${random.pick(comparisons)} ${numeric(random)}`,
  random => text`${random.pick(['a', 'c', 's', 'b'])} IS ${random.pick(['', 'NOT '])}NULL`,
  random => {
    const [low, high] = [random.below(20) - 5, random.below(25)];
    const column = random.pick(['a', 'b', 'c', 'id']);
    return text`${column} ${negation(random)}BETWEEN ${low} AND ${high}`;
  },
  random => {
    const items = Array.from({length: 1 + random.below(4)}, () => number(random)).join(', ');
    const list: Both = {ours: `[${items}]`, lite: `(${items})`};
    return text`${random.pick(['a', 'b', 'c', 'id'])} ${negation(random)}IN ${list}`;
  },
  random => {
    const [column, start] = [random.pick(['s', 't']), random.pick(['', '%'])];
    const middle = random.pick(['a', 'b', 'ab', 'B', '?', 'a?', ' ', 'c']);
    const [not, end] = [negation(random), random.pick(['', '%'])];
    const pattern = `${start}${middle}${end}`;
    return {
      ours: `${column} ${not}LIKE '${pattern}'`,
      lite: `${column} ${not}LIKE '${pattern.replace('?', '_')}'`,
    };
  },
  random => {
    const wanted = random.once(2);
    return {ours: `ok = ${wanted}`, lite: `ok = ${Number(wanted)}`};
  },
];

/** A number made of the columns. */
function numeric(random: SeededRandom): Both {
  const factor = 2 + random.below(4);
  return random.pick<Both>([
    same(`a * ${factor}`),
    same('a + b'),
    same('b - c'),
    same(`id % ${factor}`),
    same(`b % ${factor}`),
    same('-b'),
    same('abs(a)'),
    same('coalesce(a, b)'),
    same('ifnull(c, 1)'),
    // Division of integers is exact here.
    {ours: `a / ${factor}`, lite: `a * 1.0 / ${factor}`},
    {ours: 't.length()', lite: 'length(t)'},
  ]);
}

/** What a row may tell. */
function value(random: SeededRandom): Both {
  if (random.once(2)) return numeric(random);
  const [from, count] = [random.below(3), random.below(3)];
  const shout = random.pick(['Upper', 'Lower']);
  return random.pick<() => Both>([
    () => same(random.pick(columns)),
    () => same("coalesce(s, t, 'none')"),
    () => ({ours: "s + '-' + t", lite: "s || '-' || t"}),
    () => ({
      ours: `t.replace('z\u00e9', 'z').to${shout}Case()`,
      lite: `${shout.toLowerCase()}(replace(t, 'z\u00e9', 'z'))`,
    }),
    () => ({
      ours: `t.substring(${from}, ${from + count})`,
      lite: `substr(t, ${from + 1}, ${count})`,
    }),
    () =>
      text`CASE WHEN ${condition(random, 1)} THEN 'one' WHEN ${condition(random, 1)} THEN t END`,
    () => {
      const [test, then] = [condition(random, 1), numeric(random)];
      return {
        ours: `if(${test.ours}, ${then.ours}, b)`,
        lite: `CASE WHEN ${test.lite} THEN ${then.lite} ELSE b END`,
      };
    },
  ])();
}

function aggregate(random: SeededRandom): Both {
  const name = random.pick(['sum', 'avg', 'min', 'max', 'count']);
  if (name === 'count') return same(`count(${random.pick(['a', 'c', 's', 'DISTINCT t'])})`);
  if (name === 'sum' || name === 'avg' || random.once(2)) {
    return text`${name}(${random.pick(['a', 'b', 'c', 'a + b'])})`;
  }
  return same(`${name}(${random.pick(['s', 't'])})`);
}

function cutOff(random: SeededRandom): Both {
  if (random.once(2)) return same('');
  const [skip, limit] = [random.below(20), 1 + random.below(25)];
  return {ours: ` SKIP ${skip} LIMIT ${limit}`, lite: ` LIMIT ${limit} OFFSET ${skip}`};
}

function number(random: SeededRandom): string {
  return String(random.once(5) ? random.below(40) / 4 - 3 : random.below(30) - 8);
}

function word(random: SeededRandom): string {
  return `'${random.pick(words)}'`;
}

function negation(random: SeededRandom): string {
  return random.once(3) ? 'NOT ' : '';
}

/** Picks from one to `most` of the items, none twice. */
function some<T>(random: SeededRandom, items: readonly T[], most: number): readonly T[] {
  const count = 1 + random.below(most);
  return [...new Set(Array.from({length: count}, () => random.pick(items)))];
}

function same(words: string): Both {
  return {ours: words, lite: words};
}

/** Text with parts that the dialects spell differently. */
function text(parts: TemplateStringsArray, ...values: readonly (Both | string | number)[]): Both {
  const spelled = (dialect: keyof Both): string =>
    String.raw(parts, ...values.map(one => (typeof one === 'object' ? one[dialect] : one)));
  return {ours: spelled('ours'), lite: spelled('lite')};
}
