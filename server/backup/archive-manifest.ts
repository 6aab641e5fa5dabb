/**
 * `manifest.json`, the last entry of an archive: what is in it, file by file, with checksums.
 *
 * An archive without it is cut off or made by another program. In an encrypted archive it carries a
 * signature, so that nobody without the key can change a byte unnoticed.
 */
import {Refusal} from '#server/base/errors.ts';

export const manifestName = 'manifest.json';
export const manifestBytesMax = 64 << 20;

export interface ArchiveManifest {
  readonly database: string;
  /** The release of the server that made it. */
  readonly release: string;
  /** The format level in which the database is written (engine/formats). */
  readonly formatLevel: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** The place in the log up to which every commit is in it. */
  readonly index: number;
  readonly files: readonly ArchivedFile[];
}

export interface ArchivedFile {
  readonly name: string;
  readonly bytes: number;
  /** Hexadecimal digits. */
  readonly sha256: string;
}

const kind = 'svc-backup';
/** The version of the archive; the database's format has a level of its own. */
const archiveVersion = 1;
const fileNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;
const digestPattern = /^[0-9a-f]{64}$/;

export function encodeManifest(manifest: ArchiveManifest, sign?: (text: string) => string): Buffer {
  const text = signedText(manifest);
  const signature = sign === undefined ? {} : {signature: sign(text)};
  const head = {kind, version: archiveVersion, ...signature};
  return Buffer.from(JSON.stringify({...head, ...manifest}, undefined, 1), 'utf8');
}

/**
 * @param isSigned - Of an encrypted archive.
 * @throws {Refusal} `backup.archive` when it is none, or one of a newer release.
 */
export function decodeManifest(
  bytes: Buffer,
  isSigned?: (text: string, signature: string) => boolean,
): ArchiveManifest {
  const value = parsed(bytes);
  if (value['kind'] !== kind) throw damaged('it was made by another program');
  const version = value['version'];
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 1) {
    throw damaged('its version is not a number');
  }
  if (version > archiveVersion) {
    throw damaged(
      `it is of version ${version}, and this release reads version ${archiveVersion}: restore it ` +
        'with the release that made it',
    );
  }
  const manifest: ArchiveManifest = {
    database: textIn(value, 'database'),
    release: textIn(value, 'release'),
    formatLevel: countIn(value, 'formatLevel'),
    createdAt: countIn(value, 'createdAt'),
    index: countIn(value, 'index'),
    files: filesIn(value),
  };
  if (isSigned === undefined) return manifest;
  if (isSigned(signedText(manifest), textIn(value, 'signature'))) return manifest;
  throw damaged('its signature is not that of the key');
}

/** Everything that the signature is over, in one order. */
function signedText({database, release, formatLevel, createdAt, index, files}: ArchiveManifest) {
  const rows = files.map(({name, bytes, sha256}) => [name, bytes, sha256]);
  return JSON.stringify([database, release, formatLevel, createdAt, index, rows]);
}

function parsed(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw damaged('it is not JSON');
}

function filesIn(value: Readonly<Record<string, unknown>>): readonly ArchivedFile[] {
  const {files} = value;
  if (!Array.isArray(files) || files.length === 0) throw damaged('it lists no files');
  const names = new Set<string>();
  return files.map((file: unknown) => {
    const row = typeof file === 'object' && file !== null ? (file as Record<string, unknown>) : {};
    const name = textIn(row, 'name');
    if (!fileNamePattern.test(name) || name === manifestName || names.has(name)) {
      throw damaged(`it lists the file '${name.slice(0, 80)}', which cannot be one`);
    }
    names.add(name);
    const sha256 = textIn(row, 'sha256');
    if (!digestPattern.test(sha256)) throw damaged(`the checksum of ${name} is none`);
    return {name, bytes: countIn(row, 'bytes'), sha256};
  });
}

function textIn(value: Readonly<Record<string, unknown>>, field: string): string {
  const found = value[field];
  if (typeof found === 'string' && found.length <= 1_000) return found;
  throw damaged(`its ${field} is missing`);
}

function countIn(value: Readonly<Record<string, unknown>>, field: string): number {
  const found = value[field];
  if (typeof found === 'number' && Number.isSafeInteger(found) && found >= 0) return found;
  throw damaged(`its ${field} is missing`);
}

function damaged(why: string): Refusal {
  return new Refusal('backup.archive', `the archive's ${manifestName} cannot be used: ${why}`, {
    detail: {entry: manifestName},
  });
}
