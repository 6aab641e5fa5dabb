/**
 * A server in a container of 512 MiB: statements that keep far more than there is are refused by
 * name, and the process stays inside of its limit and goes on.
 */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {MemberProcess} from '#server/testing/cluster/member-process.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {
  freePort,
  program,
  rootPassword,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

const limitBytes = 512 * 1024 * 1024;
const rows = 150_000;
const rounds = 3;

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
  const api = `http://127.0.0.1:${port}/api/v1`;
  const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
  const post = async (path: string, body: string): Promise<number> => {
    const answer = await fetch(`${api}${path}`, {method: 'POST', headers: {authorization}, body});
    await answer.arrayBuffer();
    return answer.status;
  };
  await eventually('it is ready', async () => {
    return (await fetch(`${api}/ready`).catch(() => undefined))?.status === 204;
  });
  assert.equal(await post('/server', '{"command":"create database d"}'), 200);
  const sql = (command: string): Promise<number> =>
    post('/command/d', JSON.stringify({language: 'sql', command, limit: -1}));
  assert.equal(await sql('CREATE VERTEX TYPE N'), 200);
  const lines = Array.from(
    {length: rows},
    (_, n) => `{"@type":"v","@class":"N","name":"name ${n}","n":${n}}`,
  );
  assert.equal(await post('/batch/d', lines.join('\n')), 200);
  const greedy = [
    'SELECT name, n, count(*) FROM N GROUP BY name, n',
    'SELECT FROM N ORDER BY name DESC LIMIT 140000',
    'SELECT list(name) AS a, set(n) AS b FROM N',
    "SELECT sum(n) FROM N WHERE name LIKE '%9'",
  ];
  for (let round = 0; round < rounds; round += 1) {
    const statuses = await Promise.all([...greedy, ...greedy].map(sql));
    for (const status of statuses) assert.ok([200, 400, 413, 503].includes(status), `${status}`);
    assert.ok(server.isRunning, server.log);
    const [, resident = '0'] =
      /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8')) ?? [];
    assert.ok(Number(resident) * 1024 < limitBytes, `${resident} kB`);
  }
  // What was refused left room for those who ask for little.
  await eventually('small statements are answered', async () => {
    return (await sql('SELECT FROM N WHERE n = 7')) === 200;
  });
});
