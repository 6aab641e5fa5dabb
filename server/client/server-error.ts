/**
 * An answer of the server that refuses a request, as the client's callers see it.
 *
 * Invariant: thrown only for an answer that arrived completely, so the outcome of the request is
 * known: it did nothing. A request whose answer never came is an `UnknownOutcome` instead; a
 * caller that writes must keep the two apart (a retry of the second may write twice).
 * Source: the error body of the HTTP conventions, `{error, requestId, exception, detail}`.
 */
import type {SourceLocation} from '#server/base/errors.ts';

/** What the error body of the server says; absent fields are `undefined`. */
export interface ErrorBody {
  readonly error: string;
  readonly exception: string | undefined;
  readonly exceptionArgs: string | undefined;
  readonly detail: string | undefined;
  readonly requestId: string | undefined;
  /** Counts and other fields that some routes add (`/batch`: what had been committed). */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The server answered, and the answer is a refusal. */
export class ServerError extends Error implements ErrorBody {
  override readonly name = 'ServerError';
  readonly status: number;
  readonly error: string;
  readonly exception: string | undefined;
  readonly exceptionArgs: string | undefined;
  readonly detail: string | undefined;
  readonly requestId: string | undefined;
  /** The part of the statement that is to blame, in its text without the blanks around it. */
  readonly place: SourceLocation | undefined;
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(status: number, body: ErrorBody, place?: SourceLocation) {
    super(describe(status, body));
    this.status = status;
    this.error = body.error;
    this.exception = body.exception;
    this.exceptionArgs = body.exceptionArgs;
    this.detail = body.detail;
    this.requestId = body.requestId;
    this.place = place;
    this.fields = body.fields;
  }

  /** The last part of the exception's class name, which is what programs compare. */
  get exceptionName(): string | undefined {
    return this.exception?.split(/[.$]/).at(-1);
  }
}

/** The connection failed after the request was sent: nobody here knows whether it was done. */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome';
}

/** No connection could be made: the request never left, so it certainly did nothing. */
export class NotConnected extends Error {
  override readonly name = 'NotConnected';
}

/** Reads the error body of an answer; a body that is no JSON object becomes the detail. */
export function errorBodyOf(text: string): ErrorBody {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    const detail = text.trim().slice(0, 500);
    return {...noFields, detail: detail === '' ? undefined : detail};
  }
  return errorBodyFrom(parsed as Record<string, unknown>);
}

/** The same from an object already parsed: the `error` line of a streamed answer. */
export function errorBodyFrom(fields: Readonly<Record<string, unknown>>): ErrorBody {
  const text = (name: string): string | undefined => {
    const value = fields[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    error: text('error') ?? '',
    exception: text('exception'),
    exceptionArgs: text('exceptionArgs'),
    detail: text('detail') ?? text('message'),
    requestId: text('requestId'),
    fields,
  };
}

/** Reads the header that says where in a statement a mistake lies: `2:7`. */
export function placeOf(
  header: string | readonly string[] | undefined,
): SourceLocation | undefined {
  const [, line, column] = /^(\d{1,9}):(\d{1,9})$/.exec(String(header)) ?? [];
  return line === undefined ? undefined : {line: Number(line), column: Number(column)};
}

const noFields: ErrorBody = {
  error: '',
  exception: undefined,
  exceptionArgs: undefined,
  detail: undefined,
  requestId: undefined,
  fields: {},
};

function describe(status: number, body: ErrorBody): string {
  if (body.error === '' && body.detail === undefined && status === 401) {
    return 'the server asks for a user and a password (status 401)';
  }
  const parts = [body.error, body.detail].filter(part => part !== undefined && part !== '');
  const said = parts.length === 0 ? 'the server refused without a reason' : parts.join(': ');
  return `${said} (status ${status})`;
}
