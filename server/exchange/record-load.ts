/**
 * Records of an import, packed into commits as those of a bulk load are (`bulk/`): types are made
 * when the first record of them comes, ids of the source are kept beside the records they became.
 *
 * No triggers fire, as in every way of moving whole databases. Vertices and documents come before
 * edges, each in one pass over the source: when `endVertices` resolves, every vertex is durable.
 * What a record refers to by a link may come later: links that lead nowhere yet are left out, and
 * `unresolved` tells the records that have some.
 */
import {Refusal} from '#server/base/errors.ts';
import {BulkCommits} from '#server/bulk/commit.ts';
import {BulkDraft, withLine} from '#server/bulk/draft.ts';
import {BulkWriter, type EdgeEnd} from '#server/bulk/writer.ts';
import {printName} from '#server/languages/sql/printer.ts';
import {labelsOf} from '#server/model/labels.ts';
import {parseRid, ridText} from '#server/model/rid.ts';
import {
  EmbeddedValue,
  type MapValue,
  type RecordKind,
  Rid,
  type Value,
} from '#server/model/value.ts';
import type {Timers} from '#server/platform/clock.ts';
import {utf8Bytes} from '#server/base/utf8.ts';
import type {BulkIds} from '#server/session/bulk-ids.ts';
import type {ImportSession} from '#server/session/import-session.ts';
import type {TypeGuard} from '#server/session/type-guard.ts';
import {type ExchangedRecord, malformed} from './exchanged-record.ts';
import type {ImportOptions} from './import-options.ts';
import type {NamedVertices} from './named-vertices.ts';

export interface RecordLoadOptions {
  readonly session: ImportSession;
  readonly timers: Timers;
  readonly ids: BulkIds;
  /** What is there beside the source. */
  readonly vertices: NamedVertices;
  readonly options: Pick<
    ImportOptions,
    'commitEvery' | 'edgeBidirectional' | 'ends' | 'typeIdProperty' | 'typeIdType' | 'typeIdUnique'
  >;
  /** Bytes of operations at which an entry is committed. */
  readonly entryBytesMax: number;
}

export interface LoadCounts {
  documents: number;
  vertices: number;
  edges: number;
}

const retriesMax = 10;
const retryDelayMs = 1_000;
/** Room for the record that fills an entry. */
const entrySlackBytes = 16 << 10;
const classOf: Readonly<Record<RecordKind, string>> = {
  document: 'DOCUMENT',
  vertex: 'VERTEX',
  edge: 'EDGE',
};

export class RecordLoad {
  /** Records that were taken; those of an entry that fails among them. */
  readonly counts: LoadCounts = {documents: 0, vertices: 0, edges: 0};
  readonly #options: RecordLoadOptions;
  readonly #draft: BulkDraft;
  readonly #writer: BulkWriter;
  readonly #commits: BulkCommits;
  /** Whether the options say more of types than their names. */
  readonly #hasIdRules: boolean;
  readonly #prepared = new Set<string>();

