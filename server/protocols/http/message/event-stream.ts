/**
 * Server-sent events of long work: `data: {status:"progress",message,..}` while it goes on, at the
 * end `{status:"completed",..}` or `{status:"error",message}`; the HTTP status stays 200.
 * Source: docs/http.md.
 */
import type {TellProgress} from '#server/administration/command.ts';
import {AssertionFailure} from '#server/base/assert.ts';
import {type Exchange, loggedFailure} from './exchange.ts';

/** The time between two events about the same step; also keeps the connection from looking dead. */
const tellMs = 500;

export function wantsEvents(exchange: Exchange): boolean {
  return exchange.header('accept')?.includes('text/event-stream') === true;
}

/**
 * Answers with events until `work` has ended, and goes on with it when the client is gone.
 *
 * @param work - Gives the fields of the last event.
 */
export async function answerEvents(
  exchange: Exchange,
  work: (tell: TellProgress) => Promise<Readonly<Record<string, unknown>>>,
): Promise<void> {
  exchange.startStream(200, 'text/event-stream', ['Cache-Control', 'no-cache']);
  const send = (fields: Readonly<Record<string, unknown>>): void => {
    const {response} = exchange;
    if (!response.destroyed) response.write(`data: ${JSON.stringify(fields)}\n\n`);
  };
  const {clock} = exchange.context.options;
  let last = {message: '', at: Number.NEGATIVE_INFINITY};
  const tell: TellProgress = (message, fields = {}) => {
    const now = clock.monotonic();
    if (message === last.message && now - last.at < tellMs) return;
    last = {message, at: now};
    // A client that reads too slowly misses progress, nothing else.
    if (!exchange.response.writableNeedDrain) send({status: 'progress', message, ...fields});
  };
  try {
    send({status: 'completed', ...(await work(tell))});
  } catch (error) {
    if (error instanceof AssertionFailure) throw error;
    const {body} = loggedFailure(exchange.context, exchange, error);
    send({status: 'error', message: body.detail ?? body.error, ...body});
  }
  await exchange.endStream();
}
