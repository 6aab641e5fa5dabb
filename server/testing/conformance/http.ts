/**
 * The suite `http`: recorded requests of the reference system, replayed in their order, and the
 * answers compared field by field by the tool that recorded them.
 *
 * Two differences are none: a user's mistake that the reference answers with 500 and we with 4xx,
 * when the exception class is the same (the label in `error` then differs as well); and record ids
 * that are others, one for one. The tool numbers ids by their first appearance in the whole run,
 * so an id that one side never shows, or gives out a second time, renumbers all later answers.
 */
import {spawn} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {FieldDifference, SuiteOutcome, SuiteSource} from './suite.ts';

const groups =
  'setup,health,auth,login,server,users,groups,apitokens,query,command,tx,batch,stream,error,' +
  'idem,running,vector,misc,backup,big,teardown';
/** A record id as the tool numbers it; it leaves those of edges without a record as they are. */
const numberedId = /#(?:R\d+|\d+:-1)/g;
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
    .filter(({diffs}) => !isStricter(diffs) && !isRenumbered(diffs))
    .map(({name, diffs}) => ({name, lines: diffs.map(lineOf)}));
  return {cases, differences};
}

/** 500 there, 4xx here, and nothing else but the label of the error. */
export function isStricter(diffs: readonly FieldDifference[]): boolean {
  const status = diffs.find(({path}) => path === '.status');
  if (status?.expected !== 500) return false;
  if (typeof status.actual !== 'number' || status.actual < 400 || status.actual > 499) return false;
  const allowed = ['.status', '.body.error', '.body.exceptionArgs', '.exceptionArgs'];
  return diffs.every(({path}) => allowed.includes(path));
}

/** Every difference is a record id, and the ids of the answer correspond one to one. */
export function isRenumbered(diffs: readonly FieldDifference[]): boolean {
  const ours = new Map<string, string>();
  const theirs = new Map<string, string>();
  for (const {expected, actual} of diffs) {
    if (typeof expected !== 'string' || typeof actual !== 'string') return false;
    const [wanted, given] = [expected.match(numberedId) ?? [], actual.match(numberedId) ?? []];
    if (wanted.length === 0) return false;
    if (expected.replace(numberedId, '#') !== actual.replace(numberedId, '#')) return false;
    for (const [index, id] of wanted.entries()) {
      const other = given[index] ?? '';
      if ((ours.get(id) ?? other) !== other || (theirs.get(other) ?? id) !== id) return false;
      ours.set(id, other);
      theirs.set(other, id);
    }
  }
  return true;
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
