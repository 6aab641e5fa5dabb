/** The vertices around the seeds of a hybrid search, breadth first, with the way to each. */
import type {Catalog} from '#server/catalog/catalog.ts';
import {type ExpandArguments, refuseArgument} from './search-arguments.ts';
import {idOf, quotedName, type SearchCall, searchRows} from './search-rows.ts';

const seedsMax = 256;
const recordsMax = 2_000;

export interface ExpandedRow {
  readonly rid: string;
  readonly depth: number;
  /** From the seed to the record. */
  readonly path: readonly string[];
}

export interface Expansion {
  readonly rows: readonly ExpandedRow[];
  readonly summary: {
    readonly direction: string;
    readonly edgeTypes: readonly string[];
    readonly maxDepth: number;
    readonly truncated: boolean;
    readonly seedCount: number;
    readonly seedsTruncated: boolean;
    readonly count: number;
  };
}

/** @throws {Refusal} `argument` for an edge type that there is none of. */
export async function expandSeeds(
  call: SearchCall,
  catalog: Catalog,
  {edgeTypes, direction, maxDepth}: ExpandArguments,
  found: readonly string[],
): Promise<Expansion> {
  for (const name of edgeTypes ?? []) requireEdgeType(catalog, name);
  const seeds = found.slice(0, seedsMax);
  const names = (edgeTypes ?? []).map(quotedName).join(', ');
  const {rows} = await searchRows(
    call,
    'SELECT @rid AS rid, $depth AS depth, $path.@rid AS path FROM ' +
      `(TRAVERSE ${direction}(${names}) FROM :seeds MAXDEPTH ${maxDepth} ` +
      'LIMIT :most STRATEGY BREADTH_FIRST) WHERE $depth > 0',
    [
      ['seeds', seeds.map(rid => idOf(rid))],
      ['most', seeds.length + recordsMax + 1],
    ],
  );
  const met = JSON.parse(`[${rows}]`) as ExpandedRow[];
  const kept = met.slice(0, recordsMax);
  return {
    rows: kept,
    summary: {
      direction,
      edgeTypes: edgeTypes ?? [],
      maxDepth,
      truncated: met.length > kept.length,
      seedCount: seeds.length,
      seedsTruncated: found.length > seeds.length,
      count: kept.length,
    },
  };
}

function requireEdgeType(catalog: Catalog, name: string): void {
  if (/['"`\\]/u.test(name)) refuseArgument(`expand.edgeTypes: '${name}' is no name of a type`);
  if (catalog.type(name)?.kind === 'edge') return;
  const names = [...catalog.types].filter(({kind}) => kind === 'edge').map(type => type.name);
  const known = names.toSorted().join(', ');
  refuseArgument(`Edge type '${name}' does not exist. Available edge types: [${known}]`);
}
