/**
 * Whole requests, spoilt as bytes, and those that the OpenAPI document describes, against a real
 * server: each is answered or cut off in time, none is a defect of ours, described ones are
 * answered as the document says, and the server lives.
 */
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import {schema} from './bad-statements.ts';
import {jsonDocument} from './fuzz-json.ts';
import {describedRequest} from './described-requests.ts';
import {type Fuzzer, spoilt} from './fuzzer.ts';
import {head, HostileWorld} from './fuzz-world.ts';

const requestsAtOnce = 64;
/** Requests without their answer at most: those that wait for more bytes hold up no others. */
const openMax = 256;
const quietMillis = 30;
/** A request that says it is longer than it is gets its answer when the server has waited. */
const silenceMillisMax = 1_000;

const paths = [
  '/api/v1/query/hostile',
  '/api/v1/command/hostile',
  '/api/v1/begin/hostile',
  '/api/v1/commit/hostile',
  '/api/v1/rollback/hostile',
  '/api/v1/batch/hostile?commitEvery=1&idMapping=all',
  '/api/v1/server',
  '/api/v1/exists/..%2f..%00',
  '/api/v1/query/hostile/sql/SELECT%20FROM%20V',
  '/api/v1/databases',
  '/',
  '*',
];
const bodies = [
  '{"language":"sql","command":"SELECT FROM V WHERE k = :k","params":{"k":1}}',
  '{"language":"sql","command":"INSERT INTO D SET i = ?, s = ?","params":[1,"x"],"limit":5}',
  '{"language":"sql","command":"CREATE VERTEX V SET k = 5","serializer":"graph"}',
  '{"language":"sqlscript","command":"LET a = SELECT FROM V; RETURN $a;","typeHints":true}',
  '{"isolationLevel":"REPEATABLE_READ"}',
  '{"@type":"v","@class":"V","@id":"a"}\n{"@type":"e","@class":"E","@from":"a","@to":"a"}\n',
  '@type,@class,@id\nvertex,V,a\n',
  '{"command":"list queries"}',
  '',
];
const headers = [
  'Accept: application/x-ndjson',
  'Content-Type: text/csv',
  'X-Request-Id: same',
  'svc-session-id: AS-x',
  'X-Svc-Read-After: 0',
  'Expect: 100-continue',
  'Connection: close',
  'Transfer-Encoding: chunked',
];

export async function httpFuzzer(seed: number): Promise<Fuzzer> {
  const random = createSeededRandom(seed);
  const world = await HostileWorld.start({
    'svc.network.socketTimeout': 500,
    // A quarter of all are refused whom nobody knows: how late that is told is tested elsewhere.
    'svc.security.failureDelay': 0,
  });
  await world.administer('create database hostile');
  for (const statement of schema) await world.command(statement);
  const statuses = new Map<string, number>();

  async function one(): Promise<void> {
    const bytes = requestOf(random);
    const answer = await world.raw(bytes, quietMillis, silenceMillisMax);
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? (answer === '' ? 'none' : 'other');
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status === 'other' || status === '500') {
      throw new Error(`${answer.slice(0, 400)}\nfor ${JSON.stringify(bytes.toString('latin1'))}`);
    }
  }

  /** A request of the document; see described-requests.ts. */
  async function described(): Promise<void> {
    const {method, path, body, isRoot, answers} = describedRequest(random);
    const as = isRoot ? 'root' : 'nobody';
    const {status, text} = await world.call(path, {
      method,
      as,
      isAbsolute: true,
      ...(body && {body}),
    });
    const word = `described ${status}`;
    statuses.set(word, (statuses.get(word) ?? 0) + 1);
    if (answers.has(status) && status !== 500) return;
    const said = `${status} is no answer of the document: ${text.slice(0, 400)}`;
    throw new Error(`${said}\nfor ${method} ${path} as ${as}: ${body?.toString('latin1') ?? ''}`);
  }

  const open = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const begin = (request: () => Promise<void>): void => {
    const begun = request()
      .catch((error: unknown) => void failures.push(error))
      .finally(() => open.delete(begun));
    open.add(begun);
  };
  const settle = async (most: number): Promise<void> => {
    while (open.size > most) await Promise.race(open);
    if (failures.length > 0) throw failures[0];
  };
  return {
    inputsAtOnce: requestsAtOnce,
    async step() {
      for (let at = 0; at < requestsAtOnce / 2; at++) {
        begin(one);
        begin(described);
      }
      await settle(openMax);
      if (!world.isAlive || world.server.log.includes('request failed')) {
        throw new Error(`the server failed: ${world.server.log}`);
      }
    },
    finish: () => settle(0),
    summary() {
      const counts = Array.from(statuses, ([status, count]) => `${status}: ${count}`);
      return `requests by status ${counts.join(', ')}`;
    },
    close: () => world.dispose(),
  };
}

function requestOf(random: SeededRandom): Buffer {
  const method = random.pick(['POST', 'POST', 'POST', 'GET', 'PUT', 'DELETE', 'HEAD', 'OPTIONS']);
  const whole = Buffer.from(random.chance(20) ? jsonDocument(random) : random.pick(bodies));
  const body = random.chance(50) ? spoilt(random, whole) : whole;
  const sent = headers.filter(() => random.chance(15));
  const line = head(`${method} ${random.pick(paths)}`, `Content-Length: ${body.length}`, ...sent);
  const bytes = Buffer.concat([Buffer.from(line), body]);
  return random.chance(50) ? spoilt(random, bytes) : bytes;
}
