/**
 * Small files that are read and replaced as a whole: a crash leaves the old content or the new.
 *
 * A checked file is one line that names its kind, version and checksum, and JSON behind it.
 */
import {crc32} from 'node:zlib';
import {Corruption, Refusal} from '#server/base/errors.ts';
import type {Disk} from './disk.ts';

export interface CheckedFileOptions {
  readonly disk: Disk;
  readonly path: string;
  /** First word of the file. */
  readonly kind: string;
  readonly version: number;
  /** The oldest version that is read; absent: no other one. */
  readonly versionMin?: number;
  /** What an operator calls it: "the server store". */
  readonly title: string;
}

export class CheckedFile<Content> {
  readonly #options: CheckedFileOptions;

  constructor(options: CheckedFileOptions) {
    this.#options = options;
  }

  /**
   * Undefined when there is none.
   *
   * @throws {Corruption} when it is not what was written.
   * @throws {Refusal} `start.refused` when it is of another version.
   */
  load(): Content | undefined {
    const {disk, path, kind, version, versionMin = version, title} = this.#options;
    if (!disk.exists(path)) return undefined;
    const text = readWhole(disk, path).toString('utf8');
    const lineEnd = text.indexOf('\n');
    const json = text.slice(lineEnd + 1);
    const [foundKind, foundVersion, checksum] = text.slice(0, lineEnd).split(' ');
    if (foundKind !== kind || checksum !== checksumOf(json)) {
      throw new Corruption(`${title} ${path} is damaged: restore it from a copy`, {path});
    }
    if (!(Number(foundVersion) >= versionMin && Number(foundVersion) <= version)) {
      throw new Refusal(
        'start.refused',
        `${title} ${path} was written in version ${foundVersion}, and this release reads ` +
          `version ${version}: start the release that wrote it, or a later one`,
      );
    }
    return JSON.parse(json) as Content;
  }

  /** Durable on return. */
  save(content: Content): void {
    const {disk, path, kind, version} = this.#options;
    const json = JSON.stringify(content);
    const bytes = Buffer.from(`${kind} ${version} ${checksumOf(json)}\n${json}`, 'utf8');
    writeAtomically(disk, path, bytes);
  }
}

function checksumOf(json: string): string {
  return crc32(json).toString(16).padStart(8, '0');
}

export function readWhole(disk: Disk, path: string): Buffer {
  const file = disk.open(path, 'read');
  try {
    const bytes = Buffer.alloc(file.size());
    return bytes.subarray(0, file.readAt(bytes, 0));
  } finally {
    file.close();
  }
}

/** Replaces a file as a whole: a crash leaves the old content or the new. Durable on return. */
export function writeAtomically(disk: Disk, path: string, bytes: Uint8Array): void {
  const temporary = `${path}.new`;
  const directory = path.slice(0, path.lastIndexOf('/'));
  const file = disk.open(temporary, 'create');
  try {
    file.truncate(0);
    file.writeAt(bytes, 0);
    file.sync();
  } finally {
    file.close();
  }
  disk.rename(temporary, path);
  disk.syncDirectory(directory);
}
