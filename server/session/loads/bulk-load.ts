/**
 * One bulk load: records in, committed entries out. Whoever has records as values gives them to
 * `add`; an encoding (line-load.ts) reads its own into the draft and calls `take`.
 *
 * What they answer is the back pressure: a promise, when the next record has to wait. Vertices come
 * before edges; when the first edge comes every vertex is durable, so an edge between two of them
 * needs no look at the store. A record that is refused ends the load; those before it are stored.
 * Vertices of a type whose making fires triggers are made by statements, one by one, because
 * triggers are statements; edges fire nothing, and nothing fires for them. Invariant U3: the counts
 * are exactly what is durable and applied.
 *
 * A load with a request id may be sent again: what goes into an entry depends on the records alone
 * then, each entry has an id of its own, and the record ids that its vertices got lie beside it, so
 * that edges behind it find them (docs/design/0039-one-loader.md).
 */
import {assert} from '#server/base/assert.ts';
import {queryTerminated, Refusal} from '#server/base/errors.ts';
import {utf8Bytes} from '#server/base/utf8.ts';
import {parseRid, ridText} from '#server/model/rid.ts';
import {type MapValue, Rid} from '#server/model/value.ts';
import type {Timers} from '#server/platform/clock.ts';
import {BulkCommits, type Committed} from '#server/bulk/commit.ts';
import {BulkDraft, lineRefusal, type TextRange, withLine} from '#server/bulk/draft.ts';
import type {BulkEntry} from '#server/bulk/entry.ts';
import type {BulkType} from '#server/bulk/type.ts';
import {decodeNote, encodeNote} from '#server/bulk/request-note.ts';
import {BulkWriter, type EdgeEnd} from '#server/bulk/writer.ts';
import {estimateValue} from '#server/execution/query-result.ts';
import type {BulkIds} from '../bulk-ids.ts';
import type {LoadCounts, LoadedRecord, RecordLoad} from '../session.ts';
import {schemaVersionFor} from '../schema/bulk-schema.ts';
import type {DatabaseSession} from '../connections/database-session.ts';
import {refusalOf} from '../statements/outcome.ts';
import type {Owner} from '../statements/admission.ts';
import {toldRefusal} from '../statements/told-refusals.ts';
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
  /** What edges refer to vertices by: an id that they have, or their number from this one. */
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
  /** Entries are applied once however often the load is sent; undefined: as often as it is. */
  readonly requestId?: string | undefined;
  /** Makes a vertex by a statement and fires its triggers; undefined when one forbids it. */
  readonly makeVertex: (vertex: VertexToMake) => Promise<MadeVertex | undefined>;
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

export interface VertexToMake {
  readonly type: string;
  readonly properties: MapValue;
  readonly requestId: string | undefined;
}

export interface MadeVertex {
  /** Undefined: it was made when the load was sent before. */
  readonly rid: Rid | undefined;
  /** Log index that the commit reached. */
  readonly commitIndex: number;
}

export interface BulkCounts extends LoadCounts {
  verticesWithoutId: number;
}

export class BulkLoad implements RecordLoad {
  readonly counts: BulkCounts = {vertices: 0, edges: 0, commitIndex: 0, verticesWithoutId: 0};
  phase: 'vertices' | 'edges' = 'vertices';
  /** The next record, as an encoding reads it. */
  readonly draft: BulkDraft;
  readonly #options: BulkLoadOptions;
  readonly #writer: BulkWriter;
  readonly #commits: BulkCommits;
  readonly #idsOf = new WeakMap<BulkEntry, string[]>();
  #pendingIds: string[] = [];
  /** The record ids among them, where they are noted. */
  #rids: Rid[] = [];
  #entries = 0;
  #weight = 0;
  #guard: TypeGuard | undefined;
  #allowedType: BulkType | undefined;
  readonly #allowedEnds = new Set<number>();
  #ordinal: number;
  /** Given to `add`. */
  #records = 0;
  #record: LoadedRecord | undefined;
  /** Why nothing more is taken. */
  #ended: Refusal | undefined;
  #isClosed = false;

