/**
 * The steps of docs/upgrade.md with two releases: a server that moves on and cannot go back but by
 * an export, patches that go both ways, and a cluster whose members are replaced one by one while
 * clients write.
 */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {cpSync, mkdirSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import type {Client, Row} from '#server/client/client.ts';
import {ServerError} from '#server/client/server-error.ts';
import {type Member, untilLed} from '../cluster/cluster-system.ts';
import {startSvcCluster, type SvcCluster} from '../cluster/svc-cluster.ts';
import {eventually} from '../time/eventually.ts';
import {freePort} from '../worlds/free-port.ts';
import {program, type ServerProcess, startServer, temporaryRoot} from '../worlds/server-process.ts';
import {makeRelease, nextMinor, nextPatch} from './next-release.ts';

const base = temporaryRoot('two-releases');
let minor: string;
let patch: string;

before(() => {
  minor = makeRelease(join(base, 'minor'), nextMinor);
  patch = makeRelease(join(base, 'patch'), nextPatch);
});

after(() => rmSync(base, {recursive: true, force: true}));

async function withServer<T>(
  root: string,
  release: string,
  action: (client: Client, server: ServerProcess) => Promise<T>,
): Promise<T> {
  const settings = {'svc.opencypher.loadCsv.allowFileUrls': true};
  const server = await startServer({root, port: await freePort(), program: release, settings});
  const client = server.client();
  try {
    return await action(client, server);
  } finally {
    client.close();
    await server.stop();
  }
}

async function titles(client: Client, database = 'music'): Promise<readonly unknown[]> {
  const {result} = await client.query(database, 'SELECT title FROM Song ORDER BY title');
  return result.map(({title}) => title);
}

async function addSong(client: Client, title: string): Promise<void> {
  await client.command('music', 'INSERT INTO Song SET title = :title', {params: {title}});
}

async function settled(client: Client): Promise<void> {
  await eventually('every row to be brought over', async () => {
    const {metrics} = await client.serverInfo('default');
    const {profiler} = metrics as {profiler: {databasesMigrating: {count: number}}};
    return profiler.databasesMigrating.count === 0;
  });
}

const isRefusal = (said: RegExp) => (error: unknown) =>
  error instanceof ServerError && said.test(error.message);

test('one server: on to the next minor release, and back by an export', async () => {
  const [old, moved] = [join(base, 'old'), join(base, 'moved')];
  const archive = await withServer(old, program, async client => {
    await client.createDatabase('music');
    await client.command('music', 'CREATE DOCUMENT TYPE Song');
    await addSong(client, 'One');
    const {fileName} = await client.serverCommand('trigger backup music');
    await client.serverCommand(`restore backup music ${String(fileName)}`, {verify: true});
    return String(fileName);
  });
  mkdirSync(join(moved, 'config'), {recursive: true});
  for (const part of ['databases', 'backups', 'config']) {
    cpSync(join(old, part), join(moved, part), {recursive: true});
  }
  const newer = await withServer(moved, minor, async (client, server) => {
    assert.deepEqual(await titles(client), ['One']);
    await addSong(client, 'Two');
    await settled(client);
    await eventually('the raise to be told', () => server.log.includes('format.raised'));
    // An archive of the release before is brought to the present level.
    await client.serverCommand(`restore backup music ${archive} as before`);
    assert.deepEqual(await titles(client, 'before'), ['One']);
    await settled(client);
    const made = await client.serverCommand('trigger backup music');
    const {path} = await client.serverCommand('export database music');
    return {archive: String(made['path']), exported: String(path)};
  });

  const back = withServer(moved, program, () => Promise.resolve());
  await assert.rejects(back, /was written in format 2, and this release reads format 1/);
  // The files that it left are still the newer release's.
  await withServer(moved, minor, async client => {
    assert.deepEqual(await titles(client), ['One', 'Two']);
  });
  await withServer(join(base, 'back'), program, async client => {
    const restoring = client.serverCommand(`restore database music file://${newer.archive}`);
    await assert.rejects(restoring, isRefusal(/format 2/));
    execFileSync('tar', ['xzf', newer.exported, '-C', base]);
    await client.serverCommand(`import database music file://${join(base, 'music.jsonl')}`);
    assert.deepEqual(await titles(client), ['One', 'Two']);
  });
});

test('patches of one release read and write each other’s databases', async () => {
  const root = join(base, 'patches');
  await withServer(root, program, async client => {
    await client.createDatabase('music');
    await client.command('music', 'CREATE DOCUMENT TYPE Song');
    await addSong(client, 'a');
  });
  for (const [release, title] of [
    [patch, 'b'],
    [program, 'c'],
    [patch, 'd'],
  ] as const) {
    await withServer(root, release, client => addSong(client, title));
  }
  await withServer(root, program, async client => {
    assert.deepEqual(await titles(client), ['a', 'b', 'c', 'd']);
  });
});

/** Whatever is acknowledged is kept in mind; a key that may be there is tried again. */
class Writing {
  readonly acknowledged = new Set<number>();
  #isOver = false;
  #next = 0;
  #work: Promise<unknown> = Promise.resolve();

  start(cluster: SvcCluster): void {
    const clients = cluster.members.map(member => cluster.client(member, 10_000));
    const work = clients.map(async (client, at) => {
      while (!this.#isOver) await this.#insert(clients, at);
      client.close();
    });
    this.#work = Promise.all(work);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  async #insert(clients: readonly Client[], first: number): Promise<void> {
    const n = this.#next++;
    for (let turn = 0; ; turn += 1) {
      const client = clients[(first + turn) % clients.length];
      try {
        await client?.command('music', 'INSERT INTO Song SET n = :n', {params: {n}});
        break;
      } catch (error) {
        // An earlier try that nobody answered has made it.
        if (error instanceof ServerError && error.exceptionName === 'DuplicatedKeyException') break;
        if (this.#isOver) return;
        await new Promise(resolve => setTimeout(resolve, 20));
      }
    }
    this.acknowledged.add(n);
  }
}

/** Which release a member is started as. */
class Releases {
  readonly #folder = join(base, 'releases');

  constructor() {
    mkdirSync(this.#folder, {recursive: true});
    for (let member = 0; member < 3; member += 1) this.use(member, program);
  }

  use(member: number, release: string): void {
    writeFileSync(this.#path(member), `shift\nexec "${release}" "$@"\n`);
  }

  launcher = (member: number): readonly string[] => ['sh', this.#path(member)];

  #path(member: number): string {
    return join(this.#folder, `${member}.sh`);
  }
}

async function untilHealthy(cluster: SvcCluster, member: Member, release: string): Promise<void> {
  await eventually(
    `${member.name} is healthy, without lag, and of ${release}`,
    async () => {
      const leader = await untilLed(cluster);
      const {peers} = (await cluster.clientOf(leader).cluster('GET', '')) as {peers: Row[]};
      const own = peers.find(peer => String(peer['id']).startsWith(`${member.host}_`));
      return own?.['version'] === release && Number(own['replicationLag'] ?? 0) < 10;
    },
    {millisMax: 120_000, pollMillis: 100, told: () => member.process.log},
  );
}

test('a cluster: one member at a time while clients write', {timeout: 600_000}, async () => {
  const releases = new Releases();
  const cluster = await startSvcCluster({
    size: 3,
    folder: join(base, 'cluster'),
    launcher: releases.launcher,
  });
  const writing = new Writing();
  try {
    const {leading, others, release} = await rollingParts(cluster);
    writing.start(cluster);
    const replace = async (member: Member, by: string, says: string): Promise<void> => {
      await member.process.stop();
      releases.use(cluster.members.indexOf(member), by);
      member.process.start();
      await untilHealthy(cluster, member, says);
    };
    const [first, second] = others;
    await replace(first, minor, nextMinor);
    // Until the last member is replaced, each may go back.
    await replace(first, program, release);
    await replace(first, minor, nextMinor);
    await replace(second, minor, nextMinor);
    for (const member of cluster.members) assert.doesNotMatch(member.process.log, /format\.raised/);
    await cluster.clientOf(leading).cluster('POST', '/stepdown');
    await replace(leading, minor, nextMinor);
    const leader = await untilLed(cluster);
    await eventually('the format to be raised', () => leader.process.log.includes('format.raised'));
    await writing.end();
    await checkWritten(cluster, writing.acknowledged);
    await refusesToGoBack(cluster, first, releases);
  } finally {
    await writing.end();
    await cluster.dispose();
  }
});

async function rollingParts(cluster: SvcCluster) {
  const leading = await untilLed(cluster);
  const client = cluster.clientOf(leading);
  await client.createDatabase('music');
  await client.command('music', 'CREATE DOCUMENT TYPE Song');
  await client.command('music', 'CREATE PROPERTY Song.n LONG');
  await client.command('music', 'CREATE INDEX ON Song (n) UNIQUE');
  const [first, second] = cluster.members.filter(({name}) => name !== leading.name);
  assert.ok(first !== undefined && second !== undefined);
  const {version} = await client.serverInfo('basic');
  return {leading, others: [first, second] as const, release: String(version)};
}

async function checkWritten(cluster: SvcCluster, acknowledged: Set<number>): Promise<void> {
  assert.ok(acknowledged.size > 50, `${acknowledged.size} writes prove nothing`);
  for (const member of cluster.members) {
    await eventually(`${member.name} has every write`, async () => {
      const {result} = await cluster.clientOf(member).query('music', 'SELECT n FROM Song', {
        limit: -1,
      });
      const found = new Set(result.map(({n}) => Number(n)));
      assert.equal(found.size, result.length);
      assert.deepEqual(
        [...acknowledged].filter(n => !found.has(n)),
        [],
      );
      return true;
    });
  }
}

/** The older release does not start on it, says why, and harms nothing. */
async function refusesToGoBack(
  cluster: SvcCluster,
  member: Member,
  releases: Releases,
): Promise<void> {
  const index = cluster.members.indexOf(member);
  await member.process.stop();
  releases.use(index, program);
  member.process.start();
  await eventually('it ends', () => !member.process.isRunning, {millisMax: 60_000});
  assert.match(member.process.log, /was written in format 2, and this release reads format 1/);
  releases.use(index, minor);
  member.process.start();
  await untilHealthy(cluster, member, nextMinor);
  assert.ok(readdirSync(join(cluster.folder, member.name, 'databases')).includes('music'));
}

test('each release says which formats it reads and writes', () => {
  const said = (release: string): string => execFileSync(release, ['version'], {encoding: 'utf8'});
  assert.match(said(program), /format database: reads 1, writes 1/);
  assert.match(said(patch), /format database: reads 1, writes 1/);
  assert.match(said(minor), /format database: reads 1 and 2, writes 2/);
});