  constructor(options: RecordLoadOptions) {
    const {typeIdType, typeIdUnique} = options.options;
    this.#hasIdRules = typeIdType !== undefined || typeIdUnique;
    const {session, timers, entryBytesMax} = options;
    this.#options = options;
    this.#draft = new BulkDraft(session.context);
    this.#writer = new BulkWriter(session.database, this.#draft, {
      lightEdges: false,
      bidirectional: options.options.edgeBidirectional,
      entryCapacity: entryBytesMax + entrySlackBytes,
    });
    this.#commits = new BulkCommits(session.database, {
      timers,
      retriesMax,
      retryDelayMs,
      schemaVersion: entry => session.schemaVersionFor(entry, this.#draft.catalog),
      committed: entry => {
        for (const [id, name] of entry.newNames) this.#draft.names.learn(id, name);
      },
      refusalOf: outcome => session.refusalOf(outcome),
    });
  }

  /**
   * Takes a record. @returns Whether it has links that lead to records which are not there yet.
   * @throws {Refusal} when it cannot be stored; nothing of it is then.
   */
  async add(record: ExchangedRecord): Promise<boolean> {
    await this.#ensureType(record);
    const {hasLost, properties} = this.#resolved(record.properties);
    this.#fill(record, properties);
    const guard = this.#options.session.guard();
    guard?.require('createRecord', this.#draft.type?.type.name ?? record.type);
    if (record.kind === 'edge') this.#addEdge(record, guard);
    else this.#addRecord(record);
    const {entry} = this.#writer;
    const {options, entryBytesMax} = this.#options;
    const {commitEvery} = options;
    if (entry.records >= commitEvery || entry.operations.length >= entryBytesMax) {
      await this.#commit();
    }
    return hasLost;
  }

  /** The record that an id of the source became. */
  ridOf(id: string): Rid | undefined {
    const bytes = utf8Bytes(id);
    return this.#options.ids.get(bytes, 0, bytes.length);
  }

  /** Everything that was taken is durable and seen when it resolves. */
  async flush(): Promise<void> {
    await this.#commit();
    await this.#commits.drain();
    this.#renew();
  }

  /** The properties with links to what the ids of the source became. */
  resolved(properties: MapValue): MapValue {
    return this.#resolved(properties).properties;
  }

  #fill({kind, type, place}: ExchangedRecord, properties: MapValue): void {
    const draft = this.#draft;
    draft.clear();
    draft.kind = kind === 'edge' ? 'edge' : 'vertex';
    draft.type = draft.typeNamed(type);
    if (draft.type === undefined) throw malformed(place, `there is no type '${type}'`);
    if (draft.type.type.kind !== kind) {
      const own = draft.type.type.kind;
      throw malformed(place, `it is of the ${own} type '${type}' and a ${kind} itself`);
    }
    try {
      draft.fill(draft.type, properties);
    } catch (error) {
      throw error instanceof Refusal ? withLine(error, place) : error;
    }
  }

  #addRecord({kind, id, place}: ExchangedRecord): void {
    const {ids} = this.#options;
    if (id !== undefined) ids.checkRoom();
    const rid = this.#writer.addVertex(place);
    if (id !== undefined) {
      const bytes = utf8Bytes(id);
      ids.set(bytes, 0, bytes.length, rid);
    }
    if (kind === 'document') this.counts.documents += 1;
    else this.counts.vertices += 1;
  }

  /** An edge changes the vertices that it connects. */
  #addEdge(record: ExchangedRecord, guard: TypeGuard | undefined): void {
    const [from, to] = [this.#end('from', record), this.#end('to', record)];
    for (const {rid} of guard === undefined ? [] : [from, to]) {
      const type = this.#draft.catalog.typeOfBucket(rid.bucket);
      if (type !== undefined) guard?.require('updateRecord', type.name);
    }
    this.#writer.addEdge(from, to, record.place);
    this.counts.edges += 1;
  }

  /** A vertex of the source, else one of the database. */
  #end(side: 'from' | 'to', record: ExchangedRecord): EdgeEnd {
    const id = record[side] ?? '';
    const own = this.ridOf(id);
    if (own !== undefined) return {rid: own, isOwn: true};
    const {vertices, options} = this.#options;
    const named = options.ends[side];
    const found =
      vertices.find(named, id) ?? (record.endsMayBeRecords === true ? parseRid(id) : undefined);
    if (found !== undefined) return {rid: found, isOwn: false};
    const {type, property} = named;
    const nor =
      property === undefined
        ? '; typeIdProperty would say by which property vertices of the database are named'
        : `, nor one of '${type}' by its property '${property}'`;
    throw malformed(record.place, `its end '${id.slice(0, 100)}' is no vertex of the source${nor}`);
  }

  /**
   * Makes a type that is not there, and what the options say of its ids.
   *
   * @throws {Refusal} when it cannot be.
   */
  async prepareType(kind: RecordKind, type: string): Promise<void> {
    this.#prepared.add(type);
    const {session, options} = this.#options;
    const isThere = session.context.catalog.type(type) !== undefined;
    if (!isThere) await this.#makeType(kind, type);
    const {typeIdProperty, typeIdType, typeIdUnique} = options;
    if (kind !== 'edge' && typeIdProperty !== undefined) {
      const name = printName(typeIdProperty);
      const isDeclared = session.context.catalog.type(type)?.properties.has(typeIdProperty);
      if (isDeclared !== true && (typeIdType !== undefined || typeIdUnique)) {
        const dataType = typeIdType ?? 'STRING';
        await session.define(
          `CREATE PROPERTY ${printName(type)}.${name} IF NOT EXISTS ${dataType}`,
        );
      }
      if (typeIdUnique) {
        const index = printName(`${type}[${typeIdProperty}]`);
        await session.define(
          `CREATE INDEX ${index} IF NOT EXISTS ON ${printName(type)} (${name}) UNIQUE`,
        );
      }
    }
    this.#renew();
  }

  async #ensureType({kind, type, place}: ExchangedRecord): Promise<void> {
    this.#renew();
    const mayLack = this.#hasIdRules && kind !== 'edge' && !this.#prepared.has(type);
    if (!mayLack && this.#draft.typeNamed(type) !== undefined) return;
    if (type === '' || type.includes('`')) throw malformed(place, `'${type}' cannot be a type`);
    await this.flush();
    await this.prepareType(kind, type);
  }

  /** Goes over to the newest schema where no record waits that was made under an older one. */
  #renew(): void {
    const {context} = this.#options.session;
    if (context === this.#draft.context || this.#writer.entry.records > 0) return;
    this.#draft.renew(context);
  }

  async #makeType(kind: RecordKind, type: string): Promise<void> {
    const {session} = this.#options;
    const labels = labelsOf(type);
    if (kind === 'vertex' && labels.length > 1) await session.defineLabels(labels);
    else await session.define(`CREATE ${classOf[kind]} TYPE ${printName(type)} IF NOT EXISTS`);
  }

  async #commit(): Promise<void> {
    if (this.#writer.entry.records === 0) return;
    await this.#commits.send(this.#writer.take());
    this.#renew();
  }

  #resolved(properties: MapValue): {readonly hasLost: boolean; readonly properties: MapValue} {
    if (![...properties.values()].some(mayHoldLinks)) return {hasLost: false, properties};
    let hasLost = false;
    const resolve = (value: Value): Value | undefined => {
      if (value instanceof Rid) {
        const rid = this.ridOf(ridText(value));
        hasLost ||= rid === undefined;
        return rid;
      }
      if (Array.isArray(value)) {
        return (value as readonly Value[]).map(resolve).filter(item => item !== undefined);
      }
      if (value instanceof EmbeddedValue) {
        return new EmbeddedValue(value.typeName, resolveMap(value.properties));
      }
      return value instanceof Map ? resolveMap(value as MapValue) : value;
    };
    const resolveMap = (map: MapValue): MapValue => {
      const entries = [...map].map(([key, value]) => [key, resolve(value)] as const);
      return new Map(entries.filter((entry): entry is [string, Value] => entry[1] !== undefined));
    };
    const found = resolveMap(properties);
    return {hasLost, properties: found};
  }
}

function mayHoldLinks(value: Value): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array);
}
