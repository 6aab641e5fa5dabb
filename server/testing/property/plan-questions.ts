/**
 * Random questions in SQL and Cypher that leave a plan many choices: conditions over indexes of
 * all kinds, patterns of several parts, sorts, groups, sub-queries.
 *
 * Seeded. Values are written as literals or as parameters; both texts mean the same. Rows that are
 * cut off by a limit are ordered by a key that every row has of its own; any other order is free.
 */
import type {Value} from '#server/model/value.ts';
import type {SeededRandom} from './seeded-random.ts';

export interface PlanQuestion {
  readonly language: 'sql' | 'cypher';
  readonly literal: string;
  readonly parametrized: string;
  readonly parameters: ReadonlyMap<string, Value>;
  readonly ordered: boolean;
}

const people = 32;
const cities = ['Arvo', 'Brig', 'Cala', 'Dorn', 'Enna'];
const tags = ['red', 'green', 'blue'];

/** Types, indexes and a small graph with hubs, gaps and equal values. */
export const planWorld: readonly {readonly language: 'sql' | 'cypher'; readonly text: string}[] = [
  ...[
    'CREATE VERTEX TYPE Person',
    'CREATE VERTEX TYPE Worker EXTENDS Person',
    'CREATE VERTEX TYPE City',
    'CREATE EDGE TYPE Knows',
    'CREATE EDGE TYPE Lives',
    'CREATE EDGE TYPE Likes',
    ...['id INTEGER', 'age INTEGER', 'name STRING', 'town STRING', 'tags LIST OF STRING'].map(
      property => `CREATE PROPERTY Person.${property}`,
    ),
    'CREATE PROPERTY City.name STRING',
    'CREATE INDEX ON Person (id) UNIQUE',
    'CREATE INDEX ON Person (age) NOTUNIQUE',
    'CREATE INDEX ON Person (name) NOTUNIQUE NULL_STRATEGY INDEX',
    'CREATE INDEX ON Person (town, age) NOTUNIQUE',
    'CREATE INDEX ON Person (age, id) NOTUNIQUE',
    'CREATE INDEX ON Person (name, id) NOTUNIQUE NULL_STRATEGY INDEX',
    'CREATE INDEX ON Person (tags BY ITEM) NOTUNIQUE',
    'CREATE INDEX ON Worker (town) NOTUNIQUE',
    'CREATE INDEX ON City (name) UNIQUE_HASH',
  ].map(text => ({language: 'sql', text}) as const),
  ...[
    `UNWIND ${JSON.stringify(cities)} AS name CREATE (:City {name: name, size: size(name) * 7})`,
    `UNWIND range(1, ${people}) AS id
     FOREACH (_ IN CASE WHEN id % 3 = 0 THEN [] ELSE [1] END | CREATE (:Person {id: id}))
     FOREACH (_ IN CASE WHEN id % 3 = 0 THEN [1] ELSE [] END | CREATE (:Worker {id: id}))`,
    `MATCH (p:Person) SET p.name = 'n' + toString(p.id % 7), p.score = p.id * 13 % 11
     FOREACH (_ IN CASE WHEN p.id % 5 = 0 THEN [] ELSE [1] END | SET p.age = 20 + p.id * 3 % 17)
     FOREACH (_ IN CASE WHEN p.id % 4 = 0 THEN [] ELSE [1] END |
       SET p.town = ${JSON.stringify(cities)}[p.id % 3],
         p.tags = ${JSON.stringify(tags)}[..p.id % 4])`,
    `MATCH (a:Person) UNWIND [1, 4, a.id % 6, 9] AS step
     MATCH (b:Person {id: (a.id + step - 1) % ${people} + 1}) WHERE (a.id + step) % 3 > 0
     CREATE (a)-[:Knows {since: 2000 + a.id * step % 9}]->(b)`,
    `MATCH (a:Person), (b:Person {id: 1}) WHERE a.id % 4 = 1
     CREATE (a)-[:Knows {since: 1999}]->(b)`,
    `MATCH (p:Person), (c:City) WHERE p.id % 5 = c.size % 5 OR p.town = c.name
     CREATE (p)-[:Lives]->(c)`,
    `MATCH (p:Person)-[:Knows]->()-[:Lives]->(c) WHERE p.id % 4 = 0 CREATE (p)-[:Likes]->(c)`,
    `MATCH (p:Worker), (q:Person) WHERE (p.id + q.id) % 9 = 0 CREATE (p)-[:Likes]->(q)`,
  ].map(text => ({language: 'cypher', text}) as const),
];

