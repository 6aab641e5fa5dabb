/**
 * Pages of other sites in a browser: whom the server lets in, and what it tells the browser of it
 * (`svc.server.httpCorsOrigins`; the CORS protocol of the Fetch standard).
 *
 * Nobody is let in but exactly the listed origins, and each is answered by its own name, so that
 * credentials may come along. What others send a browser may have filled with what it keeps of the
 * user's credentials, and the user means nothing of that: they may read nothing, and what changes
 * anything is refused.
 */
import type {IncomingMessage} from 'node:http';
import {Refusal} from '#server/base/errors.ts';
import {PlainFailure} from './failure.ts';

const setting = 'svc.server.httpCorsOrigins';
const rememberedSeconds = 600;
const sentHeaders = [
  'Authorization',
  'Content-Type',
  'X-Request-Id',
  'svc-session-id',
  'X-Svc-Read-After',
  'X-Svc-Read-Consistency',
].join(', ');
const shownHeaders = [
  'Retry-After',
  'X-Request-Id',
  'svc-session-id',
  'X-Svc-Commit-Index',
  'X-Svc-Replay-Protection',
].join(', ');

type Asked = Pick<IncomingMessage, 'headers' | 'method'>;

export class AllowedOrigins {
  readonly #origins: ReadonlySet<string>;

  /**
   * @param origins - Origins between commas, as browsers write them.
   * @throws {Refusal} `start.refused` for `*`, a path, or whatever else is no origin.
   */
  constructor(origins: string) {
    const listed = origins.split(',').map(origin => origin.trim());
    this.#origins = new Set(listed.filter(origin => origin !== ''));
    for (const origin of this.#origins) {
      const isOrigin = /^https?:/.test(origin) && URL.canParse(origin);
      if (isOrigin && new URL(origin).origin === origin) continue;
      const message =
        `'${origin}' is no origin: write it as a browser does, such as https://app.example or ` +
        `http://localhost:8080, without a path (${setting})`;
      throw new Refusal('start.refused', message);
    }
  }

  /** The listed origin that a request names; undefined for all others. */
  of({headers: {origin}}: Asked): string | undefined {
    return origin !== undefined && this.#origins.has(origin) ? origin : undefined;
  }
}

/** What an answer tells the browser of a listed origin; flat names and values. */
export function originHeaders(origin: string): readonly string[] {
  return [
    'Access-Control-Allow-Origin',
    origin,
    'Access-Control-Allow-Credentials',
    'true',
    'Access-Control-Expose-Headers',
    shownHeaders,
    'Vary',
    'Origin',
  ];
}

/** A browser asks beforehand what a page of another site may send. */
export function isPreflight({method, headers}: Asked): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** What a listed origin may send; flat names and values. */
export const preflightHeaders: readonly string[] = [
  'Access-Control-Allow-Methods',
  'GET, HEAD, POST, PUT, DELETE',
  'Access-Control-Allow-Headers',
  sentHeaders,
  'Access-Control-Max-Age',
  String(rememberedSeconds),
];

/**
 * Refuses what a browser sends for a page of a site that is not listed, unless it only reads, the
 * answer of which the browser keeps from the page. Old browsers tell of the origin alone.
 *
 * @throws {PlainFailure} 403.
 */
export function checkSite({headers, method = 'GET'}: Asked): void {
  if (['GET', 'HEAD'].includes(method)) return;
  const {origin, host} = headers;
  const site = headers['sec-fetch-site'];
  const isForeign =
    site === undefined ? origin !== undefined && hostOf(origin) !== host : site === 'cross-site';
  if (!isForeign) return;
  throw new PlainFailure(403, 'Request of another site', {
    detail:
      'A browser sent this for a page of another site: send it from the own one or a program, ' +
      `or list the origin of the page in ${setting}`,
  });
}

/** Host and port of the origin of a page from a web server; undefined for all others. */
export function hostOf(origin: string): string | undefined {
  const isOfServer = /^https?:/i.test(origin) && URL.canParse(origin);
  return isOfServer ? new URL(origin).host : undefined;
}
