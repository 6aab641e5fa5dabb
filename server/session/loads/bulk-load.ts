/**
 * One bulk load: lines in, committed entries out.
 *
 * Bytes come in pieces of any size; `push` resolves when more may come, which is the only back
 * pressure there is. Vertices come before edges; when the first edge comes every vertex is
 * durable, so an edge between two of them needs no look at the store. A line that is refused ends
 * the load; the lines before it are stored. Vertices of a type whose making fires triggers are made
 * by statements, one by one, because triggers are statements; edges fire nothing, and nothing fires
 * for them. Invariant U3: the counts are exactly what is durable and applied.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {parseRid, ridText} from '#server/model/rid.ts';
import type {MapValue, Rid} from '#server/model/value.ts';
import type {Timers} from '#server/platform/clock.ts';
import {BulkCommits} from '#server/bulk/commit.ts';
import {CsvLineReader} from '#server/bulk/csv-line.ts';
import {BulkDraft, lineRefusal, type TextRange, withLine} from '#server/bulk/draft.ts';
import type {BulkEntry} from '#server/bulk/entry.ts';
import {JsonLineReader} from '#server/bulk/json-line.ts';
import type {BulkType} from '#server/bulk/type.ts';
import {BulkWriter, type EdgeEnd} from '#server/bulk/writer.ts';
import type {BulkIds} from '../bulk-ids.ts';
import type {MadeRecord} from '../record-calls.ts';
import {LineSplitter} from './bulk-lines.ts';
import {schemaVersionFor} from '../schema/bulk-schema.ts';
import type {DatabaseSession} from '../connections/database-session.ts';
import {refusalOf} from '../statements/outcome.ts';
import type {Owner} from '../statements/admission.ts';
import {toldDuplicate} from '../statements/told-duplicates.ts';
import type {CurrentGuard, TypeGuard} from '../type-guard.ts';

export interface BulkLoadOptions {
  readonly session: DatabaseSession;
  /**
   * Asked before anything is taken in; undefined: everything is allowed.
   *
   * @throws {Refusal} when whoever loads may not any more.
   */
  readonly guard: CurrentGuard;
  /** Who loads. */
  readonly user: Owner;
  readonly timers: Timers;
  readonly format: 'json' | 'csv';
  /** What edges refer to vertices by: the `@id` of their lines, or their number. */
  readonly references: 'id' | 'ordinal';
  readonly ordinalBase: number;
  readonly lightEdges: boolean;
  readonly bidirectional: boolean;
  readonly vertexBatchSize: number;
  readonly edgeBatchSize: number;
  readonly retriesMax: number;
  readonly retryDelayMs: number;
  readonly ids: BulkIds;
  /** Bytes of operations at which an entry is committed. */
  readonly entryBytesMax: number;
  readonly lineBytesMax: number;
  /** Makes a vertex by a statement and fires its triggers; undefined when one forbids it. */
  readonly makeVertex: (type: string, properties: MapValue) => Promise<MadeRecord | undefined>;
  /** Whether `onVertices` wants the ids. */
  readonly tellsIds: boolean;
  /** Vertices were committed; flat pairs of id and record id where asked for. */
  readonly onVertices: (ids: readonly string[]) => void;
  /** All of them are. */
  readonly onVerticesEnd: () => void;
  readonly onEdges: () => void;
  /** Nothing more comes. */
  readonly onClose?: () => void;
}

export interface BulkCounts {
  /** Committed. */
  vertices: number;
  edges: number;
  /** Log index of the newest commit; 0 before the first. */
  commitIndex: number;
  bytesRead: number;
  linesRead: number;
  /** Empty lines, headers. */
  linesSkipped: number;
  verticesWithoutId: number;
}

export class BulkLoad {
  readonly counts: BulkCounts = {
    vertices: 0,
    edges: 0,
    commitIndex: 0,
    bytesRead: 0,
    linesRead: 0,
    linesSkipped: 0,
    verticesWithoutId: 0,
  };
  phase: 'vertices' | 'edges' = 'vertices';
  readonly #options: BulkLoadOptions;
  readonly #draft: BulkDraft;
  readonly #json: JsonLineReader;
  readonly #csv: CsvLineReader;
  readonly #writer: BulkWriter;
  readonly #commits: BulkCommits;
  readonly #lines: LineSplitter;
  readonly #idsOf = new WeakMap<BulkEntry, readonly string[]>();
  #pendingIds: string[] = [];
  #guard: TypeGuard | undefined;
  #allowedType: BulkType | undefined;
  readonly #allowedEnds = new Set<number>();
  #ordinal: number;

