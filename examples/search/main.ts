/** The example as a program: loads the documents, asks the questions, checks each answer. */
import {readFileSync} from 'node:fs';
import {isDeepStrictEqual} from 'node:util';
import {Client} from '#server/client/client.ts';
import {readDocuments} from './documents.ts';
import {loadDocuments} from './load.ts';
import {type Question, questions} from './questions.ts';

const usage = `usage: examples/search/run load|ask|all [DATABASE]
  load  creates DATABASE (default docs) and loads the documents into it
  ask   asks the ten questions and compares each answer
  all   load and ask
environment: SVC_URL, SVC_USER (root), SVC_PASSWORD or SVC_PASSWORD_FILE
`;

function clientOf(environment: NodeJS.ProcessEnv): Client {
  const file = environment['SVC_PASSWORD_FILE'];
  const password =
    environment['SVC_PASSWORD'] ?? (file === undefined ? '' : readFileSync(file, 'utf8').trim());
  const user = environment['SVC_USER'] ?? 'root';
  const url = environment['SVC_URL'] ?? 'http://127.0.0.1:2480';
  return new Client({url, credentials: {kind: 'basic', user, password}});
}

/** The names that the server answers. */
export async function answerOf(
  client: Client,
  database: string,
  {statement, params, language}: Question,
): Promise<readonly string[]> {
  const {result} = await client.query(database, statement, {params, language});
  return result.map(row => String((row as {readonly name: unknown}).name));
}

/** Prints a question, its answer and whether it is the expected one; answers how many are not. */
async function ask(client: Client, database: string): Promise<number> {
  const documents = readDocuments();
  let different = 0;
  for (const question of questions) {
    const startedAt = performance.now();
    const answer = await answerOf(client, database, question);
    const millis = (performance.now() - startedAt).toFixed(0);
    const same = isDeepStrictEqual(answer, question.expected(documents));
    if (!same) different += 1;
    console.log(`${same ? 'as expected' : 'DIFFERENT  '} ${question.name}: ${question.asks}?`);
    console.log(`  ${answer.join(', ')} (${millis} ms)`);
  }
  console.log(`${questions.length} questions, ${different} answered otherwise`);
  return different;
}

async function load(client: Client, database: string): Promise<void> {
  const startedAt = performance.now();
  const {verticesCreated, edgesCreated} = await loadDocuments(client, database);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  console.log(`loaded ${verticesCreated} documents and ${edgesCreated} links in ${seconds} s`);
}

async function main([command = '', database = 'docs']: readonly string[]): Promise<number> {
  if (!['load', 'ask', 'all'].includes(command)) {
    process.stderr.write(usage);
    return 2;
  }
  const client = clientOf(process.env);
  try {
    if (command !== 'ask') await load(client, database);
    return command === 'load' || (await ask(client, database)) === 0 ? 0 : 1;
  } finally {
    client.close();
  }
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
