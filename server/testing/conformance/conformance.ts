/**
 * `make conformance SUITE=http`: runs an outside suite against a fresh server and holds the result
 * against a committed baseline.
 *
 * The suites and their runners lie outside the repository (`SVC_SHARED`, default `../shared`).
 * A baseline names what is skipped because it belongs to work that is not there yet, and what
 * fails, each with a reason. A failure that the baseline does not name fails the run, and so does
 * an entry that no longer fails: the list may only shrink knowingly. Differences of a kind
 * (suite.ts) are counted apart: the baseline names the cases of a kind, or pins how many there are.
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
import {
  type Difference,
  matches,
  reasons,
  type SuiteOutcome,
  type SuiteSource,
  type Tolerance,
  tolerances,
} from './suite.ts';
import {freePort} from '../worlds/free-port.ts';
import {startServer, temporaryRoot} from '../worlds/server-process.ts';

/** Reasons by name; a name may end in `*`. */
interface Baseline {
  readonly skipped: Readonly<Record<string, string>>;
  readonly failing: Readonly<Record<string, string>>;
  /** Cases of a kind with the reason of each; where a kind stands here, all of its cases do. */
  readonly differing?: Readonly<Partial<Record<Tolerance, Readonly<Record<string, string>>>>>;
  /** How many there are of a kind whose cases are not named one by one. */
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
  const {differing = {}} = baseline;
  const kinds = new Map(outcome.differences.map(one => [one.name, kindOf(one, differing)]));
  const skips = Object.keys(baseline.skipped);
  const known = Object.keys(baseline.failing);
  const isSkipped = (name: string): boolean => skips.some(pattern => matches(pattern, name));
  const judged = outcome.cases.filter(name => !isSkipped(name));
  const failed = judged.filter(name => kinds.has(name) && kinds.get(name) === undefined);
  const everyKind = Object.keys(tolerances) as Tolerance[];
  const tolerated = everyKind
    .map(kind => {
      const named = differing[kind];
      return {
        kind,
        names: judged.filter(name => kinds.get(name) === kind),
        known: named === undefined ? (baseline.tolerated?.[kind] ?? 0) : Object.keys(named).length,
      };
    })
    .filter(({names, known}) => names.length > 0 || known > 0);
  return {
    passed: judged.filter(name => !kinds.has(name)),
    tolerated,
    failed,
    skipped: outcome.cases.filter(isSkipped),
    newFailures: failed.filter(name => !known.some(pattern => matches(pattern, name))),
    staleEntries: [
      ...known.filter(pattern => !failed.some(name => matches(pattern, name))),
      ...everyKind.flatMap(kind =>
        Object.keys(differing[kind] ?? {}).filter(name => kinds.get(name) !== kind),
      ),
      ...skips.filter(pattern => !outcome.cases.some(name => matches(pattern, name))),
    ],
  };
}

/** What a difference counts as; undefined for one that the baseline does not know as it is. */
function kindOf(
  {name, tolerated: shape}: Difference,
  differing: NonNullable<Baseline['differing']>,
): Tolerance | undefined {
  const named = (Object.keys(differing) as Tolerance[]).find(
    kind => differing[kind]?.[name] !== undefined,
  );
  if (shape !== undefined)
    return differing[shape] === undefined || named === shape ? shape : undefined;
  return named !== undefined && reasons.has(named) ? named : undefined;
}

/** A variable of the environment; make hands on empty ones for those nobody gave. */
function given(name: string): string | undefined {
  return process.env[name] === '' ? undefined : process.env[name];
}

/** Runs one suite against a fresh server and holds it against its baseline. */
export async function runSuite(
  name: string,
  directory: string | undefined,
  {isWhole}: Pick<SuiteSource, 'isWhole'>,
): Promise<{readonly outcome: SuiteOutcome; readonly verdict: Verdict}> {
  const suite = suites[name];
  if (suite === undefined) {
    const known = Object.keys(suites).join(', ');
    throw new UnknownSuite(`there is no suite '${name}': choose one of ${known}`);
  }
  const path = join(import.meta.dirname, suite.baseline);
  const stored = JSON.parse(readFileSync(path, 'utf8')) as Baseline;
  const baseline = directory === undefined ? stored : {...stored, failing: {}, differing: {}};
  const source = {
    password: recordedPassword,
    shared: sharedFolder(),
    isWhole,
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
    const {outcome, verdict} = await runSuite(suite, directory, {isWhole: true});
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

/** Every class with its part of what was judged, what they come to, and the closing line. */
export function countLines(verdict: Verdict): readonly string[] {
  const {passed, tolerated, failed, skipped} = verdict;
  const count = (kinds: readonly Tolerance[]): number =>
    tolerated.filter(({kind}) => kinds.includes(kind)).flatMap(({names}) => names).length;
  const all = passed.length + failed.length + tolerated.flatMap(({names}) => names).length;
  const decided = count(['specified', 'faulty', 'absent']);
  const part = (some: number, of: number, says: string): string =>
    `${some} of ${of} (${of === 0 ? 0 : Math.round((some / of) * 1000) / 10} %) ${says}`;
  const complete = part(
    passed.length + count(['reordered', 'worded', 'further', 'stricter']),
    all - decided,
    'tell all that is recorded, where no specification, fault there or missing data decides',
  );
  return [
    part(passed.length, all, 'equal'),
    ...tolerated.map(({kind, names}) => part(names.length, all, tolerances[kind])),
    ...(decided > 0 ? [complete] : []),
    `${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`,
  ];
}

/** Prints new failures with their differences, stale entries, and the closing line. */
function tell(outcome: SuiteOutcome, verdict: Verdict, free: boolean): number {
  const {tolerated, newFailures, staleEntries} = verdict;
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
  for (const line of countLines(verdict)) say(line);
  const wrong = newFailures.length > 0 || changed.length > 0;
  return wrong || (!free && staleEntries.length > 0) ? 1 : 0;
}

if (import.meta.main) process.exitCode = await main();