/** The least number of each numeric property, and how many there are: a few more than met. */
const numbers: ReadonlyMap<string, readonly [number, number]> = new Map([
  ['id', [0, people + 3]],
  ['age', [18, 22]],
  ['score', [0, 12]],
]);

/** Marks a value in a text that is not decided on yet. */
const mark = '\u0001';

export class PlanQuestions {
  readonly #random: SeededRandom;
  #values: Value[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  next(): PlanQuestion {
    this.#values = [];
    const language = this.#random.pick(['sql', 'cypher'] as const);
    const {text, ordered} = language === 'sql' ? this.#sql() : this.#cypher();
    const sign = language === 'sql' ? ':' : '$';
    const pattern = new RegExp(`${mark}(\\d+)${mark}`, 'g');
    return {
      language,
      literal: text.replaceAll(pattern, (_, at: string) =>
        JSON.stringify(this.#values[Number(at)]),
      ),
      parametrized: text.replaceAll(pattern, (_, at: string) => `${sign}p${at}`),
      parameters: new Map(this.#values.map((value, at) => [`p${at}`, value])),
      ordered,
    };
  }

  #value(value: Value): string {
    this.#values.push(value);
    return `${mark}${this.#values.length - 1}${mark}`;
  }

  #number(of: string): string {
    const [base, range] = numbers.get(of) ?? [0, 5];
    return this.#value(base + this.#random.below(range));
  }

  #text(of: string): string {
    if (of === 'name') return this.#value(`n${this.#random.below(9)}`);
    return this.#value(this.#random.pick(cities));
  }

  #bound(name: string): string {
    const sign = this.#random.pick(['<', '<=', '>', '>=']);
    const other = this.#random.once(2) ? '' : ` AND id > ${this.#number('id')}`;
    return `${name} ${sign} ${name === 'age' ? this.#number('age') : this.#text('name')}${other}`;
  }

  /** A condition on a person; `of` is what stands before a property. */
  #condition(of: string, language: 'sql' | 'cypher', depth = 2): string {
    const random = this.#random;
    if (depth > 0 && random.once(2)) {
      const [left, right] = [0, 1].map(() => this.#condition(of, language, depth - 1));
      const joined = `(${left} ${random.pick(['AND', 'AND', 'OR', 'OR'])} ${right})`;
      return random.once(6) ? `NOT ${joined}` : joined;
    }
    const number = random.pick(['id', 'age', 'score']);
    const text = random.pick(['name', 'town']);
    const list = (one: () => string): string => {
      return `[${Array.from({length: random.below(4)}, one).join(', ')}]`;
    };
    switch (random.below(language === 'sql' ? 12 : 10)) {
      case 9:
        return this.#computed(of);
      case 10:
        return `@rid ${random.pick(['<', '<=', '>', '>='])} ${this.#value(this.#id())}`;
      case 11:
        return random.pick(["@type = 'Worker'", "@type <> 'Person'", "@this INSTANCEOF 'Worker'"]);
      case 0:
        return `${of}${text} = ${this.#text(text)}`;
      case 1:
        return `${of}${number} = ${this.#number(number)}`;
      case 2:
        return `${of}${text} IN ${list(() => this.#text(text))}`;
      case 3:
        return `${of}${number} IN ${list(() => this.#number(number))}`;
      case 4:
        return `${of}${number} IS ${random.once(2) ? 'NOT ' : ''}NULL`;
      case 5: {
        const [low, high] = [this.#number(number), this.#number(number)];
        return `(${of}${number} >= ${low} AND ${of}${number} < ${high})`;
      }
      case 6: {
        const tag = this.#value(random.pick(tags));
        return language === 'sql' ? `${of}tags CONTAINS ${tag}` : `${tag} IN ${of}tags`;
      }
      case 7:
        return `${of}${text} ${random.pick(['<', '>=', '<>'])} ${this.#text(text)}`;
      default: {
        const sign = random.pick(['<', '<=', '>', '>=', '<>']);
        return `${of}${number} ${sign} ${this.#number(number)}`;
      }
    }
  }

  /** The text of an id near those of people. */
  #id(): string {
    return `#${this.#random.below(4)}:${this.#random.below(people)}`;
  }

  /** A condition that has to be worked out. */
  #computed(of: string): string {
    const random = this.#random;
    const number = (): string => {
      const name = random.pick(['id', 'age', 'score']);
      return random.pick([`${of}${name}`, `${of}${name}`, this.#number(name)]);
    };
    const sum = (): string => {
      const [a, b] = [number(), number()];
      if (random.once(3)) return `CASE WHEN ${a} > ${b} THEN ${number()} ELSE ${b} * 2 END`;
      return `(${a} ${random.pick(['+', '-', '*'])} ${b} ${random.pick(['+ 3', '% 7', '- 1'])})`;
    };
    return `${sum()} ${random.pick(['<', '>=', '=', '<>'])} ${sum()}`;
  }

  /** An order in which no two rows are alike, and how much of it is wanted. */
  #cut(of: string): string {
    const random = this.#random;
    const turn = random.pick(['', ' DESC']);
    const keys = random.pick([[], ['age'], ['name'], ['town', 'age'], ['score']]);
    const order = [...keys, 'id'].map(key => `${of}${key}${turn}`).join(', ');
    const skip = random.once(3) ? ` SKIP ${random.below(4)}` : '';
    const limit = random.once(3) ? '' : `${skip} LIMIT ${random.below(12)}`;
    return ` ORDER BY ${order}${limit}`;
  }

  #sql(): {readonly text: string; readonly ordered: boolean} {
    const random = this.#random;
    const type = random.pick(['Person', 'Person', 'Worker']);
    const where = ` WHERE ${this.#condition('', 'sql')}`;
    switch (random.below(9)) {
      case 8:
        return {text: this.#nested(type, where), ordered: false};
      case 0:
        return {text: `SELECT id, name FROM ${type}${where}`, ordered: false};
      case 1: {
        const text = `SELECT id, age FROM ${type}${random.once(4) ? '' : where}`;
        return {text: text + this.#cut(''), ordered: true};
      }
      case 2:
        return {
          text: `SELECT town, count(*) AS n, max(age) AS m FROM ${type}${where} GROUP BY town`,
          ordered: false,
        };
      case 7: {
        // What an index holds all of.
        const key = random.pick(['age', 'name']);
        const bound = this.#bound(key);
        const columns = random.pick([`${key}, id`, `id, count(*) AS n`, `count(${key}) AS n`]);
        const group = columns.startsWith('id') ? ' GROUP BY id' : '';
        return {text: `SELECT ${columns} FROM ${type} WHERE ${bound}${group}`, ordered: false};
      }
      case 3:
        return {text: `SELECT count(*) AS n FROM ${type}${where}`, ordered: false};
      case 4: {
        const hop = random.pick(["out('Knows')", "in('Knows')", "both('Likes')", "out('Lives')"]);
        return {text: `SELECT expand(${hop}) FROM ${type}${where}`, ordered: false};
      }
      default:
        return {text: this.#match(), ordered: false};
    }
  }

  /** A condition on what another statement answers. */
  #nested(type: string, where: string): string {
    const random = this.#random;
    const inner = random.pick([
      'town, count(*) AS n',
      'town, name, max(age) AS n',
      'DISTINCT town, name',
      'id, name, town, age',
    ]);
    const group = inner.includes('count') ? ' GROUP BY town' : '';
    const groups = inner.includes('max') ? ' GROUP BY town, name' : group;
    const order = inner.startsWith('id') && random.once(2) ? ' ORDER BY id LIMIT 9' : '';
    const outer = random.pick([
      `town = ${this.#text('town')}`,
      `town IS NOT NULL AND ${random.pick(['1 = 1', '2 > 3', 'true'])}`,
      `town >= ${this.#text('town')} AND 3 * 4 > ${this.#number('id')}`,
    ]);
    return `SELECT FROM (SELECT ${inner} FROM ${type}${where}${groups}${order}) WHERE ${outer}`;
  }

  /** A MATCH of SQL: a path, often a second one from its start, sometimes one that must not be. */
  #match(): string {
    const random = this.#random;
    const node = (name: string): string => {
      const type = random.once(3) ? '' : `type: ${random.pick(['Person', 'Worker'])}, `;
      const where = random.once(2) ? '' : `, where: (${this.#condition('', 'sql', 1)})`;
      return `{${type}as: ${name}${where}}`;
    };
    const step = (): string => {
      const way = random.pick(['out', 'in', 'both']);
      return `.${way}('${random.pick(['Knows', 'Knows', 'Likes'])}')`;
    };
    const asked = random.once(2) ? '' : `, where: (${this.#condition('', 'sql', 1)})`;
    const first = `{type: Person, as: a${asked}}`;
    const names = ['a', 'b'];
    let text = `MATCH ${first}${step()}${node('b')}`;
    if (random.once(2)) {
      text += `${step()}${node('c')}`;
      names.push('c');
    }
    if (random.once(3)) text += `, {as: a}${step()}{as: ${names.at(-1)}}`;
    if (random.once(4)) {
      text += `, {as: ${random.pick(names)}}.out('Lives'){type: City, as: d}`;
      names.push('d');
    }
    if (random.once(5)) text += `, NOT {as: a}${step()}{as: b}`;
    const columns = names.map(name => `${name}.${name === 'd' ? 'name' : 'id'} AS ${name}`);
    return `${text} RETURN ${columns.join(', ')}`;
  }

  #cypher(): {readonly text: string; readonly ordered: boolean} {
    const random = this.#random;
    switch (random.below(6)) {
      case 0: {
        const where = random.once(5) ? '' : ` WHERE ${this.#condition('a.', 'cypher')}`;
        const text = `MATCH (a:Person)${where} RETURN a.id AS id, a.town AS town`;
        return {text: text + this.#cut('a.'), ordered: true};
      }
      case 1: {
        const join = random.pick([
          'a.age = b.age',
          'b.id = a.score',
          'a.town = b.name',
          'a.id < b.id',
        ]);
        const [left, right] = ['a.', 'b.'].map(of => this.#condition(of, 'cypher', 1));
        const type = random.pick(['Worker', 'Person', 'City']);
        const more = type === 'City' ? '' : ` AND ${right}`;
        return {
          text: `MATCH (a:Person), (b:${type}) WHERE ${join} AND ${left}${more}
            RETURN a.id AS a, b.name AS b`,
          ordered: false,
        };
      }
      default:
        return {text: this.#pattern(), ordered: false};
    }
  }

  #pattern(): string {
    const random = this.#random;
    const names: string[] = [];
    const node = (name: string): string => {
      if (names.includes(name)) return `(${name})`;
      names.push(name);
      const label = random.pick(['', ':Person', ':Person', ':Worker']);
      const map = random.once(4) ? ` {name: ${this.#text('name')}}` : '';
      return `(${name}${label}${map})`;
    };
    const arrow = (): string => {
      const type = random.pick([':Knows', ':Knows', ':Likes', ':Knows|Likes', '']);
      return random.pick([`-[${type}]->`, `<-[${type}]-`, `-[${type}]-`]);
    };
    const path = (...of: readonly string[]): string =>
      of.map((name, at) => (at === 0 ? node(name) : `${arrow()}${node(name)}`)).join('');
    const second = random.pick([
      '',
      '',
      `, ${path('a', 'c')}`,
      `, (c)-[:Lives]->(d:City)<-[:Lives]-(a)`,
      `, (d:City {name: ${this.#text('town')}})`,
    ]);
    const isLong = second.includes('(c') || random.once(2);
    const first = path(...(isLong ? ['a', 'b', 'c'] : ['a', 'b']));
    let text = `MATCH ${first}${second}`;
    const terms: string[] = [];
    for (const name of ['a', 'b']) {
      if (random.once(2)) terms.push(this.#condition(`${name}.`, 'cypher', 1));
    }
    if (random.once(5)) terms.push('a.age = b.age');
    if (random.once(5)) terms.push(`${random.pick(['', 'NOT '])}(a)${arrow()}(:Worker)`);
    if (terms.length > 0) text += ` WHERE ${terms.join(' AND ')}`;
    if (random.once(4)) text += ` OPTIONAL MATCH (b)${arrow()}(e {id: a.id})`;
    const hasEnd = text.includes('(e ');
    const city = second.includes('(d') ? ', d.name AS d' : '';
    if (random.once(3)) return `${text} RETURN b.town AS town, count(*) AS n, max(a.id) AS m`;
    return `${text} RETURN a.id AS a, b.id AS b${city}${hasEnd ? ', e.id AS e' : ''}`;
  }
}