  constructor(options: BulkLoadOptions) {
    const {session, lightEdges, bidirectional, entryBytesMax, timers} = options;
    this.#options = options;
    this.#ordinal = options.ordinalBase;
    this.draft = new BulkDraft(session.schema.context);
    this.#writer = new BulkWriter(session.database, this.draft, {
      lightEdges,
      bidirectional,
      entryCapacity: entryBytesMax + entrySlackBytes,
    });
    this.#commits = new BulkCommits(session.database, {
      timers,
      retriesMax: options.retriesMax,
      retryDelayMs: options.retryDelayMs,
      schemaVersion: entry => schemaVersionFor(entry, this.draft.catalog, session.schema.catalog),
      committed: (entry, outcome) => this.#committed(entry, outcome),
      refusalOf,
    });
  }

  add(record: LoadedRecord): Promise<void> | undefined {
    this.#record = record;
    const place = (this.#records += 1);
    try {
      this.begin();
      this.#fill();
    } catch (error) {
      return this.refused(error, place);
    }
    if (this.#options.requestId !== undefined) this.#weight += estimateValue(record.properties);
    return this.take(place, this.#fill);
  }

  /**
   * Call before records are read into the draft: rights and schema may have changed.
   *
   * @throws {Refusal} when whoever loads may not any more, and what ended the load.
   */
  begin(): void {
    if (this.#ended !== undefined) throw this.#ended;
    this.#askRights();
    this.#renew();
  }

  /**
   * Takes what the draft holds; a promise where the next record has to wait.
   *
   * @param place - Number of the record among what its client sends, for refusals.
   * @param refill - Reads the same record anew, since a newer schema may read it differently.
   */
  take(place: number, refill: () => void): Promise<void> | undefined {
    try {
      if (this.#ended !== undefined) throw this.#ended;
      this.#requireRight();
      const {kind, type} = this.draft;
      if (kind === 'edge') {
        if (this.phase === 'vertices') return this.#firstEdge(place, refill);
        this.#addEdge(place);
      } else if (type?.firesOnCreate === true) return this.#makeVertex(place);
      else this.#addVertex(place);
    } catch (error) {
      return this.refused(error, place);
    }
    return this.#isFull ? this.#commit() : undefined;
  }

  /** Ends the load with what a record failed with; those before it are stored. */
  async refused(error: unknown, place: number): Promise<never> {
    if (!(error instanceof Refusal)) throw error;
    await this.#flush();
    throw (this.#ended ??= this.#told(withLine(error, place)));
  }

  async finish(): Promise<LoadCounts> {
    this.begin();
    await this.#flush();
    await this.#followed();
    if (this.phase === 'vertices') this.#options.onVerticesEnd();
    return this.counts;
  }

  /** What comes broke off: commits what was taken. @throws {Refusal} */
  async abandon(): Promise<void> {
    await this.#flush();
    await this.#followed();
  }

  /** How many temporary ids its vertices have. */
  get idCount(): number {
    return this.#options.ids.size;
  }

  /** Takes nothing more and appends nothing more. What is under way is counted if it commits. */
  end(reason: Refusal): void {
    this.#ended ??= reason;
    this.#commits.stop(reason);
    this.close();
  }

  /** Gives back what it holds; what is committed stays. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#ended ??= queryTerminated();
    this.#options.ids.close();
    this.#options.onClose?.();
  }

  /** Reads the record that was given into the draft. */
  readonly #fill = (): void => {
    const {draft} = this;
    assert(this.#record !== undefined, 'a record was given');
    const {type: name, properties, id, from, to} = this.#record;
    draft.clear();
    const type = draft.typeNamed(name);
    if (type === undefined) draft.catalog.requireType(name);
    assert(type !== undefined, 'the schema has the type');
    draft.type = type;
    draft.kind = type.type.kind === 'edge' ? 'edge' : 'vertex';
    if (draft.kind !== 'edge' && (from ?? to) !== undefined) {
      throw new Refusal('argument', `'${name}' is no edge type: its records have no ends`);
    }
    if (id !== undefined) draft.id.setText(id);
    setEnd(draft.from, from);
    setEnd(draft.to, to);
    draft.fill(type, properties);
  };

  /** Rights may have changed since the last record. */
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

  #requireRight(): void {
    const {type} = this.draft;
    if (this.#guard === undefined || type === undefined || type === this.#allowedType) return;
    this.#guard.require('createRecord', type.type.name);
    this.#allowedType = type;
  }

  async #followed(): Promise<void> {
    const {session, user} = this.#options;
    await session.views.followAll(user);
  }

  async #sent(sending: Promise<void>): Promise<void> {
    try {
      await sending;
    } catch (error) {
      throw this.#told(error);
    }
  }

  /** What failed, as far as whoever loads may read it. */
  #told<T>(error: T): T | Refusal {
    return toldRefusal(error, this.#guard, this.draft.catalog) as T | Refusal;
  }

  async #flush(): Promise<void> {
    await this.#commit();
    await this.#sent(this.#commits.drain());
  }

  async #firstEdge(place: number, refill: () => void): Promise<void> {
    const {context} = this.draft;
    await this.#flush();
    this.#options.onVerticesEnd();
    this.phase = 'edges';
    try {
      // Under a newer schema the record may say something else.
      if (context !== this.draft.context) refill();
      this.#requireRight();
      this.#addEdge(place);
    } catch (error) {
      await this.refused(error, place);
    }
    if (this.#isFull) await this.#commit();
  }

  /** Makes the drafted vertex at once, durably. */
  async #makeVertex(place: number): Promise<void> {
    const {counts} = this;
    const {ids, tellsIds, onVertices, makeVertex, requestId} = this.#options;
    const {type, id} = this.draft;
    assert(type !== undefined, 'a draft that is read has a type');
    try {
      this.#beginVertex(place);
      ids.checkRoom();
      const made = await makeVertex({
        type: type.type.name,
        properties: this.draft.properties(),
        requestId: requestId && `${requestId}/v${place}`,
      });
      if (made === undefined) return;
      const {rid, commitIndex} = made;
      counts.vertices++;
      counts.commitIndex = commitIndex;
      if (this.#ended !== undefined) throw this.#ended;
      const isNamed = id.present && rid !== undefined;
      if (!id.present) counts.verticesWithoutId++;
      if (isNamed) {
        ids.set(id.bytes, id.start, id.end, rid);
        this.#ordinal++;
      }
      onVertices(tellsIds && isNamed ? [id.text, ridText(rid)] : noIds);
    } catch (error) {
      await this.refused(error, place);
    }
  }

  /** @throws {Refusal} when an edge was before it. */
  #beginVertex(place: number): void {
    if (this.phase === 'edges') {
      throw lineRefusal(
        place,
        `Expected edge record but got vertex at line ${place}. ` +
          'All vertices must appear before edges',
      );
    }
    const {id} = this.draft;
    if (this.#options.references === 'ordinal') id.setText(String(this.#ordinal));
  }

  #addVertex(place: number): void {
    const {counts} = this;
    const {ids, tellsIds, requestId} = this.#options;
    this.#beginVertex(place);
    const {id} = this.draft;
    if (!id.present) {
      this.#writer.addVertex(place);
      counts.verticesWithoutId++;
      return;
    }
    ids.checkRoom();
    const rid = this.#writer.addVertex(place);
    ids.set(id.bytes, id.start, id.end, rid);
    this.#ordinal++;
    if (tellsIds || requestId !== undefined) this.#pendingIds.push(id.text, ridText(rid));
    if (requestId !== undefined) this.#rids.push(rid);
  }

  #addEdge(place: number): void {
    const {from, to} = this.draft;
    const ends = [this.#end(from, '@from', place), this.#end(to, '@to', place)] as const;
    for (const {rid} of ends) this.#requireEnd(rid);
    this.#writer.addEdge(...ends, place);
  }

  /** An edge changes the vertices that it connects. @throws {Refusal} `security.denied`. */
  #requireEnd({bucket}: Rid): void {
    if (this.#guard === undefined || this.#allowedEnds.has(bucket)) return;
    const type = this.draft.catalog.typeOfBucket(bucket);
    if (type !== undefined) this.#guard.require('updateRecord', type.name);
    this.#allowedEnds.add(bucket);
  }

  #end(reference: TextRange, name: string, place: number): EdgeEnd {
    if (!reference.present) throw lineRefusal(place, `Missing ${name} at line ${place}`);
    const {ids, references} = this.#options;
    const {bytes, start, end} = reference;
    const own = ids.get(bytes, start, end);
    if (own !== undefined) return {rid: own, isOwn: true};
    const text = reference.text;
    const rid: Rid | undefined = text.startsWith('#') ? parseRid(text) : undefined;
    if (rid !== undefined && rid.position >= 0) return {rid, isOwn: false};
    const shown = text.slice(0, 200);
    throw lineRefusal(
      place,
      references === 'ordinal'
        ? `Unknown vertex number '${shown}' at line ${place}: this batch has made ` +
            `${ids.size} vertices, numbered from ${this.#options.ordinalBase}`
        : `Unknown temporary ID '${shown}' at line ${place}: no vertex earlier in this ` +
            `payload declared it as its @id (${ids.size} ids mapped so far). Vertices must ` +
            'appear before the edges that reference them, and each request resolves only the ' +
            'ids of its OWN payload: a vertex loaded by an earlier request has to be referenced ' +
            'by RID (#bucket:position)',
    );
  }

  get #isFull(): boolean {
    const {entry} = this.#writer;
    const {requestId, entryBytesMax, vertexBatchSize, edgeBatchSize} = this.#options;
    const recordsMax = this.phase === 'edges' ? edgeBatchSize : vertexBatchSize;
    if (entry.records >= recordsMax) return true;
    // How many bytes a record takes in the store is not the same each time.
    return requestId === undefined
      ? entry.operations.length >= entryBytesMax
      : this.#weight >= entryBytesMax;
  }

  async #commit(): Promise<void> {
    const entry = this.#writer.take();
    if (this.#pendingIds.length > 0) {
      this.#idsOf.set(entry, this.#pendingIds);
      this.#pendingIds = [];
    }
    const {requestId} = this.#options;
    if (requestId !== undefined && entry.records > 0) {
      const note = encodeNote(entry.records, this.#rids);
      this.#rids = [];
      entry.request = {id: `${requestId}/${this.#entries}`, note};
      this.#entries += 1;
      this.#weight = 0;
    }
    await this.#sent(this.#commits.send(entry));
    this.#renew();
  }

  /** Goes over to the newest schema where no record waits that was made under an older one. */
  #renew(): void {
    const {context} = this.#options.session.schema;
    if (context === this.draft.context || this.#writer.entry.records > 0) return;
    this.draft.renew(context);
    this.#forgetRights();
  }

  #committed(entry: BulkEntry, {index, note, repeated}: Committed): void {
    const {counts} = this;
    const {names} = this.draft;
    const ids = this.#idsOf.get(entry);
    if (repeated === true) this.#madeBefore(entry, ids ?? [], note);
    else for (const [id, name] of entry.newNames) names.learn(id, name);
    counts.vertices += entry.vertices;
    counts.edges += entry.edges;
    counts.commitIndex = Math.max(counts.commitIndex, index);
    if (entry.vertices > 0) this.#options.onVertices(ids ?? noIds);
    if (entry.edges > 0) this.#options.onEdges();
  }

  /**
   * Its vertices are those of the first time that the load was sent.
   *
   * @throws {Refusal} `request.reused` when that was another load.
   */
  #madeBefore({records}: BulkEntry, ids: string[], note: Uint8Array | undefined): void {
    const rids = decodeNote(note, {records, names: ids.length / 2});
    if (rids === undefined) {
      const message = 'another load was sent under this id before: give each load an id of its own';
      throw new Refusal('request.reused', message);
    }
    if (this.#isClosed) return;
    for (const [at, rid] of rids.entries()) {
      const bytes = utf8Bytes(ids[at * 2] as string);
      this.#options.ids.set(bytes, 0, bytes.length, rid);
      ids[at * 2 + 1] = ridText(rid);
    }
  }
}

const noIds: readonly string[] = [];
/** Room for the record that fills an entry. */
export const entrySlackBytes = 16 << 10;

function setEnd(into: TextRange, end: Rid | string | undefined): void {
  if (end !== undefined) into.setText(end instanceof Rid ? ridText(end) : end);
}
