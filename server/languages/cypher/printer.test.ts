/** The printer's text parses to the tree that it was made of, for every query that we know. */
import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {sharedFolder} from '#server/testing/conformance/conformance.ts';
import {readSuite} from '#server/testing/conformance/opencypher.ts';
import {printCypher} from '#server/testing/property/print-cypher.ts';
import {withoutPlaces} from '#server/testing/property/sql-round-trip.ts';
import {parseCypher} from './parser.ts';

const own = [
  'MATCH p = (a:A&(B|!C) {x: $x} WHERE a.y > 1)-[r:R|S*1..3 {w: 1}]->(b)<-[q*]-() RETURN p',
  "MATCH (a) WHERE a:A:B AND NOT (a)--() XOR a.x IN [1, -2, 3.0] OR a.n =~ 'x.*' RETURN a.x+1",
  'MATCH shortestPath((a)-[*..5]-(b)) RETURN *',
  'CALL (a) { CREATE (n) } IN TRANSACTIONS OF $n ROWS ON ERROR BREAK REPORT STATUS AS s RETURN s',
  'CALL { CREATE (n) } IN TRANSACTIONS ON ERROR RETRY FOR 2 SECONDS THEN CONTINUE',
  'LET a = 1 FILTER a > 0 FOR x IN [a] RETURN x NEXT WHEN x > 0 THEN RETURN x ELSE RETURN x',
  'DEFINE FUNCTION f(x :: LOCAL TIME NOT NULL, `y z`) :: ANY = x RETURN f(1, 2)',
  'EXPLAIN DEFINE FUNCTION f() { MATCH (n) RETURN n } DEFINE FUNCTION g(x) = x RETURN f()',
  'SESSION SET $`a b` = [1]',
  'SESSION CLOSE',
  'START TRANSACTION',
  'USE db OPTIONAL CALL db.labels() YIELD label RETURN label',
  'SHOW INDEXES YIELD name WHERE name <> $a RETURN name',
  'CREATE OR REPLACE USER anna IF NOT EXISTS SET PASSWORD $p',
  "ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'b'",
  'ALTER USER anna IF EXISTS SET PASSWORD $p',
  'DROP USER `an na` IF EXISTS',
  'CREATE CONSTRAINT c FOR (n:L) REQUIRE n.p IS TYPED LIST<STRING>',
  'CREATE CONSTRAINT FOR ()-[r:L]-() REQUIRE (r.p, r.q) IS RELATIONSHIP KEY',
  'MATCH p = ((a)-[r:K]->(b) WHERE a.x < b.x){1,3}(c)-->+(d)((e)--(f))* RETURN p',
  'MATCH p = ANY SHORTEST ACYCLIC PATHS ((a)-->*(b) WHERE a.x = b.x) RETURN p',
  'MATCH REPEATABLE ELEMENTS SHORTEST 3 WALK PATH GROUPS (a)-->{,4}(b) RETURN *',
  'OPTIONAL MATCH DIFFERENT RELATIONSHIPS ALL SHORTEST (a)<-[:K]-{2,}(b) RETURN *',
  'OPTIONAL MATCH (a)((x)-[e]->(y) WHERE x.v < y.v){1,3}(c) RETURN *',
  "RETURN CASE a WHEN 1 THEN 'it\\'s' ELSE reduce(s = 0, x IN [1] | s + x) END AS `a b`",
  'WITH 1 AS a RETURN -(5) ^ 2, -5, (1 + 2) * 3, [(a IN [1])], a {.*, b: 1}',
  'RETURN [x IN [1] WHERE x > 0 | x], [(a)-->(b) | b.x], all(x IN [] WHERE x)',
  'CALL { MATCH (a) RETURN a } CALL (*) { RETURN 1 AS one } RETURN a',
  'CALL db.labels() YIELD label AS l WHERE l > 1 RETURN l',
  'MERGE (n:A {k: 1})-[:R]-(m) ON CREATE SET n.a = 1, n += {b: 2} ON MATCH SET m:X:Y, n[$k] = 3',
  'FOREACH (x IN [1] | CREATE (:N {v: x}) REMOVE x.a, x:B) DETACH DELETE x',
  'RETURN EXISTS { (a)-->(b) WHERE a.x = 1 }, COUNT { MATCH (a) RETURN a }',
  'RETURN 1 AS x UNION ALL RETURN 2 AS x',
  'EXPLAIN RETURN DISTINCT 1 AS x ORDER BY x DESC SKIP 1 LIMIT 2',
  'CREATE CONSTRAINT c IF NOT EXISTS FOR (n:A) REQUIRE (n.a, n.b) IS UNIQUE',
  'CREATE INDEX FOR ()-[r:R]-() ON (r.a)',
  'CREATE FULLTEXT INDEX texts IF NOT EXISTS FOR (n:A) ON EACH [n.a, n.b]',
  "CREATE FULLTEXT INDEX FOR ()-[r:R]-() ON EACH [r.a] OPTIONS {indexConfig: {analyzer: 'stop'}}",
  'CREATE VECTOR INDEX FOR (n:A) ON (n.v) OPTIONS {indexConfig: {`vector.dimensions`: 3}}',
  "LOAD CSV WITH HEADERS FROM 'file:///a.csv' AS line FIELDTERMINATOR ';' RETURN line",
];

/** A tree where a column's name is said in one way. */
function comparable(tree: unknown): unknown {
  if (Array.isArray(tree)) return tree.map(comparable);
  if (typeof tree !== 'object' || tree === null) return tree;
  const entries = Object.entries(tree).map(([key, value]) => [key, comparable(value)] as const);
  const fields: Record<string, unknown> = Object.fromEntries(entries);
  if (!('alias' in fields && 'text' in fields)) return fields;
  const {alias, text, value} = fields;
  const name = (alias as {readonly text: string} | undefined)?.text;
  const isVariable = (value as {readonly kind?: string}).kind === 'variable';
  return {value, name: name ?? (isVariable ? '' : text)};
}

function assertRoundTrip(text: string): void {
  const tree = parseCypher(text);
  const printed = printCypher(tree);
  assert.deepEqual(
    comparable(withoutPlaces(parseCypher(printed))),
    comparable(withoutPlaces(tree)),
    `${text}\nprinted as\n${printed}`,
  );
}

for (const text of own) test(`round trip of ${text}`, () => assertRoundTrip(text));

const suite = join(sharedFolder(), 'conformance/opencypher-tck');
const absent = existsSync(suite) ? false : 'the suites are not here: set SVC_SHARED';

test('round trip of every query of the openCypher suite that can be read', {skip: absent}, () => {
  let count = 0;
  for (const {steps} of readSuite(suite)) {
    for (const {docString} of steps) {
      if (docString === undefined) continue;
      try {
        parseCypher(docString);
      } catch {
        continue;
      }
      assertRoundTrip(docString);
      count++;
    }
  }
  assert.ok(count > 3_000, `${count} queries`);
});
