/** Exchanges of JSON: what is sent is written as JSON, and what comes back is read as such. */
import {type Answer, type Endpoint, exchange} from './exchange.ts';

export interface JsonRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: the request has no body. */
  readonly body?: unknown;
  /** Default: `application/json`. */
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

export interface JsonAnswer extends Omit<Answer, 'text'> {
  /** Undefined for what is no JSON, as an empty answer is. */
  readonly json: unknown;
  readonly text: string;
}

/**
 * Sends a request and reads its answer, whatever the status. Only a GET is ever sent twice.
 *
 * @throws {NotConnected | UnknownOutcome} as `exchange`.
 */
export async function exchangeJson(to: Endpoint, request: JsonRequest): Promise<JsonAnswer> {
  const {method, path, headers, body, contentType = 'application/json', signal} = request;
  const answer = await exchange(to, {
    method,
    path,
    headers: {
      Accept: 'application/json',
      ...(body === undefined ? {} : {'Content-Type': contentType}),
      ...headers,
    },
    again: method === 'GET',
    ...(body === undefined ? {} : {body: JSON.stringify(body)}),
    signal,
  });
  return {...answer, json: jsonOf(answer.text)};
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
