/**
 * The example as a program: loads the social network into a running server, asks it in SQL and in
 * Cypher, and checks each answer against the one computed without it.
 */
import {readFileSync} from 'node:fs';
import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import {isDeepStrictEqual} from 'node:util';
import {Client} from '#server/client/client.ts';
import {answers} from './answers.ts';
import {graphChunks, graphLines} from './convert.ts';
import type {DataSet} from './data-set.ts';
import {loadSocialNetwork} from './load.ts';
import {readNetwork} from './network.ts';
import {patternCounts} from './patterns/counts.ts';
import {patternQueries} from './patterns/queries.ts';
import {queries} from './queries.ts';
import {readAnswers} from './reads/answers.ts';
import {parametersOf, reads} from './reads/parameters.ts';
import {readSocial} from './social.ts';
import {dataSetOf} from './source.ts';
import {valuesOf} from './values.ts';

const usage = `usage: examples/ldbc-snb/run load|check|patterns|all [DATABASE]
       examples/ldbc-snb/run convert
  load    creates DATABASE (default ldbc) and loads the social network into it
  check   asks in SQL and Cypher and compares each answer with the one computed without the server
  patterns counts the nine patterns of LSQB, compares each count and says how long it took
  all     load and check
  convert writes the lines for the bulk route to standard output
environment: SVC_URL, SVC_USER (root), SVC_PASSWORD or SVC_PASSWORD_FILE
  SVC_SHARED       the folder with data/ldbc-snb-mini, to work on LDBC's own data
  SEED, PERSONS    of the network that is made without it (default 1 and 300)
`;

function clientOf(environment: NodeJS.ProcessEnv): Client {
  const file = environment['SVC_PASSWORD_FILE'];
  const password =
    environment['SVC_PASSWORD'] ?? (file === undefined ? '' : readFileSync(file, 'utf8').trim());
  const user = environment['SVC_USER'] ?? 'root';
  const url = environment['SVC_URL'] ?? 'http://127.0.0.1:2480';
  const sessionHeader = environment['SVC_SESSION_HEADER'];
  return new Client({
    url,
    credentials: {kind: 'basic', user, password},
    ...(sessionHeader === undefined ? {} : {sessionHeader}),
  });
}

async function load(client: Client, database: string, data: DataSet): Promise<void> {
  const startedAt = performance.now();
  const counts = await loadSocialNetwork(client, {database, data});
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const {verticesCreated, edgesCreated} = counts;
  console.log(
    `${data.name}: loaded ${verticesCreated} vertices and ${edgesCreated} edges in ${seconds} s`,
  );
}

interface Question {
  readonly name: string;
  readonly asks: string;
  readonly language: 'sql' | 'cypher';
  readonly statement: string;
  readonly params: Readonly<Record<string, string | number>>;
  readonly expected: unknown;
}

/** The twelve queries in SQL, then the reads of the benchmark in Cypher with a few values each. */
function questions(data: DataSet): readonly Question[] {
  const network = readNetwork(data);
  const social = readSocial(data);
  const values = valuesOf(social);
  const inSql = queries.map(query => {
    const params = query.params(values);
    const expected = answers[query.name]?.(network, params);
    return {...query, language: 'sql' as const, params, expected};
  });
  const inCypher = reads.flatMap(read =>
    parametersOf({data, values}, read, 3).map(params => ({
      ...read,
      language: 'cypher' as const,
      params,
      expected: readAnswers[read.name]?.(social, params),
    })),
  );
  return [...inSql, ...inCypher];
}

/** Prints a line for each question and answers how many differ. */
async function check(client: Client, database: string, data: DataSet): Promise<number> {
  const all = questions(data);
  let different = 0;
  for (const {name, asks, language, statement, params, expected} of all) {
    const startedAt = performance.now();
    let verdict: string;
    try {
      const {result} = await client.query(database, statement, {params, language});
      const millis = (performance.now() - startedAt).toFixed(0).padStart(4);
      const same = isDeepStrictEqual(result, expected);
      verdict = `${same ? 'equal    ' : 'DIFFERENT'} ${millis} ms ${result.length} rows`;
      if (!same) different += 1;
    } catch (error) {
      different += 1;
      verdict = `FAILED    ${error instanceof Error ? error.message : String(error)}`;
    }
    console.log(`${language.padEnd(6)} ${name.padEnd(26)} ${verdict}\n    ${asks}`);
  }
  console.log(`${all.length} questions, ${all.length - different} equal, ${different} not`);
  return different;
}

/** Runs before the one that counts: a server may compile what it runs again. */
const warmUps = 3;
const secondsMax = 60;

/** Prints a line for each pattern and answers how many counts differ. */
async function countPatterns(client: Client, database: string, data: DataSet): Promise<number> {
  const counts = patternCounts(graphLines(data));
  let different = 0;
  let sum = 0;
  for (const [at, {name, text}] of patternQueries.entries()) {
    const times: number[] = [];
    const end = performance.now() + secondsMax * 1_000;
    let verdict = 'equal    ';
    for (let run = 0; run <= warmUps && performance.now() < end; run += 1) {
      const startedAt = performance.now();
      const {result} = await client.query(database, text, {language: 'opencypher'});
      times.push(performance.now() - startedAt);
      if (!isDeepStrictEqual(result, [{n: counts[at]}])) verdict = 'DIFFERENT';
    }
    const millis = Math.min(...times);
    sum += millis;
    if (verdict !== 'equal    ') different += 1;
    console.log(`${name.padEnd(38)} ${verdict} ${millis.toFixed(1).padStart(9)} ms`);
  }
  console.log(`${'all nine'.padEnd(48)} ${sum.toFixed(1).padStart(9)} ms`);
  return different;
}

async function run(action: string, database: string): Promise<number> {
  const data = dataSetOf(process.env);
  if (action === 'convert') {
    await pipeline(Readable.from(graphChunks(data)), process.stdout);
    return 0;
  }
  const client = clientOf(process.env);
  try {
    if (action === 'load' || action === 'all') await load(client, database, data);
    if (action === 'load') return 0;
    return await (action === 'patterns' ? countPatterns : check)(client, database, data);
  } finally {
    client.close();
  }
}

const [action = '', database = 'ldbc'] = process.argv.slice(2);
if (!['load', 'check', 'patterns', 'all', 'convert'].includes(action)) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  try {
    if ((await run(action, database)) > 0) process.exitCode = 1;
  } catch (error) {
    process.stderr.write(`ldbc-snb: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
