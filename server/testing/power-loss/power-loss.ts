/**
 * Power losses of real processes: run a program with its disk calls recorded, then rebuild its
 * directory as a power loss after any of them could have left it.
 *
 * The recorder is a library preloaded into the program (power-loss/shim.c, Linux with a C
 * compiler); the program says what it does and was promised by marks. A test reopens what was
 * rebuilt and asks whether every promise was kept.
 */
import {execFileSync, spawn} from 'node:child_process';
import {once} from 'node:events';
import {
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeSync,
} from 'node:fs';
import {join} from 'node:path';
import type {Random} from '#server/platform/clock.ts';
import {DiskModel} from './disk-model.ts';
import {decodeRecording, type DiskEvent} from './recording.ts';

export interface Recording {
  /** The directory whose calls were recorded, as the program saw it. */
  readonly root: string;
  readonly events: readonly DiskEvent[];
}

export interface RecordedProgram {
  /** A TypeScript file, run from source. */
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
  /** An empty directory for the recorder's files and, below it, the program's root. */
  readonly workspace: string;
}

/** Why programs cannot be recorded here; undefined when they can. */
export function recordingObstacle(): string | undefined {
  if (process.platform !== 'linux') return 'recording needs Linux';
  try {
    execFileSync('cc', ['--version'], {stdio: 'ignore'});
    return undefined;
  } catch {
    return 'recording needs a C compiler (cc)';
  }
}

/**
 * Runs the program to its end and returns its disk calls. The program finds its directory in
 * SVC_RECORD_ROOT; it exists and is empty.
 */
export async function recordProgram(options: RecordedProgram): Promise<Recording> {
  const workspace = realpathSync(options.workspace);
  const root = join(workspace, 'root');
  const file = join(workspace, 'recording');
  const shim = join(workspace, 'shim.so');
  mkdirSync(root);
  const source = join(import.meta.dirname, 'shim.c');
  execFileSync('cc', ['-O1', '-shared', '-fPIC', '-o', shim, source, '-ldl', '-lpthread']);
  const child = spawn(process.execPath, ['--conditions=source', options.program], {
    env: {
      ...process.env,
      ...options.environment,
      LD_PRELOAD: shim,
      SVC_RECORD_ROOT: root,
      SVC_RECORD_FILE: file,
      // Its thread would write to the disk past the recorder.
      UV_USE_IO_URING: '0',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (code !== 0) throw new Error(`the recorded program ended with ${code ?? signal}`);
  const recording = {root, events: decodeRecording(readFileSync(file))};
  rmSync(file);
  return recording;
}

/** Writes marks of the recorded program into the recording. */
export function createMarker(root: string): (text: string) => void {
  const descriptor = openSync(join(root, 'marks'), 'a');
  return text => {
    writeSync(descriptor, text);
  };
}

/** The marks among the first `eventCount` events. */
export function marksOf(recording: Recording, eventCount: number): string[] {
  const marks: string[] = [];
  for (const event of recording.events.slice(0, eventCount)) {
    if (event.kind === 'mark') marks.push(event.text);
  }
  return marks;
}

/**
 * Builds in the new directory `target` what a power loss after the first `eventCount` events may
 * have left of the root; `random` chooses which of the possible states.
 */
export function rebuild(
  recording: Recording,
  options: {readonly eventCount: number; readonly random: Random; readonly target: string},
): void {
  if (existsSync(options.target)) throw new Error(`${options.target} exists`);
  const model = new DiskModel(recording.root);
  for (const event of recording.events.slice(0, options.eventCount)) model.apply(event);
  model.crash(options.random, options.target);
}
