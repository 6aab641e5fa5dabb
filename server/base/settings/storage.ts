/**
 * The settings that say how records and indexes lie on the disk, and how much of it stays free.
 * Rows of the one table (../settings.ts).
 */
import {GB, KB, MB, TB, type SettingRow} from '../setting-row.ts';

export const storageRows = {
  'svc.storage.engine': {
    type: 'enum',
    values: ['auto', 'native', 'fallback'],
    default: 'auto',
    description:
      'Binding of the store; auto takes native where it is built and passes its self-test.',
  },
  'svc.storage.blockCacheSize': {
    type: 'size',
    default: 64 * MB,
    range: [MB, TB],
    description: 'Memory for blocks read from disk, shared by all databases.',
  },
  'svc.storage.writeBufferSize': {
    type: 'size',
    default: 32 * MB,
    range: [64 * KB, 4 * GB],
    description: 'Memory in which one database gathers writes before it writes them as a file.',
  },
  'svc.storage.backgroundJobs': {
    type: 'integer',
    default: 2,
    range: [1, 64],
    description: 'Files that the native store writes at once in the background, for each database.',
  },
  'svc.storage.freeSpaceMin': {
    type: 'size',
    default: 128 * MB,
    range: [MB, TB],
    description:
      'Free space on the disk, besides the next file of the log, below which writes are refused ' +
      'until there is more.',
  },
  'svc.recordSizeMax': {
    type: 'size',
    default: 16 * MB,
    range: [KB, 16 * MB],
    dynamic: true,
    description: 'Largest record as stored.',
  },
  'svc.indexKeySizeMax': {
    type: 'size',
    default: 64 * KB,
    range: [KB, MB],
    description: 'Largest key of a record in an index; larger ones are refused.',
  },
} as const satisfies Record<string, SettingRow>;
