/**
 * Every surface of a server that takes bytes from strangers over HTTP, as tests ask it: one good
 * request of each, which they spoil, and a world that listens for all of them.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {ByteClient} from '../worlds/byte-client.ts';
import {type HttpWorld, httpWorld, rootPassword} from '../worlds/http-world.ts';

/** The raw HTTP path, node's server, the same over TLS, agents, change events, scrapers. */
export const surfaces = ['raw', 'node', 'tls', 'mcp', 'ws', 'prometheus'] as const;
export type Surface = (typeof surfaces)[number];

/** A good request. */
export interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: readonly string[];
  /** Empty where the request has none. */
  readonly body: string;
  /** What shows that it was carried out. */
  readonly done: RegExp;
}

export const basic = (who: string): string => `Basic ${Buffer.from(who).toString('base64')}`;
const authorization = `Authorization: ${basic(`root:${rootPassword}`)}`;

const statement = {
  method: 'POST',
  path: '/api/v1/query/db',
  body: '{"language":"sql","command":"rows 1"}',
  done: /"returned":1/,
} as const;

export const asked: Readonly<Record<Surface, Asked>> = {
  raw: {...statement, headers: [authorization]},
  // A header that the raw HTTP path does not know.
  node: {...statement, headers: [authorization, 'X-Other: 1']},
  tls: {...statement, headers: [authorization]},
  mcp: {
    method: 'POST',
    path: '/api/v1/mcp',
    headers: [authorization],
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    done: /"result":\{\}/,
  },
  ws: {
    method: 'GET',
    path: '/ws',
    headers: [
      authorization,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ],
    body: '',
    done: /^HTTP\/1\.1 101 /,
  },
  prometheus: {
    method: 'GET',
    path: '/prometheus',
    headers: [authorization],
    body: '',
    done: /# TYPE svc_/,
  },
};

/** What a test changes of a good request. */
export interface Spoilt {
  readonly path?: string;
  readonly authorization?: string;
  /** These stand in front of all others of the good request. */
  readonly headers?: readonly string[];
  /** Sent with its length, unless `framing` is given. */
  readonly body?: string;
  /** These stand in place of the length. */
  readonly framing?: readonly string[];
}

/** The request as bytes, one character each. */
export function bytesOf(surface: Surface, spoilt: Spoilt = {}): string {
  const good = asked[surface];
  const {path = good.path, headers = [], body = good.body} = spoilt;
  const framing = spoilt.framing ?? (body === '' ? [] : [`Content-Length: ${body.length}`]);
  const own = good.headers.map(line =>
    spoilt.authorization !== undefined && line.startsWith('Authorization')
      ? `Authorization: ${spoilt.authorization}`
      : line,
  );
  const lines = [`${good.method} ${path} HTTP/1.1`, 'Host: x', ...headers, ...own, ...framing];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

const keys = readFileSync(join(import.meta.dirname, '../fixtures/tls/localhost.pem'), 'utf8');

/** A server that listens with and without TLS, and whose agents are let in. */
export class SurfaceWorld {
  readonly http: HttpWorld;
  readonly #securePort: number;

  private constructor(http: HttpWorld, securePort: number) {
    this.http = http;
    this.#securePort = securePort;
  }

  static async open(settings: Readonly<Record<string, string | number>> = {}) {
    const http = await httpWorld(settings);
    const {port, server} = http;
    const ports = {from: 0, to: 0};
    const secure = await server.listenSecurely('127.0.0.1', ports, {key: keys, cert: keys});
    const body = {enabled: true, allowedUsers: ['*']};
    const {status, text} = await http.call('/mcp/config', {body});
    if (status !== 200) throw new Error(`agents of port ${port}: ${text}`);
    return new SurfaceWorld(http, secure);
  }

  client(surface: Surface): ByteClient {
    const isSecure = surface === 'tls';
    return new ByteClient(isSecure ? this.#securePort : this.http.port, {isSecure});
  }

  /** A connection to the port of a surface that has not even begun TLS. */
  bareClient(surface: Surface): ByteClient {
    return new ByteClient(surface === 'tls' ? this.#securePort : this.http.port);
  }

  /** The first answer to bytes on a connection of their own, which is then closed. */
  async answer(surface: Surface, bytes: string): Promise<string> {
    const client = this.client(surface);
    try {
      return await (await client.send(bytes)).answer();
    } finally {
      client.close();
    }
  }

  /** All that is said to bytes until the server ends the connection. */
  async everything(surface: Surface, bytes: string): Promise<string> {
    const client = this.client(surface);
    try {
      await client.send(bytes);
      await client.ended;
      return client.rest();
    } finally {
      client.close();
    }
  }

  close(): Promise<void> {
    return this.http.server.close(0);
  }
}
