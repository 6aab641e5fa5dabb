/**
 * `make test` and `make check`: runs the gates and then the tests, says what it runs and how long
 * it took, shows failures in full, and closes with one line `N passed, N failed, N skipped`.
 *
 * A gate (types, lint, ...) counts as one case. `quick` leaves out files that end in .e2e.test.ts
 * or .slow.test.ts, and those alone.
 */
import {spawn} from 'node:child_process';
import {globSync} from 'node:fs';
import {dirname, join, relative} from 'node:path';
import {performance} from 'node:perf_hooks';
import {type EventData, run} from 'node:test';
import {type Gate, gatesOf} from './conventions/gates.ts';
import {OverdueFiles} from './conventions/overdue-files.ts';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

type Verdict = keyof Counts;

const root = join(import.meta.dirname, '../..');

const TOPS = ['server', 'operator', 'bench', 'examples', 'images', 'e2e'];
const PATTERNS = TOPS.map(top => `${top}/**/*.test.ts`);
const SLOW = /\.(?:e2e|slow)\.test\.ts$/;

/** Two files at a time: servers and disks of more would disturb each other's timing. */
const FILES_AT_ONCE = 2;

/** A file that runs longer hangs; it is ended and counts as failed. */
const FILE_MS_MAX = {quick: 60_000, all: 900_000};

async function main(scope: string | undefined): Promise<number> {
  if (scope !== 'all' && scope !== 'quick') {
    console.error('usage: run-tests.ts all|quick');
    return 2;
  }
  const total: Counts = {passed: 0, failed: 0, skipped: 0};
  const failures: string[] = [];
  for (const gate of gatesOf(root)) {
    const verdict = await runGate(gate);
    total[verdict]++;
    if (verdict === 'failed') failures.push(gate.name);
  }
  const files = globSync(PATTERNS, {cwd: root, exclude: ['**/node_modules/**']})
    .filter(path => scope === 'all' || !SLOW.test(path))
    .sort();
  const {passed, failed, skipped} = sum([
    total,
    await runFiles(files, FILE_MS_MAX[scope], failures),
  ]);

  if (failures.length > 0)
    console.log(`\nfailed:\n${failures.map(name => `  ${name}`).join('\n')}`);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed === 0 ? 0 : 1;
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
  console.log(`${mark} ${name} (${seconds(performance.now() - begun)}${note})`);
  if (status !== 0) process.stdout.write(output);
  return status !== 0 ? 'failed' : skipped === undefined ? 'passed' : 'skipped';
}

interface FileReport {
  readonly counts: Counts;
  readonly output: string[];
  isPrinted: boolean;
}

/** Runs test files and prints one line for each; appends the names of failed cases. */
async function runFiles(
  files: readonly string[],
  fileMsMax: number,
  failures: string[],
): Promise<Counts> {
  const reports = new Map<string, FileReport>();
  const reportOf = (path: string | undefined): FileReport => {
    const file = relative(root, path ?? '');
    const known = reports.get(file);
    if (known) return known;
    const fresh = {counts: {passed: 0, failed: 0, skipped: 0}, output: [], isPrinted: false};
    reports.set(file, fresh);
    return fresh;
  };
  const events = run({
    files: files.map(path => join(root, path)),
    concurrency: FILES_AT_ONCE,
    timeout: fileMsMax,
    cwd: root,
    execArgv: ['--conditions=source'],
  });
  const overdue = new OverdueFiles(fileMsMax);
  // Told at once, unlike what the loop below reads, which comes in the order of the files.
  events.on('test:dequeue', ({name, file}) => {
    if (name === file) overdue.began(file);
  });
  events.on('test:complete', ({name, file}) => {
    if (name === file) overdue.ended(file);
  });
  for await (const event of events) {
    if (event.type === 'test:stdout' || event.type === 'test:stderr') {
      reportOf(event.data.file).output.push(event.data.message);
    } else if (event.type === 'test:pass' && event.data.details.type !== 'suite') {
      reportOf(event.data.file).counts[isSkipped(event.data) ? 'skipped' : 'passed']++;
    } else if (event.type === 'test:fail') {
      const report = reportOf(event.data.file);
      const shown = describeFailure(event.data);
      if (shown === undefined) continue;
      report.counts[isSkipped(event.data) ? 'skipped' : 'failed']++;
      report.output.push(shown);
      if (!isSkipped(event.data)) {
        failures.push(`${relative(root, event.data.file ?? '')}: ${event.data.name}`);
      }
    } else if (event.type === 'test:summary' && event.data.file !== undefined) {
      const duration = `, ${seconds(event.data.duration_ms)}`;
      printFile(relative(root, event.data.file), reportOf(event.data.file), duration);
    }
  }
  // A file that does not load has no summary.
  for (const [file, report] of reports) if (!report.isPrinted) printFile(file, report, '');
  return sum([...reports.values()].map(({counts}) => counts));
}

function isSkipped({skip, todo}: EventData.TestPass | EventData.TestFail): boolean {
  return (skip !== undefined && skip !== false) || (todo !== undefined && todo !== false);
}

function printFile(file: string, report: FileReport, duration: string): void {
  const {counts, output} = report;
  report.isPrinted = true;
  const numbers = [
    `${counts.passed} passed`,
    ...(counts.failed > 0 ? [`${counts.failed} failed`] : []),
    ...(counts.skipped > 0 ? [`${counts.skipped} skipped`] : []),
  ];
  console.log(`${counts.failed > 0 ? 'FAIL' : 'ok  '} ${file} (${numbers.join(', ')}${duration})`);
  if (counts.failed > 0) console.log(output.join(''));
}

function sum(parts: readonly Counts[]): Counts {
  const total: Counts = {passed: 0, failed: 0, skipped: 0};
  for (const {passed, failed, skipped} of parts) {
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
  return total;
}

/** What went wrong, or undefined for a suite that failed only because a case in it did. */
function describeFailure({name, details}: EventData.TestFail): string | undefined {
  const {error} = details;
  if ((error as {failureType?: string}).failureType === 'subtestsFailed') return undefined;
  const cause = error.cause;
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : error.message;
  return `\n✖ ${name}\n${text}\n`;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

process.exitCode = await main(process.argv[2]);
