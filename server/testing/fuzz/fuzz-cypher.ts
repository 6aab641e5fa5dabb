/**
 * Cypher texts made of pieces of the openCypher suite's queries: tokens dropped, doubled, swapped,
 * taken from another query, nested. Each is parsed, printed, parsed again and bound.
 *
 * Whatever is refused is refused with its place, and none takes more than 100 ms of processor time.
 */
import {globSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {Refusal} from '#server/base/errors.ts';
import {Catalog} from '#server/catalog/catalog.ts';
import {bindCypher} from '#server/languages/cypher/bind.ts';
import {parseCypher} from '#server/languages/cypher/parser.ts';
import {proceduresWith} from '#server/languages/cypher/procedures.ts';
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import {printCypher} from '../property/print-cypher.ts';
import type {Fuzzer} from './fuzzer.ts';

const cpuMillisecondsMax = 100;

/** What is there without the suite. */
const own = [
  'MATCH p = (a:A {x: $x})-[r:R*1..3]->(b) WHERE a.y > 1 AND NOT (b)--() RETURN p, count(*) AS n',
  'UNWIND range(1, 3) AS i WITH i ORDER BY i DESC SKIP 1 LIMIT 1 RETURN [x IN [i] | x + 1]',
  "MERGE (n:A {k: 'v'}) ON CREATE SET n += {a: 1} ON MATCH SET n:B REMOVE n.c RETURN n {.*}",
  'MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN collect(b.x) AS xs } RETURN a, xs',
  'FOREACH (x IN [1, 2] | CREATE (:N {v: x})) ',
  "RETURN CASE 1 WHEN 2 THEN 'a' ELSE reduce(s = 0, x IN [1] | s + x) END AS c UNION RETURN 1 AS c",
  'MATCH (a), (b) WHERE EXISTS { (a)-[:R]->(b) } DETACH DELETE a, b',
  'CREATE CONSTRAINT FOR (n:A) REQUIRE n.k IS UNIQUE',
];

/** Queries of a suite's feature files. */
function queriesOf(directory: string): readonly string[] {
  return globSync('**/*.feature', {cwd: directory}).flatMap(path => {
    const text = readFileSync(join(directory, path), 'utf8');
    return [...text.matchAll(/execut[^\n]*\n\s*"""\n([\s\S]*?)"""/g)].map(
      ([, query = '']) => query,
    );
  });
}

const tokens = /\s+|[\p{L}\p{N}_]+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s\p{L}\p{N}]/gu;
const odd = [
  '',
  '((',
  '))',
  '[[',
  '{',
  '}',
  '$',
  '`',
  "'",
  '*..',
  '-->',
  '\u0000',
  '\ud800',
  '9e999',
];

function mutated(random: SeededRandom, corpus: readonly (readonly string[])[]): string {
  const pieces = [...random.pick(corpus)];
  for (let left = 1 + random.below(5); left > 0 && pieces.length > 0; left--) {
    const at = random.below(pieces.length);
    const other = random.pick(corpus);
    switch (random.below(7)) {
      case 0:
        pieces.splice(at, 1 + random.below(4));
        break;
      case 1:
        pieces.splice(at, 0, ...pieces.slice(at, at + 1 + random.below(8)));
        break;
      case 2:
        pieces[at] = random.pick(other.length === 0 ? odd : other);
        break;
      case 3:
        pieces.splice(at, 0, ...other.slice(random.below(other.length + 1)));
        break;
      case 4:
        pieces[at] = random.pick(odd);
        break;
      case 5:
        pieces[at] = (pieces[at] ?? '').slice(0, 100).repeat(1 + random.below(600));
        break;
      default:
        pieces.length = at;
    }
  }
  return pieces.join('').slice(0, 100_000);
}

export function cypherFuzzer(seed: number, directory: string): Fuzzer {
  const random = createSeededRandom(seed);
  const catalog = new Catalog();
  const procedures = proceduresWith([]);
  const corpus = [...own, ...queriesOf(directory)].map(query => query.match(tokens) ?? []);
  const tally = {queries: 0, refused: 0, slowestMilliseconds: 0};
  return {
    step() {
      const text = mutated(random, corpus);
      tally.queries++;
      const start = process.cpuUsage();
      try {
        const tree = parseCypher(text);
        parseCypher(printCypher(tree));
        bindCypher(text, tree, {catalog, procedures, databaseName: 'fuzz'});
      } catch (error) {
        if (!(error instanceof Refusal) || error.place === undefined) {
          throw new Error(`failed on ${JSON.stringify(text)}`, {cause: error});
        }
        tally.refused++;
      }
      const {user, system} = process.cpuUsage(start);
      const milliseconds = (user + system) / 1_000;
      if (milliseconds > tally.slowestMilliseconds) tally.slowestMilliseconds = milliseconds;
      if (milliseconds > cpuMillisecondsMax) {
        throw new Error(`${milliseconds} ms of CPU for ${JSON.stringify(text)}`);
      }
    },
    summary: () =>
      `${tally.queries} queries of ${corpus.length} seeds, ${tally.refused} refused, ` +
      `slowest ${tally.slowestMilliseconds} ms of CPU`,
  };
}
