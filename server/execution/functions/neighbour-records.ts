/**
 * Records at the far side of edges, loaded when somebody looks inside.
 *
 * Counting neighbours, comparing them or walking on needs ids alone; reading their properties
 * mostly means reading those of all. So the first look at one of a group loads that one, the
 * second loads the next `groupLength` in one call. An edge knows its ends and type from the hop.
 * Invariant: a record is loaded at most once; what is gone by then reads as without properties.
 */
import type {RecordKind, Value} from '#server/model/value.ts';
import {RecordValue, type Rid} from '#server/model/value.ts';
import type {CallContext} from '../context.ts';
import type {Hop} from '../graph.ts';

const groupLength = 256;

class RecordGroup {
  readonly #rids: readonly Rid[];
  readonly #call: CallContext;
  readonly #loaded: (RecordValue | null | undefined)[] = [];
  #looks = 0;

  constructor(rids: readonly Rid[], call: CallContext) {
    this.#rids = rids;
    this.#call = call;
  }

  /** The record at `at`; undefined when it is gone. */
  load(at: number): RecordValue | undefined {
    const known = this.#loaded[at];
    if (known !== undefined) return known ?? undefined;
    this.#looks++;
    const rids = this.#rids.slice(at, at + (this.#looks === 1 ? 1 : groupLength));
    const records = this.#call.graph.records(rids);
    records.forEach((record, offset) => {
      this.#loaded[at + offset] ??= record ?? null;
    });
    this.#call.budget.spend(rids.length);
    return records[0];
  }
}

/** A record whose bytes are read when they are asked for. */
export abstract class NeighbourRecord extends RecordValue {
  readonly rid: Rid;
  readonly #group: RecordGroup;
  readonly #at: number;

  constructor(rid: Rid, group: RecordGroup, at: number) {
    super();
    this.rid = rid;
    this.#group = group;
    this.#at = at;
  }

  /** The record as it is stored; undefined when it is gone. */
  get stored(): RecordValue | undefined {
    return this.#group.load(this.#at);
  }

  get(name: string): Value | undefined {
    return this.stored?.get(name);
  }

  propertyNames(): readonly string[] {
    return this.stored?.propertyNames() ?? [];
  }

  override properties(): Map<string, Value> {
    return this.stored?.properties() ?? new Map();
  }
}

class NeighbourVertex extends NeighbourRecord {
  readonly from = undefined;
  readonly to = undefined;

  get typeName(): string {
    return this.stored?.typeName ?? '';
  }

  get kind(): RecordKind {
    return this.stored?.kind ?? 'vertex';
  }
}

class NeighbourEdge extends NeighbourRecord {
  readonly typeName: string;
  readonly kind = 'edge';
  readonly from: Rid;
  readonly to: Rid;

  constructor(
    hop: Hop,
    here: Rid,
    parts: {readonly typeName: string; readonly group: RecordGroup; readonly at: number},
  ) {
    super(hop.edge, parts.group, parts.at);
    this.from = hop.outgoing ? here : hop.other;
    this.to = hop.outgoing ? hop.other : here;
    this.typeName = parts.typeName;
  }
}

/** The far ends of the hops, in their order. */
export function neighbourVertices(hops: readonly Hop[], call: CallContext): RecordValue[] {
  const rids = hops.map(hop => hop.other);
  const group = new RecordGroup(rids, call);
  return rids.map((rid, at) => new NeighbourVertex(rid, group, at));
}

/** The edges of the hops, in their order; `vertices` as given to `hops`. */
export function neighbourEdges(
  hops: readonly Hop[],
  vertices: readonly Rid[],
  call: CallContext,
): RecordValue[] {
  const group = new RecordGroup(
    hops.map(hop => hop.edge),
    call,
  );
  // Light edges are made up from their hops, by the graph: it may have something against them.
  const light = call.graph.hopEdges(
    hops.filter(hop => hop.edge.position < 0),
    vertices,
  );
  let lightNext = 0;
  const edges: RecordValue[] = [];
  hops.forEach((hop, at) => {
    const typeName = call.catalog.typeById(hop.typeId)?.name ?? '';
    const edge =
      hop.edge.position < 0
        ? light[lightNext++]
        : new NeighbourEdge(hop, vertices[hop.source] as Rid, {typeName, group, at});
    if (edge !== undefined) edges.push(edge);
  });
  return edges;
}

/** Records for ids that are already known. */
export function recordsOfRids(rids: readonly Rid[], call: CallContext): RecordValue[] {
  const group = new RecordGroup(rids, call);
  return rids.map((rid, at) => new NeighbourVertex(rid, group, at));
}
