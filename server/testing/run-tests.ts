/**
 * `make test` and `make check`: runs the gates and then the tests, says what it runs and how long
 * it took, shows failures in full, and closes with one line `N passed, N failed, N skipped`.
 *
 * A gate (types, lint, ...) counts as one case. `quick` leaves out the files that end in
 * .e2e.test.ts or .slow.test.ts, and those alone, but for the ones that further patterns name;
 * `files` runs the files that patterns name, and no gate.
 */
import {spawn} from 'node:child_process';
import {globSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {performance} from 'node:perf_hooks';
import {type Gate, gatesOf} from './conventions/gates.ts';
import {busyLoops} from './runner/busy-loops.ts';
import {closingLine, type Counts, noCounts, seconds, sumOf, type Verdict} from './runner/counts.ts';
import {OverdueFiles} from './runner/overdue-files.ts';
import {type FileOutcome, runTestFile} from './runner/test-file.ts';

type Scope = 'all' | 'quick' | 'files';

/** The working directory: make runs this in the repository, its test in a folder of its own. */
const root = process.cwd();

const folders = ['server', 'operator', 'bench', 'examples', 'images', 'e2e'];
const isSlow = (file: string): boolean => /\.(?:e2e|slow)\.test\.ts$/.test(file);

/** A file of calculations fills a processor; one with servers mostly waits for disks and clocks. */
const filesAtOnce = {quick: 2, slow: 3};

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
  using _busy = busyLoops(busy);
  const gates = scope === 'files' ? [] : gatesOf(root);
  const failures: string[] = [];
  const parts: Readonly<Counts>[] = [];
  const [build, ...others] = gates;
  const judge = async (gate: Gate): Promise<void> => {
    const verdict = await runGate(gate);
    parts.push({...noCounts(), [verdict]: 1});
    if (verdict === 'failed') failures.push(gate.name);
  };
  // The gates behind the build only read, and most of them have one thread.
  if (build !== undefined) await judge(build);
  const half = async (): Promise<void> => {
    for (let gate = others.shift(); gate !== undefined; gate = others.shift()) await judge(gate);
  };
  await Promise.all([half(), half()]);
  const outcomes = await runFiles(files);
  for (const [file, {counts, failures: names}] of outcomes) {
    parts.push(counts);
    failures.push(...names.map(name => `${file}: ${name}`));
  }
  if (failures.length > 0) say(`\nfailed:\n${failures.map(name => `  ${name}`).join('\n')}`);
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
async function runFiles(files: readonly string[]): Promise<readonly [string, FileOutcome][]> {
  const outcomes: [string, FileOutcome][] = [];
  const overdue = new OverdueFiles({say});
  const slow = files.filter(isSlow);
  const quick = files.filter(file => !isSlow(file));
  const work = async (_: unknown, place: number): Promise<void> => {
    const next = (): string | undefined =>
      slow.shift() ?? (place < filesAtOnce.quick ? quick.shift() : undefined);
    for (let file = next(); file !== undefined; file = next()) {
      overdue.began(join(root, file), msMaxOf(file));
      const outcome = await runTestFile(root, file);
      overdue.ended(join(root, file));
      outcomes.push([file, outcome]);
      printFile(file, outcome);
    }
  };
  await Promise.all(Array.from({length: filesAtOnce.slow}, work));
  return outcomes.sort(([one], [other]) => (one < other ? -1 : 1));
}

function printFile(file: string, {counts, output, ms}: FileOutcome): void {
  const numbers = [
    `${counts.passed} passed`,
    ...(counts.failed > 0 ? [`${counts.failed} failed`] : []),
    ...(counts.skipped > 0 ? [`${counts.skipped} skipped`] : []),
    seconds(ms),
  ];
  say(`${counts.failed > 0 ? 'FAIL' : 'ok  '} ${file} (${numbers.join(', ')})`);
  if (counts.failed > 0) say(output);
}

process.exitCode = await main(process.argv[2], process.argv.slice(3));
