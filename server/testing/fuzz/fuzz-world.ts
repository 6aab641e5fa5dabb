/**
 * One real server process and three ways to be rude to it: whole requests, raw bytes, held sockets.
 *
 * Every answer is measured from the first byte sent, without what the server waited for a
 * processor; one that never comes is an error here already. The polite client of polite-client.ts
 * works beside all of it.
 */
import {readdirSync, readFileSync} from 'node:fs';
import http from 'node:http';
import {connect, type Socket} from 'node:net';
import {freePort} from '../worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '../worlds/server-process.ts';

/** No request, however bad, may take longer on a machine that does nothing else. */
export const answerMillisMax = 20_000;

/** Whatever takes longer hangs: a busy machine is only slow. */
export const hangMillis = 120_000;

/** A complete answer as it came. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** Time from the first byte sent, without what the server's threads waited for a processor. */
  readonly millis: number;
}

/** What is sent besides the path. */
export interface Call {
  readonly method?: string;
  /** An object is sent as JSON. */
  readonly body?: string | Uint8Array | object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly as?: 'root' | 'nobody';
  /** The path is whole, not below `/api/v1`. */
  readonly isAbsolute?: boolean;
}

export const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;

export class HostileWorld {
  server: ServerProcess;
  readonly port: number;
  readonly #settings: Readonly<Record<string, string | number>>;
  readonly #agent = new http.Agent({keepAlive: true, maxSockets: 64});

  private constructor(
    server: ServerProcess,
    port: number,
    settings: Readonly<Record<string, string | number>>,
  ) {
    this.server = server;
    this.port = port;
    this.#settings = settings;
  }

  static async start(settings: Readonly<Record<string, string | number>>): Promise<HostileWorld> {
    const port = await freePort();
    const root = temporaryRoot('hostile');
    return new HostileWorld(await startServer({root, port, settings}), port, settings);
  }

  /** Kills the process as a crash would and starts it again in its folder. */
  async restart(): Promise<void> {
    const {root} = this.server;
    await this.server.kill();
    this.server = await startServer({root, port: this.port, settings: this.#settings});
  }

  async dispose(): Promise<void> {
    this.#agent.destroy();
    await this.server.dispose();
  }

  /** Processor time of all its threads since it was started, in steps of 10. */
  get processorMillis(): number {
    const stat = readFileSync(`/proc/${this.server.pid}/stat`, 'utf8');
    const [user = 0, system = 0] = stat
      .slice(stat.lastIndexOf(')'))
      .split(' ')
      .slice(12, 14)
      .map(Number);
    return (user + system) * 10;
  }

  /** How long its network thread was ready to run while no processor was free, by Linux. */
  get queuedMillis(): number {
    return queuedMillis(`/proc/${this.server.pid}/schedstat`);
  }

  /** The same of all its threads together. */
  get threadsQueuedMillis(): number {
    const threads = `/proc/${this.server.pid}/task`;
    return readdirSync(threads).reduce(
      (sum, thread) => sum + queuedMillis(`${threads}/${thread}/schedstat`),
      0,
    );
  }

  get isAlive(): boolean {
    try {
      return process.kill(this.server.pid, 0);
    } catch {
      return false;
    }
  }

  /** Resident memory of the server, in bytes. */
  get residentBytes(): number {
    const status = readFileSync(`/proc/${this.server.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
  }

  /** A request over a kept connection; below `/api/v1` unless the path is absolute. */
  call(path: string, call: Call = {}): Promise<Answer> {
    const {method, body, headers = {}, as = 'root', isAbsolute = false} = call;
    const bytes = bodyBytes(body);
    const startedAt = performance.now();
    const queued = this.threadsQueuedMillis;
    const {promise, resolve, reject} = Promise.withResolvers<Answer>();
    const request = http.request({
      host: '127.0.0.1',
      // Raw requests that spoil a password lock its user where they come from.
      localAddress: '127.0.0.2',
      port: this.port,
      agent: this.#agent,
      method: method ?? (bytes === undefined ? 'GET' : 'POST'),
      path: isAbsolute ? path : `/api/v1${path}`,
      headers: {
        ...(as === 'root' ? {Authorization: authorization} : {}),
        ...(bytes === undefined ? {} : {'Content-Length': String(bytes.byteLength)}),
        ...headers,
      },
      timeout: hangMillis,
    });
    request.on('timeout', () => request.destroy(new Error(`no answer in time from ${path}`)));
    request.on('error', reject);
    request.on('response', response => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const {statusCode: status = 0, headers: received} = response;
        const text = Buffer.concat(chunks).toString();
        const waited = this.threadsQueuedMillis - queued;
        const millis = performance.now() - startedAt - waited;
        resolve({status, headers: received, text, millis});
      });
    });
    request.end(bytes);
    return promise;
  }

  /** A statement over POST /command. */
  command(command: string, more: object = {}, database = 'hostile'): Promise<Answer> {
    return this.call(`/command/${database}`, {body: {language: 'sql', command, ...more}});
  }

  /** The first value of the first row. */
  async value(command: string): Promise<unknown> {
    const {text, status} = await this.command(command);
    if (status !== 200) throw new Error(`${command} answered ${status} ${text}`);
    const {result} = JSON.parse(text) as {result: readonly object[]};
    return Object.values(result[0] ?? {})[0];
  }

  /** A server command. */
  administer(command: string): Promise<Answer> {
    return this.call('/server', {body: {command}});
  }

  /** An open connection, its errors ignored. The caller destroys it. */
  async connection(): Promise<Socket> {
    const socket = connect(this.port, '127.0.0.1');
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.on('error', () => {});
    return socket;
  }

  /**
   * Sends bytes on a connection of their own and gives what comes back until the server closes,
   * or `quietMillis` have passed without a byte after the first, or `silenceMillis` before it.
   */
  async raw(
    bytes: string | Uint8Array,
    quietMillis = 300,
    silenceMillis = hangMillis,
  ): Promise<string> {
    const socket = await this.connection();
    const {promise, resolve} = Promise.withResolvers<string>();
    let received = '';
    let timer = setTimeout(() => socket.destroy(), silenceMillis);
    socket.on('data', chunk => {
      received += chunk.toString('latin1');
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), quietMillis);
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(received);
    });
    socket.write(bytes);
    return promise;
  }
}

/** What a file `schedstat` tells; 0 where its thread has ended since. */
function queuedMillis(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** A head as text, with credentials, its lines given. */
export function head(line: string, ...headers: readonly string[]): string {
  const lines = [`${line} HTTP/1.1`, 'Host: x', `Authorization: ${authorization}`, ...headers];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function bodyBytes(body: Call['body']): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}
