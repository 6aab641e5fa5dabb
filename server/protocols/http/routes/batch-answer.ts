/**
 * What a batch answers: counts at its end, or line by line while it runs (docs/http.md).
 *
 * Streamed: `{"progress":{..}}` lines with the ids of committed vertices, then one
 * `{"summary":{..}}` or `{"error":{..}}`. What a client does not read is bounded: progress is left
 * out, and ids make the load wait.
 */
import {AssertionFailure} from '#server/base/assert.ts';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import type {LineLoad} from '#server/session/record-loads.ts';
import {type Exchange, ndjsonType} from '../message/exchange.ts';
import {failureAnswer, PlainFailure} from '../message/failure.ts';

/** Ids that an answer may hold when nobody asked for them. */
const idsMaxAuto = 10_000;
/** Ids that an answer may hold at all; streamed there is no bound. */
const idsMaxAll = 1_000_000;
const unreadBytesMax = 1 << 20;
const idsPerLine = 5_000;

type Fields = Record<string, unknown>;

export interface BatchAnswerOptions {
  readonly exchange: Exchange;
  readonly idMapping: 'auto' | 'all' | 'none';
  readonly vertexBatchSize: number;
  readonly commitEvery: number;
}

export class BatchAnswer {
  readonly #options: BatchAnswerOptions;
  readonly #isStreamed: boolean;
  readonly #mapping = new Map<string, string>();
  #ids: string[] = [];
  #keepsMapping: boolean;
  #vertices = 0;
  #edges = 0;
  #edgesAreDue = false;

  constructor(options: BatchAnswerOptions) {
    this.#options = options;
    this.#isStreamed = (options.exchange.header('accept') ?? '').includes(ndjsonType);
    this.#keepsMapping = options.idMapping !== 'none';
  }

  get wantsIds(): boolean {
    return this.#options.idMapping !== 'none';
  }

