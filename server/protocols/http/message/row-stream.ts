/**
 * Rows as lines, sent as they come (docs/http.md).
 *
 * One key a line: `{"record":{}}`, at the end `{"stats":{limit,returned,truncated}}`, or on a late
 * failure `{"error":{..}}` and no stats. What fails before the first rows keeps its status. The
 * first line leaves at once, then every 8 KB or 50 ms; silence is broken by empty lines, so that
 * what lies between does not take the connection for dead.
 */
import {AssertionFailure} from '#server/base/assert.ts';
import type {ResultCursor} from '#server/session/session.ts';
import {type Exchange, ndjsonType} from './exchange.ts';
import {failureAnswer} from './failure.ts';

const flushBytes = 8 * 1024;
const flushMs = 50;

/** Answers 200 with lines and closes the cursor. Rejects only before the head is written. */
export async function streamRows(exchange: Exchange, cursor: ResultCursor): Promise<void> {
  const keepAlive = new KeepAlive(exchange);
  try {
    let piece = await cursor.next();
    exchange.startRows(ndjsonType, ['Cache-Control', 'no-cache']);
    keepAlive.start();
    const lines = new Lines(exchange, keepAlive);
    try {
      for (; piece !== undefined; piece = await cursor.next()) {
        const wait = lines.add(piece);
        if (wait !== undefined) await wait;
      }
      const {limit, returned, truncated} = cursor.summary;
      await lines.end(JSON.stringify({stats: {limit, returned, truncated}}));
    } catch (error) {
      if (error instanceof AssertionFailure) throw error;
      await lines.end(JSON.stringify({error: lateFailure(exchange, error)}));
    }
  } finally {
    keepAlive.stop();
    cursor.close();
  }
}

function lateFailure(exchange: Exchange, error: unknown): unknown {
  const {requestId, context, database: db} = exchange;
  const answer = failureAnswer(error, {requestId, hidesDetail: context.hidesDetail});
  const {body, status} = answer;
  if (answer.unexpected) {
    const stack = error instanceof Error ? error.stack : String(error);
    context.options.logger.log('error', 'stream failed', {requestId, db, error: stack});
  }
  return {...body, status, message: body.detail ?? body.error};
}

/** Lines that wait to be sent together. */
class Lines {
  readonly #exchange: Exchange;
  readonly #keepAlive: KeepAlive;
  #waiting: Buffer[] = [];
  #bytes = 0;
  #cancelFlush: (() => void) | undefined;
  #isFirst = true;

  constructor(exchange: Exchange, keepAlive: KeepAlive) {
    this.#exchange = exchange;
    this.#keepAlive = keepAlive;
  }

  /** Takes a copy of whole lines; a promise when the reader must catch up first. */
  add(piece: Buffer): Promise<void> | undefined {
    this.#waiting.push(Buffer.from(piece));
    this.#bytes += piece.length;
    if (this.#isFirst || this.#bytes >= flushBytes) {
      this.#isFirst = false;
      return this.#exchange.write(this.#take());
    }
    this.#cancelFlush ??= this.#exchange.context.options.timers.after(flushMs, () => {
      this.#cancelFlush = undefined;
      if (this.#bytes > 0) this.#exchange.push(this.#take());
    });
    return undefined;
  }

  end(line: string): Promise<void> | void {
    this.#waiting.push(Buffer.from(`${line}\n`));
    return this.#exchange.endStream(this.#take());
  }

  #take(): Buffer {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    const taken = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#bytes = 0;
    this.#keepAlive.touch();
    return taken;
  }
}

/** Sends an empty line whenever nothing was sent for the set time. */
class KeepAlive {
  readonly #exchange: Exchange;
  readonly #intervalMs: number;
  #lastSent = 0;
  #cancel: (() => void) | undefined;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    const {settings} = exchange.context;
    this.#intervalMs = settings.get('svc.server.httpStreamingKeepAliveInterval');
  }

  start(): void {
    if (this.#intervalMs === 0) return;
    this.touch();
    this.#arm(this.#intervalMs);
  }

  touch(): void {
    this.#lastSent = this.#exchange.context.options.clock.monotonic();
  }

  stop(): void {
    this.#cancel?.();
  }

  #arm(delayMs: number): void {
    const {clock, timers} = this.#exchange.context.options;
    this.#cancel = timers.after(delayMs, () => {
      const silentMs = clock.monotonic() - this.#lastSent;
      const {response} = this.#exchange;
      if (silentMs >= this.#intervalMs && !response.writableNeedDrain && !response.destroyed) {
        this.#exchange.push(Buffer.from('\n'));
        this.touch();
      }
      this.#arm(silentMs >= this.#intervalMs ? this.#intervalMs : this.#intervalMs - silentMs);
    });
  }
}
