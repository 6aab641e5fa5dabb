/**
 * Random questions, each in SQL and in Cypher: two texts that have to answer the same rows.
 *
 * Seeded. A pair is only made where both languages mean the same: conditions under NOT are on
 * properties that every record has (an unknown is no answer in Cypher and false in SQL), steps of
 * one pattern are of different types of edges (Cypher uses an edge once in a pattern), and what is
 * cut off by a limit is ordered by a key that every row has of its own.
 */
import {SeededRandom} from './seeded-random.ts';

export interface QueryPair {
  /** Which of the kinds of questions below. */
  readonly kind: string;
  readonly sql: string;
  readonly cypher: string;
  /** Whether the rows' order is part of the answer. */
  readonly ordered: boolean;
}

/** One meaning in both languages. */
interface Both {
  readonly sql: string;
  readonly cypher: string;
}

const people = 60;
const cities = ['Arvo', 'Brig', 'Cala', 'Dorn', 'Enna'];

/**
 * The graph that is asked, made by Cypher: people in a ring of KNOWS with shortcuts, most of them
 * with a mail address, each living in a city that is LIKEd by some.
 */
export const graph: readonly string[] = [
  `UNWIND ${JSON.stringify(cities)} AS name CREATE (:City {name: name, size: size(name) * 100})`,
  `UNWIND range(1, ${people}) AS id
   CREATE (p:Person {id: id, name: 'N' + toString(id % 17), age: 20 + id * 7 % 50})
   FOREACH (_ IN CASE WHEN id % 3 = 0 THEN [] ELSE [1] END |
     SET p.mail = 'n' + toString(id) + '@example.org')`,
  `MATCH (a:Person) UNWIND [1, 7, 7 + a.id % 5] AS step
   MATCH (b:Person {id: (a.id + step - 1) % ${people} + 1})
   CREATE (a)-[:KNOWS {since: 2000 + (a.id * step) % 20}]->(b)`,
  `UNWIND ${JSON.stringify(cities)} AS name MATCH (c:City {name: name})
   MATCH (p:Person) WHERE p.id % 5 = size([x IN ${JSON.stringify(cities)} WHERE x < name])
   CREATE (p)-[:LIVES]->(c)`,
  `MATCH (p:Person)-[:KNOWS]->(:Person)-[:LIVES]->(c:City) WHERE p.id % 4 = 0
   CREATE (p)-[:LIKES]->(c)`,
];

/** Makes `count` pairs; the kinds take turns. */
export function queryPairs(seed: number, count: number): readonly QueryPair[] {
  const random = new SeededRandom(seed);
  const kinds = Object.entries(questions);
  return Array.from({length: count}, (_, at) => {
    const [kind, question] = kinds[at % kinds.length] as (typeof kinds)[number];
    return {kind, ...question(random)};
  });
}

type Question = (random: SeededRandom) => Omit<QueryPair, 'kind'>;

