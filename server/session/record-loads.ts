/**
 * Loads of many records, for every protocol: who may load, how many loads run at once, where
 * temporary ids are kept, what memory they take and how large what is committed at once becomes.
 * What is done with a record is the matter of loads/bulk-load.ts; records come as values, or as
 * lines of bytes. A load is the leader's.
 */
import {queryTerminated, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {underWayMax} from '#server/bulk/commit.ts';
import {leaderNeeded} from '#server/cluster/leadership.ts';
import type {Random, Timers} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Security} from '#server/security/security.ts';
import type {Principal} from '#server/security/principal.ts';
import {BulkIds, idBytesMin} from './bulk-ids.ts';
import {SpilledIds} from './bulk-ids-disk.ts';
import type {DatabaseSession} from './connections/database-session.ts';
import type {KeptHolder} from './kept-memory.ts';
import {
  BulkLoad,
  type BulkLoadOptions,
  entrySlackBytes,
  type MadeVertex,
  type VertexToMake,
} from './loads/bulk-load.ts';
import {LineLoad, type LineLoadOptions} from './loads/line-load.ts';
import {insertRecord} from './record-calls.ts';
import type {LoadRequest, RequestContext, Service} from './session.ts';
import {currentGuard} from './type-guard.ts';

export type {LineLoad};

/** Where tables of temporary ids may be kept; the directory is made when the first one is. */
export interface TemporaryFiles {
  readonly disk: Disk;
  readonly directory: string;
}

export interface RecordLoadsOptions {
  readonly service: Service & {
    databaseSession(principal: Principal, name: string): DatabaseSession;
  };
  readonly security: Pick<Security, 'access' | 'current' | 'generation'>;
  readonly settings: () => Settings;
  readonly timers: Timers;
  readonly random: Random;
  readonly temporary: TemporaryFiles;
  /** Whether this server takes writes. */
  readonly takesWrites: () => boolean;
}

/** How records are packed, and what of it is told. */
type LoadShape = Pick<
  BulkLoadOptions,
  | 'references'
  | 'ordinalBase'
  | 'lightEdges'
  | 'bidirectional'
  | 'vertexBatchSize'
  | 'edgeBatchSize'
  | 'retriesMax'
  | 'retryDelayMs'
  | 'tellsIds'
>;

/** What a load of lines is of, and what its client wants to be told. */
export type LineLoadRequest = RequestContext & {readonly database: string} & LoadShape &
  Pick<LineLoadOptions, 'format'> & {
    /** Vertices were committed; flat pairs of id and record id where asked for. */
    readonly onVertices: (load: LineLoad, ids: readonly string[]) => void;
    readonly onVerticesEnd: (load: LineLoad) => void;
    readonly onEdges: (load: LineLoad) => void;
  };

/** Entries of about this size are committed; smaller when the log takes less. */
const entryBytesDefault = 400 << 10;
const lineSlackBytes = 64 << 10;
const portionDefault = 1_000;
const portionMost = 100_000;
/** Attempts of a portion that meets other commits, and the pause between them. */
const retries = {retriesMax: 10, retryDelayMs: 1_000} as const;

const silent = {tellsIds: false, onVertices() {}, onVerticesEnd() {}, onEdges() {}} as const;

export class RecordLoads {
  readonly #options: RecordLoadsOptions;
  readonly #places: LoadPlaces;

  constructor(options: RecordLoadsOptions) {
    this.#options = options;
    this.#places = new LoadPlaces(options.settings);
  }

  /** Loads that run. */
  get count(): number {
    return this.#places.taken;
  }

  /** Takes a place for what loads in its own way; answers how to leave. @throws {Refusal} */
  enter(principal: Principal): () => void {
    return this.#places.enter(principal);
  }

