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

/**
 * Step by step, so that each record has the shortest of its ways; a seed is nobody's neighbour.
 *
 * @throws {Refusal} `argument` for an edge type that there is none of.
 */
export async function expandSeeds(
  call: SearchCall,
  catalog: Catalog,
  {edgeTypes, direction, maxDepth}: ExpandArguments,
  found: readonly string[],
): Promise<Expansion> {
  for (const name of edgeTypes ?? []) requireEdgeType(catalog, name);
  const seeds = found.slice(0, seedsMax);
  const names = (edgeTypes ?? []).map(quotedName).join(', ');
  const ways = new Map<string, readonly string[]>(seeds.map(rid => [rid, [rid]]));
  const met: ExpandedRow[] = [];
  let ends = seeds;
  for (
    let depth = 1;
    depth <= maxDepth && ends.length > 0 && met.length <= recordsMax;
    depth += 1
  ) {
    const steps = await stepsFrom(call, `${direction}(${names})`, {
      ends,
      passed: [...ways.keys()],
      most: recordsMax + 1 - met.length,
    });
    ends = steps.map(({path: [, rid]}) => rid);
    for (const {
      path: [from, rid],
    } of steps) {
      const path = [...(ways.get(from) ?? []), rid];
      ways.set(rid, path);
      met.push({rid, depth, path});
    }
  }
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

/** From a record to one that was not met before. */
interface Step {
  readonly path: readonly [string, string];
}

async function stepsFrom(
  call: SearchCall,
  along: string,
  {
    ends,
    passed,
    most,
  }: {
    readonly ends: readonly string[];
    readonly passed: readonly string[];
    readonly most: number;
  },
): Promise<readonly Step[]> {
  const {rows} = await searchRows(
    call,
    `SELECT $path.@rid AS path FROM (TRAVERSE ${along} FROM :ends MAXDEPTH 1 ` +
      'WHILE $depth = 0 OR NOT (@rid IN :passed) LIMIT :most STRATEGY BREADTH_FIRST) ' +
      'WHERE $depth > 0',
    [
      ['ends', ends.map(idOf)],
      ['passed', passed.map(idOf)],
      ['most', ends.length + most],
    ],
  );
  return JSON.parse(`[${rows}]`) as Step[];
}

function requireEdgeType(catalog: Catalog, name: string): void {
  if (/['"`\\]/u.test(name)) refuseArgument(`expand.edgeTypes: '${name}' is no name of a type`);
  if (catalog.type(name)?.kind === 'edge') return;
  const names = [...catalog.types].filter(({kind}) => kind === 'edge').map(type => type.name);
  const known = names.toSorted().join(', ');
  refuseArgument(`Edge type '${name}' does not exist. Available edge types: [${known}]`);
}
