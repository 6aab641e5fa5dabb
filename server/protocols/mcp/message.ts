/**
 * JSON-RPC 2.0: what one message is, and the texts of answers.
 *
 * A request has an id that is a string or an integer, which comes back as it was, whatever its
 * size. What has a method and no id is a notification, and what has a result or an error in place
 * of a method is an answer to us: neither is ever answered.
 */
import {jsonText} from '#server/model/json.ts';
import {isIntegerValue, numberOf} from '#server/model/number.ts';
import {Decimal, Double, type MapValue, type Value} from '#server/model/value.ts';

export const codes = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  resourceNotFound: -32_002,
} as const;

type Code = (typeof codes)[keyof typeof codes];

/** A failure that the answer carries in place of a result. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: Code;

  constructor(code: Code, message: string) {
    super(message);
    this.code = code;
  }
}

/** The id as JSON text; `null` where there is none that could be named. */
export type RequestId = string;
export const noId: RequestId = 'null';

export interface Request {
  readonly kind: 'request';
  readonly id: RequestId;
  readonly method: string;
  readonly params: MapValue;
}

/** What is never answered: a method without an id, or an answer to us. */
export interface Notification {
  readonly kind: 'notification';
  /** Empty for an answer. */
  readonly method: string;
  readonly params: MapValue;
}

export type Message =
  | Request
  | Notification
  | {readonly kind: 'malformed'; readonly says: string}
  /** A message to be answered with what is wrong about it; its id, where that at least is sound. */
  | {readonly kind: 'invalid'; readonly id: RequestId; readonly says: string};

const nothing: MapValue = new Map();

/** What a message is; `value` is as the model's parser gives it. */
export function readMessage(value: Value, what = 'message'): Message {
  if (!(value instanceof Map)) {
    return {kind: 'malformed', says: `Invalid Request: ${what} is not a JSON object`};
  }
  const fields = value as MapValue;
  const method = fields.get('method');
  if (!fields.has('id')) {
    if (method !== undefined) return notification(method, fields.get('params'));
    return invalid(noId, "'id' must be a string or an integer");
  }
  if (method === undefined && (fields.has('result') || fields.has('error'))) {
    return notification('', undefined);
  }
  const id = idText(fields.get('id') ?? null);
  if (id === undefined) return invalid(noId, "'id' must be a string or an integer");
  const version = fields.get('jsonrpc') ?? '2.0';
  if (version !== '2.0') return invalid(id, "'jsonrpc' must be '2.0'");
  const params = fields.get('params') ?? nothing;
  if (typeof method !== 'string' || !(params instanceof Map)) {
    return invalid(id, "'method' must be a string and 'params' an object");
  }
  return {kind: 'request', id, method, params: params as MapValue};
}

/** @param result - JSON text. */
export function resultText(id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

export function errorText(id: RequestId, code: Code, message: string): string {
  const error = JSON.stringify({code, message});
  return `{"jsonrpc":"2.0","id":${id},"error":${error}}`;
}

function notification(method: Value, params: Value | undefined): Notification {
  return {
    kind: 'notification',
    method: typeof method === 'string' ? method : '',
    params: params instanceof Map ? (params as MapValue) : nothing,
  };
}

function invalid(id: RequestId, says: string): Message {
  return {kind: 'invalid', id, says: `Invalid Request: ${says}`};
}

/** Undefined for what is no id: neither a string nor an integer. */
export function idText(id: Value): RequestId | undefined {
  if (typeof id === 'string') return JSON.stringify(id);
  const isWhole =
    isIntegerValue(id) ||
    (id instanceof Double && Number.isInteger(numberOf(id))) ||
    (id instanceof Decimal && id.scale === 0);
  return isWhole ? jsonText(id) : undefined;
}
