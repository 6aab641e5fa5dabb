/**
 * Random SQL: statements that the grammar allows, and mutations of them that it may not.
 *
 * Seeded: the same seed gives the same statements. Statements are built as text from the rules of
 * the manual, not from the parser's tables, so that a rule forgotten in the parser shows.
 */

import {SeededRandom} from './seeded-random.ts';

const names = [
  'a',
  'name',
  'Person',
  'x1',
  '_y',
  '`odd name`',
  '`select`',
  'value',
  'type',
  'größe',
  'count',
];
const scalars = [
  '1',
  '-7',
  '0',
  '9223372036854775807',
  '3.5',
  '1e3',
  '2.5f',
  '10L',
  "'text'",
  "'it''s'",
  '"two\\n"',
  'true',
  'null',
  '#1:2',
  '#-1:-1',
  ':p',
  '?',
  '$2',
  '$x',
  '@rid',
  '@type',
];
const binary = ['+', '-', '*', '/', '%', '<<', '>>', '>>>', '&', '|', '^', '||', '??'];
const comparisons = [
  '=',
  '==',
  '!=',
  '<>',
  '<',
  '<=',
  '>',
  '>=',
  '<=>',
  'LIKE',
  'ILIKE',
  'MATCHES',
  'IN',
  'NOT IN',
  'CONTAINS',
  'NOT CONTAINS',
  'CONTAINSALL',
  'CONTAINSANY',
  'CONTAINSKEY',
  'CONTAINSVALUE',
  'CONTAINSTEXT',
  'INSTANCEOF',
  'NEAR',
  'WITHIN',
  'NOT LIKE',
];
const methods = ['size()', 'toUpperCase()', "out('Knows')", 'left(2)', 'format(a, 1)'];
const selectors = [
  '[0]',
  '[-1]',
  "['k']",
  '[1, 2]',
  '[0-3]',
  '[0..5]',
  '[0...5]',
  '[a > 1]',
  '[= 3]',
  "[LIKE 'a%']",
  '[IN [1, 2]]',
  '[..2]',
  '[1..]',
];
const nested = [':{a, !b}', ':{*, c:{*}}', ':{d*, e AS f}', ':{}'];
const fragments = [
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  ';',
  "'",
  '"',
  '`',
  '.',
  '..',
  ':',
  '@',
  '#',
  '$',
  '--',
  '/*',
  '*/',
  '\\',
  '\0',
  '\n',
  'SELECT',
  'FROM',
  'WHERE',
  'AND',
  'NOT',
  '<-',
  '->',
  '99999999999',
  '1e999',
  '#1:',
  '$0',
  '@nosuch',
  '\u{1F600}',
  '\ud800',
  'CASE',
  'LIMIT',
  'ORDER BY',
];

export class SqlGenerator {
  readonly #random: SeededRandom;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  /** A statement that must parse. */
  statement(): string {
    const depth = 1 + this.#random.below(3);
    switch (this.#random.below(12)) {
      case 0:
        return `INSERT INTO ${this.#name()} ${this.#body(depth)}`;
      case 1:
        return this.#update(depth);
      case 2:
        return `DELETE FROM ${this.#name()}${this.#where(depth)}`;
      case 3:
        return this.#match(depth);
      case 4:
        return this.#traverse(depth);
      case 5:
        return this.#schema();
      case 6:
        return `CREATE VERTEX ${this.#name()} ${this.#body(depth)}`;
      case 7:
        return `CREATE EDGE ${this.#name()} FROM (${this.#select(1)}) TO $v SET a = ?`;
      default:
        return this.#select(depth);
    }
  }

  /** A statement damaged in one to four places; most do not parse. */
  mutated(): string {
    return this.damaged(this.statement());
  }

