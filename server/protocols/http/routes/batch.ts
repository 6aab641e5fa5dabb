/**
 * POST /batch: bulk load of a graph, streamed in and out (docs/http.md).
 *
 * The body is read only as fast as it is stored, and other requests get their turn between its
 * pieces. The load is that of every protocol (session/record-loads.ts), its records come as lines;
 * here are the words of the request, the reading of its body and its answer.
 */
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {LineLoad, LineLoadRequest, RecordLoads} from '#server/session/record-loads.ts';
import type {Principal} from '#server/security/principal.ts';
import {BatchAnswer} from './batch-answer.ts';
import {BatchBody} from './batch-body.ts';
import {type BatchParameters, batchParameters} from './batch-parameters.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import type {BatchHandler} from '../server.ts';

export interface BatchHandlerOptions {
  readonly loads: RecordLoads;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Milliseconds after which others get a turn, even when more of the body is there. */
const turnMs = 5;

export function createBatchHandler(options: BatchHandlerOptions): BatchHandler {
  return (exchange, principal, database) => runBatch(options, {exchange, principal, database});
}

interface BatchCall {
  readonly exchange: Exchange;
  readonly principal: Principal;
  readonly database: string;
}

async function runBatch(options: BatchHandlerOptions, call: BatchCall): Promise<void> {
  const {exchange, principal, database} = call;
  const {clock, loads} = options;
  const startedAt = clock.monotonic();
  const parameters = batchParameters(exchange.query);
  const answer = new BatchAnswer({exchange, ...parameters});
  const load = loads.beginLines(principal, {
    database,
    ...shapeOf(parameters),
    format: (exchange.header('content-type') ?? '').includes('csv') ? 'csv' : 'json',
    tellsIds: answer.wantsIds,
    onVertices: (begun, pairs) => answer.vertices(begun, pairs),
    onVerticesEnd: begun => answer.verticesEnded(begun),
    onEdges: begun => answer.edges(begun),
  });
  const body = new BatchBody(exchange);
  exchange.onBodyLost = () => body.lose();
  try {
    await readBody(options, {exchange, body, load, answer});
    await load.finish();
    checkExpected(load, parameters.expectedRecords);
    await answer.succeed(load, clock.monotonic() - startedAt, load.idCount);
  } catch (error) {
    body.close();
    await answer.fail(load, error);
  } finally {
    load.close();
  }
}

async function readBody(
  {clock, timers}: BatchHandlerOptions,
  parts: {
    readonly exchange: Exchange;
    readonly body: BatchBody;
    readonly load: LineLoad;
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

function shapeOf(parameters: BatchParameters) {
  return {
    references: parameters.refMode,
    ordinalBase: parameters.ordinalBase,
    lightEdges: parameters.lightEdges,
    bidirectional: parameters.bidirectional,
    vertexBatchSize: parameters.vertexBatchSize,
    edgeBatchSize: parameters.commitEvery,
    retriesMax: parameters.commitRetries,
    retryDelayMs: parameters.commitRetryDelayMs,
  } satisfies Partial<LineLoadRequest>;
}

/** @throws {PlainFailure} 408 when the body was shorter than announced, 400 when longer. */
function checkExpected({counts}: LineLoad, expected: number | undefined): void {
  const received = counts.vertices + counts.edges;
  if (expected === undefined || received === expected) return;
  throw new PlainFailure(
    received < expected ? 408 : 400,
    `Expected ${expected} records but ${received} were received ` +
      `(${counts.vertices} vertices and ${counts.edges} edges)`,
  );
}
