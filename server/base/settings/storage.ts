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
    scope: 'server',
    dynamic: false,
    description:
      'Binding of the store; auto takes native where it is built and passes its self-test.',
  },
  'svc.storage.blockCacheSize': {
    type: 'size',
    default: 64 * MB,
    min: MB,
    max: TB,
    scope: 'server',
    dynamic: false,
    description: 'Memory for blocks read from disk, shared by all databases.',
  },
  'svc.storage.writeBufferSize': {
    type: 'size',
    default: 32 * MB,
    min: 64 * KB,
    max: 4 * GB,
    scope: 'server',
    dynamic: false,
    description: 'Memory in which one database gathers writes before it writes them as a file.',
  },
  'svc.storage.backgroundJobs': {
    type: 'integer',
    default: 2,
    min: 1,
    max: 64,
    scope: 'server',
    dynamic: false,
    description: 'Files that the native store writes at once in the background, for each database.',
  },
  'svc.storage.freeSpaceMin': {
    type: 'size',
    default: 128 * MB,
    min: MB,
    max: TB,
    scope: 'server',
    dynamic: false,
    description:
      'Free space on the disk, besides the next file of the log, below which writes are refused ' +
      'until there is more.',
  },
  'svc.recordSizeMax': {
    type: 'size',
    default: 16 * MB,
    min: KB,
    max: 16 * MB,
    scope: 'server',
    dynamic: true,
    description: 'Largest record as stored.',
  },
  'svc.indexKeySizeMax': {
    type: 'size',
    default: 64 * KB,
    min: KB,
    max: MB,
    scope: 'server',
    dynamic: false,
    description: 'Largest key of a record in an index; larger ones are refused.',
  },
} as const satisfies Record<string, SettingRow>;