const questions: Readonly<Record<string, Question>> = {
  filter: random => {
    const condition = conditionOn(random, 'n');
    const cut = cutOff(random);
    return {
      sql: `SELECT id, name, age FROM Person WHERE ${bare(condition.sql)} ORDER BY id${cut.sql}`,
      cypher: `MATCH (n:Person) WHERE ${condition.cypher}
        RETURN n.id AS id, n.name AS name, n.age AS age ORDER BY id${cut.cypher}`,
      ordered: true,
    };
  },
  expressions: random => {
    const value = valueOf(random);
    const condition = conditionOn(random, 'n');
    return {
      sql: `SELECT id, ${bare(value.sql)} AS v FROM Person WHERE ${bare(condition.sql)}`,
      cypher: `MATCH (n:Person) WHERE ${condition.cypher} RETURN n.id AS id, ${value.cypher} AS v`,
      ordered: false,
    };
  },
  group: random => {
    const key = random.pick(['name', 'age']);
    const fold = random.pick(['count(mail)', 'sum(age)', 'min(id)', 'max(id)', 'count(*)']);
    const compressed = fold.replace(/\((\w+)\)/, '(n.$1)');
    const condition = conditionOn(random, 'n');
    return {
      sql: `SELECT ${key} AS k, ${fold} AS v, count(*) AS c FROM Person
        WHERE ${bare(condition.sql)} GROUP BY ${key} ORDER BY k`,
      cypher: `MATCH (n:Person) WHERE ${condition.cypher}
        RETURN n.${key} AS k, ${compressed} AS v, count(*) AS c ORDER BY k`,
      ordered: true,
    };
  },
  distinct: random => {
    const condition = conditionOn(random, 'n');
    return {
      sql: `SELECT DISTINCT name FROM Person WHERE ${bare(condition.sql)}`,
      cypher: `MATCH (n:Person) WHERE ${condition.cypher} RETURN DISTINCT n.name AS name`,
      ordered: false,
    };
  },
  hop: random => {
    const direction = random.pick(['out', 'in', 'both']);
    const [left, right] = [conditionOn(random, 'a'), conditionOn(random, 'b')];
    return {
      sql: `MATCH {type: Person, as: a, where: (${bare(left.sql)})}.${direction}('KNOWS')
        {as: b, where: (${bare(right.sql)})} RETURN a.id AS a, b.id AS b`,
      cypher: `MATCH (a:Person)${arrow('KNOWS', direction)}(b)
        WHERE ${left.cypher} AND ${right.cypher} RETURN a.id AS a, b.id AS b`,
      ordered: false,
    };
  },
  edge: random => {
    const year = 2000 + random.below(20);
    const operator = random.pick(['=', '<', '>=', '<>']);
    const condition = conditionOn(random, 'a');
    return {
      sql: `MATCH {type: Person, as: a, where: (${bare(condition.sql)})}
        .outE('KNOWS'){as: k, where: (since ${operator} ${year})}.inV(){as: b}
        RETURN a.id AS a, k.since AS since, b.id AS b`,
      cypher: `MATCH (a:Person)-[k:KNOWS]->(b) WHERE ${condition.cypher}
        AND k.since ${operator} ${year} RETURN a.id AS a, k.since AS since, b.id AS b`,
      ordered: false,
    };
  },
  chain: random => {
    const [first, last] = [random.pick(['out', 'in']), random.pick(['LIVES', 'LIKES'])];
    const city = random.pick(cities);
    return {
      sql: `MATCH {type: Person, as: a}.${first}('KNOWS'){as: b}
        .out('${last}'){type: City, as: c, where: (name <> '${city}')}
        RETURN a.id AS a, b.id AS b, c.name AS c`,
      cypher: `MATCH (a:Person)${arrow('KNOWS', first)}(b)-[:${last}]->(c:City)
        WHERE c.name <> '${city}' RETURN a.id AS a, b.id AS b, c.name AS c`,
      ordered: false,
    };
  },
  triangle: random => {
    const [near, far] = [random.pick(['LIVES', 'LIKES']), random.pick(['LIVES', 'LIKES'])];
    const condition = conditionOn(random, 'b');
    return {
      sql: `MATCH {type: Person, as: a}.out('KNOWS'){as: b, where: (${bare(condition.sql)})}
        .out('${near}'){as: c}, {as: a}.out('${far}'){as: c}
        RETURN c.name AS c, count(*) AS n GROUP BY c.name`,
      cypher: `MATCH (a:Person)-[:KNOWS]->(b)-[:${near}]->(c) WHERE ${condition.cypher}
        MATCH (a)-[:${far}]->(c) RETURN c.name AS c, count(*) AS n`,
      ordered: false,
    };
  },
  optional: random => {
    const condition = conditionOn(random, 'a');
    return {
      sql: `MATCH {type: Person, as: a, where: (${bare(condition.sql)})}
        .out('LIKES'){as: c, optional: true} RETURN a.id AS a, c.name AS c`,
      cypher: `MATCH (a:Person) WHERE ${condition.cypher} OPTIONAL MATCH (a)-[:LIKES]->(c)
        RETURN a.id AS a, c.name AS c`,
      ordered: false,
    };
  },
  exists: random => {
    const negated = random.once(2);
    const type = random.pick(['LIKES', 'KNOWS', 'LIVES']);
    const condition = conditionOn(random, 'n');
    return {
      sql: `SELECT id FROM Person WHERE ${bare(condition.sql)}
        AND out('${type}').size() ${negated ? '=' : '>'} 0`,
      cypher: `MATCH (n:Person) WHERE ${condition.cypher}
        AND ${negated ? 'NOT ' : ''}EXISTS {(n)-[:${type}]->()} RETURN n.id AS id`,
      ordered: false,
    };
  },
  degree: random => {
    const direction = random.pick(['out', 'in', 'both']);
    const cut = cutOff(random);
    return {
      sql: `SELECT id, ${direction}('KNOWS').size() AS d FROM Person ORDER BY d DESC, id${cut.sql}`,
      cypher: `MATCH (n:Person) RETURN n.id AS id,
        COUNT {(n)${arrow('KNOWS', direction)}()} AS d ORDER BY d DESC, id${cut.cypher}`,
      ordered: true,
    };
  },
  shortest: random => {
    const [from, to] = [1 + random.below(people / 2), people / 2 + 1 + random.below(people / 2)];
    return {
      sql: `SELECT shortestPath((SELECT FROM Person WHERE id = ${from}),
        (SELECT FROM Person WHERE id = ${to}), 'OUT', 'KNOWS').size() - 1 AS steps`,
      cypher: `MATCH p = shortestPath((a:Person {id: ${from}})-[:KNOWS*]->(b:Person {id: ${to}}))
        RETURN length(p) AS steps`,
      ordered: false,
    };
  },
};

