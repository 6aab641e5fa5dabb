/**
 * `make bench CLASS=W2 ROUNDS=7`: runs one workload class against its peers and prints the figures.
 *
 * Exit code 0 when every gate holds, 1 when one does not or the run failed, 2 for a wrong class.
 */
import {batchClass} from './batch/batch.ts';
import {importCsv} from './import/csv.ts';
import {linksClass} from './links/links.ts';
import {readsBesideAnalysis} from './mixed/reads-beside-analysis.ts';
import {crowd} from './network/crowd.ts';
import {groupOfOne, metricsOnAndOff, pairs} from './pairs/pairs.ts';
import {Report} from './report.ts';
import {statementCosts} from './statement/costs.ts';
import {storeClass} from './store/store.ts';
import {pointReads} from './W1/point-reads.ts';
import {replicatedMembers} from './W15/members.ts';
import {replicatedWrites} from './W15/replicated-writes.ts';
import {failover} from './W16/failover.ts';
import {followerReads} from './W17/follower-reads.ts';
import {snapshotInstall} from './W18/snapshot-install.ts';
import {archives} from './W19/archives.ts';
import {backupMemory, besideBackup} from './W19/writers.ts';
import {durableInserts} from './W2/durable-inserts.ts';
import {insertGrowth} from './W2/growth.ts';
import {memorySlope} from './W2/memory-slope.ts';
import {starts} from './W20/starts.ts';
import {agentQueries} from './W21/agent-queries.ts';
import {hotRows} from './W3/hot-rows.ts';
import {bulkEdges} from './W4/bulk-edges.ts';
import {hops} from './W5/hops.ts';
import {hubEdges} from './W5/hub.ts';
import {lsqb} from './W5/lsqb.ts';
import {ownHops} from './W5/own-hops.ts';
import {networkPatterns} from './W5/patterns.ts';
import {denseRecall} from './recall/recall.ts';
import {growthOfDense, growthOfSparse, growthOfText} from './search/growth.ts';
import {searchRestart, vectorMemory} from './search/standing.ts';
import {denseSearch, filteredSearch} from './W10/vectors.ts';
import {sparseSearch} from './W12/sparse.ts';
import {hybridSearch} from './W13/hybrid.ts';
import {rangeSums} from './W7/range-sums.ts';
import {scans} from './W8/scans.ts';
import {textSearch} from './W9/text.ts';
import type {BenchOptions} from './bench-options.ts';

type BenchClass = (report: Report, options: BenchOptions) => Promise<void>;

const classes: Readonly<Record<string, BenchClass>> = {
  W1: pointReads,
  W2: async (report, options) => {
    await durableInserts(report, options);
    await insertGrowth(report, options);
  },
  'W2-inserts': durableInserts,
  'W2-growth': insertGrowth,
  'W2-memory': memorySlope,
  W3: hotRows,
  W4: bulkEdges,
  W5: async (report, options) => {
    await networkPatterns(report, options);
    await hops(report, options);
    await ownHops(report, options);
    await lsqb(report, options);
    await hubEdges(report);
  },
  hops,
  'own-hops': ownHops,
  lsqb,
  hub: hubEdges,
  W7: rangeSums,
  W8: scans,
  W9: textSearch,
  W10: denseSearch,
  W11: filteredSearch,
  W12: sparseSearch,
  W13: hybridSearch,
  recall: denseRecall,
  'growth-text': growthOfText,
  'growth-dense': growthOfDense,
  'growth-sparse': growthOfSparse,
  'search-memory': vectorMemory,
  'search-restart': searchRestart,
  W15: replicatedWrites,
  'W15-members': replicatedMembers,
  W16: failover,
  W17: followerReads,
  W18: snapshotInstall,
  W19: async (report, options) => {
    await archives(report, options);
    await besideBackup(report, options);
  },
  'W19-archives': archives,
  'W19-writers': besideBackup,
  'W19-memory': backupMemory,
  W20: starts,
  W21: agentQueries,
  mixed: readsBesideAnalysis,
  links: linksClass,
  store: storeClass,
  statement: statementCosts,
  batch: batchClass,
  import: importCsv,
  pairs,
  crowd,
  metrics: metricsOnAndOff,
  'group-of-one': groupOfOne,
};

/** A positive whole number from the environment. */
function wholeNumber(name: string, fallback: number): number {
  const text = process.env[name];
  if (text === undefined || text === '') return fallback;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new Error(`${name}=${text} is no positive whole number`);
}

const name = process.env['CLASS'] || (process.argv[2] ?? '');
const run = classes[name];
if (run === undefined) {
  process.stderr.write(
    `bench: there is no class '${name}': choose one of ${Object.keys(classes).join(', ')}\n`,
  );
  process.exitCode = 2;
} else {
  const report = new Report(text => process.stdout.write(text));
  try {
    await run(report, {
      rounds: wholeNumber('ROUNDS', 7),
      seconds: wholeNumber('SECONDS', 2),
      megabytes: wholeNumber('SIZE', 2_000),
    });
    if (!report.finish()) process.exitCode = 1;
  } catch (error) {
    process.stderr.write(`bench ${name} failed: ${error instanceof Error ? error.stack : error}\n`);
    process.exitCode = 1;
  }
}
