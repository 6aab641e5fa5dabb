/**
 * `make test` and `make check`: runs the gates and the tests, says what it runs and how long it
 * took, shows failures in full, and closes with one line `N passed, N failed, N skipped`.
 *
 * A gate (types, lint, ...) counts as one case. `quick` leaves out the files that end in
 * .e2e.test.ts or .slow.test.ts, but for the ones that further patterns name, and the files and
 * gates that have passed with all that they read as it is now (runner/passes.ts); it says which.
 * `check` is `quick` with the tests that read least first, which are the nearest to what has
 * changed: after so many seconds it begins no other file, and the next check goes on with the rest.
 * `files` runs the files that patterns name, and no gate. `all` runs everything.
 */
import {spawn} from 'node:child_process';
import {globSync, mkdtempSync, rmSync} from 'node:fs';
import {availableParallelism, tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {performance} from 'node:perf_hooks';
import {type Gate, gatesOf} from './conventions/gates.ts';
import {busyLoops} from './runner/busy-loops.ts';
import {closingLine, type Counts, noCounts, seconds, sumOf} from './runner/counts.ts';
import {wholeTree} from './runner/inputs.ts';
import {OverdueFiles} from './runner/overdue-files.ts';
import {type Pass, Passes} from './runner/passes.ts';
import {inPlaces} from './runner/places.ts';
import {type FileOutcome, runTestFile} from './runner/test-file.ts';

type Scope = 'all' | 'quick' | 'check' | 'files';

/** The working directory: make runs this in the repository, its test in a folder of its own. */
const root = process.cwd();

const folders = ['server', 'operator', 'bench', 'examples', 'images', 'e2e'];
const isSlow = (file: string): boolean => /\.(?:e2e|slow)\.test\.ts$/.test(file);

const atOnce = {least: 2, most: 3 * availableParallelism()};

/** A file that runs longer hangs; it is ended and counts as failed. */
const msMaxOf = (file: string): number => (isSlow(file) ? 900_000 : 60_000);

const say = (line: string): void => console.log(line);

async function main(scope = '', patterns: readonly string[]): Promise<number> {
  const busy = Number(process.env['BUSY'] || 0);
  const isComplete = {
    all: patterns.length === 0,
    quick: true,
    check: patterns.length === 1 && Number(patterns[0]) >= 0,
    files: patterns.length > 0,
  };
  if (!isScope(scope) || !isComplete[scope]) {
    console.error(
      'usage: run-tests.ts all | quick [PATTERN...] | check SECONDS | files PATTERN...',
    );
    return 2;
  }
  if (!Number.isInteger(busy) || busy < 0 || busy > 64) {
    console.error('BUSY must be a number of busy loops, at most 64');
    return 2;
  }
  const isCheck = scope === 'check';
  const files = filesOf(scope, isCheck ? [] : patterns);
  const passes = new Passes(root);
  const remembers = isCheck || scope === 'quick';
  const remembered = remembers ? passesOf(files, passes) : new Map<string, Pass>();
  using _busy = busyLoops(busy);
  const due = files.filter(file => !remembered.has(file));
  if (isCheck) due.sort((one, other) => passes.inputsOf(one) - passes.inputsOf(other));
  const secondsMax = isCheck ? Number(patterns[0]) : Infinity;
  const {outcomes, left} = await runAll(gatesFor(scope, passes), due, passes, secondsMax);
  passes.write();
  const failures = outcomes.flatMap(({failures: names}) => names);
  if (failures.length > 0) say(`\nfailed:\n${failures.map(name => `  ${name}`).join('\n')}`);
  if (remembered.size > 0) say(rememberedLine(due.length - left, [...remembered.values()]));
  if (left > 0) {
    say(`${left} files were left after ${secondsMax} s: make check goes on with them`);
  }
  const total = sumOf(outcomes.map(({counts}) => counts));
  say(closingLine(total));
  return total.failed === 0 ? 0 : 1;
}

function isScope(scope: string): scope is Scope {
  return scope === 'all' || scope === 'quick' || scope === 'check' || scope === 'files';
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
    file => scope === 'all' || named.has(file) || (scope !== 'files' && !isSlow(file)),
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

/** The gates that run; the first of them builds what servers are started from, and always does. */
function gatesFor(scope: Scope, passes: Passes): readonly Gate[] {
  if (scope === 'files') return [];
  const [build, ...others] = gatesOf(root);
  const left = others.filter(({name}) => scope === 'all' || passes.find(name) === undefined);
  const names = others.filter(gate => !left.includes(gate)).map(({name}) => name);
  if (names.length > 0) say(`passed before, and no file has changed: ${names.join(', ')}`);
  return build === undefined ? left : [build, ...left];
}

function rememberedLine(ran: number, passes: readonly Pass[]): string {
  const cases = passes.reduce((sum, pass) => sum + pass.cases, 0);
  const oldest = new Date(Math.min(...passes.map(pass => pass.at)));
  return (
    `${ran} files ran; ${passes.length} with ${cases} cases passed before, the first at ` +
    `${oldest.toISOString().slice(0, 16)}Z, and nothing that they read has changed`
  );
}

/** What a gate or a file came to, with the names of what failed. */
interface Outcome {
  readonly counts: Readonly<Counts>;
  readonly failures: readonly string[];
}

/**
 * Runs gates and files, several at once: first the gate that builds what servers are started from,
 * then the others, and files as places become free, but none later than `secondsMax` after this
 * process began. Answers the outcomes in the order given, and how many files are left.
 */
async function runAll(
  [build, ...gates]: readonly Gate[],
  files: readonly string[],
  passes: Passes,
  secondsMax: number,
): Promise<{readonly outcomes: readonly Outcome[]; readonly left: number}> {
  const outcomes: (Outcome | undefined)[] = [build && (await runGate(build))];
  const folder = mkdtempSync(join(tmpdir(), 'svc-tests-'));
  const overdue = new OverdueFiles({say});
  const runFile = async (file: string, notes: string): Promise<Outcome> => {
    overdue.began(join(root, file), msMaxOf(file));
    const outcome = await runTestFile(root, file, notes);
    overdue.ended(join(root, file));
    printFile(file, outcome);
    const {failed, passed, skipped} = outcome.counts;
    if (failed > 0) passes.forget(file);
    else passes.add(file, passed + skipped, outcome.inputs);
    return {...outcome, failures: outcome.failures.map(name => `${file}: ${name}`)};
  };
  const judge = async (gate: Gate): Promise<Outcome> => {
    const outcome = await runGate(gate);
    if (outcome.counts.passed > 0) passes.add(gate.name, 1, [wholeTree]);
    else passes.forget(gate.name);
    return outcome;
  };
  const work = [
    ...gates.map(gate => () => judge(gate)),
    ...files.map((file, at) => () => runFile(file, join(folder, String(at)))),
  ];
  let begun = 0;
  const next = (): Promise<void> | undefined => {
    const place = begun;
    const isLate = place >= gates.length && performance.now() > secondsMax * 1_000;
    const run = isLate ? undefined : work[place];
    if (run === undefined) return undefined;
    begun += 1;
    return run().then(outcome => {
      outcomes[place + 1] = outcome;
    });
  };
  try {
    await inPlaces(next, atOnce);
  } finally {
    rmSync(folder, {recursive: true, force: true});
  }
  return {outcomes: outcomes.filter(outcome => outcome !== undefined), left: work.length - begun};
}

/** Runs one gate; its output is shown when it fails. */
async function runGate({name, program, args, skips}: Gate): Promise<Outcome> {
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
  const verdict = status !== 0 ? 'failed' : skipped === undefined ? 'passed' : 'skipped';
  return {counts: {...noCounts(), [verdict]: 1}, failures: status === 0 ? [] : [name]};
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
