/**
 * A server in a container of 512 MiB: statements that keep far more than there is are refused by
 * name, and the process stays inside of its limit and goes on. So it does beside loads, views and
 * sessions that keep what they may; `make small-memory` lets them go on for ten minutes.
 */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync} from 'node:fs';
import {type OutgoingHttpHeaders, request} from 'node:http';
import {join} from 'node:path';
import {buffer} from 'node:stream/consumers';
import {after, test} from 'node:test';
import {MemberProcess} from '#server/testing/cluster/member-process.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {program, rootPassword, temporaryRoot} from '#server/testing/worlds/server-process.ts';

const limitBytes = 512 * 1024 * 1024;
const rows = 150_000;
const rounds = 2;
const mixedMillis = 1_000 * Number(process.env['SMALL_MEMORY'] ?? 3);
const lookMillis = 500;

/** A control group of the kernel with a limit of memory; undefined where none can be made. */
function memoryGroup(): {readonly folder: string; readonly shownAs: string} | undefined {
  const name = `svc-test-${process.pid}`;
  for (const [parent, file] of [
    ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
    ['/sys/fs/cgroup', 'memory.max'],
  ] as const) {
    const folder = join(parent, name);
    try {
      if (!existsSync(join(parent, 'cgroup.procs'))) continue;
      mkdirSync(folder);
      writeFileSync(join(folder, file), String(limitBytes));
      execFileSync('unshare', ['-m', 'true']);
      return {folder, shownAs: parent};
    } catch {
      if (existsSync(folder)) rmdirSync(folder);
    }
  }
  return undefined;
}

const group = memoryGroup();
const skip = group === undefined ? 'needs the right to make a control group' : false;
const folder = temporaryRoot('small-memory');
let server: MemberProcess | undefined;

after(async () => {
  await server?.kill();
  rmSync(folder, {recursive: true, force: true});
  if (group !== undefined) {
    await eventually('the group is empty', () => {
      return readFileSync(join(group.folder, 'cgroup.procs'), 'utf8') === '';
    });
    rmdirSync(group.folder);
  }
});

/** Joins the group and sees it as its own, as a container does; then becomes the program. */
const launcher = (place: string, shownAs: string): readonly string[] => [
  'sh',
  '-c',
  `echo $$ > ${place}/cgroup.procs && exec unshare -m sh -c '` +
    `mount --bind ${place} ${shownAs} && exec "$@"' sh "$@"`,
  'sh',
];

interface Answer {
  readonly status: number;
  readonly session: string | undefined;
  readonly text: Buffer;
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const authorization = basic('root', rootPassword);
const user = {name: 'sessions', password: 'of-a-user', databases: {d: ['admin']}};
const ofUser = basic(user.name, user.password);
/** The last one: of a session that a refusal has ended. */
const answers = [200, 204, 400, 413, 503, 404];
const greedy = [
  'SELECT name, n, count(*) FROM N GROUP BY name, n',
  'SELECT FROM N ORDER BY name DESC LIMIT 140000',
  'SELECT list(name) AS a, set(n) AS b FROM N',
  "SELECT sum(n) FROM N WHERE name LIKE '%9'",
];
let api = '';

/** An answer as it comes; without one, what the server wrote last says why. */
async function asked(path: string, headers: OutgoingHttpHeaders, body = ''): Promise<Answer> {
  try {
    return await sent(path, headers, body);
  } catch (error) {
    // Connections end before it is known that the kernel has ended the process.
    await new Promise(resolve => setTimeout(resolve, lookMillis));
    const now = server?.isRunning === true ? 'runs' : `has ended: ${String(server?.ended)}`;
    assert.fail(`${path}: ${String(error)}; it ${now}; ${server?.log.slice(-2_000)}`);
  }
}

/** Sends by a connection of its own: one that ends without an answer is the server's doing. */
function sent(path: string, headers: OutgoingHttpHeaders, body: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asking = request(`${api}${path}`, {method: 'POST', headers, agent: false}, answer => {
      const {statusCode = 0, headers: told} = answer;
      const session = told['svc-session-id'];
      buffer(answer).then(
        text => resolve({status: statusCode, session: session?.toString(), text}),
        reject,
      );
    });
    asking.on('error', reject);
    asking.end(body);
  });
}

