/**
 * The options of one backup or restore, as commands and statements give them by name. An unknown
 * one is refused: it would be believed to have had an effect.
 * Source: docs/backup.md.
 */
import {Refusal} from '#server/base/errors.ts';
import {archiveNameFault} from './archive-name.ts';
import {
  type BackupPlan,
  compressionLevelDefault,
  compressionThreadsDefault,
} from './backup-document.ts';

export interface BackupOptions {
  /** Undefined: named by the moment. */
  readonly fileName: string | undefined;
  readonly compressionLevel: number;
  readonly compressionThreads: number;
  readonly maxMBPerSecond: number | undefined;
  /** Undefined: not encrypted. */
  readonly password: string | undefined;
}

const names = [
  'encryptionAlgorithm',
  'encryptionKey',
  'compressionLevel',
  'compressionThreads',
  'maxMBPerSecond',
] as const;

/** @throws {Refusal} `argument`, naming the option. */
export function readBackupOptions(
  given: ReadonlyMap<string, unknown>,
  fileName?: string,
): BackupOptions {
  for (const name of given.keys()) {
    if (!names.some(known => known === name)) {
      throw new Refusal('argument', `there is no option '${name}': ${names.join(', ')} are known`);
    }
  }
  return {
    fileName: fileName === undefined ? undefined : plainName(fileName),
    compressionLevel: numberIn(given, 'compressionLevel', 0, 9) ?? compressionLevelDefault,
    compressionThreads: numberIn(given, 'compressionThreads', 1, 16) ?? compressionThreadsDefault,
    maxMBPerSecond: numberIn(given, 'maxMBPerSecond', 0.01, 1_000_000),
    password: passwordIn(given),
  };
}

/** Derives the options of a scheduled backup. */
export function optionsOf(plan: BackupPlan): BackupOptions {
  const {compressionLevel, compressionThreads, maxMBPerSecond} = plan;
  const name = {fileName: undefined, password: undefined};
  return {...name, compressionLevel, compressionThreads, maxMBPerSecond};
}

/** @throws {Refusal} `argument` for another algorithm, one without a key, or a key of nothing. */
export function passwordIn(given: ReadonlyMap<string, unknown>): string | undefined {
  const key = given.get('encryptionKey');
  const algorithm = given.get('encryptionAlgorithm');
  if (algorithm !== undefined && (typeof algorithm !== 'string' || !/^AES$/i.test(algorithm))) {
    throw new Refusal('argument', 'encryptionAlgorithm must be AES: there is no other one');
  }
  if (key === undefined && algorithm !== undefined) {
    throw new Refusal('argument', 'encryptionAlgorithm needs an encryptionKey beside it');
  }
  if (key === undefined) return undefined;
  if (typeof key === 'string' && key !== '') return key;
  throw new Refusal('argument', 'encryptionKey must be a text of at least one character');
}

function numberIn(
  given: ReadonlyMap<string, unknown>,
  name: (typeof names)[number],
  least: number,
  most: number,
): number | undefined {
  const value = given.get(name);
  if (value === undefined) return undefined;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  const isWhole = name === 'maxMBPerSecond' || Number.isInteger(number);
  if (typeof number === 'number' && isWhole && number >= least && number <= most) return number;
  const kind = name === 'maxMBPerSecond' ? 'number' : 'whole number';
  throw new Refusal('argument', `${name} must be a ${kind} from ${least} to ${most}`);
}

/** Archives lie in the directory of their database; `file://` before the name changes nothing. */
function plainName(url: string): string {
  const name = url.startsWith('file://') ? url.slice('file://'.length) : url;
  const fault = archiveNameFault(name);
  if (fault !== undefined) throw new Refusal('argument', fault);
  return name;
}