  /** Begins a load of values, as `Service.loadRecords` says. @throws {Refusal} */
  begin(principal: Principal, request: LoadRequest): BulkLoad {
    const {portionMax = portionDefault, requestId} = request;
    if (!(portionMax >= 1 && portionMax <= portionMost)) {
      throw new Refusal('argument', `a portion has from 1 to ${portionMost} records`);
    }
    return this.#open(principal, request, {
      ...silent,
      ...retries,
      references: 'id',
      ordinalBase: 0,
      lightEdges: false,
      bidirectional: true,
      vertexBatchSize: portionMax,
      edgeBatchSize: portionMax,
      requestId,
    });
  }

  /** Works like `begin`, for lines of bytes. @throws {Refusal} */
  beginLines(principal: Principal, request: LineLoadRequest): LineLoad {
    const {format, onVertices, onVerticesEnd, onEdges} = request;
    const bulk = this.#open(principal, request, {
      ...request,
      onVertices: pairs => onVertices(load, pairs),
      onVerticesEnd: () => onVerticesEnd(load),
      onEdges: () => onEdges(load),
    });
    const recordBytesMax = this.#options.settings().get('svc.recordSizeMax');
    const lineBytesMax = recordBytesMax * 2 + lineSlackBytes;
    const load: LineLoad = new LineLoad(bulk, {format, lineBytesMax});
    return load;
  }

  #open(
    principal: Principal,
    request: RequestContext & {readonly database: string},
    shape: LoadShape &
      Pick<BulkLoadOptions, 'onVertices' | 'onVerticesEnd' | 'onEdges' | 'requestId'>,
  ): BulkLoad {
    const {service, timers, takesWrites} = this.#options;
    const {database} = request;
    const session = service.databaseSession(principal, database);
    if (!takesWrites()) throw leaderNeeded('this server does not lead the cluster');
    if (request.readOnly === true) {
      throw new Refusal('query.not-idempotent', 'a load writes, and what only reads was asked for');
    }
    if (request.signal?.aborted === true) throw queryTerminated();
    const settings = this.#options.settings();
    const entryBytesMax = Math.min(entryBytesDefault, settings.get('svc.ha.appendBufferSize') / 2);
    const leave = this.#places.enter(principal);
    const memory = service.keep(principal);
    try {
      const load: BulkLoad = new BulkLoad({
        ...shape,
        session,
        guard: currentGuard(this.#options.security, principal, database),
        user: principal.root ? undefined : principal.name,
        ids: this.#temporaryIds(settings, new LoadMemory(memory, entryBytesMax)),
        timers,
        entryBytesMax,
        makeVertex: vertex => this.#makeVertex(principal, database, vertex),
        onClose: () => {
          forget();
          memory.close();
          leave();
        },
      });
      const forget = this.#whenOver(request, reason => load.end(reason));
      return load;
    } catch (error) {
      memory.close();
      leave();
      throw error;
    }
  }

  /** Calls `end` when the client goes or its time is over; the returned function forgets it. */
  #whenOver({signal, timeoutMs}: RequestContext, end: (reason: Refusal) => void): () => void {
    const onAbort = (): void => end(queryTerminated());
    signal?.addEventListener('abort', onAbort);
    const cancel =
      timeoutMs === undefined
        ? undefined
        : this.#options.timers.after(timeoutMs, () => end(timedOut(timeoutMs)));
    return () => {
      signal?.removeEventListener('abort', onAbort);
      cancel?.();
    };
  }

  async #makeVertex(
    principal: Principal,
    database: string,
    vertex: VertexToMake,
  ): Promise<MadeVertex | undefined> {
    const {service} = this.#options;
    try {
      return await insertRecord(service, principal, {database, ...vertex});
    } catch (error) {
      if (!(error instanceof Refusal && error.code === 'request.reused')) throw error;
      return {rid: undefined, commitIndex: service.appliedIndex};
    }
  }

  #temporaryIds(settings: Settings, memory: LoadMemory): BulkIds {
    const {random, temporary} = this.#options;
    const name = `ids-${random.u32().toString(16)}-${random.u32().toString(16)}`;
    return new BulkIds({
      countMax: settings.get('svc.batch.idMapMax'),
      memoryBytesMax: settings.get('svc.batch.idMapMemoryMax'),
      mayTake: bytes => memory.mayTake(bytes),
      spill: new SpilledIds(temporary.disk, temporary.directory, name),
      seed: random.u32(),
    });
  }
}

/** What one load takes of the memory of all: its entries, built and under way, and its ids. */
class LoadMemory {
  readonly #holder: KeptHolder;
  readonly #entryBytes: number;

  /** @throws {Refusal} `query.memory`, `query.memory-total`. */
  constructor(holder: KeptHolder, entryBytesMax: number) {
    this.#holder = holder;
    this.#entryBytes = (underWayMax + 1) * (entryBytesMax + entrySlackBytes);
    holder.resize(this.#entryBytes + idBytesMin);
  }

  /** Whether there is room for so many bytes of ids, which are counted then. */
  mayTake(idBytes: number): boolean {
    try {
      this.#holder.resize(this.#entryBytes + idBytes);
      return true;
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
  }
}

function timedOut(timeoutMs: number): Refusal {
  return new Refusal(
    'query.timeout',
    `the load took longer than ${timeoutMs} ms: what it had committed stays`,
    {detail: {timeoutMs}},
  );
}

/** Loads that run at once, shared out; each may hold `svc.batch.idMapMemoryMax`. */
class LoadPlaces {
  readonly #settings: () => Settings;
  readonly #byUser = new Map<string, number>();
  taken = 0;

  constructor(settings: () => Settings) {
    this.#settings = settings;
  }

  /** Answers how to leave. @throws {Refusal} `admission.full`. */
  enter({name, root}: Principal): () => void {
    const most = this.#settings().get('svc.batch.concurrentMax');
    const own = this.#byUser.get(name) ?? 0;
    const share = this.#settings().get('svc.batch.concurrentMaxPerUser');
    if (this.taken >= (root ? most : most - 1)) {
      const message = `${this.taken} loads are running (svc.batch.concurrentMax); try again`;
      throw new Refusal('admission.full', message);
    }
    if (!root && own >= share) {
      const setting = 'svc.batch.concurrentMaxPerUser';
      const message = `${own} loads of user '${name}' are running (${setting})`;
      throw new Refusal('admission.full', `${message}; try again`);
    }
    this.taken += 1;
    this.#byUser.set(name, own + 1);
    return () => {
      this.taken -= 1;
      const left = (this.#byUser.get(name) ?? 1) - 1;
      if (left > 0) this.#byUser.set(name, left);
      else this.#byUser.delete(name);
    };
  }
}
