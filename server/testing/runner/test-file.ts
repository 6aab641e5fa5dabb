/**
 * Runs one test file in a process of its own and says what became of its cases.
 *
 * A case counts for the file that ran it, wherever its `test()` call stands: each file has a run of
 * node's test runner for itself, so every event of the run is the file's. A file in which no case
 * ran has failed: it asserted nothing.
 */
import {join} from 'node:path';
import {performance} from 'node:perf_hooks';
import {type EventData, run} from 'node:test';
import {pathToFileURL} from 'node:url';
import {type Counts, noCounts} from './counts.ts';
import {type Notes, readNotes} from './inputs.ts';

export interface FileOutcome extends Notes {
  readonly counts: Readonly<Counts>;
  /** Names of failed cases. */
  readonly failures: readonly string[];
  /** What the file printed, and each failure in full, in the order in which they came. */
  readonly output: string;
  readonly ms: number;
}

const quickLoading = pathToFileURL(join(import.meta.dirname, 'quick-loading.ts'));
const compiled = join(import.meta.dirname, '../../../.cache/tests');

/**
 * Runs `file`, a path below `root`, which notes its inputs (inputs.ts) in the file at `notes`.
 * Whoever must not wait for it forever ends its process.
 */
export async function runTestFile(root: string, file: string, notes: string): Promise<FileOutcome> {
  const begun = performance.now();
  const counts = noCounts();
  const failures: string[] = [];
  const output: string[] = [];
  const path = join(root, file);
  const execArgv = ['--conditions=source', '--import', loadingUrl(notes)];
  const env = {...process.env, NODE_COMPILE_CACHE: compiled};
  // What node tells of a file beside its cases, such as an error that came after them.
  const told = new Set<string>();
  const events = run({files: [path], concurrency: 1, cwd: root, execArgv, env});
  for await (const event of events) {
    if (event.type === 'test:stdout' || event.type === 'test:stderr') {
      output.push(event.data.message);
    } else if (event.type === 'test:diagnostic') {
      if (event.data.file !== undefined) told.add(event.data.message);
    } else if (event.type === 'test:pass') {
      // Of a file without cases node says that the file itself passed.
      if (event.data.details.type === 'suite' || event.data.name === path) continue;
      counts[isSkipped(event.data) ? 'skipped' : 'passed'] += 1;
    } else if (event.type === 'test:fail') {
      const isFile = event.data.name === path;
      const shown = isFile ? describeEnd(event.data, told) : describeFailure(event.data);
      if (shown === undefined) continue;
      output.push(shown);
      counts[isSkipped(event.data) ? 'skipped' : 'failed'] += 1;
      if (!isSkipped(event.data)) failures.push(isFile ? file : event.data.name);
    }
  }
  if (counts.passed + counts.failed + counts.skipped === 0) {
    counts.failed = 1;
    failures.push('no case ran');
    output.push('\n✖ no case ran: the file asserts nothing\n');
  }
  const ms = performance.now() - begun;
  return {counts, failures, output: output.join(''), ms, ...readNotes(notes)};
}

/** The address of a module that loads quick-loading.ts and tells it where to note. */
function loadingUrl(notes: string): string {
  const text =
    `import {noteTo} from ${JSON.stringify(quickLoading.href)};` +
    `noteTo(${JSON.stringify(notes)});`;
  return `data:text/javascript,${encodeURIComponent(text)}`;
}

function isSkipped({skip, todo}: EventData.TestPass | EventData.TestFail): boolean {
  return (skip !== undefined && skip !== false) || (todo !== undefined && todo !== false);
}

/** What went wrong, or undefined for a suite that failed only because a case in it did. */
function describeFailure({name, details}: EventData.TestFail): string | undefined {
  const {error} = details;
  if ((error as {failureType?: string}).failureType === 'subtestsFailed') return undefined;
  const cause = error.cause;
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : error.message;
  return `\n✖ ${name}\n${text}\n`;
}

/** How the process of a file ended that failed beside its cases, and what node told of it. */
function describeEnd(failure: EventData.TestFail, told: ReadonlySet<string>): string | undefined {
  const {exitCode, signal} = failure.details.error as {exitCode?: number; signal?: string | null};
  const shown = describeFailure(failure);
  if (shown === undefined || exitCode === undefined) return shown;
  const how = signal === null || signal === undefined ? `exit code ${exitCode}` : signal;
  return `${shown}its process ended with ${how}\n${[...told].join('\n')}\n`;
}
