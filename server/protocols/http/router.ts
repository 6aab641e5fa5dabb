/**
 * Paths to routes, by segment: one look-up for the first segment, then the number of segments.
 *
 * A known path with another method is 405 with `Allow`; HEAD goes wherever GET does. An unknown
 * path is 404 without a body. Segments are decoded once, after splitting.
 */
import type {Principal} from '#server/security/principal.ts';
import type {Exchange} from './message/exchange.ts';
import {PlainFailure} from './message/failure.ts';
import {basePath} from './protocol-names.ts';

export type Handler = (exchange: Exchange, principal: Principal) => Promise<void> | void;
export type OpenHandler = (exchange: Exchange) => Promise<void> | void;

/**
 * Who may call: anybody, another member of the cluster, any user, or root alone.
 *
 * `at` says which member of a cluster answers: only the leader; any, once what it reads is new
 * enough (`fresh`); whichever the statement needs, and the leader inside a transaction
 * (`statement`); without it the one that was asked.
 */
export type Operation =
  | {readonly access: 'open'; readonly run: OpenHandler}
  | {readonly access: 'member'; readonly run: OpenHandler}
  | UserOperation;

export interface UserOperation {
  readonly access: 'user' | 'root';
  readonly run: Handler;
  readonly at?: 'leader' | 'fresh' | 'statement';
}

export interface Route {
  /** A path below the base path: `/query/{database}`; `{name...}` takes all further segments. */
  readonly path: string;
  readonly operations: Readonly<Partial<Record<Method, Operation>>>;
  /** A repeated request id answers what was answered, and runs nothing. */
  readonly isIdempotent?: boolean;
  /** The handler reads the body as it arrives; it may be of any size. */
  readonly streamsBody?: boolean;
  /** Looks at a request before its credentials; false: it has answered. */
  readonly admits?: (exchange: Exchange) => boolean;
  /** Answers every other method, in place of the usual 405. */
  readonly otherMethods?: OpenHandler;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface Match {
  readonly route: Route;
  readonly operation: Operation;
  readonly segments: readonly string[];
}

interface Pattern {
  readonly route: Route;
  readonly segments: readonly string[];
  readonly takesRest: boolean;
}

export class Router {
  readonly #byFirst = new Map<string, Pattern[]>();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const segments = route.path.split('/').slice(1);
      const [first = ''] = segments;
      const takesRest = segments.at(-1)?.endsWith('...}') ?? false;
      const patterns = this.#byFirst.get(first) ?? [];
      patterns.push({route, segments, takesRest});
      this.#byFirst.set(first, patterns);
    }
  }

  /**
   * The operation for a method and a path (without the query string).
   *
   * @returns undefined for an unknown path.
   * @throws {PlainFailure} 405, 400 for a path that cannot be decoded.
   */
  match(method: string, path: string): Match | undefined {
    if (!path.startsWith(basePath)) return undefined;
    const segments = path.slice(basePath.length).split('/');
    const route = this.#route(segments);
    if (route === undefined) return undefined;
    const operation = route.operations[(method === 'HEAD' ? 'GET' : method) as Method];
    if (operation === undefined || !Object.hasOwn(route.operations, methodKey(method))) {
      if (route.otherMethods === undefined) throw notAllowed(route);
      return {route, operation: {access: 'open', run: route.otherMethods}, segments};
    }
    return {route, operation, segments: path.includes('%') ? segments.map(decoded) : segments};
  }

  #route(segments: readonly string[]): Route | undefined {
    const patterns = this.#byFirst.get(segments[0] ?? '');
    return patterns?.find(pattern => fits(pattern, segments))?.route;
  }
}

function methodKey(method: string): string {
  return method === 'HEAD' ? 'GET' : method;
}

function fits({segments: wanted, takesRest}: Pattern, segments: readonly string[]): boolean {
  const enough = takesRest ? segments.length >= wanted.length : segments.length === wanted.length;
  return enough && wanted.every((name, at) => name.startsWith('{') || name === segments[at]);
}

function notAllowed(route: Route): PlainFailure {
  const methods = Object.keys(route.operations);
  const allow = methods.flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return new PlainFailure(405, 'Method Not Allowed', {
    detail: `The route ${route.path.replace('...}', '}')} accepts ${allow.join(', ')} only`,
    headers: ['Allow', allow.join(', ')],
  });
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new PlainFailure(400, 'Malformed path', {
      detail: `The path segment '${segment.slice(0, 80)}' is not valid percent-encoded UTF-8`,
    });
  }
}