  /** Vertices were committed; flat pairs of id and record id. */
  vertices(load: LineLoad, ids: readonly string[]): void {
    if (!this.#isStreamed) return this.#keep(ids);
    for (const id of ids) this.#ids.push(id);
    if (load.counts.vertices - this.#vertices >= this.#options.vertexBatchSize) {
      this.#tellVertices(load);
    }
  }

  edges(load: LineLoad): void {
    if (this.#isStreamed && load.counts.edges - this.#edges >= this.#options.commitEvery) {
      this.#edgesAreDue = true;
    }
  }

  /** Every vertex is committed. */
  verticesEnded(load: LineLoad): void {
    if (this.#isStreamed && load.counts.vertices > this.#vertices) this.#tellVertices(load);
  }

  /** Call between pieces of the body: tells what is due and waits for the reader. */
  async keepUp(load: LineLoad): Promise<void> {
    const {exchange} = this.#options;
    if (this.#edgesAreDue) {
      this.#edgesAreDue = false;
      this.#edges = load.counts.edges;
      this.#line({progress: progressOf(load)}, false);
    }
    if (exchange.response.writableLength > unreadBytesMax) await exchange.write('\n');
  }

  /** The counts, as the whole answer or as its last line. */
  async succeed(load: LineLoad, elapsedMs: number, idCount: number): Promise<void> {
    const {exchange} = this.#options;
    const {counts} = load;
    const body: Fields = {
      verticesCreated: counts.vertices,
      edgesCreated: counts.edges,
      elapsedMs: Math.round(elapsedMs),
      bytesRead: counts.bytesRead,
      linesRead: counts.linesRead,
      linesSkipped: counts.linesSkipped,
      ...withoutId(load),
      ...this.#mappingFields(idCount),
    };
    if (!this.#isStreamed) return exchange.answerJson(200, body);
    this.#start();
    body['commitIndex'] = counts.commitIndex;
    await exchange.endStream(`${JSON.stringify({summary: body})}\n`);
  }

  /** The error with the counts; before the first line with a status of its own. */
  async fail(load: LineLoad, error: unknown): Promise<void> {
    if (error instanceof AssertionFailure) throw error;
    const {exchange} = this.#options;
    if (exchange.response.destroyed) return;
    const {status, body} = this.#failure(load, error);
    if (!exchange.response.headersSent) return exchange.answerJson(status, body);
    const last = {...body, status, commitIndex: load.counts.commitIndex};
    await exchange.endStream(`${JSON.stringify({error: last})}\n`);
  }

  #failure(load: LineLoad, error: unknown): {readonly status: number; readonly body: Fields} {
    const {exchange} = this.#options;
    const {context, requestId, database: db} = exchange;
    const answer = failureAnswer(error, {requestId, hidesDetail: context.hidesDetail});
    if (answer.unexpected) {
      const stack = error instanceof Error ? error.stack : String(error);
      context.options.logger.log('error', 'batch failed', {requestId, db, error: stack});
    }
    const counts = countsOf(load);
    if (error instanceof PlainFailure) {
      return {status: error.status, body: {error: error.label, requestId, ...counts}};
    }
    if (error instanceof Refusal && ownWords.has(error.code)) {
      const {message, exception} = error;
      return {status: answer.status, body: {error: message, exception, requestId, ...counts}};
    }
    // Elsewhere an unknown type is a missing thing; here it is a mistake of the body.
    const isUnknownType = error instanceof Refusal && error.code === 'schema.unknown-type';
    return {status: isUnknownType ? 400 : answer.status, body: {...answer.body, ...counts}};
  }

  #keep(ids: readonly string[]): void {
    if (!this.#keepsMapping) return;
    for (let at = 0; at + 1 < ids.length; at += 2) {
      this.#mapping.set(ids[at] as string, ids[at + 1] as string);
    }
    const idsMax = this.#options.idMapping === 'all' ? idsMaxAll : idsMaxAuto;
    if (this.#mapping.size <= idsMax) return;
    this.#keepsMapping = false;
    this.#mapping.clear();
  }

  #mappingFields(idCount: number): Fields {
    if (idCount === 0) return {};
    if (this.#isStreamed && this.wantsIds) {
      return {idMappingStreamed: true, idMappingSize: idCount};
    }
    if (!this.#keepsMapping) return {idMappingOmitted: true, idMappingSize: idCount};
    return {idMapping: fieldsOf([...this.#mapping])};
  }

  #tellVertices(load: LineLoad): void {
    this.#vertices = load.counts.vertices;
    const pairs: [string, string][] = [];
    for (let at = 0; at + 1 < this.#ids.length; at += 2) {
      pairs.push([this.#ids[at] as string, this.#ids[at + 1] as string]);
    }
    this.#ids = [];
    if (pairs.length === 0) this.#line({progress: progressOf(load)}, false);
    for (let from = 0; from < pairs.length; from += idsPerLine) {
      const idMapping = fieldsOf(pairs.slice(from, from + idsPerLine));
      this.#line({progress: {...progressOf(load), idMapping}}, true);
    }
  }

  #line(line: Fields, isNeeded: boolean): void {
    const {response} = this.#options.exchange;
    if (response.destroyed) return;
    if (!isNeeded && response.writableLength > unreadBytesMax) return;
    this.#start();
    response.write(`${JSON.stringify(line)}\n`);
  }

  #start(): void {
    const {exchange} = this.#options;
    if (exchange.response.headersSent) return;
    exchange.startStream(200, ndjsonType, ['Cache-Control', 'no-cache']);
  }
}

/** Refusals whose sentence is the label, since it says where in the body the mistake is. */
const ownWords: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  'argument',
  'batch.record',
  'batch.truncated',
]);

/** Defines own properties, whatever their names are. */
function fieldsOf(pairs: readonly (readonly [string, string])[]): Fields {
  return Object.fromEntries(pairs);
}

function progressOf({phase, counts}: LineLoad): Fields {
  return {
    phase,
    verticesCreated: counts.vertices,
    edgesCreated: counts.edges,
    bytesRead: counts.bytesRead,
    linesRead: counts.linesRead,
    linesSkipped: counts.linesSkipped,
  };
}

function countsOf(load: LineLoad): Fields {
  const {counts} = load;
  return {
    verticesCreated: counts.vertices,
    edgesCreated: counts.edges,
    partialCommit: counts.vertices + counts.edges > 0,
    bytesRead: counts.bytesRead,
    linesRead: counts.linesRead,
    linesSkipped: counts.linesSkipped,
    ...withoutId(load),
  };
}

function withoutId({counts}: LineLoad): Fields {
  return counts.verticesWithoutId === 0 ? {} : {verticesWithoutId: counts.verticesWithoutId};
}
