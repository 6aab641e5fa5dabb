/**
 * `merge.*` and `refactor.*`: records found or else made by labels, types and properties that are
 * data; nodes made into one, or made again with their relationships.
 *
 * Each call sees what the calls before it wrote. A type that does not exist yet is asked for
 * (missing-prerequisites.ts).
 */
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {labelsOf} from '#server/model/labels.ts';
import type {MapValue, RecordValue, Rid, Value} from '#server/model/value.ts';
import type {ExecutionContext} from '../context.ts';
import {isSame} from '../expressions/strict-operators.ts';
import type {FunctionFamily} from '../function-registry.ts';
import type {Source} from '../graph.ts';
import {allHops} from '../operators/hops/follow.ts';
import {ridKey} from '../operators/hops/vertex-ids.ts';
import {madeBy, writesOf} from '../operators/writes/write-input.ts';
import {requireLabels, MissingTypes} from '../missing-prerequisites.ts';
import {checkOptions, mapAt, refuse, textAt, textsAt, vertexAt, verticesAt} from './arguments.ts';

function mergeNode(args: readonly Value[], context: ExecutionContext): RecordValue {
  const labels = textsAt(args, 0, 'the labels');
  const identity = mapAt(args, 1, 'the identity', context);
  const type = requireLabels(labels, context.graph);
  const found = findVertex(type, identity, context);
  if (found !== undefined)
    return updated(found, mapAt(args, 3, 'what is matched', context), context);
  const properties = new Map([...identity, ...mapAt(args, 2, 'what is created', context)]);
  context.counts.propertiesSet += properties.size;
  context.counts.labelsAdded += labelsOf(type).length;
  return madeBy(context, {what: 'vertex', type, bucket: undefined, properties});
}

/**
 * Finds the vertex by the index that asks for most of the properties, else among all of the type.
 */
function findVertex(
  type: string,
  identity: MapValue,
  context: ExecutionContext,
): RecordValue | undefined {
  const {graph, catalog} = context;
  const index = bestIndex(catalog.requireType(type), identity);
  if (index === undefined) {
    const source = graph.scanType(type, true, {descending: false});
    return firstOf(source, record => hasAll(record, identity), context);
  }
  const key = index.properties.map(property => identity.get(property.name) ?? null);
  const records = graph.records(graph.indexPoint(index.name, key));
  return records.find(
    record =>
      record !== undefined && graph.isSubtype(record.typeName, type) && hasAll(record, identity),
  );
}

function bestIndex(type: CatalogType, identity: MapValue): IndexDefinition | undefined {
  const isUsable = ({state, properties}: IndexDefinition): boolean =>
    state === 'ready' &&
    properties.every(({name, by}) => by === undefined && (identity.get(name) ?? null) !== null);
  return [...type.indexes]
    .filter(isUsable)
    .sort((a, b) => b.properties.length - a.properties.length)[0];
}

function firstOf(
  source: Source<RecordValue>,
  fits: (record: RecordValue) => boolean,
  context: ExecutionContext,
): RecordValue | undefined {
  try {
    for (let part = source.next(1_024); part !== undefined; part = source.next(1_024)) {
      const found = part.find(fits);
      if (found !== undefined) return found;
      context.budget.spend(part.length + 1);
    }
    return undefined;
  } finally {
    source.close();
  }
}

function hasAll(record: RecordValue, identity: MapValue): boolean {
  for (const [name, value] of identity) {
    if (isSame(record.get(name) ?? null, value) !== true) return false;
  }
  return true;
}

function updated(record: RecordValue, values: MapValue, context: ExecutionContext): RecordValue {
  if (values.size === 0) return record;
  const properties = new Map([...record.properties(), ...values]);
  context.counts.propertiesSet += values.size;
  return writesOf(context).replace(record.rid, properties, {applyDefaults: false}) ?? record;
}

function mergeRelationship(args: readonly Value[], context: ExecutionContext): RecordValue {
  const from = vertexAt(args, 0, 'the start', context).rid;
  const type = textAt(args, 1, 'the type');
  const identity = mapAt(args, 2, 'the identity', context);
  const to = vertexAt(args, 4, 'the end', context).rid;
  if (type === '') refuse('a relationship needs a type');
  if (!context.graph.typeExists(type)) {
    throw new MissingTypes([{name: type, kind: 'edge', superTypes: []}]);
  }
  const found = edgesBetween(from, to, type, context).find(edge => hasAll(edge, identity));
  if (found !== undefined)
    return updated(found, mapAt(args, 5, 'what is matched', context), context);
  const properties = new Map([...identity, ...mapAt(args, 3, 'what is created', context)]);
  context.counts.propertiesSet += properties.size;
  return madeBy(context, {what: 'edge', type, bucket: undefined, properties, from, to});
}

