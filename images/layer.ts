/**
 * Packs files into one layer of an image: a tar with the same bytes whenever the files are the
 * same, since nothing of this machine goes into it, neither times nor names of users.
 */
import {createHash} from 'node:crypto';
import {buffer} from 'node:stream/consumers';
import {gzipSync} from 'node:zlib';
import {type Header, pack} from 'tar-stream';
import {completed, directoryMode, fileMode, type ImageFile} from './image-file.ts';

export interface Layer {
  /** The tar under gzip, which is the form that registries and archives hold. */
  readonly bytes: Uint8Array;
  /**
   * The digest of `bytes`; the other one is that of the tar inside, which a configuration names.
   */
  readonly digest: string;
  readonly diffId: string;
  readonly unpackedBytes: number;
}

const gzipLevel = 6;

/**
 * @param time - The one time that all files get.
 * @param packed - What was packed before, by the digest of its tar: not compressed once more.
 */
export async function packLayer(
  files: readonly ImageFile[],
  time: Date,
  packed: Map<string, Layer> = new Map(),
): Promise<Layer> {
  const tar = await packTar(completed(files), time);
  const diffId = digestOf(tar);
  const before = packed.get(diffId);
  if (before !== undefined) return before;
  const bytes = gzipSync(tar, {level: gzipLevel});
  const layer = {bytes, digest: digestOf(bytes), diffId, unpackedBytes: tar.length};
  packed.set(diffId, layer);
  return layer;
}

/** A tar of `files` as they come. */
export async function packTar(files: readonly ImageFile[], time: Date): Promise<Uint8Array> {
  const archive = pack();
  const whole = buffer(archive);
  for (const file of files) {
    const bytes = Buffer.from(file.kind === 'file' ? file.bytes : []);
    await new Promise<void>((resolve, reject) => {
      const done = (error?: Error | null): void => (error ? reject(error) : resolve());
      archive.entry(headerOf(file, time), bytes, done);
    });
  }
  archive.finalize();
  return whole;
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

function headerOf(file: ImageFile, mtime: Date): Partial<Header> & {readonly name: string} {
  const owner = file.owner ?? 0;
  const common = {name: file.path.slice(1), uid: owner, gid: owner, uname: '', gname: '', mtime};
  switch (file.kind) {
    case 'directory':
      return {
        ...common,
        name: `${common.name}/`,
        type: 'directory',
        mode: file.mode ?? directoryMode,
      };
    case 'link':
      return {...common, type: 'symlink', linkname: file.target, mode: 0o777};
    default:
      return {...common, type: 'file', mode: file.mode ?? fileMode, size: file.bytes.length};
  }
}
