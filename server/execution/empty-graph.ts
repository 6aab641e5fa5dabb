/** A graph without records, for expressions that stand outside of any statement. */
import type {Graph, Source} from './graph.ts';

const nothing: Source<never> = {next: () => undefined, close: () => {}};

export const emptyGraph: Graph = {
  scanType: () => nothing,
  scanColumns: () => undefined,
  scanBuckets: () => nothing,
  record: () => undefined,
  records: rids => rids.map(() => undefined),
  edgeTypes: () => undefined,
  hops: () => nothing,
  hopsBetween: () => nothing,
  hopEdges: hops => hops.map(() => undefined),
  packedEdges: () => undefined,
  degrees: vertices => ({counts: vertices.map(() => 0), next: () => false, close: () => {}}),
  typesByBucket: () => undefined,
  indexPoint: () => [],
  indexRange: () => nothing,
  indexEntries: () => nothing,
  countType: () => 0,
  isSubtype: () => false,
  typeExists: () => false,
};