function edgesBetween(
  from: Rid,
  to: Rid,
  type: string,
  context: ExecutionContext,
): readonly RecordValue[] {
  const wanted = ridKey(to);
  const hops = allHops([from], {direction: 'out', types: [type]}, context);
  const between = hops.filter(hop => ridKey(hop.other) === wanted);
  return context.graph.hopEdges(between, [from]).filter(edge => edge !== undefined);
}

const conflictRules = ['overwrite', 'discard', 'combine'];

/** The first node stays; it takes over the properties, labels and relationships of the others. */
function mergeNodes(args: readonly Value[], context: ExecutionContext): RecordValue {
  const [first, ...others] = distinct(verticesAt(args, 0, 'the nodes', context));
  if (first === undefined) return refuse('there is no node to be made one of');
  const options = mapAt(args, 1, 'the configuration', context);
  checkOptions(options, ['properties'], 'refactor.mergeNodes');
  const rule = options.get('properties') ?? 'overwrite';
  if (typeof rule !== 'string' || !conflictRules.includes(rule)) {
    refuse(`properties is one of ${conflictRules.join(', ')}`);
  }
  const properties = new Map(first.properties());
  for (const other of others) {
    for (const [name, value] of other.properties()) {
      properties.set(name, resolved(properties.get(name), value, rule));
    }
  }
  const labels = [first, ...others].flatMap(node => labelsOf(node.typeName));
  const type = requireLabels(labels, context.graph);
  for (const other of others) copyEdges(other.rid, first.rid, context);
  for (const other of others) writesOf(context).delete(other);
  const writes = writesOf(context);
  writes.retype(first.rid, type);
  context.counts.propertiesSet += properties.size;
  return writes.replace(first.rid, properties, {applyDefaults: false}) ?? first;
}

function distinct(nodes: readonly RecordValue[]): readonly RecordValue[] {
  return [...new Map(nodes.map(node => [ridKey(node.rid), node])).values()];
}

function resolved(known: Value | undefined, value: Value, rule: Value): Value {
  if (known === undefined || rule === 'overwrite') return value;
  if (rule === 'discard' || isSame(known, value) === true) return known;
  return [...(Array.isArray(known) ? (known as readonly Value[]) : [known]), value];
}

/** An edge's ends are part of it: at another vertex it is another edge. */
function copyEdges(vertex: Rid, to: Rid, context: ExecutionContext): void {
  const own = ridKey(vertex);
  const moved = (end: Rid): Rid => (ridKey(end) === own ? to : end);
  for (const direction of ['out', 'in'] as const) {
    const hops = allHops([vertex], {direction, types: []}, context)
      // A loop is met both ways and copied once.
      .filter(hop => direction === 'out' || ridKey(hop.other) !== own);
    const edges = context.graph.hopEdges(hops, [vertex]);
    for (const edge of edges) {
      if (edge?.from === undefined || edge.to === undefined) continue;
      madeBy(context, {
        what: 'edge',
        type: edge.typeName,
        bucket: undefined,
        properties: edge.properties(),
        from: moved(edge.from),
        to: moved(edge.to),
      });
      context.budget.spend(8);
    }
  }
}

/** A copy of each node, with copies of its relationships to the same others. */
function* cloneNodes(
  args: readonly Value[],
  context: ExecutionContext,
): Generator<readonly Value[], void, undefined> {
  const options = mapAt(args, 1, 'the configuration', context);
  checkOptions(options, [], 'refactor.cloneNodesWithRelationships');
  for (const node of distinct(verticesAt(args, 0, 'the nodes', context))) {
    const {typeName: type} = node;
    const properties = node.properties();
    const requested = {what: 'vertex', type, bucket: undefined, properties} as const;
    const copy = madeBy(context, requested);
    context.counts.propertiesSet += properties.size;
    context.counts.labelsAdded += labelsOf(type).length;
    copyEdges(node.rid, copy.rid, context);
    yield [node, copy, null];
  }
}

export const mergeProcedures: FunctionFamily = {
  tables: {
    'merge.node': {outputs: ['node'], rows: (args, context) => [[mergeNode(args, context)]]},
    'merge.relationship': {
      outputs: ['rel'],
      rows: (args, context) => [[mergeRelationship(args, context)]],
    },
    'refactor.mergeNodes': {
      outputs: ['node'],
      rows: (args, context) => [[mergeNodes(args, context)]],
    },
    'refactor.cloneNodesWithRelationships': {
      outputs: ['input', 'output', 'error'],
      rows: cloneNodes,
    },
  },
};
