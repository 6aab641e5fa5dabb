/**
 * Server events on disk: `server-event-log-<start>.<n>.jsonl`, one JSON object a line, new for each
 * start and beyond a size, the newest ten.
 *
 * Events must not become the failure that they report: a disk that takes no line is told once, in
 * the log, and the next event is tried again.
 */
import {Refusal} from '#server/base/errors.ts';
import {MB} from '#server/base/setting-row.ts';
import {readWhole} from '#server/platform/checked-file.ts';
import type {Disk, File} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import {fileMoment} from './moments.ts';
import type {ServerEvent} from './server-event.ts';

export interface EventFilesOptions {
  readonly disk: Disk;
  readonly directory: string;
  /** Wall clock, milliseconds; part of the names. */
  readonly startedAt: number;
  readonly logger: Logger;
  /** The size beyond which the next file is begun. */
  readonly fileBytesMax?: number;
}

const filesMax = 10;
const form = /^server-event-log-\d{8}-\d{6}\.\d+\.jsonl$/;

export class EventFiles {
  readonly #options: EventFilesOptions;
  readonly #bytesMax: number;
  #file: File | undefined;
  #bytes = 0;
  #number = 0;
  #isFailing = false;

  constructor(options: EventFilesOptions) {
    this.#options = options;
    this.#bytesMax = options.fileBytesMax ?? 8 * MB;
  }

  /** Writes one line; it is not synced. Never throws. */
  append(event: ServerEvent): void {
    const bytes = Buffer.from(`${JSON.stringify(event)}\n`, 'utf8');
    try {
      if (this.#file !== undefined && this.#bytes + bytes.length > this.#bytesMax) this.#endFile();
      this.#file ??= this.#begin();
      this.#file.writeAt(bytes, this.#bytes);
      this.#bytes += bytes.length;
      this.#isFailing = false;
    } catch (error) {
      if (this.#isFailing) return;
      this.#isFailing = true;
      const {logger, directory} = this.#options;
      logger.log('warn', 'events.not-written', {directory, reason: String(error)});
    }
  }

  /** Names of the files, the newest first. */
  list(): string[] {
    const {disk, directory} = this.#options;
    return disk
      .list(directory)
      .filter(name => form.test(name))
      .toSorted(newestFirst);
  }

  /**
   * The events of a file, oldest first; none where there is no such file. A line that was cut by a
   * crash is left out.
   *
   * @throws {Refusal} `user.invalid` for a name with a path in it.
   */
  read(name: string): ServerEvent[] {
    requirePlainName(name);
    const {disk, directory} = this.#options;
    const path = `${directory}/${name}`;
    if (!form.test(name) || !disk.exists(path)) return [];
    return readWhole(disk, path).toString('utf8').split('\n').flatMap(eventIn);
  }

  close(): void {
    this.#endFile();
  }

  #endFile(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #begin(): File {
    const {disk, directory, startedAt} = this.#options;
    disk.makeDirectory(directory);
    const stem = `${directory}/server-event-log-${fileMoment(startedAt)}`;
    while (disk.exists(`${stem}.${this.#number}.jsonl`)) this.#number += 1;
    const file = disk.open(`${stem}.${this.#number}.jsonl`, 'create-new');
    this.#bytes = 0;
    for (const name of this.list().slice(filesMax)) disk.unlink(`${directory}/${name}`);
    return file;
  }
}

function eventIn(line: string): ServerEvent[] {
  try {
    return line === '' ? [] : [JSON.parse(line) as ServerEvent];
  } catch {
    return [];
  }
}

/** Orders files by the moment of the start, then by number. */
function newestFirst(one: string, other: string): number {
  const [oneStart = '', oneNumber = ''] = one.split('.');
  const [otherStart = '', otherNumber = ''] = other.split('.');
  if (oneStart !== otherStart) return oneStart < otherStart ? 1 : -1;
  return Number(otherNumber) - Number(oneNumber);
}

/** @throws {Refusal} `user.invalid` for a name with a path in it. */
export function requirePlainName(name: string): void {
  if (!/[/\\]|\.\./.test(name)) return;
  throw new Refusal('user.invalid', `Invalid file name ${name.slice(0, 80)}`);
}