  constructor(options: BulkLoadOptions) {
    const {session, lightEdges, bidirectional, entryBytesMax, timers} = options;
    this.#options = options;
    this.#ordinal = options.ordinalBase;
    this.#draft = new BulkDraft(session.schema.context);
    this.#json = new JsonLineReader(this.#draft);
    this.#csv = new CsvLineReader(this.#draft);
    this.#lines = new LineSplitter(options.lineBytesMax);
    this.#writer = new BulkWriter(session.database, this.#draft, {
      lightEdges,
      bidirectional,
      entryCapacity: entryBytesMax + entrySlackBytes,
    });
    this.#commits = new BulkCommits(session.database, {
      timers,
      retriesMax: options.retriesMax,
      retryDelayMs: options.retryDelayMs,
      schemaVersion: entry => schemaVersionFor(entry, this.#draft.catalog, session.schema.catalog),
      committed: (entry, index) => this.#committed(entry, index),
      refusalOf,
    });
  }

  /** Takes bytes. @throws {Refusal} when a line or a commit is refused; the load has ended then. */
  async push(chunk: Buffer): Promise<void> {
    this.counts.bytesRead += chunk.length;
    this.#askRights();
    this.#lines.add(chunk);
    this.#renew();
    await this.#told(() => this.#guarded(() => this.#readLines()));
  }

  /** The body has ended: reads its last line and commits the rest. @throws {Refusal} */
  async finish(): Promise<void> {
    this.#askRights();
    this.#lines.end();
    await this.#told(async () => {
      await this.#guarded(() => this.#readLines());
      await this.#flush();
    });
    await this.#followed();
    if (this.phase === 'vertices') this.#options.onVerticesEnd();
  }

  /** The body broke off: commits what complete lines said. @throws {Refusal} */
  async abandon(): Promise<void> {
    await this.#told(() => this.#flush());
    await this.#followed();
  }

  async #followed(): Promise<void> {
    const {session, user} = this.#options;
    await session.views.followAll(user);
  }

  /** How many temporary ids its vertices have. */
  get idCount(): number {
    return this.#options.ids.size;
  }

  /** Gives back what it holds; what is committed stays. Call it once. */
  close(): void {
    this.#options.ids.close();
    this.#options.onClose?.();
  }

  /** Rights may have changed since the last piece. */
  #askRights(): void {
    const guard = this.#options.guard();
    if (guard === this.#guard) return;
    this.#guard = guard;
    this.#forgetRights();
  }

  #forgetRights(): void {
    this.#allowedType = undefined;
    this.#allowedEnds.clear();
  }

  /** What fails is told as far as whoever loads may read it. */
  async #told(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw toldDuplicate(error, this.#guard, this.#draft.catalog);
    }
  }

  /** A refused line leaves those before it stored. */
  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof LineFailure)) throw error;
      await this.#flush();
      throw error.refusal;
    }
  }

  async #flush(): Promise<void> {
    await this.#commit();
    await this.#commits.drain();
  }

  async #readLines(): Promise<void> {
    const lines = this.#lines;
    const {counts} = this;
    const {entryBytesMax, vertexBatchSize, edgeBatchSize} = this.#options;
    for (;;) {
      let isEdge: boolean | undefined;
      try {
        if (!lines.next()) return;
        counts.linesRead++;
        isEdge = this.#readLine(lines.bytes, lines.start, lines.stop);
        if (isEdge === false && !this.#fires) this.#addVertex();
      } catch (error) {
        throw this.#lineFailure(error);
      }
      if (isEdge === undefined) {
        counts.linesSkipped++;
        continue;
      }
      if (!isEdge && this.#fires) await this.#makeVertex();
      if (isEdge) {
        const {context} = this.#draft;
        if (this.phase === 'vertices') await this.#beginEdges();
        try {
          // Under a newer schema the line may say something else.
          if (context !== this.#draft.context) {
            this.#readLine(lines.bytes, lines.start, lines.stop);
          }
          this.#addEdge();
        } catch (error) {
          throw this.#lineFailure(error);
        }
      }
      const {entry} = this.#writer;
      const recordsMax = isEdge ? edgeBatchSize : vertexBatchSize;
      if (entry.operations.length >= entryBytesMax || entry.records >= recordsMax) {
        await this.#commit();
      }
    }
  }

  #lineFailure(error: unknown): unknown {
    if (!(error instanceof Refusal)) return error;
    return new LineFailure(withLine(error, this.counts.linesRead));
  }

  /** Whether the line's record is an edge; undefined when the line is none. */
  #readLine(bytes: Buffer, start: number, stop: number): boolean | undefined {
    if (isBlank(bytes, start, stop)) return undefined;
    const {format} = this.#options;
    const guard = this.#guard;
    const {linesRead} = this.counts;
    if (format === 'json') this.#json.read(bytes, start, stop, linesRead);
    else if (!this.#csv.read(bytes, start, stop, linesRead)) return undefined;
    const {type} = this.#draft;
    if (guard !== undefined && type !== undefined && type !== this.#allowedType) {
      guard.require('createRecord', type.type.name);
      this.#allowedType = type;
    }
    return this.#draft.kind === 'edge';
  }

  get #fires(): boolean {
    return this.#draft.type?.firesOnCreate === true;
  }

  /** Makes the drafted vertex at once, durably. */
  async #makeVertex(): Promise<void> {
    const {counts} = this;
    const {ids, tellsIds, onVertices, makeVertex} = this.#options;
    const {type, id} = this.#draft;
    assert(type !== undefined, 'a draft that is read has a type');
    try {
      this.#beginVertex();
      ids.checkRoom();
      const made = await makeVertex(type.type.name, this.#draft.properties());
      if (made === undefined) return;
      counts.vertices++;
      counts.commitIndex = made.commitIndex;
      if (!id.present) counts.verticesWithoutId++;
      else {
        ids.set(id.bytes, id.start, id.end, made.rid);
        this.#ordinal++;
      }
      onVertices(tellsIds && id.present ? [id.text, ridText(made.rid)] : noIds);
    } catch (error) {
      throw this.#lineFailure(error);
    }
  }

  /** @throws {Refusal} when an edge was before it. */
  #beginVertex(): void {
    const {linesRead} = this.counts;
    if (this.phase === 'edges') {
      throw lineRefusal(
        linesRead,
        `Expected edge record but got vertex at line ${linesRead}. ` +
          'All vertices must appear before edges',
      );
    }
    const {id} = this.#draft;
    if (this.#options.references === 'ordinal') id.setText(String(this.#ordinal));
  }

  #addVertex(): void {
    const {counts} = this;
    const {ids, tellsIds} = this.#options;
    const {linesRead} = counts;
    this.#beginVertex();
    const {id} = this.#draft;
    if (!id.present) {
      this.#writer.addVertex(linesRead);
      counts.verticesWithoutId++;
      return;
    }
    ids.checkRoom();
    const rid = this.#writer.addVertex(linesRead);
    ids.set(id.bytes, id.start, id.end, rid);
    this.#ordinal++;
    if (tellsIds) this.#pendingIds.push(id.text, ridText(rid));
  }

  #addEdge(): void {
    const {from, to} = this.#draft;
    const ends = [this.#end(from, '@from'), this.#end(to, '@to')] as const;
    for (const {rid} of ends) this.#requireEnd(rid);
    this.#writer.addEdge(...ends, this.counts.linesRead);
  }

  /** An edge changes the vertices that it connects. @throws {Refusal} `security.denied`. */
  #requireEnd({bucket}: Rid): void {
    if (this.#guard === undefined || this.#allowedEnds.has(bucket)) return;
    const type = this.#draft.catalog.typeOfBucket(bucket);
    if (type !== undefined) this.#guard.require('updateRecord', type.name);
    this.#allowedEnds.add(bucket);
  }

  #end(reference: TextRange, name: string): EdgeEnd {
    const {linesRead} = this.counts;
    if (!reference.present) throw lineRefusal(linesRead, `Missing ${name} at line ${linesRead}`);
    const {ids, references} = this.#options;
    const {bytes, start, end} = reference;
    const own = ids.get(bytes, start, end);
    if (own !== undefined) return {rid: own, isOwn: true};
    const text = reference.text;
    const rid: Rid | undefined = text.startsWith('#') ? parseRid(text) : undefined;
    if (rid !== undefined && rid.position >= 0) return {rid, isOwn: false};
    const shown = text.slice(0, 200);
    throw lineRefusal(
      linesRead,
      references === 'ordinal'
        ? `Unknown vertex number '${shown}' at line ${linesRead}: this batch has made ` +
            `${ids.size} vertices, numbered from ${this.#options.ordinalBase}`
        : `Unknown temporary ID '${shown}' at line ${linesRead}: no vertex earlier in this ` +
            `payload declared it as its @id (${ids.size} ids mapped so far). Vertices must ` +
            'appear before the edges that reference them, and each request resolves only the ' +
            'ids of its OWN payload: a vertex loaded by an earlier request has to be referenced ' +
            'by RID (#bucket:position)',
    );
  }

  async #beginEdges(): Promise<void> {
    await this.#flush();
    this.#options.onVerticesEnd();
    this.phase = 'edges';
  }

  async #commit(): Promise<void> {
    const entry = this.#writer.take();
    if (this.#pendingIds.length > 0) {
      this.#idsOf.set(entry, this.#pendingIds);
      this.#pendingIds = [];
    }
    await this.#commits.send(entry);
    this.#renew();
  }

  /** Goes over to the newest schema where no record waits that was made under an older one. */
  #renew(): void {
    const {context} = this.#options.session.schema;
    if (context === this.#draft.context || this.#writer.entry.records > 0) return;
    this.#draft.renew(context);
    this.#forgetRights();
  }

  #committed(entry: BulkEntry, index: number): void {
    const {counts} = this;
    const {names} = this.#draft;
    for (const [id, name] of entry.newNames) names.learn(id, name);
    counts.vertices += entry.vertices;
    counts.edges += entry.edges;
    counts.commitIndex = index;
    if (entry.vertices > 0) this.#options.onVertices(this.#idsOf.get(entry) ?? noIds);
    if (entry.edges > 0) this.#options.onEdges();
  }
}

/** A line that was refused, on its way to where the lines before it are committed. */
class LineFailure extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

const noIds: readonly string[] = [];
/** Room for the record that fills an entry. */
const entrySlackBytes = 16 << 10;

function isBlank(bytes: Buffer, start: number, stop: number): boolean {
  for (let at = start; at < stop; at++) {
    const byte = bytes[at] as number;
    if (byte !== 0x20 && byte !== 0x09) return false;
  }
  return true;
}
