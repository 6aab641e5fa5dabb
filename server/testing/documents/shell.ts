/**
 * Runs the shell blocks of one document in one shell, in their order, as a reader would.
 *
 * Only the ports differ from what the document says, so that tests and servers do not meet, and
 * passwords are hashed in fewer rounds. The shell runs in a process group of its own, which is
 * ended with it: no block leaves a server.
 */
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import type {Example} from './blocks.ts';

const repository = resolve(import.meta.dirname, '../../..');
const documentedPort = /\b2480\b/g;
const documentedRaftPort = /\b2434\b/g;

export interface Ran {
  readonly example: Example;
  readonly output: string;
  /** Exit status of its last command; undefined when the shell did not come so far. */
  readonly status: number | undefined;
}

export interface ShellOptions {
  readonly port: number;
  /** Replaces the port between members; default: the documented one stays. */
  readonly raftPort?: number;
  readonly millisMax: number;
  /** Commands that run before the first block. */
  readonly before?: string;
}

/** Runs the examples; `errors` is what all of them wrote to their standard error. */
export async function runShell(
  examples: readonly Example[],
  {port, raftPort = 2434, millisMax, before = ''}: ShellOptions,
): Promise<{readonly ran: readonly Ran[]; readonly errors: string}> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-document-'));
  const parts = examples.map(
    ({block}, index) => `${block.text}\nprintf '\\n<<end ${index} %s>>\\n' "$?"\n`,
  );
  const script = [before, ...parts]
    .join('\n')
    .replaceAll(documentedPort, String(port))
    .replaceAll(documentedRaftPort, String(raftPort));
  const child = spawn('sh', ['-c', script], {
    cwd: repository,
    detached: true,
    env: {...process.env, SVC_SERVER_SALTITERATIONS: '1000', TMPDIR: folder},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = {stdout: '', stderr: ''};
  child.stdout.on('data', chunk => (texts.stdout += String(chunk)));
  child.stderr.on('data', chunk => (texts.stderr += String(chunk)));
  const group = -(child.pid ?? 0);
  const timer = setTimeout(() => endGroup(group), millisMax);
  await new Promise(done => child.once('exit', done));
  clearTimeout(timer);
  endGroup(group);
  rmSync(folder, {recursive: true, force: true, maxRetries: 5});
  let rest = texts.stdout;
  const ran = examples.map((example, index): Ran => {
    const end = new RegExp(`\\n<<end ${index} (\\d+)>>\\n`).exec(rest);
    if (end === null) return {example, output: rest, status: undefined};
    const output = rest.slice(0, end.index);
    rest = rest.slice(end.index + end[0].length);
    return {example, output, status: Number(end[1])};
  });
  return {ran, errors: texts.stderr};
}

/** Ends what the shell left running: processes of its own group, by its own id. */
function endGroup(group: number): void {
  if (group === 0) return;
  try {
    process.kill(group, 'SIGKILL');
  } catch {
    // Nothing was left.
  }
}
