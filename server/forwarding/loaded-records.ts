/**
 * Records of a load on their way from a member to its leader, and what is known of them here.
 *
 * They travel as typed rows, a piece a frame, and each piece is answered when the leader has taken
 * it. A few pieces may be on their way, so a client sends no faster than the leader stores, and
 * nothing is kept here but those. What comes alone is sent alone: the leader is not kept waiting.
 */
import {ByteWriter} from '#server/base/byte-writer.ts';
import {queryTerminated, Refusal} from '#server/base/errors.ts';
import {TypedRowReader, typedRows} from '#server/execution/query-result.ts';
import {type MapValue, Rid, type Value} from '#server/model/value.ts';
import type {KeptHolder} from '#server/session/kept-memory.ts';
import type {LoadCounts, LoadedRecord, RecordLoad} from '#server/session/session.ts';
import {type Frame, frame} from './leader-call.ts';
import type {CallStream} from './leader-channel.ts';

/** Records of about this size make a piece. */
const pieceBytes = 64 << 10;
/** Pieces that the leader has not taken yet. */
const piecesMax = 4;

/** What the leader says of a load: what is durable, and the bookmark of it. */
export type ToldCounts = LoadCounts & {readonly index: number};

export interface LeaderLoadOptions {
  readonly stream: CallStream;
  /** Counts what is on its way. */
  readonly memory: KeptHolder;
  /** Aborted when the client is gone: nobody closes it then. */
  readonly signal: AbortSignal | undefined;
  /** Told of the bookmark of what was written. */
  readonly note: (index: number) => void;
}

/** A load of a client of this member, carried out by the leader. */
export class LeaderLoad implements RecordLoad {
  readonly counts: LoadCounts = {vertices: 0, edges: 0, commitIndex: 0};
  readonly #options: LeaderLoadOptions;
  readonly #rows = new ByteWriter();
  readonly #encoder = typedRows.begin(undefined);
  #piecesSent = 0;
  #piecesTaken = 0;
  /** Reads answers, one after the other. */
  #reading: Promise<void> = Promise.resolve();
  #ended: Error | undefined;
  #isClosed = false;

  /** @throws {Refusal} `query.memory`, `query.memory-total`. */
  constructor(options: LeaderLoadOptions) {
    this.#options = options;
    options.memory.resize((piecesMax + 1) * pieceBytes);
    options.signal?.addEventListener('abort', this.#onGone);
    if (options.signal?.aborted === true) this.close();
  }

  add({type, properties, id, from, to}: LoadedRecord): Promise<void> | undefined {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const rows = this.#rows;
    const before = rows.length;
    try {
      this.#encoder.row(rows, [type, properties, id ?? null, from ?? null, to ?? null]);
    } catch (error) {
      rows.length = before;
      return this.#refused(error);
    }
    const isIdle = this.#piecesSent === this.#piecesTaken;
    if (!isIdle && rows.length < pieceBytes) return undefined;
    this.#send();
    return this.#piecesSent - this.#piecesTaken < piecesMax ? undefined : this.#taken();
  }

  async finish(): Promise<LoadCounts> {
    if (this.#ended !== undefined) throw this.#ended;
    if (this.#rows.length > 0) this.#send();
    this.#options.stream.end(frame('end'));
    await this.#read();
    return this.counts;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#ended ??= queryTerminated();
    this.#options.signal?.removeEventListener('abort', this.#onGone);
    this.#options.stream.close();
    this.#options.memory.close();
  }

  readonly #onGone = (): void => this.close();

  /** A record that cannot travel ends the load; those before it are stored. */
  async #refused(error: unknown): Promise<never> {
    await this.finish();
    throw (this.#ended ??= errorOf(error));
  }

  #send(): void {
    const rows = this.#rows;
    this.#piecesSent += 1;
    this.#options.stream.send(frame('rows', rows.view()));
    rows.clear();
    // Whoever adds or finishes next is told what it failed with.
    this.#read().catch(() => {});
  }

  /** Resolves when the leader has taken so much that more may come. */
  async #taken(): Promise<void> {
    while (this.#piecesSent - this.#piecesTaken >= piecesMax) {
      await this.#reading;
      if (this.#ended !== undefined) throw this.#ended;
    }
  }

  /** Reads the answer to one piece more, or to the end. */
  #read(): Promise<void> {
    const read = this.#reading.then(() => this.#answer());
    this.#reading = read.catch(() => {});
    return read;
  }

  async #answer(): Promise<void> {
    if (this.#ended !== undefined) throw this.#ended;
    try {
      this.#hear(await this.#options.stream.next());
    } catch (error) {
      throw (this.#ended ??= isLost(error) ? unknownRest(error) : errorOf(error));
    }
  }

  #hear(answer: Frame | undefined): void {
    if (answer === undefined) return;
    const {index, ...counts} = JSON.parse(answer.bytes.toString('utf8')) as ToldCounts;
    Object.assign(this.counts, counts);
    if (counts.commitIndex > 0) this.#options.note(index);
    this.#piecesTaken += 1;
    // What came meanwhile waits for nobody.
    const isIdle = this.#piecesSent === this.#piecesTaken;
    if (isIdle && this.#rows.length > 0 && answer.kind === 'taken') this.#send();
  }
}

function errorOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

function isLost(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'cluster.no-leader';
}

function unknownRest(cause: unknown): Refusal {
  return new Refusal(
    'commit.unknown',
    'the leader was lost in the middle of the load: what is counted is stored, some of the rest ' +
      'may be; read before loading again, or load again with the same request id',
    {cause},
  );
}

/** The records of a frame that came from another member. */
export function* recordsIn({bytes}: Frame): Generator<LoadedRecord> {
  const rows = new TypedRowReader(bytes);
  for (let row = rows.next(); row !== undefined; row = rows.next()) {
    const [type, properties, id, from, to] = row;
    yield {
      type: textOf(type) ?? '',
      properties: properties as MapValue,
      id: textOf(id),
      from: endOf(from),
      to: endOf(to),
    };
  }
}

function textOf(value: Value | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function endOf(value: Value | undefined): Rid | string | undefined {
  return value instanceof Rid ? value : textOf(value);
}
