/**
 * `path.*`: paths and neighbourhoods from a node outwards, by filters and levels.
 *
 * `expand` and `expandConfig` give every path that uses no relationship twice; `spanningTree` and
 * the subgraphs reach each node once, over a least number of relationships. Breadth first unless
 * `bfs` is false. Cost: of a path the nodes it touches; each path kept counts against the memory
 * of the statement.
 */
import {
  type MapValue,
  PathValue,
  type RecordValue,
  type Rid,
  type Value,
} from '#server/model/value.ts';
import type {ExecutionContext} from '../context.ts';
import type {FunctionFamily} from '../function-registry.ts';
import type {Hop} from '../graph.ts';
import {allHops} from '../operators/hops/follow.ts';
import {type RidKey, ridKey} from '../operators/hops/vertex-ids.ts';
import {checkOptions, countAt, mapAt, refuse, textAt, vertexAt} from './arguments.ts';
import {type HopRule, hopRules, LabelFilter} from './path-filter.ts';

interface Search {
  readonly start: RecordValue;
  readonly rules: readonly HopRule[];
  readonly labels: LabelFilter;
  readonly levelMin: number;
  readonly levelMax: number | undefined;
  readonly breadthFirst: boolean;
  readonly limit: number | undefined;
  /** Each node once, or each relationship once a path. */
  readonly unique: 'node' | 'relationship';
}

/** A path, as its last step and the path before it. */
interface Walked {
  readonly node: RecordValue;
  readonly edge: Rid | undefined;
  readonly before: Walked | undefined;
  readonly level: number;
}

const walkedBytes = 160;
const optionNames = ['relationshipFilter', 'labelFilter', 'minLevel', 'maxLevel', 'bfs', 'limit'];

function searchOf(
  name: string,
  args: readonly Value[],
  context: ExecutionContext,
  unique: Search['unique'],
): Search {
  const options = mapAt(args, 1, `the configuration of ${name}`, context);
  checkOptions(options, optionNames, name);
  const bfs = options.get('bfs') ?? true;
  if (typeof bfs !== 'boolean') refuse('bfs is true or false');
  return {
    start: vertexAt(args, 0, 'the start', context),
    rules: hopRules(textOf(options, 'relationshipFilter'), context),
    labels: new LabelFilter(textOf(options, 'labelFilter'), context),
    levelMin: countAt(options.get('minLevel'), 'minLevel', 0) ?? 0,
    levelMax: countAt(options.get('maxLevel'), 'maxLevel', undefined),
    breadthFirst: bfs === true,
    limit: countAt(options.get('limit'), 'limit', undefined),
    unique,
  };
}

function textOf(options: MapValue, name: string): string {
  return textAt([options.get(name) ?? null], 0, name);
}

/** The paths that are answers, in the order they are met. */
function* walk(search: Search, context: ExecutionContext): Generator<Walked, void, undefined> {
  const {
    start,
    labels,
    levelMin,
    levelMax,
    breadthFirst,
    limit = Number.POSITIVE_INFINITY,
  } = search;
  const seen = new Set<RidKey>([ridKey(start.rid)]);
  const agenda: Walked[] = [{node: start, edge: undefined, before: undefined, level: 0}];
  let [head, kept, answers] = [0, 0, 0];
  try {
    for (;;) {
      const path = breadthFirst ? agenda[head++] : agenda.pop();
      if (path === undefined || answers >= limit) return;
      const {node, level} = path;
      if (level >= levelMin && labels.mayEndAt(node)) {
        answers++;
        yield path;
      }
      const isLast = level > 0 && labels.stopsAt(node);
      if (isLast || (levelMax !== undefined && level >= levelMax)) continue;
      for (const next of steps(path, search, context)) {
        if (search.unique === 'node') {
          const key = ridKey(next.node.rid);
          if (seen.has(key)) continue;
          seen.add(key);
        }
        context.budget.keep(walkedBytes);
        kept += walkedBytes;
        agenda.push(next);
      }
    }
  } finally {
    context.budget.release(kept);
  }
}

