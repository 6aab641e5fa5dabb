/**
 * PostgreSQL 15 from Debian's packages as the peer: a cluster of its own in a temporary folder,
 * on the loopback interface, with every commit durable (`fsync` and `synchronous_commit` on).
 *
 * PostgreSQL refuses to run as root; then it runs as the user `postgres`, or `nobody`. The load
 * comes from `pgbench` with prepared statements.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {cpuMicrosOf, placed, runProgram} from '../processes.ts';

const folders = ['/usr/lib/postgresql/15/bin', '/usr/local/bin', '/usr/bin'];

/** What one run of `pgbench` came to. */
export interface PgbenchOutcome {
  readonly perSecond: number;
  readonly operations: number;
  readonly cpuMicrosPerOp: number;
}

/** A running PostgreSQL. */
export interface PostgreSql {
  /** `postgresql 15.18` */
  readonly label: string;
  /** Runs statements and returns the rows as `|`-separated lines. */
  readonly sql: (statements: string) => Promise<string>;
  readonly pgbench: (script: string, options: PgbenchOptions) => Promise<PgbenchOutcome>;
  /** Runs a program of PostgreSQL's own, such as `pg_dump`, against it. */
  readonly tool: (name: string, words: readonly string[]) => Promise<string>;
  /** A directory that it may write to, removed by `stop`. */
  readonly folder: string;
  readonly stop: () => Promise<void>;
}

/** How one run of `pgbench` is shaped. */
export interface PgbenchOptions {
  readonly clients: number;
  readonly seconds: number;
  readonly variables?: Readonly<Record<string, number>>;
  /** Tries a transaction again that could not be serialized, as often as it takes. */
  readonly retries?: boolean;
}

/**
 * Starts a fresh cluster, installing the packages first where that is possible.
 *
 * @param isPlaced - False lets it run on every processor.
 */
export async function startPostgreSql(isPlaced = true): Promise<PostgreSql> {
  await ensureInstalled();
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-postgresql-'));
  const owner = unprivilegedUser();
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  const as = owner ?? {};
  const data = join(folder, 'data');
  const locale = ['--no-locale', '-E', 'UTF8'];
  await runProgram([programPath('initdb'), '-D', data, '-A', 'trust', '-U', 'svc', ...locale], as);
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    port: String(port),
    fsync: 'on',
    synchronous_commit: 'on',
    max_connections: '200',
    shared_buffers: '512MB',
    max_wal_size: '4GB',
  };
  const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [program = '', ...rest] = [
    ...(isPlaced ? placed('server') : []),
    programPath('postgres'),
    '-D',
    data,
    ...words,
  ];
  const child = spawn(program, rest, {stdio: 'ignore', ...as});
  const reach = ['-h', '127.0.0.1', '-p', String(port), '-U', 'svc'];
  const sql = (statements: string): Promise<string> =>
    runProgram(
      [programPath('psql'), ...reach, '-d', 'postgres', '-AtqX', '-v', 'ON_ERROR_STOP=1'],
      {
        input: statements,
      },
    );
  await untilReady(child, sql);
  const version = (await sql('SHOW server_version')).split(/[ \n]/)[0] ?? '';
  return {
    label: `postgresql ${version}`,
    sql,
    pgbench: (script, options) => pgbench({script, options, reach, folder, pid: child.pid ?? 0}),
    tool: (name, words) => runProgram([programPath(name), ...reach, ...words], as),
    folder,
    stop: () => stop(child, folder),
  };
}

function programPath(name: string): string {
  const found = folders.map(folder => join(folder, name)).find(path => existsSync(path));
  if (found === undefined) throw new Error(`PostgreSQL's ${name} is not installed`);
  return found;
}

async function ensureInstalled(): Promise<void> {
  const has = (name: string): boolean => folders.some(folder => existsSync(join(folder, name)));
  if (['initdb', 'postgres', 'pgbench', 'psql'].every(has)) return;
  if (process.getuid?.() !== 0) {
    throw new Error('PostgreSQL 15 is missing: install the package postgresql-15 as root');
  }
  await runProgram(['apt-get', 'update', '-q']);
  const env = {DEBIAN_FRONTEND: 'noninteractive'};
  await runProgram(['apt-get', 'install', '-y', '-q', 'postgresql-15'], {env});
}

function unprivilegedUser(): {uid: number; gid: number} | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map(line => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const line = lines.find(([user]) => user === name);
    if (line !== undefined) return {uid: Number(line[2]), gid: Number(line[3])};
  }
  throw new Error('PostgreSQL refuses root, and there is no user postgres or nobody to run it as');
}

async function untilReady(
  child: ChildProcess,
  sql: (statements: string) => Promise<string>,
): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (child.exitCode !== null) throw new Error('PostgreSQL ended before it was ready');
    try {
      await sql('SELECT 1');
      return;
    } catch {
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  }
  throw new Error('PostgreSQL was not ready after 10 s');
}

async function pgbench(run: {
  script: string;
  options: PgbenchOptions;
  reach: readonly string[];
  folder: string;
  pid: number;
}): Promise<PgbenchOutcome> {
  const {script, options, reach, folder, pid} = run;
  const path = join(folder, 'script.sql');
  writeFileSync(path, script);
  const variables = Object.entries(options.variables ?? {}).flatMap(([name, value]) => [
    '-D',
    `${name}=${value}`,
  ]);
  const retries = options.retries === true ? ['--max-tries=0'] : [];
  const shape = ['-n', '-M', 'prepared', '-c', String(options.clients), '-j', '1', ...retries];
  const time = ['-T', String(options.seconds), '-f', path];
  const words = [...placed('client'), programPath('pgbench'), ...reach];
  const cpuBefore = cpuMicrosOf(pid);
  const out = await runProgram([...words, ...shape, ...variables, ...time, 'postgres']);
  // The sessions end a moment after pgbench; their time counts once the parent has seen them off.
  await new Promise(resolve => setTimeout(resolve, 50));
  const cpu = cpuMicrosOf(pid) - cpuBefore;
  const perSecond = Number(/tps = ([\d.]+)/.exec(out)?.[1] ?? Number.NaN);
  const operations = Number(/actually processed: (\d+)/.exec(out)?.[1] ?? Number.NaN);
  const failed = Number(/failed transactions: (\d+)/.exec(out)?.[1] ?? 0);
  if (failed > 0 || !(operations > 0)) throw new Error(`pgbench failed: ${out}`);
  return {perSecond, operations, cpuMicrosPerOp: cpu / operations};
}

async function stop(child: ChildProcess, folder: string): Promise<void> {
  const gone = new Promise(resolve => child.once('exit', resolve));
  // SIGINT is PostgreSQL's fast shutdown: it does not wait for clients.
  if (child.exitCode === null && child.kill('SIGINT')) await gone;
  rmSync(folder, {recursive: true, force: true});
}
