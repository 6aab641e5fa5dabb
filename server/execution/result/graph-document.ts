/**
 * The `graph` and `studio` serializers: one document of the vertices and edges in the rows.
 *
 * Each element once, `{p, r, t, i, o}`: properties with the attributes behind them, id, type, an
 * edge's ends or the numbers of a vertex's edges. `studio` adds the rows themselves and the
 * edges among the vertices. The document is kept whole, against the memory budget.
 */
import {ByteWriter} from '#server/base/byte-writer.ts';
import {type JsonFormat, categoryOf, jsonString, jsonText} from '#server/model/json.ts';
import {ridText} from '#server/model/rid.ts';
import {PathValue, RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {ExecutionContext} from '../context.ts';
import {itemsOf} from '../expressions/access.ts';
import {type Pause, pause} from '../batch.ts';
import {degreeOf} from '../stored/hop-counts.ts';

const hopsPerLook = 1_000;

export class GraphDocument {
  readonly #context: ExecutionContext;
  readonly #format: JsonFormat;
  readonly #vertices = new ByteWriter(4096);
  readonly #edges = new ByteWriter(4096);
  readonly #vertexRids = new Map<string, Rid>();
  readonly #edgeRids = new Set<string>();

  constructor(context: ExecutionContext, format: JsonFormat) {
    this.#context = context;
    this.#format = format;
  }

  /** Takes the records in a value, be they in lists, maps or paths. */
  add(value: Value): void {
    if (value instanceof RecordValue) this.#record(value);
    else if (value instanceof PathValue) this.#path(value);
    else if (value instanceof Map) for (const item of value.values()) this.add(item);
    else for (const item of itemsOf(value) ?? []) this.add(item);
  }

  #path(path: PathValue): void {
    for (const element of path.elements) {
      const record = element instanceof Rid ? this.#context.graph.record(element) : element;
      if (record !== undefined) this.#record(record);
    }
  }

  #record(record: RecordValue): void {
    const key = ridText(record.rid);
    if (record.kind === 'vertex') {
      if (this.#vertexRids.has(key)) return;
      this.#vertexRids.set(key, record.rid);
      this.#element(this.#vertices, record);
    } else if (record.kind === 'edge') {
      const light = record.rid.position < 0;
      if (this.#edgeRids.has(key) && !light) return;
      this.#edgeRids.add(key);
      this.#element(this.#edges, record);
    }
  }

  #element(out: ByteWriter, record: RecordValue): void {
    const before = out.length;
    if (before > 0) out.byte(0x2c);
    const type = jsonString(record.typeName);
    const rid = jsonString(ridText(record.rid));
    out.ascii('{"p":{');
    for (const [name, value] of record.properties()) {
      out.text(`${jsonString(name)}:${jsonText(value, this.#format)},`);
    }
    out.text(`"@cat":"${categoryOf[record.kind]}","@type":${type},"@rid":${rid}`);
    const ends = this.#ends(record);
    if (record.kind === 'edge') out.text(`,"@in":${ends.in},"@out":${ends.out}`);
    out.text(`},"r":${rid},"t":${type},"i":${ends.in},"o":${ends.out}}`);
    this.#context.budget.keep(out.length - before);
  }

  #ends(record: RecordValue): {readonly in: string; readonly out: string} {
    if (record.from !== undefined && record.to !== undefined) {
      return {in: jsonString(ridText(record.to)), out: jsonString(ridText(record.from))};
    }
    const {graph} = this.#context;
    return {
      in: String(degreeOf(graph, record.rid, {direction: 'in', types: undefined})),
      out: String(degreeOf(graph, record.rid, {direction: 'out', types: undefined})),
    };
  }

  /** Adds the edges that join two of the vertices. */
  *connect(): Generator<Pause, void, undefined> {
    const {graph, budget} = this.#context;
    const vertices = [...this.#vertexRids.values()];
    const source = graph.hops(vertices, {direction: 'out', types: undefined});
    try {
      for (let hops = source.next(hopsPerLook); hops; hops = source.next(hopsPerLook)) {
        if (budget.look()) yield pause;
        const inside = hops.filter(hop => this.#vertexRids.has(ridText(hop.other)));
        for (const edge of graph.hopEdges(inside, vertices)) {
          if (edge !== undefined) this.#record(edge);
        }
      }
    } finally {
      source.close();
    }
  }

  /** The whole document; `records`: the rows, for studio. */
  finish(records: ByteWriter | undefined): ByteWriter {
    const out = new ByteWriter(this.#vertices.length + this.#edges.length + 64);
    out.ascii('{"vertices":[');
    out.raw(this.#vertices.bytes, 0, this.#vertices.length);
    out.ascii('],"edges":[');
    out.raw(this.#edges.bytes, 0, this.#edges.length);
    out.byte(0x5d);
    if (records !== undefined) {
      out.ascii(',"records":[');
      out.raw(records.bytes, 0, records.length);
      out.byte(0x5d);
    }
    out.byte(0x7d);
    return out;
  }
}
