/**
 * Loads of many records as bytes, for every protocol that has a stream of them: who may load, how
 * many loads run at once, where temporary ids are kept and how large what is committed at once
 * becomes. What a line says and how it is stored is the matter of bulk-load.ts.
 *
 * A load is the leader's; a protocol brings it there as it came.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Random, Timers} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Security} from '#server/security/security.ts';
import type {Principal} from '#server/security/principal.ts';
import {BulkIds} from './bulk-ids.ts';
import {SpilledIds} from './bulk-ids-disk.ts';
import {BulkLoad, type BulkLoadOptions} from './loads/bulk-load.ts';
import {insertRecord} from './record-calls.ts';
import type {SessionService} from './service.ts';
import {currentGuard} from './type-guard.ts';

export interface RecordLoadsOptions {
  readonly service: SessionService;
  readonly security: Pick<Security, 'access' | 'current' | 'generation'>;
  readonly settings: () => Settings;
  readonly timers: Timers;
  readonly random: Random;
  readonly disk: Disk;
  /** Where tables of temporary ids may be kept; made when the first one is. */
  readonly temporaryDirectory: string;
}

/** What a load is of, and what its client wants to be told. */
export type LoadRequest = {readonly database: string} & Pick<
  BulkLoadOptions,
  | 'format'
  | 'references'
  | 'ordinalBase'
  | 'lightEdges'
  | 'bidirectional'
  | 'vertexBatchSize'
  | 'edgeBatchSize'
  | 'retriesMax'
  | 'retryDelayMs'
  | 'tellsIds'
> & {
    /** Vertices were committed; flat pairs of id and record id where asked for. */
    readonly onVertices: (load: RecordLoad, ids: readonly string[]) => void;
    readonly onVerticesEnd: (load: RecordLoad) => void;
    readonly onEdges: (load: RecordLoad) => void;
  };

/** A load that goes on. Always `close` it. */
export type RecordLoad = Pick<
  BulkLoad,
  'push' | 'finish' | 'abandon' | 'close' | 'counts' | 'phase' | 'idCount'
>;

/** Entries of about this size are committed; smaller when the log takes less. */
const entryBytesDefault = 400 << 10;
const lineSlackBytes = 64 << 10;

export class RecordLoads {
  readonly #options: RecordLoadsOptions;
  readonly #places: LoadPlaces;

  constructor(options: RecordLoadsOptions) {
    this.#options = options;
    this.#places = new LoadPlaces(options.settings);
  }

  /**
   * Begins a load, which has a place among those that run until it is closed.
   *
   * @throws {Refusal} `admission.full`, `security.denied`, `database.not-found`.
   */
  begin(principal: Principal, request: LoadRequest): RecordLoad {
    const {service, timers} = this.#options;
    const {database, onVertices, onVerticesEnd, onEdges, ...shape} = request;
    const session = service.databaseSession(principal, database);
    const settings = this.#options.settings();
    const ids = this.#temporaryIds(settings);
    const leave = this.#places.enter(principal);
    const load: BulkLoad = new BulkLoad({
      ...shape,
      session,
      guard: currentGuard(this.#options.security, principal, database),
      user: principal.root ? undefined : principal.name,
      ids,
      timers,
      entryBytesMax: Math.min(entryBytesDefault, settings.get('svc.ha.appendBufferSize') / 2),
      lineBytesMax: settings.get('svc.recordSizeMax') * 2 + lineSlackBytes,
      makeVertex: (type, properties) =>
        insertRecord(service, principal, {database, type, properties}),
      onVertices: pairs => onVertices(load, pairs),
      onVerticesEnd: () => onVerticesEnd(load),
      onEdges: () => onEdges(load),
      onClose: leave,
    });
    return load;
  }

  #temporaryIds(settings: Settings): BulkIds {
    const {random, disk, temporaryDirectory} = this.#options;
    const name = `ids-${random.u32().toString(16)}-${random.u32().toString(16)}`;
    return new BulkIds({
      countMax: settings.get('svc.batch.idMapMax'),
      memoryBytesMax: settings.get('svc.batch.idMapMemoryMax'),
      spill: new SpilledIds(disk, temporaryDirectory, name),
      seed: random.u32(),
    });
  }
}

/** Batches that run at once, shared out; each may hold `svc.batch.idMapMemoryMax`. */
class LoadPlaces {
  readonly #settings: () => Settings;
  readonly #byUser = new Map<string, number>();
  #taken = 0;

  constructor(settings: () => Settings) {
    this.#settings = settings;
  }

  /** Answers how to leave. @throws {Refusal} `admission.full`. */
  enter({name, root}: Principal): () => void {
    const most = this.#settings().get('svc.batch.concurrentMax');
    const own = this.#byUser.get(name) ?? 0;
    const share = this.#settings().get('svc.batch.concurrentMaxPerUser');
    if (this.#taken >= (root ? most : most - 1)) {
      const message = `${this.#taken} batches are running (svc.batch.concurrentMax); try again`;
      throw new Refusal('admission.full', message);
    }
    if (!root && own >= share) {
      const setting = 'svc.batch.concurrentMaxPerUser';
      const message = `${own} batches of user '${name}' are running (${setting})`;
      throw new Refusal('admission.full', `${message}; try again`);
    }
    this.#taken += 1;
    this.#byUser.set(name, own + 1);
    return () => {
      this.#taken -= 1;
      const left = (this.#byUser.get(name) ?? 1) - 1;
      if (left > 0) this.#byUser.set(name, left);
      else this.#byUser.delete(name);
    };
  }
}
