/**
 * Kuzu 0.11.3 as the peer of hops: in a process of its own, asked in that process, so that its
 * figures hold no protocol. The package comes from the npm registry into a folder for temporary
 * files, without running its scripts: what they do is put a binary that it brings in its place.
 */
import {spawn} from 'node:child_process';
import {copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {placed, runProgram} from '../processes.ts';
import type {EdgeList} from '../W5/network.ts';

const version = '0.11.3';
const folder = join(tmpdir(), `svc-bench-kuzu-${version}`);
const packageFolder = join(folder, 'node_modules/kuzu');
const poolBytes = 2 ** 31;

/** Asks one statement for each id, one after the other. */
export interface KuzuQuestion {
  readonly text: string;
  readonly ids: readonly number[];
  /** A query that takes longer is ended and counts as having taken so long. */
  readonly timeoutMillis: number;
}

/** One figure an id, in their order; `undefined`: ended by its time. */
export interface KuzuAnswer {
  readonly millis: readonly number[];
  readonly values: readonly (readonly number[] | undefined)[];
}

export interface Kuzu {
  readonly label: string;
  ask(question: KuzuQuestion): Promise<KuzuAnswer>;
  stop(): void;
}

/** Starts it with the edges loaded: nodes `V` with their number as `id`, relationships `E`. */
export async function startKuzu(edges: EdgeList): Promise<Kuzu> {
  await ensureInstalled();
  const data = join(folder, `data-${process.pid}`);
  mkdirSync(data, {recursive: true});
  writeCsv(join(data, 'nodes.csv'), edges.vertices, at => `${at}`);
  writeCsv(join(data, 'edges.csv'), edges.from.length, at => `${edges.from[at]},${edges.to[at]}`);
  const words = [...placed('server'), process.execPath, '--conditions=source'];
  const [program, ...rest] = [...words, import.meta.filename, data];
  const child = spawn(program, rest, {stdio: ['pipe', 'pipe', 'inherit']});
  const lines = createInterface({input: child.stdout})[Symbol.asyncIterator]();
  const line = async (): Promise<string> => {
    const {value, done} = await lines.next();
    if (done === true) throw new Error('Kuzu ended');
    return String(value);
  };
  await line();
  return {
    label: `kuzu ${version} in process`,
    async ask(question) {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      return JSON.parse(await line()) as KuzuAnswer;
    },
    stop() {
      child.kill();
      rmSync(data, {recursive: true, force: true});
    },
  };
}

async function ensureInstalled(): Promise<void> {
  const binary = join(packageFolder, 'kuzujs.node');
  if (existsSync(binary)) return;
  mkdirSync(folder, {recursive: true});
  writeFileSync(join(folder, 'package.json'), '{"private": true}\n');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder];
  await runProgram(['npm', 'install', ...options, `kuzu@${version}`]);
  const sources = join(packageFolder, 'kuzu-source/tools/nodejs_api/src_js');
  for (const name of readdirSync(sources)) {
    copyFileSync(join(sources, name), join(packageFolder, name));
  }
  const platform = `kuzujs-${process.platform}-${process.arch}.node`;
  copyFileSync(join(packageFolder, 'prebuilt', platform), binary);
}

function writeCsv(path: string, count: number, row: (at: number) => string): void {
  const rowsAtOnce = 100_000;
  writeFileSync(path, '');
  for (let from = 0; from < count; from += rowsAtOnce) {
    let text = '';
    for (let at = from; at < Math.min(count, from + rowsAtOnce); at += 1) text += `${row(at)}\n`;
    writeFileSync(path, text, {flag: 'a'});
  }
}

/** The part of its interface that is used here. */
interface KuzuConnection {
  query(text: string): Promise<unknown>;
  prepare(text: string): Promise<unknown>;
  execute(statement: unknown, values: object): Promise<{getAll(): Promise<object[]>}>;
  setQueryTimeout(millis: number): void;
}

interface KuzuModule {
  readonly Database: new (path: string, poolBytes: number) => unknown;
  readonly Connection: new (database: unknown, threads: number) => KuzuConnection;
}

async function serve(data: string): Promise<void> {
  const {Database, Connection} = createRequire(join(folder, 'x.js'))('kuzu') as KuzuModule;
  const connection = new Connection(new Database(join(data, 'database'), poolBytes), 1);
  await connection.query('CREATE NODE TABLE V(id INT64, PRIMARY KEY(id))');
  await connection.query('CREATE REL TABLE E(FROM V TO V)');
  await connection.query(`COPY V FROM '${join(data, 'nodes.csv')}'`);
  await connection.query(`COPY E FROM '${join(data, 'edges.csv')}'`);
  process.stdout.write('loaded\n');
  for await (const line of createInterface({input: process.stdin})) {
    const {text, ids, timeoutMillis} = JSON.parse(line) as KuzuQuestion;
    connection.setQueryTimeout(timeoutMillis);
    const statement = await connection.prepare(text);
    const millis: number[] = [];
    const values: (number[] | null)[] = [];
    for (const id of ids) {
      const startedAt = performance.now();
      try {
        const result = await connection.execute(statement, {id});
        const rows = await result.getAll();
        values.push(rows.map(row => Number(Object.values(row)[0])));
      } catch (error) {
        if (!/interrupt|time/i.test(String(error))) throw error;
        values.push(null);
      }
      millis.push(performance.now() - startedAt);
    }
    process.stdout.write(`${JSON.stringify({millis, values})}\n`);
  }
}

if (import.meta.main) {
  await serve(process.argv[2] ?? '');
  process.exit(0);
}
