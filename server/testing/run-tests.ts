/**
 * `make test` and `make check`: runs the gates and then the tests, says what it runs and how long
 * it took, shows failures in full, and closes with one line `N passed, N failed, N skipped`.
 *
 * A gate (types, lint, ...) counts as one case. `quick` leaves out the files that end in
 * .e2e.test.ts or .slow.test.ts, but for the ones that further patterns name, and the files that
 * have passed with all that they read as it is now (runner/passes.ts); it says how many those are.
 * `files` runs the files that patterns name, and no gate. `all` runs everything.
 */
import {spawn} from 'node:child_process';
import {globSync, mkdtempSync, rmSync} from 'node:fs';
import {availableParallelism, tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {performance} from 'node:perf_hooks';
import {type Gate, gatesOf} from './conventions/gates.ts';
import {busyLoops} from './runner/busy-loops.ts';
import {closingLine, type Counts, noCounts, seconds, sumOf, type Verdict} from './runner/counts.ts';
import {OverdueFiles} from './runner/overdue-files.ts';
import {type Pass, Passes} from './runner/passes.ts';
import {inPlaces} from './runner/places.ts';
import {type FileOutcome, runTestFile} from './runner/test-file.ts';

type Scope = 'all' | 'quick' | 'files';

/** The working directory: make runs this in the repository, its test in a folder of its own. */
const root = process.cwd();

const folders = ['server', 'operator', 'bench', 'examples', 'images', 'e2e'];
const isSlow = (file: string): boolean => /\.(?:e2e|slow)\.test\.ts$/.test(file);

const filesAtOnce = {least: 2, most: 3 * availableParallelism()};

/** A file that runs longer hangs; it is ended and counts as failed. */
const msMaxOf = (file: string): number => (isSlow(file) ? 900_000 : 60_000);

const say = (line: string): void => console.log(line);

async function main(scope = '', patterns: readonly string[]): Promise<number> {
  const busy = Number(process.env['BUSY'] || 0);
  const isComplete = {all: patterns.length === 0, quick: true, files: patterns.length > 0};
  if (!isScope(scope) || !isComplete[scope]) {
    console.error('usage: run-tests.ts all | quick [PATTERN...] | files PATTERN...');
    return 2;
  }
  if (!Number.isInteger(busy) || busy < 0 || busy > 64) {
    console.error('BUSY must be a number of busy loops, at most 64');
    return 2;
  }
  const files = filesOf(scope, patterns);
  const passes = new Passes(root);
  const remembered = scope === 'quick' ? passesOf(files, passes) : new Map<string, Pass>();
  using _busy = busyLoops(busy);
  const parts: Readonly<Counts>[] = [];
  const failures: string[] = [];
  for (const [name, verdict] of scope === 'files' ? [] : await runGates()) {
    parts.push({...noCounts(), [verdict]: 1});
    if (verdict === 'failed') failures.push(name);
  }
  const left = files.filter(file => !remembered.has(file));
  for (const [file, {counts, failures: names}] of await runFiles(left, passes)) {
    parts.push(counts);
    failures.push(...names.map(name => `${file}: ${name}`));
  }
  passes.write();
  if (failures.length > 0) say(`\nfailed:\n${failures.map(name => `  ${name}`).join('\n')}`);
  if (remembered.size > 0) say(rememberedLine(left.length, [...remembered.values()]));
  const total = sumOf(parts);
  say(closingLine(total));
  return total.failed === 0 ? 0 : 1;
}

function isScope(scope: string): scope is Scope {
  return scope === 'all' || scope === 'quick' || scope === 'files';
}

/** The slow ones first: no long one is left over at the end, for one processor alone. */
function filesOf(scope: Scope, patterns: readonly string[]): readonly string[] {
  const exclude = ['**/node_modules/**'];
  const all = globSync(
    folders.map(folder => `${folder}/**/*.test.ts`),
    {cwd: root, exclude},
  );
  const named = new Set(
    patterns.flatMap(pattern => {
      const found = globSync(pattern, {cwd: root, exclude}).filter(file => all.includes(file));
      if (found.length === 0) throw new Error(`no test file is named ${pattern}`);
      return found;
    }),
  );
  const wanted = all.filter(
    file => scope === 'all' || named.has(file) || (scope === 'quick' && !isSlow(file)),
  );
  return wanted.sort(
    (one, other) => Number(isSlow(other)) - Number(isSlow(one)) || (one < other ? -1 : 1),
  );
}

/** Finds those of `files` that need not run again, and says when there are none. */
function passesOf(files: readonly string[], passes: Passes): ReadonlyMap<string, Pass> {
  const found = new Map<string, Pass>();
  for (const file of files) {
    const pass = passes.find(file);
    if (pass !== undefined) found.set(file, pass);
  }
  if (found.size === 0) say(`no file is remembered as passed: all ${files.length} run`);
  return found;
}

function rememberedLine(ran: number, passes: readonly Pass[]): string {
  const cases = passes.reduce((sum, pass) => sum + pass.cases, 0);
  const oldest = new Date(Math.min(...passes.map(pass => pass.at)));
  return (
    `${ran} files ran; ${passes.length} with ${cases} cases passed before, the first at ` +
    `${oldest.toISOString().slice(0, 16)}Z, and nothing that they read has changed`
  );
}

/** Runs all gates: those behind the build only read, and most of them have one thread. */
async function runGates(): Promise<readonly [string, Verdict][]> {
  const [build, ...others] = gatesOf(root);
  const verdicts: [string, Verdict][] = [];
  const judge = async (gate: Gate): Promise<void> => {
    verdicts.push([gate.name, await runGate(gate)]);
  };
  if (build !== undefined) await judge(build);
  const half = async (): Promise<void> => {
    for (let gate = others.shift(); gate !== undefined; gate = others.shift()) await judge(gate);
  };
  await Promise.all([half(), half()]);
  return verdicts;
}

/** Runs one gate; its output is shown when it fails. */
async function runGate({name, program, args, skips}: Gate): Promise<Verdict> {
  const begun = performance.now();
  const env = {...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`};
  const child = spawn(program, args, {cwd: root, env, stdio: ['ignore', 'pipe', 'pipe']});
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  const status = await new Promise<number | null>(resolve => {
    child.once('error', error => {
      chunks.push(Buffer.from(`${error.message}\n`));
      resolve(null);
    });
    child.once('close', resolve);
  });
  const output = Buffer.concat(chunks).toString();
  const skipped = status === 0 ? skips?.exec(output)?.[0] : undefined;
  const mark = status !== 0 ? 'FAIL' : skipped === undefined ? 'ok  ' : 'skip';
  const note = skipped === undefined ? '' : `, ${skipped}`;
  say(`${mark} ${name} (${seconds(performance.now() - begun)}${note})`);
  if (status !== 0) process.stdout.write(output);
  return status !== 0 ? 'failed' : skipped === undefined ? 'passed' : 'skipped';
}

/** Runs test files and prints a line for each when it ends; answers them in the order of names. */
async function runFiles(
  files: readonly string[],
  passes: Passes,
): Promise<readonly [string, FileOutcome][]> {
  const outcomes: [string, FileOutcome][] = [];
  const overdue = new OverdueFiles({say});
  const folder = mkdtempSync(join(tmpdir(), 'svc-tests-'));
  const left = files.entries();
  const next = (): Promise<void> | undefined => {
    const {value, done} = left.next();
    return done === true ? undefined : runNext(...value);
  };
  const runNext = async (place: number, file: string): Promise<void> => {
    const notes = join(folder, String(place));
    overdue.began(join(root, file), msMaxOf(file));
    const outcome = await runTestFile(root, file, notes);
    overdue.ended(join(root, file));
    outcomes.push([file, outcome]);
    printFile(file, outcome);
    const {failed, passed, skipped} = outcome.counts;
    if (failed > 0) passes.forget(file);
    else passes.add(file, passed + skipped, outcome.inputs);
  };
  try {
    await inPlaces(next, filesAtOnce);
  } finally {
    rmSync(folder, {recursive: true, force: true});
  }
  return outcomes.sort(([one], [other]) => (one < other ? -1 : 1));
}

function printFile(file: string, {counts, output, ms, processorMs}: FileOutcome): void {
  const numbers = [
    `${counts.passed} passed`,
    ...(counts.failed > 0 ? [`${counts.failed} failed`] : []),
    ...(counts.skipped > 0 ? [`${counts.skipped} skipped`] : []),
    `${seconds(processorMs)} of processors`,
    seconds(ms),
  ];
  say(`${counts.failed > 0 ? 'FAIL' : 'ok  '} ${file} (${numbers.join(', ')})`);
  if (counts.failed > 0) say(output);
}

process.exitCode = await main(process.argv[2], process.argv.slice(3));
