/**
 * POST /batch: bulk load of a graph, streamed in and out (docs/http.md).
 *
 * The body is read only as fast as it is stored, and other requests get their turn between its
 * pieces. Everything about records is in session/bulk-load.ts; here are the words of the request,
 * the reading of its body and its answer.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import {BulkIds} from '#server/session/bulk-ids.ts';
import {SpilledIds} from '#server/session/bulk-ids-disk.ts';
import {BulkLoad} from '#server/session/bulk-load.ts';
import {TypeGuard} from '#server/session/guarded-graph.ts';
import {insertRecord} from '#server/session/record-calls.ts';
import type {Security} from '#server/security/security.ts';
import type {SessionService} from '#server/session/service.ts';
import type {Principal} from '#server/security/principal.ts';
import {BatchAnswer} from './batch-answer.ts';
import {BatchBody} from './batch-body.ts';
import {type BatchParameters, batchParameters} from './batch-parameters.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import type {BatchHandler} from '../server.ts';

export interface BatchHandlerOptions {
  readonly service: SessionService;
  readonly security: Pick<Security, 'access' | 'current' | 'generation'>;
  readonly settings: () => Settings;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly disk: Disk;
  /** Where tables of temporary ids may be kept; made when the first one is. */
  readonly temporaryDirectory: string;
}

/** Milliseconds after which others get a turn, even when more of the body is there. */
const turnMs = 5;
/** Entries of about this size are committed; smaller when the log takes less. */
const entryBytesDefault = 400 << 10;
const lineSlackBytes = 64 << 10;

export function createBatchHandler(options: BatchHandlerOptions): BatchHandler {
  const places = new BatchPlaces(options.settings);
  return async (exchange, principal, database) => {
    const leave = places.enter(principal);
    try {
      await runBatch(options, {exchange, principal, database});
    } finally {
      leave();
    }
  };
}

/** Batches that run at once, shared out; each may hold `svc.batch.idMapMemoryMax`. */
class BatchPlaces {
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

interface BatchCall {
  readonly exchange: Exchange;
  readonly principal: Principal;
  readonly database: string;
}

async function runBatch(options: BatchHandlerOptions, call: BatchCall): Promise<void> {
  const {exchange} = call;
  const {clock} = options;
  const startedAt = clock.monotonic();
  const session = options.service.databaseSession(call.principal, call.database);
  const parameters = batchParameters(exchange.query);
  const answer = new BatchAnswer({exchange, ...parameters});
  const ids = temporaryIds(options);
  const load: BulkLoad = new BulkLoad({
    session,
    guard: guardOf(options, call),
    ids,
    timers: options.timers,
    ...shapeOf(options.settings(), parameters),
    format: (exchange.header('content-type') ?? '').includes('csv') ? 'csv' : 'json',
    tellsIds: answer.wantsIds,
    makeVertex: (type, properties) => {
      const {principal, database} = call;
      return insertRecord(options.service, principal, {database, type, properties});
    },
    onVertices: pairs => answer.vertices(load, pairs),
    onVerticesEnd: () => answer.verticesEnded(load),
    onEdges: () => answer.edges(load),
  });
  const body = new BatchBody(exchange.request, options.timers);
  exchange.onBodyLost = () => body.lose();
  try {
    await readBody(options, {exchange, body, load, answer});
    await load.finish();
    checkExpected(load, parameters.expectedRecords);
    await answer.succeed(load, clock.monotonic() - startedAt, ids.size);
  } catch (error) {
    body.close();
    await answer.fail(load, error);
  } finally {
    ids.close();
  }
}

async function readBody(
  {clock, timers}: BatchHandlerOptions,
  parts: {
    readonly exchange: Exchange;
    readonly body: BatchBody;
    readonly load: BulkLoad;
    readonly answer: BatchAnswer;
  },
): Promise<void> {
  const {exchange, body, load, answer} = parts;
  let turnBegan = clock.monotonic();
  for (;;) {
    let piece: Buffer | undefined;
    try {
      piece = await body.next();
    } catch (error) {
      // What nobody can be told of any more is not stored either.
      if (!exchange.response.destroyed) await load.abandon();
      throw error;
    }
    if (piece === undefined) return;
    await load.push(piece);
    await answer.keepUp(load);
    if (clock.monotonic() - turnBegan < turnMs) continue;
    await timers.yield();
    turnBegan = clock.monotonic();
  }
}

/** What the user may do, as it is now: a load may take hours. */
function guardOf({security}: BatchHandlerOptions, call: BatchCall): () => TypeGuard | undefined {
  const {database} = call;
  let asked = {generation: -1, guard: undefined as TypeGuard | undefined};
  return () => {
    const {generation} = security;
    if (asked.generation === generation && call.principal.expiresAt === undefined) {
      return asked.guard;
    }
    const principal = security.current(call.principal);
    const access = security.access(principal, database);
    if (access === undefined) {
      const message = `User '${principal.name}' has not access to the database`;
      throw new Refusal('security.denied', message);
    }
    const guard = principal.root ? undefined : new TypeGuard(access, principal.name);
    asked = {generation, guard};
    return guard;
  };
}

function temporaryIds(options: BatchHandlerOptions): BulkIds {
  const {random, disk, temporaryDirectory} = options;
  const settings = options.settings();
  const name = `ids-${random.u32().toString(16)}-${random.u32().toString(16)}`;
  return new BulkIds({
    countMax: settings.get('svc.batch.idMapMax'),
    memoryBytesMax: settings.get('svc.batch.idMapMemoryMax'),
    spill: new SpilledIds(disk, temporaryDirectory, name),
    seed: random.u32(),
  });
}

function shapeOf(settings: Settings, parameters: BatchParameters) {
  return {
    references: parameters.refMode,
    ordinalBase: parameters.ordinalBase,
    lightEdges: parameters.lightEdges,
    bidirectional: parameters.bidirectional,
    vertexBatchSize: parameters.vertexBatchSize,
    edgeBatchSize: parameters.commitEvery,
    retriesMax: parameters.commitRetries,
    retryDelayMs: parameters.commitRetryDelayMs,
    entryBytesMax: Math.min(entryBytesDefault, settings.get('svc.ha.appendBufferSize') / 2),
    lineBytesMax: settings.get('svc.recordSizeMax') * 2 + lineSlackBytes,
  };
}

/** @throws {PlainFailure} 408 when the body was shorter than announced, 400 when longer. */
function checkExpected({counts}: BulkLoad, expected: number | undefined): void {
  const received = counts.vertices + counts.edges;
  if (expected === undefined || received === expected) return;
  throw new PlainFailure(
    received < expected ? 408 : 400,
    `Expected ${expected} records but ${received} were received ` +
      `(${counts.vertices} vertices and ${counts.edges} edges)`,
  );
}
