/**
 * A graph whose reads and writes fire triggers: for every language, plan and function at once, as
 * they all reach data through `Graph` and `WritableGraph`.
 *
 * A BEFORE trigger that forbids keeps what it was called for from happening: a record is not made,
 * changed or deleted, and its row is left out; a read one is not there. What cannot be left out is
 * refused: an edge, and the edges that a vertex would take along. What an AFTER trigger says has no
 * effect. Triggers fire in order of their creation, and each meets what those before it set.
 * A catalog without triggers never pays for it, a type without triggers a look at an empty list.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {RecordEvent, TriggerDefinition} from '#server/catalog/definition.ts';
import type {Graph, Hop, NewRecord, ScanOrder, WritableGraph} from '#server/execution/graph.ts';
import {ridText} from '#server/model/rid.ts';
import type {MapValue, RecordValue, Rid, Value} from '#server/model/value.ts';
import type {EdgeRemoval} from '#server/records/records.ts';
import type {RecordImages, TriggerVerdict} from './javascript-programs.ts';
import {readableEntries} from '../database/readable-entries.ts';

export type Fire = (trigger: TriggerDefinition, images: RecordImages) => TriggerVerdict;

/** Whether anything fires on one of the events. */
export function hasTriggers(catalog: Catalog, events: readonly RecordEvent[]): boolean {
  return catalog.triggers.some(trigger => events.includes(trigger.event));
}

/** `graph` is the one that fires nothing. */
export function firingWrites(
  writes: WritableGraph,
  graph: Graph,
  catalog: Catalog,
  fire: Fire,
): WritableGraph {
  return new FiringWrites(writes, graph, catalog, fire);
}

export function firingReads(graph: Graph, catalog: Catalog, fire: Fire): Graph {
  const reads = (record: RecordValue): boolean => {
    const triggers = catalog.type(record.typeName)?.triggers ?? [];
    const images = {record, oldRecord: null};
    for (const trigger of firing(triggers, 'before', 'read')) {
      if (fire(trigger, images).forbids) return false;
    }
    for (const trigger of firing(triggers, 'after', 'read')) fire(trigger, images);
    return true;
  };
  const readable = (record: RecordValue | undefined): RecordValue | undefined =>
    record !== undefined && reads(record) ? record : undefined;
  const ordered = (order: ScanOrder): ScanOrder => ({
    ...order,
    test: record => reads(record) && (order.test === undefined || order.test(record)),
  });
  return {
    scanType: (type, polymorphic, order) => graph.scanType(type, polymorphic, ordered(order)),
    // Every record read is told of, so each is read.
    scanColumns: () => undefined,
    scanBuckets: (buckets, order) => graph.scanBuckets(buckets, ordered(order)),
    record: rid => readable(graph.record(rid)),
    records: rids => graph.records(rids).map(readable),
    edgeTypes: names => graph.edgeTypes(names),
    hops: (vertices, choice) => graph.hops(vertices, choice),
    hopsBetween: (pairs, choice) => graph.hopsBetween(pairs, choice),
    packedEdges: (bucket, chunk) => graph.packedEdges(bucket, chunk),
    hopEdges: (hops, vertices) => graph.hopEdges(hops, vertices).map(readable),
    degrees: (vertices, choice) => graph.degrees(vertices, choice),
    // Whoever is told of a record's type has looked at it.
    typesByBucket: () => undefined,
    indexPoint: (index, key, only) => graph.indexPoint(index, key, only),
    indexRange: (index, range, descending, only) =>
      graph.indexRange(index, range, descending, only),
    indexEntries: (index, which, descending, only) =>
      readableEntries(graph.indexEntries(index, which, descending, only), rids =>
        graph.records(rids).map(readable),
      ),
    ranked: (index, request, effort) => graph.ranked(index, request, effort),
    countType: (type, polymorphic) => graph.countType(type, polymorphic),
    isSubtype: (type, ancestor) => graph.isSubtype(type, ancestor),
    typeExists: type => graph.typeExists(type),
    isShown: type => graph.isShown(type),
  };
}

