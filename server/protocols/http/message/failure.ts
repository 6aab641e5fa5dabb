/**
 * Errors as bodies: `{error, requestId?, exception?, exceptionArgs?, detail?}` (docs/errors.md).
 *
 * `error` is a short label, `exception` the class that drivers branch on, `detail` the sentence
 * for a person with its causes, on one line; production mode leaves the details out. What is no
 * refusal is a defect of ours: it answers 500 and says nothing of the inside.
 */
import {Corruption, Refusal} from '#server/base/errors.ts';
import {requiresLeader} from '#server/cluster/leadership.ts';
import {exceptionArguments, statusRow} from './status.ts';

/** A failure before a request reaches the server's parts: a label, perhaps a detail and a class. */
export class PlainFailure extends Error {
  override readonly name = 'PlainFailure';
  readonly status: number;
  readonly label: string;
  readonly detail: string | undefined;
  readonly exception: string | undefined;
  readonly showsRequestId: boolean;
  readonly headers: readonly string[];

  constructor(
    status: number,
    label: string,
    options: {
      readonly detail?: string;
      readonly exception?: string;
      readonly showsRequestId?: boolean;
      readonly headers?: readonly string[];
    } = {},
  ) {
    super(label);
    this.status = status;
    this.label = label;
    this.detail = options.detail;
    this.exception = options.exception;
    this.showsRequestId = options.showsRequestId ?? false;
    this.headers = options.headers ?? [];
  }
}

export interface FailureBody {
  readonly error: string;
  readonly requestId?: string;
  readonly exception?: string;
  readonly exceptionArgs?: string;
  readonly detail?: string;
}

export interface FailureAnswer {
  readonly status: number;
  readonly body: FailureBody;
  /** Flat names and values. */
  readonly headers: readonly string[];
  /** Whether it is a defect of ours and belongs in the log. */
  readonly unexpected: boolean;
}

/** What to answer for whatever was thrown. */
export function failureAnswer(
  error: unknown,
  options: {readonly requestId: string; readonly hidesDetail: boolean},
): FailureAnswer {
  const {requestId, hidesDetail} = options;
  if (error instanceof PlainFailure) {
    const detail = hidesDetail || error.detail === undefined ? {} : {detail: error.detail};
    const id = error.showsRequestId ? {requestId} : {};
    const {label, exception} = error;
    const named = exception === undefined ? {} : {exception};
    const body = {error: label, ...id, ...named, ...detail};
    return {status: error.status, body, headers: error.headers, unexpected: false};
  }
  if (error instanceof Refusal) {
    const {status, error: label, retryAfter} = statusRow(error);
    const args = exceptionArguments(error);
    const body = {
      error: label,
      requestId,
      exception: error.exception,
      ...(args === undefined ? {} : {exceptionArgs: args}),
      ...(hidesDetail ? {} : {detail: causeChain(error)}),
    };
    const wait = retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)];
    const headers = [...wait, ...leaderHeader(error), ...(hidesDetail ? [] : placeHeader(error))];
    return {status, body, headers, unexpected: false};
  }
  if (error instanceof Corruption) {
    const body = {
      error: 'Damaged database',
      requestId,
      exception: 'DatabaseNotAvailableException',
      ...(hidesDetail ? {} : {detail: `${causeChain(error)} (${damageAdvice})`}),
    };
    return {status: 503, body, headers: [], unexpected: true};
  }
  const body = {error: 'Internal error', requestId, exception: 'InternalException'};
  return {status: 500, body, headers: [], unexpected: true};
}

/** Where to ask instead, since nothing happened here; empty while nobody knows. */
function leaderHeader(error: Refusal): readonly string[] {
  return requiresLeader(error) ? ['X-Svc-Leader', String(error.detail['args'] ?? '')] : [];
}

const damageAdvice =
  'stored bytes are not those that were written: CHECK DATABASE tells what is damaged, a copy of ' +
  'the database brings it back';

/** Which part of the statement is to blame, for whoever marks it: the body has no room for it. */
function placeHeader({place}: Refusal): readonly string[] {
  return place === undefined ? [] : ['X-Svc-Error-Place', `${place.line}:${place.column}`];
}

const chainMax = 5;

/** A message and those of its causes, joined by ` -> `, on one line. */
function causeChain(error: Error): string {
  const messages = [error.message];
  let cause = error.cause;
  while (cause instanceof Error && messages.length < chainMax) {
    // A refusal made from another one often says the same.
    if (!messages.includes(cause.message)) messages.push(cause.message);
    cause = cause.cause;
  }
  return messages.join(' -> ').replaceAll(/\s*[\r\n]+\s*/g, ' ');
}

export function clientGone(): PlainFailure {
  return new PlainFailure(408, 'The client is gone');
}
