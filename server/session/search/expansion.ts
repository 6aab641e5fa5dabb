/** The vertices around the seeds of a hybrid search, breadth first, with the way to each. */
import type {ShownSchema} from '#server/catalog/shown-schema.ts';
import {type ExpandArguments, refuseArgument} from './search-arguments.ts';
import {quotedName} from './search-rows.ts';

export const seedsMax = 256;
const recordsMax = 2_000;
/** Records of a step: where it begins, what it meets, and one to know of more. */
const visitsMax = 2 * recordsMax + 2;

export interface ExpandedRow {
  readonly rid: string;
  readonly depth: number;
  /** The records from the seed to this one. */
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

/** A step from a record to one that was not met before. */
export interface Step {
  readonly path: readonly [string, string];
}

/**
 * Variables of SQL for the steps from `$seeds`, one a depth: each record has the shortest of its
 * ways, and a seed is nobody's neighbour. The last one, `$expand`, holds the records of all steps.
 *
 * @throws {Refusal} `argument` for an edge type that there is none of.
 */
export function expansionVariables(
  shown: ShownSchema,
  {edgeTypes, direction, maxDepth}: ExpandArguments,
): readonly string[] {
  for (const name of edgeTypes ?? []) requireEdgeType(shown, name);
  const along = `${direction}(${(edgeTypes ?? []).map(quotedName).join(', ')})`;
  const steps = stepNames(maxDepth);
  const variables = steps.map((step, at) => {
    const ends = at === 0 ? '$seeds' : `$${steps[at - 1]}.rid`;
    const passed = ['$seeds', ...steps.slice(0, at).map(name => `$${name}.rid`)];
    const met = at === 0 ? '$seeds' : `unionall(${passed.join(', ')})`;
    return (
      `$${step} = (SELECT @rid AS rid, $path.@rid AS path FROM (TRAVERSE ${along} FROM ${ends} ` +
      `MAXDEPTH 1 WHILE $depth = 0 OR NOT (@rid IN ${met}) LIMIT ${visitsMax} ` +
      'STRATEGY BREADTH_FIRST) WHERE $depth > 0)'
    );
  });
  const all = steps.map(step => `$${step}`).join(', ');
  const rows = steps.length === 1 ? all : `unionall(${all})`;
  return [...variables, `$expand = (SELECT rid FROM (SELECT expand(${rows})) LIMIT ${recordsMax})`];
}

export function stepNames(maxDepth: number): readonly string[] {
  return Array.from({length: maxDepth}, (_none, at) => `step${at + 1}`);
}

/** The ways of the steps, those of a depth behind those of the one before. */
export function expansionOf(
  {edgeTypes, direction, maxDepth}: ExpandArguments,
  seeds: readonly string[],
  steps: readonly (readonly Step[])[],
): Expansion {
  const starts = seeds.slice(0, seedsMax);
  const ways = new Map<string, readonly string[]>(starts.map(rid => [rid, [rid]]));
  const met: ExpandedRow[] = [];
  for (const [at, step] of steps.entries()) {
    for (const {
      path: [from, rid],
    } of step) {
      const path = [...(ways.get(from) ?? []), rid];
      ways.set(rid, path);
      met.push({rid, depth: at + 1, path});
    }
  }
  const rows = met.slice(0, recordsMax);
  return {
    rows,
    summary: {
      direction,
      edgeTypes: edgeTypes ?? [],
      maxDepth,
      truncated: met.length > rows.length,
      seedCount: starts.length,
      seedsTruncated: seeds.length > starts.length,
      count: rows.length,
    },
  };
}

function requireEdgeType(shown: ShownSchema, name: string): void {
  if (/['"`\\]/u.test(name)) refuseArgument(`expand.edgeTypes: '${name}' is no name of a type`);
  const type = shown.catalog.type(name);
  if (type?.kind === 'edge' && shown.isShown(type.id)) return;
  const known = shown
    .ofKind('edge')
    .map(edge => edge.name)
    .join(', ');
  refuseArgument(`Edge type '${name}' does not exist. Available edge types: [${known}]`);
}
