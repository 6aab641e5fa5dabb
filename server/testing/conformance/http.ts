/**
 * The suite `http`: recorded requests of the reference system, replayed in their order, and the
 * answers compared field by field by the tool that recorded them (kinds of difference: shape.ts).
 */
import {spawn} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {isRenumbered, shapeOf} from './shape.ts';
import type {FieldDifference, SuiteOutcome, SuiteSource} from './suite.ts';

const groups =
  'setup,health,auth,login,server,users,groups,apitokens,query,command,tx,batch,stream,error,' +
  'idem,running,vector,ws,misc,backup,big,teardown';
/** What the tool runs besides, whatever is asked for: later requests build on it. */
const always = /^(setup|data)\.|^(server|users)\.create$/;

export async function runHttp(source: SuiteSource): Promise<SuiteOutcome> {
  const recorded =
    source.directory === undefined
      ? join(source.shared, 'conformance/http-transcripts/http.jsonl')
      : join(source.directory, 'http.jsonl');
  const names = readFileSync(recorded, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => (JSON.parse(line) as {name: string}).name);
  const cases = names.filter(name => {
    return groups.split(',').some(group => name.startsWith(group)) || always.test(name);
  });
  const words = ['--brand', 'svc', '--pw', source.password, '--only', groups, '--quiet'];
  const differing = await runTool<{name: string; diffs: readonly FieldDifference[]}[]>(
    join(source.shared, 'tools/reference-system/replay.mjs'),
    [source.url, ...words, '--against', recorded],
  );
  const differences = differing
    .filter(({diffs}) => !isRenumbered(diffs))
    .map(({name, diffs}) => ({name, lines: diffs.map(lineOf), tolerated: shapeOf(diffs)}));
  return {cases, differences};
}

/** One field in one line. */
export function lineOf({path, expected, actual}: FieldDifference): string {
  const print = (value: unknown): string => (JSON.stringify(value) ?? 'absent').slice(0, 160);
  return `${path}: expected ${print(expected)}, got ${print(actual)}`;
}

/** Runs a tool that writes its findings as JSON with `--json`; its exit code says nothing new. */
export async function runTool<T>(tool: string, words: readonly string[]): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-conformance-'));
  const out = join(folder, 'out.json');
  try {
    const said = await run([tool, ...words, '--json', out]);
    let text: string;
    try {
      text = readFileSync(out, 'utf8');
    } catch {
      throw new Error(`${tool} wrote no findings: ${said.slice(-2_000)}`);
    }
    return JSON.parse(text) as T;
  } finally {
    rmSync(folder, {recursive: true, force: true});
  }
}

function run(words: readonly string[]): Promise<string> {
  const {promise, resolve, reject} = Promise.withResolvers<string>();
  const child = spawn(process.execPath, words, {stdio: ['ignore', 'pipe', 'pipe']});
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      said = (said + String(chunk)).slice(-20_000);
    });
  }
  child.on('error', reject);
  child.on('close', () => resolve(said));
  return promise;
}
