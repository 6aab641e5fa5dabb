/**
 * `make conformance SUITE=http`: runs an outside suite against a fresh server and holds the result
 * against a committed baseline.
 *
 * The suites and their runners lie outside the repository (`SVC_SHARED`, default `../shared`).
 * A baseline names what is skipped because it belongs to work that is not there yet, and what
 * fails, each with a reason. A failure that the baseline does not name fails the run, and so does
 * an entry that no longer fails: the list may only shrink knowingly. Differences that a suite
 * tolerates by their shape are counted apart, and the baseline pins how many there are.
 * With `DIR=` the suite's files are taken from that folder and nothing is held against a baseline.
 * With `REPORT=` the result is written to that file as JSON, too.
 */
import {readFileSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {runHttp} from './http.ts';
import {runMcp} from './mcp.ts';
import {runLucene} from './lucene.ts';
import {runOpenCypher} from './opencypher.ts';
import {runSqlFamilies, runSqlInventory} from './sql-inventory.ts';
import {matches, type SuiteOutcome, type SuiteSource, type Tolerance, tolerances} from './suite.ts';
import {freePort, startServer, temporaryRoot} from '../worlds/server-process.ts';

/** Reasons by name; a name may end in `*`. */
interface Baseline {
  readonly skipped: Readonly<Record<string, string>>;
  readonly failing: Readonly<Record<string, string>>;
  /** Cases that differ on purpose, each with the words of the manual that say so. */
  readonly documented?: Readonly<Record<string, string>>;
  /** How many differences of a kind are tolerated; none of a kind that is not named. */
  readonly tolerated?: Readonly<Partial<Record<Tolerance, number>>>;
}

interface Suite {
  readonly baseline: string;
  readonly run: (source: SuiteSource) => Promise<SuiteOutcome>;
  /** Whether the suite asks a server over HTTP; else it brings what it asks. */
  readonly needsServer: boolean;
}

const suites: Readonly<Record<string, Suite>> = {
  http: {baseline: 'http-baseline.json', run: runHttp, needsServer: true},
  'sql-inventory': {
    baseline: 'sql-inventory-baseline.json',
    run: runSqlInventory,
    needsServer: true,
  },
  'sql-families': {
    baseline: 'sql-families-baseline.json',
    run: runSqlFamilies,
    needsServer: true,
  },
  lucene: {baseline: 'lucene-baseline.json', run: runLucene, needsServer: true},
  mcp: {baseline: 'mcp-baseline.json', run: runMcp, needsServer: true},
  opencypher: {baseline: 'opencypher-baseline.json', run: runOpenCypher, needsServer: false},
};

/** The password that the recorded requests carry. */
const recordedPassword = 'playwithdata';

/** The verdict on one run. */
export interface Verdict {
  readonly passed: readonly string[];
  readonly tolerated: readonly TolerationCount[];
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  readonly newFailures: readonly string[];
  readonly staleEntries: readonly string[];
}

/** The cases of one kind of tolerated difference, and how many the baseline knows. */
export interface TolerationCount {
  readonly kind: Tolerance;
  readonly names: readonly string[];
  readonly known: number;
}

/** Holds an outcome against a baseline. */
export function judge(outcome: SuiteOutcome, baseline: Baseline): Verdict {
  const documented = Object.keys(baseline.documented ?? {});
  const kinds = new Map(
    outcome.differences.map(({name, tolerated}) => [
      name,
      tolerated ?? (documented.includes(name) ? 'documented' : undefined),
    ]),
  );
  const skips = Object.keys(baseline.skipped);
  const known = Object.keys(baseline.failing);
  const isSkipped = (name: string): boolean => skips.some(pattern => matches(pattern, name));
  const judged = outcome.cases.filter(name => !isSkipped(name));
  const failed = judged.filter(name => kinds.has(name) && kinds.get(name) === undefined);
  const tolerated = (Object.keys(tolerances) as Tolerance[])
    .map(kind => ({
      kind,
      names: judged.filter(name => kinds.get(name) === kind),
      known: kind === 'documented' ? documented.length : (baseline.tolerated?.[kind] ?? 0),
    }))
    .filter(({names, known}) => names.length > 0 || known > 0);
  return {
    passed: judged.filter(name => !kinds.has(name)),
    tolerated,
    failed,
    skipped: outcome.cases.filter(isSkipped),
    newFailures: failed.filter(name => !known.some(pattern => matches(pattern, name))),
    staleEntries: [
      ...known.filter(pattern => !failed.some(name => matches(pattern, name))),
      ...skips.filter(pattern => !outcome.cases.some(name => matches(pattern, name))),
    ],
  };
}

/** A variable of the environment; make hands on empty ones for those nobody gave. */
function given(name: string): string | undefined {
  return process.env[name] === '' ? undefined : process.env[name];
}

/** Runs one suite against a fresh server and holds it against its baseline. */
export async function runSuite(
  name: string,
  directory: string | undefined,
): Promise<{readonly outcome: SuiteOutcome; readonly verdict: Verdict}> {
  const suite = suites[name];
  if (suite === undefined) {
    const known = Object.keys(suites).join(', ');
    throw new UnknownSuite(`there is no suite '${name}': choose one of ${known}`);
  }
  const path = join(import.meta.dirname, suite.baseline);
  const stored = JSON.parse(readFileSync(path, 'utf8')) as Baseline;
  const baseline = directory === undefined ? stored : {...stored, failing: {}};
  const source = {
    password: recordedPassword,
    shared: sharedFolder(),
    directory,
    skipped: Object.keys(baseline.skipped),
  };
  if (!suite.needsServer) {
    const outcome = await suite.run({...source, url: ''});
    return {outcome, verdict: judge(outcome, baseline)};
  }
  const root = temporaryRoot('conformance');
  const port = await freePort();
  const server = await startServer({root, port, password: recordedPassword});
  try {
    const outcome = await suite.run({...source, url: server.url});
    return {outcome, verdict: judge(outcome, baseline)};
  } finally {
    await server.dispose();
  }
}

class UnknownSuite extends Error {}

/** Where the suites and their tools lie. */
export function sharedFolder(): string {
  return given('SVC_SHARED') ?? resolve(import.meta.dirname, '../../../../shared');
}

async function main(): Promise<number> {
  const directory = given('DIR');
  const suite = given('SUITE') ?? process.argv[2] ?? '';
  const path = given('REPORT');
  try {
    const startedAt = performance.now();
    const {outcome, verdict} = await runSuite(suite, directory);
    const elapsedMs = Math.round(performance.now() - startedAt);
    if (path !== undefined) {
      const report = reportOf(suite, {outcome, verdict, elapsedMs});
      writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
    }
    return tell(outcome, verdict, directory !== undefined);
  } catch (error) {
    if (!(error instanceof UnknownSuite)) throw error;
    process.stderr.write(`conformance: ${error.message}\n`);
    return 2;
  }
}

/** A run for programs: counts with their denominator, and every case that did not pass. */
export interface Report {
  readonly suite: string;
  readonly cases: number;
  readonly passed: number;
  readonly tolerated: Readonly<Record<string, readonly string[]>>;
  readonly elapsedMs: number;
  readonly failed: readonly {readonly name: string; readonly lines: readonly string[]}[];
  readonly skipped: readonly string[];
}

export function reportOf(
  suite: string,
  run: {readonly outcome: SuiteOutcome; readonly verdict: Verdict; readonly elapsedMs: number},
): Report {
  const {passed, tolerated, failed, skipped} = run.verdict;
  const judged = [passed, failed, skipped, ...tolerated.map(({names}) => names)];
  const byName = new Map(run.outcome.differences.map(one => [one.name, one.lines]));
  return {
    suite,
    cases: judged.flat().length,
    passed: passed.length,
    tolerated: Object.fromEntries(tolerated.map(({kind, names}) => [kind, names])),
    elapsedMs: run.elapsedMs,
    failed: failed.map(name => ({name, lines: byName.get(name) ?? []})),
    skipped,
  };
}

/** Prints new failures with their differences, stale entries, and the closing line. */
function tell(outcome: SuiteOutcome, verdict: Verdict, free: boolean): number {
  const {passed, tolerated, failed, skipped, newFailures, staleEntries} = verdict;
  const say = (line: string): boolean => process.stdout.write(`${line}\n`);
  const byName = new Map(outcome.differences.map(difference => [difference.name, difference]));
  for (const name of newFailures) {
    say(`${free ? 'failed' : 'new failure'}: ${name}`);
    for (const line of byName.get(name)?.lines.slice(0, 6) ?? []) say(`    ${line}`);
  }
  for (const entry of free ? [] : staleEntries) say(`stale entry of the baseline: ${entry}`);
  const changed = free ? [] : tolerated.filter(({names, known}) => names.length !== known);
  for (const {kind, names, known} of changed) {
    say(`${names.length} cases are ${tolerances[kind]}; the baseline knows ${known}:`);
    for (const name of names) say(`    ${name}`);
  }
  const counts = tolerated.map(({kind, names}) => `, ${names.length} ${tolerances[kind]}`);
  say(
    `${passed.length} passed${counts.join('')}, ${failed.length} failed, ${skipped.length} skipped`,
  );
  const wrong = newFailures.length > 0 || changed.length > 0;
  return wrong || (!free && staleEntries.length > 0) ? 1 : 0;
}

if (import.meta.main) process.exitCode = await main();
