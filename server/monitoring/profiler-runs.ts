/**
 * The runs of the query profiler that are kept on disk: `profiler/profiler-run-<time>.json` under
 * the root path, one JSON document each, the newest fifty.
 */
import {Refusal} from '#server/base/errors.ts';
import {readWhole, writeAtomically} from '#server/platform/checked-file.ts';
import type {Disk} from '#server/platform/disk.ts';
import {fileMoment} from './moments.ts';

export interface SavedRun {
  readonly fileName: string;
  readonly size: number;
  /** Milliseconds of the wall clock. */
  readonly lastModified: number;
}

export interface ProfilerRunsOptions {
  readonly disk: Disk;
  readonly directory: string;
  /** When a file was written, milliseconds of the wall clock. */
  readonly modifiedAt: (path: string) => number;
}

const runsMax = 50;
const form = /^profiler-run-\d{8}-\d{6}(-\d+)?\.json$/;

export class ProfilerRuns {
  readonly #options: ProfilerRunsOptions;

  constructor(options: ProfilerRunsOptions) {
    this.#options = options;
  }

  /** Durable on return; the oldest runs beyond fifty are removed. */
  save(document: unknown, startTime: number): void {
    const {disk, directory} = this.#options;
    disk.makeDirectory(directory);
    const stem = `profiler-run-${fileMoment(startTime)}`;
    let name = `${stem}.json`;
    for (let at = 2; disk.exists(`${directory}/${name}`); at++) name = `${stem}-${at}.json`;
    writeAtomically(disk, `${directory}/${name}`, Buffer.from(JSON.stringify(document), 'utf8'));
    const older = this.list().slice(runsMax);
    for (const {fileName} of older) disk.unlink(`${directory}/${fileName}`);
  }

  /** The newest first. */
  list(): SavedRun[] {
    const {disk, directory, modifiedAt} = this.#options;
    return disk
      .list(directory)
      .filter(name => form.test(name))
      .map(fileName => {
        const path = `${directory}/${fileName}`;
        return {fileName, size: this.#size(path), lastModified: modifiedAt(path)};
      })
      .toSorted(
        (one, other) =>
          other.lastModified - one.lastModified || (one.fileName < other.fileName ? 1 : -1),
      );
  }

  /** @throws {Refusal} `argument` */
  load(fileName: string): unknown {
    if (/[/\\]|\.\./.test(fileName)) {
      throw new Refusal('argument', `Invalid file name: ${fileName.slice(0, 80)}`);
    }
    const {disk, directory} = this.#options;
    const path = `${directory}/${fileName}`;
    if (!form.test(fileName) || !disk.exists(path)) {
      throw new Refusal('argument', `Profiler run file not found: ${fileName.slice(0, 80)}`);
    }
    return JSON.parse(readWhole(disk, path).toString('utf8')) as unknown;
  }

  #size(path: string): number {
    const file = this.#options.disk.open(path, 'read');
    try {
      return file.size();
    } finally {
      file.close();
    }
  }
}