  /** The text with a few places changed. */
  damaged(given: string): string {
    let text = given;
    for (let i = this.#random.below(4); i >= 0; i--) text = this.#damage(text);
    return text;
  }

  #damage(text: string): string {
    const random = this.#random;
    const at = random.below(text.length + 1);
    const end = Math.min(text.length, at + 1 + random.below(6));
    switch (random.below(5)) {
      case 0:
        return text.slice(0, at) + text.slice(end);
      case 1:
        return text.slice(0, at) + random.pick(fragments) + text.slice(at);
      case 2:
        return (
          text.slice(0, at) + random.pick(fragments).repeat(1 + random.below(20)) + text.slice(end)
        );
      case 3:
        return text.slice(0, end) + text.slice(at);
      default:
        return text.slice(0, at) + this.statement().slice(random.below(20));
    }
  }

  #name(): string {
    return this.#random.pick(names);
  }

  #list(depth: number): string {
    const count = 1 + this.#random.below(3);
    return Array.from({length: count}, () => this.#expression(depth)).join(', ');
  }

  #expression(depth: number): string {
    const random = this.#random;
    if (depth <= 0) return random.once(2) ? this.#name() : random.pick(scalars);
    const inner = (): string => this.#expression(depth - 1);
    switch (random.below(18)) {
      case 0:
        return `(${inner()} ${random.pick(binary)} ${inner()})`;
      case 1:
        return `${inner()} ${random.pick(binary)} ${inner()}`;
      case 2:
        return `(${inner()} ${random.pick(comparisons)} (${inner()}))`;
      case 3:
        return `NOT (${inner()})`;
      case 4:
        return `(${inner()} AND ${inner()} OR ${inner()})`;
      case 5:
        return `[${this.#list(depth - 1)}]`;
      case 6:
        return `{'k': ${inner()}, b: ${inner()}}`;
      case 7:
        return `coalesce(${this.#list(depth - 1)})`;
      case 8:
        return `${this.#name()}.${random.pick(methods)}`;
      case 9:
        return `(${inner()})${random.pick(selectors)}`;
      case 10:
        return `${this.#name()}${random.pick(nested)}`;
      case 11:
        return `CASE WHEN ${inner()} THEN ${inner()} ELSE ${inner()} END`;
      case 12:
        return `(${this.#select(depth - 1)})`;
      case 13:
        return `(${inner()} BETWEEN ${random.pick(scalars)} AND ${random.pick(scalars)})`;
      case 14:
        return `(${inner()} IS ${random.pick(['NULL', 'NOT NULL', 'DEFINED', 'NOT DEFINED'])})`;
      case 15:
        return `[x * 2 FOR x IN ${inner()} WHERE x > 1]`;
      case 16:
        return random.once(2) ? 'count(*)' : `sum(DISTINCT ${this.#name()})`;
      default:
        return `-${this.#name()}`;
    }
  }

  #where(depth: number): string {
    return this.#random.once(3) ? '' : ` WHERE ${this.#expression(depth)}`;
  }

  #target(depth: number): string {
    const random = this.#random;
    switch (random.below(8)) {
      case 0:
        return '[#1:2, #1:3]';
      case 1:
        return random.pick(['bucket:b', 'bucket:3', 'bucket:[b, 4]']);
      case 2:
        return random.pick(['schema:types', 'SCHEMA:index:`T[a]`', 'index:`T[a]`']);
      case 3:
        return depth > 0 ? `(${this.#select(depth - 1)})` : '$v';
      default:
        return this.#name();
    }
  }

  #select(depth: number): string {
    const random = this.#random;
    const items = random.once(5)
      ? ''
      : random.pick(['*', '*, !a', `${this.#list(depth)}`, `${this.#expression(depth)} AS al`]);
    const parts = [
      `SELECT ${random.once(6) && items !== '' ? 'DISTINCT ' : ''}${items}`,
      `FROM ${this.#target(depth)}`,
      random.once(4) ? `LET $v = ${this.#expression(depth)}` : '',
      this.#where(depth),
      random.once(4) ? `GROUP BY ${this.#list(depth)}` : '',
      random.once(6) ? `HAVING ${this.#expression(depth)}` : '',
      random.once(3)
        ? `ORDER BY ${this.#expression(depth)} ${random.pick(['', 'ASC', 'DESC'])}`
        : '',
      random.once(6) ? `UNWIND ${this.#name()} AS u` : '',
      random.once(4) ? 'SKIP 2' : '',
      random.once(3) ? `LIMIT ${random.pick(['1', ':n', '?'])}` : '',
      random.once(9) ? 'TIMEOUT 100 RETURN' : '',
    ];
    return parts.filter(part => part !== '').join(' ');
  }

  #body(depth: number): string {
    const random = this.#random;
    switch (random.below(4)) {
      case 0:
        return `SET a = ${this.#expression(depth)}, b.c = ${this.#expression(depth)}`;
      case 1:
        return `CONTENT {'a': ${this.#expression(depth)}}`;
      case 2:
        return `(a, b) VALUES (${this.#expression(depth)}, 1), (2, ${this.#expression(depth)})`;
      default:
        return `SET a[0] = ${this.#expression(depth)} RETURN @this`;
    }
  }

  #update(depth: number): string {
    const random = this.#random;
    const operation = random.pick([
      `SET a = ${this.#expression(depth)}`,
      'REMOVE a, b = 3',
      'INCREMENT a = 1',
      `MERGE {'m': ${this.#expression(depth)}}`,
      "PUT m = 'k', 2",
      'ADD l = 1',
      'SET a += 1, b /= 2',
    ]);
    const tail = random.pick(['', ' UPSERT', ' RETURN AFTER', ' RETURN BEFORE @this']);
    return `UPDATE ${this.#name()} ${operation}${tail}${this.#where(depth)}`;
  }

  #match(depth: number): string {
    const random = this.#random;
    const node = (): string =>
      `{${random.pick([
        'as: a',
        'type: Person, as: b',
        `as: c, where: (${this.#expression(depth)})`,
        '',
        'as: d, while: ($depth < 3), maxDepth: 5',
        'as: e, optional: true',
        'types: [A, B]',
      ])}}`;
    const hop = (): string =>
      random.pick([
        '-Knows->',
        '<-Knows-',
        '-Knows-',
        '-->',
        '<--',
        '.out()',
        ".in('A', 'B')",
        ".outE('K'){as: k}.inV()",
        '.(out().in())',
      ]);
    const pattern = (): string => {
      const hops = Array.from({length: random.below(3)}, () => hop() + node());
      return `${random.once(8) ? 'NOT ' : ''}${node()}${hops.join('')}`;
    };
    const patterns = random.once(3) ? `${pattern()}, ${pattern()}` : pattern();
    return `MATCH ${patterns} RETURN ${random.pick(['$matches', 'a, b', this.#list(depth)])}`;
  }

  #traverse(depth: number): string {
    const random = this.#random;
    const tail = random.pick([
      '',
      ' MAXDEPTH 3',
      ' WHILE $depth < 2',
      ' LIMIT 4',
      ' STRATEGY BREADTH_FIRST',
    ]);
    return `TRAVERSE ${random.pick(['*', 'out()', 'a, b'])} FROM ${this.#target(depth)}${tail}`;
  }

  #schema(): string {
    const name = this.#name();
    return this.#random.pick([
      `CREATE VERTEX TYPE ${name} IF NOT EXISTS EXTENDS A, B BUCKETS 3`,
      `CREATE DOCUMENT TYPE ${name} CUSTOM k = 'v'`,
      `CREATE PROPERTY ${name}.p IF NOT EXISTS LIST OF STRING (mandatory true, default 2 + 3)`,
      `CREATE INDEX IF NOT EXISTS ON ${name} (a, b BY ITEM, c COLLATE ci) UNIQUE`,
      `CREATE INDEX ON ${name} (a) NOTUNIQUE NULL_STRATEGY SKIP`,
      `ALTER TYPE ${name} SUPERTYPE +A`,
      `ALTER PROPERTY ${name}.p NAME q`,
      `DROP TYPE ${name} IF EXISTS UNSAFE`,
      `DROP INDEX ${name} IF EXISTS`,
      `TRUNCATE TYPE ${name} POLYMORPHIC UNSAFE`,
      `ALTER DATABASE \`a.b\` 'x'`,
      'CHECK DATABASE TYPE A, B FIX',
      `REBUILD INDEX * WITH a = 1`,
    ]);
  }
}