class FiringWrites implements WritableGraph {
  readonly #writes: WritableGraph;
  readonly #graph: Graph;
  readonly #catalog: Catalog;
  readonly #fire: Fire;
  /** Edge types whose edges may not go with their vertices unnoticed. */
  readonly #watchedEdges: readonly string[];

  constructor(writes: WritableGraph, graph: Graph, catalog: Catalog, fire: Fire) {
    this.#writes = writes;
    this.#graph = graph;
    this.#catalog = catalog;
    this.#fire = fire;
    this.#watchedEdges = [...catalog.types]
      .filter(type => type.kind === 'edge' && type.triggers.some(one => one.event === 'delete'))
      .map(type => type.name);
  }

  create(requested: NewRecord): RecordValue | undefined {
    const {triggers, kind} = this.#catalog.requireType(requested.type);
    if (triggers.length === 0) return this.#writes.create(requested);
    const properties = new Map(requested.properties);
    const forbidding = this.#before(triggers, 'create', properties, () => ({
      record: imageOfNew(requested, properties),
      oldRecord: null,
    }));
    if (forbidding !== undefined) {
      if (kind === 'edge') throw forbids(forbidding, `an edge of type '${requested.type}'`);
      return undefined;
    }
    const record = this.#writes.create({...requested, properties});
    if (record !== undefined) this.#after(triggers, 'create', {record, oldRecord: null});
    return record;
  }

  replace(
    rid: Rid,
    wished: MapValue,
    options: {readonly applyDefaults: boolean},
  ): RecordValue | undefined {
    const oldRecord = this.#graph.record(rid);
    const triggers = this.#triggersOf(oldRecord);
    if (oldRecord === undefined || triggers.length === 0) {
      return this.#writes.replace(rid, wished, options);
    }
    const properties = new Map(wished);
    const before = imageOf(oldRecord);
    const forbidding = this.#before(triggers, 'update', properties, () => ({
      record: new Map([...headOf(oldRecord), ...properties]),
      oldRecord: before,
    }));
    if (forbidding !== undefined) return undefined;
    const record = this.#writes.replace(rid, properties, options);
    if (record !== undefined) this.#after(triggers, 'update', {record, oldRecord: before});
    return record;
  }

  /** A change of the type is an update: of the old type before, of the new one after. */
  retype(rid: Rid, typeName: string): RecordValue | undefined {
    const oldRecord = this.#graph.record(rid);
    if (oldRecord === undefined) return this.#writes.retype(rid, typeName);
    const before = imageOf(oldRecord);
    const images = {record: before, oldRecord: before};
    const triggers = this.#triggersOf(oldRecord);
    if (this.#before(triggers, 'update', new Map(), () => images) !== undefined) return undefined;
    const record = this.#writes.retype(rid, typeName);
    if (record !== undefined) {
      this.#after(this.#triggersOf(record), 'update', {record, oldRecord: before});
    }
    return record;
  }

  removeEdges(vertex: RecordValue): EdgeRemoval | undefined {
    const isWatched = this.#triggersOf(vertex).length > 0 || this.#watchedEdges.length > 0;
    return isWatched ? undefined : this.#writes.removeEdges(vertex);
  }

  delete(record: RecordValue): boolean {
    return this.#remove(record) === 'removed';
  }

  #remove(record: RecordValue): 'removed' | 'forbidden' | 'gone' {
    const triggers = this.#triggersOf(record);
    const watched = record.kind === 'vertex' && this.#watchedEdges.length > 0;
    if (triggers.length === 0 && !watched) return this.#writes.delete(record) ? 'removed' : 'gone';
    const image = imageOf(record);
    const images = {record: image, oldRecord: image};
    if (this.#before(triggers, 'delete', new Map(), () => images) !== undefined) return 'forbidden';
    if (watched) this.#removeEdgesOf(record);
    if (!this.#writes.delete(record)) return 'gone';
    this.#after(triggers, 'delete', images);
    return 'removed';
  }

  /** The edges that would go with a vertex and are watched go one by one before it. */
  #removeEdgesOf(vertex: RecordValue): void {
    const vertices = [vertex.rid];
    const hops = this.#hopsOf(vertex.rid);
    for (let at = 0; at < hops.length; at += portion) {
      for (const edge of this.#graph.hopEdges(hops.slice(at, at + portion), vertices)) {
        if (edge === undefined || this.#remove(edge) !== 'forbidden') continue;
        throw forbids(undefined, `the end of an edge of type '${edge.typeName}'`);
      }
    }
  }

  /** All before the first of them goes; a loop, which is met both ways, once. */
  #hopsOf(vertex: Rid): readonly Hop[] {
    const types = this.#graph.edgeTypes(this.#watchedEdges);
    const source = this.#graph.hops([vertex], {direction: 'both', types});
    const hops = new Map<string, Hop>();
    try {
      for (let part = source.next(portion); part !== undefined; part = source.next(portion)) {
        for (const hop of part) hops.set(edgeKey(hop, vertex), hop);
      }
    } finally {
      source.close();
    }
    return [...hops.values()];
  }

  #triggersOf(record: RecordValue | undefined): readonly TriggerDefinition[] {
    if (record === undefined) return [];
    return this.#catalog.type(record.typeName)?.triggers ?? [];
  }

  /** Fires and takes over into `properties` what is set; the trigger that forbids, if one does. */
  #before(
    triggers: readonly TriggerDefinition[],
    event: RecordEvent,
    properties: Map<string, Value>,
    images: () => RecordImages,
  ): TriggerDefinition | undefined {
    for (const trigger of firing(triggers, 'before', event)) {
      const {forbids, changes} = this.#fire(trigger, images());
      if (forbids) return trigger;
      for (const [name, value] of changes) {
        if (value === undefined) properties.delete(name);
        else properties.set(name, value);
      }
    }
    return undefined;
  }

  #after(triggers: readonly TriggerDefinition[], event: RecordEvent, images: RecordImages): void {
    for (const trigger of firing(triggers, 'after', event)) this.#fire(trigger, images);
  }
}

