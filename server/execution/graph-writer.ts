/**
 * `WritableGraph` over the records of a transaction.
 *
 * What kind of record is made follows from the type; a statement that names a kind (CREATE
 * VERTEX) is held to it.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {LightEdge} from '#server/layout/stored-record.ts';
import type {RecordValue, Rid, Value} from '#server/model/value.ts';
import type {EdgeRemoval, RecordWriter} from '#server/records/records.ts';
import type {NewRecord, WritableGraph} from './graph.ts';

export class GraphWriter implements WritableGraph {
  readonly #writer: RecordWriter;
  readonly #catalog: Catalog;

  constructor(writer: RecordWriter, catalog: Catalog) {
    this.#writer = writer;
    this.#catalog = catalog;
  }

  create(record: NewRecord): RecordValue {
    const {kind} = this.#catalog.requireType(record.type);
    const {properties, from, to, rid} = record;
    const requested = {typeName: record.type, bucketName: record.bucket, properties, rid};
    const what = record.what === 'any' ? kind : record.what;
    if (what === 'edge') {
      if (from === undefined || to === undefined) {
        throw new Refusal('argument', `an edge of type '${record.type}' needs FROM and TO`);
      }
      const unidirectional = record.unidirectional ?? false;
      return this.#writer.createEdge({...requested, from, to, unidirectional});
    }
    return what === 'vertex'
      ? this.#writer.createVertex(requested)
      : this.#writer.createDocument(requested);
  }

  replace(
    rid: Rid,
    properties: ReadonlyMap<string, Value>,
    options: {readonly applyDefaults: boolean},
  ): RecordValue | undefined {
    return this.#writer.replace(rid, properties, options);
  }

  retype(rid: Rid, type: string): RecordValue | undefined {
    return this.#writer.retype(rid, type);
  }

  removeEdges(vertex: RecordValue): EdgeRemoval {
    return this.#writer.removeEdges(vertex.rid);
  }

  delete(record: RecordValue): boolean {
    if (record instanceof LightEdge) return this.#writer.deleteEdge(record);
    return this.#writer.delete(record.rid);
  }
}
