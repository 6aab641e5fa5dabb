/**
 * A real server that a test of settings asks as a user would: statements, requests, and changes of
 * its settings while it runs.
 */
import {freePort} from '../worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '../worlds/server-process.ts';

export interface Asked {
  readonly method?: string;
  /** Written `user:password`, or a whole header where it has a blank. Default: root. */
  readonly as?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent as it is, anything else as JSON. */
  readonly body?: unknown;
}

export interface Told {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

export class AskedServer {
  readonly process: ServerProcess;

  private constructor(process: ServerProcess) {
    this.process = process;
  }

  /** A server with a database `db`. Ended and removed by `dispose`. */
  static async start(
    settings: Readonly<Record<string, string | number | boolean>> = {},
    root = temporaryRoot('settings'),
  ): Promise<AskedServer> {
    const process = await startServer({root, port: await freePort(), settings});
    const server = new AskedServer(process);
    await server.ask('/server', {body: {command: 'create database db'}});
    return server;
  }

  get log(): string {
    return this.process.log;
  }

  /** A request below `/api/v1`, or to any path that starts with `//`. */
  async ask(path: string, {as = `root:${rootPassword}`, ...asked}: Asked = {}): Promise<Told> {
    const {body, headers, method = body === undefined ? 'GET' : 'POST'} = asked;
    const authorization = as.includes(' ') ? as : `Basic ${Buffer.from(as).toString('base64')}`;
    const where = path.startsWith('//') ? path.slice(1) : `/api/v1${path}`;
    const response = await fetch(`${this.process.url}${where}`, {
      method,
      headers: {authorization, ...headers},
      ...(body === undefined ? {} : {body: typeof body === 'string' ? body : JSON.stringify(body)}),
    });
    return {status: response.status, text: await response.text(), headers: response.headers};
  }

  /** Changes a setting of the server while it runs; null: back to its default. */
  async set(key: string, value: string | number | boolean): Promise<void> {
    const told = await this.ask('/server', {body: {command: `set server setting ${key} ${value}`}});
    if (told.status !== 200) throw new Error(`${key} was not set: ${told.text}`);
  }

  /** A statement that is let change something. */
  run(
    command: string,
    language = 'sql',
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<Told> {
    return this.ask('/command/db', {body: {language, command, ...more}});
  }

  /** A statement that only reads. */
  query(command: string, language = 'sql'): Promise<Told> {
    return this.ask('/query/db', {body: {language, command}});
  }

  /** The rows of a statement that must not fail. */
  async rows(command: string, language = 'sql'): Promise<readonly Record<string, unknown>[]> {
    const {status, text} = await this.run(command, language);
    if (status !== 200) throw new Error(`${command}: ${text}`);
    return (JSON.parse(text) as {result: Record<string, unknown>[]}).result;
  }

  /** A figure of `GET /server`. */
  async figure(name: string): Promise<number> {
    const {text} = await this.ask('/server');
    const {metrics} = JSON.parse(text) as {
      readonly metrics: {readonly profiler: Readonly<Record<string, Record<string, number>>>};
    };
    const [value = Number.NaN] = Object.values(metrics.profiler[name] ?? {});
    return value;
  }

  /** The value of a metric family that has one series. */
  async metric(family: string): Promise<number> {
    const {text} = await this.ask('//prometheus');
    return Number(new RegExp(`^${family} (\\S+)`, 'm').exec(text)?.[1]);
  }

  /** Ends every statement that runs. */
  async endStatements(): Promise<void> {
    const {text} = await this.ask('/server', {body: {command: 'list queries'}});
    const {result} = JSON.parse(text) as {readonly result: readonly {readonly id: string}[]};
    for (const {id} of result) {
      await this.ask('/server', {body: {command: `terminate query ${id}`}});
    }
  }

  dispose(): Promise<void> {
    return this.process.dispose();
  }
}
