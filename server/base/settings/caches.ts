/**
 * The settings that say what is kept in memory beside the stores, and which reads get a thread of
 * their own. Rows of the one table (../settings.ts).
 */
import {MB, TB, type SettingRow} from '../setting-row.ts';

export const cacheRows = {
  'svc.graphViewMemoryMax': {
    type: 'size',
    default: 512 * MB,
    range: [0, TB],
    dynamic: true,
    description:
      'Memory for edges that are kept packed where they are read again and again; 0 keeps none.',
  },
  'svc.scanWorkers': {
    type: 'integer',
    default: -1,
    range: [-1, 64],
    description:
      'Threads for long reads, one each, started when needed; 0 for none, -1 for one a ' +
      'statement that may run at once, as far as each has 128 MB of memory.',
  },
  'svc.scanWorkerCostMin': {
    type: 'integer',
    default: 50_000,
    range: [0, 1_000_000_000],
    dynamic: true,
    description:
      'Estimated steps (records passed over in a scan, about a quarter of a microsecond) from ' +
      'which on a read takes a thread of its own.',
  },
  'svc.columnViewMemoryMax': {
    type: 'size',
    default: 512 * MB,
    range: [0, TB],
    dynamic: true,
    description:
      'Memory for columns that are kept of scanned types and of ranges of indexes, so that sums ' +
      'and groups over many records need not read them again; 0 keeps none.',
  },
  'svc.searchMemoryMax': {
    type: 'size',
    default: 256 * MB,
    range: [0, TB],
    dynamic: true,
    description:
      'Memory for decoded lists of full-text and sparse indexes, 7 bytes a posting; without it ' +
      'searches read the store.',
  },
  'svc.vectorIndexMemoryMax': {
    type: 'size',
    default: 1024 * MB,
    range: [0, TB],
    dynamic: true,
    description:
      'Memory for the vectors and graphs of dense vector indexes; an index that does not fit is ' +
      'not kept, and each search measures all its entries. 0 keeps none.',
  },
  'svc.sparseVectorScoringWindow': {
    type: 'integer',
    default: 16_384,
    range: [0, 1 << 24],
    dynamic: true,
    description:
      'Records whose sparse vectors are scored at once; 0: one block of 128 after the other.',
  },
  'svc.sparseVectorScoringMinPostingsForPartitioning': {
    type: 'integer',
    default: 50_000,
    range: [1, 1_000_000_000],
    dynamic: true,
    description:
      'Postings of a sparse search from which on its records are split into parts of so many; ' +
      'those that could score most are searched first.',
  },
  'svc.columnViewRecordsMin': {
    type: 'integer',
    default: 10_000,
    range: [1, 1_000_000_000],
    dynamic: true,
    description:
      'Of types with fewer records no columns are kept: reading them is fast enough. Of an index ' +
      'none before so many of its entries were asked for.',
  },
} as const satisfies Record<string, SettingRow>;