/** Names an edge of one vertex; light edges between other ends may have the same id. */
function edgeKey({edge, typeId, other, outgoing}: Hop, vertex: Rid): string {
  const [from, to] = outgoing ? [vertex, other] : [other, vertex];
  return `${typeId} ${edge.bucket} ${edge.position} ${ridText(from)} ${ridText(to)}`;
}

/** Hops of one call. */
const portion = 1_024;

function firing(
  triggers: CatalogType['triggers'],
  when: TriggerDefinition['when'],
  event: RecordEvent,
): readonly TriggerDefinition[] {
  return triggers.filter(trigger => trigger.when === when && trigger.event === event);
}

/** A record that is not stored yet. */
function imageOfNew({type, from, to}: NewRecord, properties: MapValue): MapValue {
  const head: [string, Value][] = [['@type', type]];
  if (from !== undefined && to !== undefined) head.push(['@out', from], ['@in', to]);
  return new Map([...head, ...properties]);
}

/** A record as it is now, whatever becomes of it. */
function imageOf(record: RecordValue): MapValue {
  return new Map([...headOf(record), ...record.properties()]);
}

/** What of a stored record is no property. */
function headOf({rid, typeName, from, to}: RecordValue): readonly [string, Value][] {
  const head: [string, Value][] = [
    ['@rid', rid],
    ['@type', typeName],
  ];
  if (from !== undefined && to !== undefined) head.push(['@out', from], ['@in', to]);
  return head;
}

function forbids(trigger: TriggerDefinition | undefined, what: string): Refusal {
  const who = trigger === undefined ? 'a trigger' : `trigger '${trigger.name}'`;
  return new Refusal('trigger.refused', `${who} forbids ${what}`);
}
