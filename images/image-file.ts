/**
 * The files of an image as values: what lies where, with which mode, owned by whom.
 *
 * A list of them is all that a layer is made of (layer.ts); where the bytes came from is forgotten
 * here. Paths are those of the image, absolute, without a trailing slash.
 */
import {existsSync, readdirSync, readFileSync, statSync} from 'node:fs';
import {join} from 'node:path';

export type ImageFile = {
  readonly path: string;
  /** User and group alike. Default: root, whose files a server can read and not change. */
  readonly owner?: number;
} & (
  | {readonly kind: 'directory'; readonly mode?: number}
  | {readonly kind: 'file'; readonly bytes: Uint8Array; readonly mode?: number}
  | {readonly kind: 'link'; readonly target: string}
);

export const directoryMode = 0o755;
export const fileMode = 0o644;
export const programMode = 0o755;

export function directory(path: string, options: Pick<ImageFile, 'owner'> = {}): ImageFile {
  return {kind: 'directory', path, ...options};
}

export function text(path: string, content: string, mode: number = fileMode): ImageFile {
  return {kind: 'file', path, mode, bytes: Buffer.from(content)};
}

/** One file of this machine; links are followed, and what may be executed stays so. */
export function copied(from: string, path: string): ImageFile {
  const mode = (statSync(from).mode & 0o111) === 0 ? fileMode : programMode;
  return {kind: 'file', path, mode, bytes: readFileSync(from)};
}

/** Everything under the folder `from` that `accepts` takes, by its path from there. */
export function copiedTree(
  from: string,
  path: string,
  accepts: (name: string) => boolean = () => true,
): ImageFile[] {
  if (!existsSync(from)) throw new Error(`${from} is not there`);
  return readdirSync(from, {withFileTypes: true})
    .filter(entry => accepts(entry.name))
    .flatMap(entry => {
      const source = join(from, entry.name);
      const target = join(path, entry.name);
      if (statSync(source).isDirectory()) return copiedTree(source, target, accepts);
      return [copied(source, target)];
    });
}

/**
 * `files` in the order of their paths, with every directory that they need in front of them, so
 * that equal sets of files are equal lists.
 */
export function completed(files: readonly ImageFile[]): ImageFile[] {
  const byPath = new Map<string, ImageFile>();
  for (const file of files) {
    if (!file.path.startsWith('/')) throw new Error(`${file.path} is no path of an image`);
    if (byPath.has(file.path)) throw new Error(`${file.path} is in the image twice`);
    byPath.set(file.path, file);
  }
  for (const {path} of files) {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const parent = path.slice(0, end);
      if (!byPath.has(parent)) byPath.set(parent, directory(parent));
    }
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}