function steps(path: Walked, search: Search, context: ExecutionContext): readonly Walked[] {
  const hops = hopsFrom([path.node.rid], search.rules, context).filter(
    hop => !uses(path, hop.edge),
  );
  const nodes = context.graph.records(hops.map(hop => hop.other));
  context.budget.spend(hops.length + 1);
  return hops.flatMap((hop, at): Walked[] => {
    const node = nodes[at];
    if (node === undefined || !search.labels.admits(node)) return [];
    return [{node, edge: hop.edge, before: path, level: path.level + 1}];
  });
}

/** Every edge once, whatever rules and directions lead over it. */
function hopsFrom(
  rids: readonly Rid[],
  rules: readonly HopRule[],
  context: ExecutionContext,
): readonly Hop[] {
  const found = new Map<string, Hop>();
  for (const rule of rules) {
    for (const hop of allHops(rids, rule, context)) {
      const key = `${hop.source}/${ridKey(hop.edge)}`;
      if (!found.has(key)) found.set(key, hop);
    }
  }
  return [...found.values()];
}

function uses(path: Walked, edge: Rid): boolean {
  const wanted = ridKey(edge);
  for (let at: Walked | undefined = path; at !== undefined; at = at.before) {
    if (at.edge !== undefined && ridKey(at.edge) === wanted) return true;
  }
  return false;
}

function pathOf(walked: Walked): PathValue {
  const elements: (Rid | RecordValue)[] = [];
  for (let at: Walked | undefined = walked; at !== undefined; at = at.before) {
    elements.push(at.node);
    if (at.edge !== undefined) elements.push(at.edge);
  }
  return new PathValue(elements.reverse());
}

function* paths(
  search: Search,
  context: ExecutionContext,
): Generator<readonly Value[], void, undefined> {
  for (const path of walk(search, context)) yield [pathOf(path)];
}

/** `(start, relationshipFilter, labelFilter, minLevel, maxLevel)`. */
function expandOptions(args: readonly Value[]): readonly Value[] {
  const [start = null, relationshipFilter = null, labelFilter = null, minLevel, maxLevel] = args;
  const options = new Map<string, Value>([
    ['relationshipFilter', relationshipFilter],
    ['labelFilter', labelFilter],
    ['minLevel', minLevel ?? null],
    ['maxLevel', maxLevel ?? null],
  ]);
  return [start, options];
}

/** All nodes within reach, and the relationships among them that the filter names. */
function subgraph(search: Search, context: ExecutionContext): readonly Value[] {
  const nodes = [...walk(search, context)].map(path => path.node);
  const inside = new Set(nodes.map(node => ridKey(node.rid)));
  const rids = nodes.map(node => node.rid);
  const edges = new Map<RidKey, Hop>();
  for (const hop of hopsFrom(rids, search.rules, context)) {
    if (inside.has(ridKey(hop.other))) edges.set(ridKey(hop.edge), hop);
  }
  const records = context.graph.hopEdges([...edges.values()], rids);
  return [nodes, records.filter(edge => edge !== undefined)];
}

export const pathProcedures: FunctionFamily = {
  tables: {
    'path.expand': {
      outputs: ['path'],
      rows: (args, context) =>
        paths(searchOf('path.expand', expandOptions(args), context, 'relationship'), context),
    },
    'path.expandConfig': {
      outputs: ['path'],
      rows: (args, context) =>
        paths(searchOf('path.expandConfig', args, context, 'relationship'), context),
    },
    'path.spanningTree': {
      outputs: ['path'],
      rows: (args, context) => paths(searchOf('path.spanningTree', args, context, 'node'), context),
    },
    'path.subgraphNodes': {
      outputs: ['node'],
      *rows(args, context) {
        const search = searchOf('path.subgraphNodes', args, context, 'node');
        for (const {node} of walk(search, context)) yield [node];
      },
    },
    'path.subgraphAll': {
      outputs: ['nodes', 'relationships'],
      rows: (args, context) => [
        subgraph(searchOf('path.subgraphAll', args, context, 'node'), context),
      ],
    },
  },
};