function arrow(type: string, direction: string): string {
  if (direction === 'out') return `-[:${type}]->`;
  return direction === 'in' ? `<-[:${type}]-` : `-[:${type}]-`;
}

/** A condition on a person: SQL names its properties with the variable too, see `bare`. */
function conditionOn(random: SeededRandom, variable: string, depth = 2): Both {
  if (depth > 0 && random.once(2)) {
    const [left, right] = [
      conditionOn(random, variable, depth - 1),
      conditionOn(random, variable, depth - 1),
    ];
    const word = random.pick(['AND', 'OR']);
    return {
      sql: `(${left.sql} ${word} ${right.sql})`,
      cypher: `(${left.cypher} ${word} ${right.cypher})`,
    };
  }
  const field = (name: string): string => `${variable}.${name}`;
  const same = (text: string): Both => ({sql: text, cypher: text});
  const number = 1 + random.below(people);
  const tests: readonly (() => Both)[] = [
    () => same(`${field('age')} ${random.pick(['=', '<>', '<', '<=', '>', '>='])} ${number}`),
    () => same(`NOT (${field('id')} < ${number})`),
    () => same(`${field('name')} IN ['N1', 'N${number % 17}', 'N5']`),
    () => same(`${field('mail')} IS ${random.pick(['', 'NOT '])}NULL`),
    () => same(`${field('mail')} > 'n${number}'`),
    () => same(`(${field('id')} + ${field('age')}) % 3 = ${number % 3}`),
    () => ({
      sql: `${field('mail')} LIKE 'n${number % 10}%'`,
      cypher: `${field('mail')} STARTS WITH 'n${number % 10}'`,
    }),
    () => ({
      sql: `${field('age')} BETWEEN ${number} AND ${number + 15}`,
      cypher: `${number} <= ${field('age')} <= ${number + 15}`,
    }),
  ];
  return random.pick(tests)();
}

/** What a row tells of the person `n`. */
function valueOf(random: SeededRandom): Both {
  const number = 1 + random.below(9);
  return random.pick<Both>([
    {sql: `n.age * ${number} - n.id`, cypher: `n.age * ${number} - n.id`},
    {sql: `n.age % ${number}`, cypher: `n.age % ${number}`},
    {sql: 'n.name.toLowerCase()', cypher: 'toLower(n.name)'},
    {sql: 'n.name.length()', cypher: 'size(n.name)'},
    {sql: "ifnull(n.mail, 'none')", cypher: "coalesce(n.mail, 'none')"},
    {sql: `n.name.substring(1, 2)`, cypher: 'substring(n.name, 1, 1)'},
    {sql: `[n.id, n.age, ${number}]`, cypher: `[n.id, n.age, ${number}]`},
    {
      sql: `if(n.age > 40, 'old', 'young')`,
      cypher: "CASE WHEN n.age > 40 THEN 'old' ELSE 'young' END",
    },
  ]);
}

function cutOff(random: SeededRandom): Both {
  if (random.once(2)) return {sql: '', cypher: ''};
  const [skip, limit] = [random.below(10), 1 + random.below(20)];
  return {sql: ` SKIP ${skip} LIMIT ${limit}`, cypher: ` SKIP ${skip} LIMIT ${limit}`};
}

/** Where SQL names a property without the variable. */
function bare(sql: string): string {
  return sql.replace(/\b[nab]\.(?=[a-z])/g, '');
}
