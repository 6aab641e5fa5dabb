/**
 * `node.*`, `rel.*`, `path.*` and `create.*`: what vertices, edges and paths are made of.
 *
 * Vertices and edges that `create.vNode` and `create.vRelationship` make are documents without
 * an identity; nothing is stored.
 */
import {base64Text} from '#server/model/base64.ts';
import {EmbeddedValue, PathValue, RecordValue, Rid, type Value} from '#server/model/value.ts';
import {ridsEqual} from '#server/model/rid.ts';
import type {Direction} from '#server/plan/node.ts';
import {itemsOf} from '../expressions/access.ts';
import {describe} from '../expressions/arithmetic.ts';
import type {CallContext} from '../context.ts';
import {degreeOf} from '../stored/hop-counts.ts';
import type {FunctionFamily, ScalarFunction} from '../function-registry.ts';
import {
  argument,
  integerAt,
  itemsAt,
  mapAt,
  namesFrom,
  refuse,
  ridAt,
  textAt,
} from './arguments.ts';
import {randomUuid, uuidBytes} from './general.ts';
import {collectHops, knownEdgeTypes} from './hops.ts';

function recordAt(args: readonly Value[], name: string, call: CallContext): RecordValue {
  const value = argument(args, 0);
  const record = value instanceof Rid ? call.graph.record(value) : value;
  return record instanceof RecordValue
    ? record
    : refuse(`${name} needs a record, not ${describe(value)}`);
}

function degree(name: string, direction: Direction): ScalarFunction {
  return (args, call) => {
    const vertex = ridAt(args, 0, name);
    const {names, step} = relationships(args, direction);
    const known = knownEdgeTypes(names, call);
    return known === undefined
      ? 0
      : degreeOf(call.graph, vertex, {direction: step, types: known.types});
  };
}

/** `KNOWS`, `KNOWS>`, `<KNOWS`, `KNOWS|LIKES`: types of edges with a direction. */
function relationships(
  args: readonly Value[],
  direction: Direction,
): {readonly names: readonly string[]; readonly step: Direction} {
  const texts = namesFrom(args, 1).flatMap(text => text.split('|'));
  const out = texts.some(text => text.endsWith('>'));
  const incoming = texts.some(text => text.startsWith('<'));
  const step = out === incoming ? direction : out ? 'out' : 'in';
  return {names: texts.map(text => text.replace(/^<|>$/g, '')).filter(Boolean), step};
}

function relationshipTypes(args: readonly Value[], call: CallContext): Value {
  const {names, step} = relationships(args, 'both');
  const known = knownEdgeTypes(names, call);
  if (known === undefined) return [];
  const vertex = ridAt(args, 0, 'node.relationship.types');
  const hops = collectHops([vertex], {direction: step, types: known.types}, call);
  const ids = new Set(hops.map(hop => hop.typeId));
  return [...ids].map(id => call.catalog.typeById(id)?.name ?? null);
}

function labels(args: readonly Value[], call: CallContext): Value {
  const {typeName} = recordAt(args, 'node.labels', call);
  return call.catalog.type(typeName)?.lineage.map(type => type.name) ?? [typeName];
}

function edgeEnd(name: string, end: 'from' | 'to'): ScalarFunction {
  return (args, call) => {
    const rid = recordAt(args, name, call)[end];
    return rid === undefined ? null : (call.graph.record(rid) ?? null);
  };
}

function pathAt(args: readonly Value[], at: number, name: string): PathValue {
  const value = argument(args, at);
  return value instanceof PathValue
    ? value
    : refuse(`${name} needs a path, not ${describe(value)}`);
}

function ridOf(element: Rid | RecordValue): Rid {
  return element instanceof Rid ? element : element.rid;
}

/** Each edge must go on where the path ends so far, in either direction. */
function createPath(args: readonly Value[], call: CallContext): PathValue {
  const start = recordAt(args, 'path.create', call);
  const elements: (Rid | RecordValue)[] = [start];
  let here = start.rid;
  for (const item of itemsAt(args, 1)) {
    const edge = recordAt([item], 'path.create', call);
    const {from, to} = edge;
    if (from === undefined || to === undefined) return refuse('a path is made of edges');
    const next = ridsEqual(from, here) ? to : ridsEqual(to, here) ? from : undefined;
    if (next === undefined) return refuse('an edge of the path does not begin where it is');
    elements.push(edge, next);
    here = next;
  }
  return new PathValue(elements);
}

function combine(args: readonly Value[]): PathValue {
  const first = pathAt(args, 0, 'path.combine').elements;
  const second = pathAt(args, 1, 'path.combine').elements;
  const [last, begin] = [first.at(-1), second[0]];
  if (last === undefined || begin === undefined || !ridsEqual(ridOf(last), ridOf(begin))) {
    refuse('the second path must begin where the first one ends');
  }
  return new PathValue([...first, ...second.slice(1)]);
}

function slice(args: readonly Value[]): PathValue {
  const {elements} = pathAt(args, 0, 'path.slice');
  const edges = (elements.length - 1) / 2;
  const from = integerAt(args, 1, 'path.slice');
  if (from < 0 || from > edges) refuse(`the path has no vertex ${from}`);
  const count = integerAt(args, 2, 'path.slice', edges - from);
  return new PathValue(
    elements.slice(2 * from, 2 * Math.min(from + Math.max(count, 0), edges) + 1),
  );
}

function virtualNode(args: readonly Value[], call: CallContext): Value {
  const label = itemsOf(argument(args, 0))?.[0] ?? argument(args, 0);
  return new EmbeddedValue(textAt([label], 0), mapAt(args, 1, 'create.vNode', call));
}

function virtualRelationship(args: readonly Value[], call: CallContext): Value {
  const properties = mapAt(args, 2, 'create.vRelationship', call);
  return new EmbeddedValue(
    textAt(args, 1),
    new Map<string, Value>([
      ['@out', argument(args, 0)],
      ['@in', argument(args, 3)],
      ...properties,
    ]),
  );
}

export const graphViews: FunctionFamily = {
  scalars: {
    'node.degree': degree('node.degree', 'both'),
    'node.degree.in': degree('node.degree.in', 'in'),
    'node.degree.out': degree('node.degree.out', 'out'),
    'node.id': args => ridAt(args, 0, 'node.id'),
    'node.labels': labels,
    'node.relationship.exists': (args, call) =>
      Number(degree('node.relationship.exists', 'both')(args, call)) > 0,
    'node.relationship.types': relationshipTypes,
    'rel.id': args => ridAt(args, 0, 'rel.id'),
    'rel.type': (args, call) => recordAt(args, 'rel.type', call).typeName,
    'rel.startNode': edgeEnd('rel.startNode', 'from'),
    'rel.endNode': edgeEnd('rel.endNode', 'to'),
    'path.create': createPath,
    'path.combine': combine,
    'path.elements': args => pathAt(args, 0, 'path.elements').elements,
    'path.slice': slice,
    'create.uuid': (_, {random}) => randomUuid(random),
    'create.uuidBase64': (_, {random}) =>
      base64Text(uuidBytes(random)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''),
    'create.vNode': virtualNode,
    'create.vRelationship': virtualRelationship,
  },
};