/** The status of an answer, which is a result or a refusal by name. */
async function post(path: string, body: string, session?: string): Promise<number> {
  const headers =
    session === undefined ? {authorization} : {authorization: ofUser, 'svc-session-id': session};
  const {status, text} = await asked(path, headers, body);
  assert.ok(answers.includes(status), `${status} ${text.toString('utf8', 0, 300)}`);
  if (status >= 400) assert.match(text.toString(), /"exception":"(?!Internal)/);
  return status;
}

function sql(command: string): Promise<number> {
  return post('/command/d', JSON.stringify({language: 'sql', command, limit: -1}));
}

/** Opens one more transaction of the user, which stays; its session, if there is room for it. */
async function begun(): Promise<string | undefined> {
  const {session} = await asked('/begin/d', {authorization: ofUser});
  return session;
}

function linesOf(type: string, count: number): string {
  const line = (n: number): string =>
    `{"@type":"v","@class":"${type}","name":"name ${n}","n":${n}}`;
  return Array.from({length: count}, (_, n) => line(n)).join('\n');
}

interface Resident {
  /** Kilobytes that nothing but the process holds: what the limit is for. */
  readonly own: number;
  /** The same with pages of files, which the kernel takes back when it needs room. */
  readonly all: number;
}

/** What it holds; fails when that is beyond the limit, or when nobody is there. */
function look(member: MemberProcess): Resident {
  assert.ok(member.isRunning, member.log);
  const status = readFileSync(`/proc/${member.pid}/status`, 'utf8');
  const kilobytes = (name: string): number =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  const resident = {own: kilobytes('RssAnon'), all: kilobytes('VmRSS')};
  assert.ok(resident.own * 1024 < limitBytes, `${resident.own} kB`);
  return resident;
}

test('in 512 MiB a mix of greedy statements is refused and ends nothing', {skip}, async () => {
  assert.ok(group !== undefined);
  const port = await freePort();
  const settings = {
    'svc.server.rootPath': join(folder, 'root'),
    'svc.server.httpIncomingHost': '127.0.0.1',
    'svc.server.httpIncomingPort': port,
  };
  const words = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  server = new MemberProcess('small', {
    words: [...launcher(group.folder, group.shownAs), program, 'start', ...words],
    folder,
    logFile: join(folder, 'log'),
    environment: {SVC_SERVER_ROOTPASSWORD: rootPassword},
  });
  server.start();
  api = `http://127.0.0.1:${port}/api/v1`;
  await eventually('it is ready', async () => {
    return (await fetch(`${api}/ready`).catch(() => undefined))?.status === 204;
  });
  assert.equal(await post('/server', '{"command":"create database d"}'), 200);
  assert.equal(await sql('CREATE VERTEX TYPE N'), 200);
  assert.equal(await post('/batch/d', linesOf('N', rows)), 200);
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all([...greedy, ...greedy].map(sql));
    look(server);
  }
  // What was refused left room for those who ask for little.
  await eventually('small statements are answered', async () => {
    return (await sql('SELECT FROM N WHERE n = 7')) === 200;
  });
});

test('so it is beside loads, views and sessions', {
  skip,
  timeout: 2 * mixedMillis + 300_000,
}, async context => {
  const member = server;
  assert.ok(member !== undefined);
  assert.equal(await sql('CREATE VERTEX TYPE L'), 200);
  const command = `create user ${JSON.stringify(user)}`;
  assert.equal(await post('/server', JSON.stringify({command})), 200);
  const view = 'CREATE MATERIALIZED VIEW Shown AS SELECT name, n FROM N WHERE n < 50000';
  await sql(`${view} REFRESH MANUAL`);
  const until = performance.now() + mixedMillis;
  const counts = new Map<string, number>();
  const count = (what: string, status: number): void => {
    const key = `${what} ${status}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  };
  const keepOn = async (what: string, work: (round: number) => Promise<number>): Promise<void> => {
    for (let round = 0; performance.now() < until; round += 1) count(what, await work(round));
  };
  let most: Resident = {own: 0, all: 0};
  const looking = (async () => {
    while (performance.now() < until) {
      const now = look(member);
      most = {own: Math.max(most.own, now.own), all: Math.max(most.all, now.all)};
      await new Promise(resolve => setTimeout(resolve, lookMillis));
    }
  })();
  const load = linesOf('L', 20_000);
  const text = 'x'.repeat(1_000_000);
  let session = await begun();
  const isEven = (round: number): boolean => round % 2 === 0;
  await Promise.all([
    looking,
    ...[0, 1, 2, 3].map(from =>
      keepOn('query', round => sql(greedy[(from + round) % greedy.length] ?? '')),
    ),
    keepOn('load', round =>
      isEven(round) ? post('/batch/d', load) : sql('TRUNCATE TYPE L UNSAFE'),
    ),
    keepOn('view', () => sql('REFRESH MATERIALIZED VIEW Shown')),
    keepOn('session', async round => {
      const command = `SESSION SET $p${round} = $v`;
      const body = {language: 'opencypher', command, params: {v: text}};
      session = isEven(round >> 4) ? session : await begun();
      const status = await post('/command/d', JSON.stringify(body), session);
      if (status !== 200) session = await begun();
      return status;
    }),
  ]);
  context.diagnostic(
    `${most.own} kB, with files ${most.all} kB; ${JSON.stringify(Object.fromEntries(counts))}`,
  );
  assert.ok(member.isRunning, member.log);
  await eventually('small statements are answered', async () => {
    return (await sql('SELECT FROM N WHERE n = 7')) === 200;
  });
});
