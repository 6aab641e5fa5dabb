/**
 * A real server in a process of its own, started by `bin/svc` in an empty folder: what the tests
 * and benchmarks that look at the server from outside run against; and its commands, as a shell
 * runs them.
 *
 * Invariant: the process is ended by its own id and no other; its folder is removed by `dispose`.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {Client} from '#server/client/client.ts';

const repository = resolve(import.meta.dirname, '../../..');
export const program = join(repository, 'bin/svc');
/** The pause between two looks whether a server is ready: they take a processor from its start. */
const readyPollMillis = {measured: 5, usual: 20} as const;
const logCharactersDefault = 20_000;

/** How a server is started. */
export interface ServerOptions {
  /** Where its files lie; kept by `stop` and `kill`, removed by `dispose`. */
  readonly root: string;
  readonly port: number;
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
  /** Takes the settings of an installation, for what is measured. Default: `testSettings`. */
  readonly isMeasured?: boolean;
  /** Longest wait for it to be ready. Default 60 s. */
  readonly readyMillisMax?: number;
  /** Processors it may run on, as `taskset` writes them. Default: all. */
  readonly processors?: string;
  /** Password of root. Default `rootPassword`. */
  readonly password?: string;
  /** The `bin/svc` that is started. Default: that of this checkout. */
  readonly program?: string;
  /** How much of the end of its outputs is kept. Default: 20,000. */
  readonly logCharactersMax?: number;
}

/** The password of root in every server that this file starts. */
export const rootPassword = 'only-for-tests';

/** Settings of the servers of tests: hashing passwords is most of what a short life takes. */
export const testSettings = {'svc.server.saltIterations': 1_000};

/** One running server. */
export class ServerProcess {
  readonly url: string;
  readonly root: string;
  /** The time from the start of the process to the first answer of `/ready`. */
  readonly readyMillis: number;
  readonly #child: ChildProcess;
  readonly #log: {text: string};

  constructor(parts: {
    url: string;
    root: string;
    readyMillis: number;
    child: ChildProcess;
    log: {text: string};
  }) {
    this.url = parts.url;
    this.root = parts.root;
    this.readyMillis = parts.readyMillis;
    this.#child = parts.child;
    this.#log = parts.log;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** The end of what it wrote to its two outputs. */
  get log(): string {
    return this.#log.text;
  }

  /** A client of this server as root. The caller closes it. */
  client(): Client {
    const credentials = {kind: 'basic', user: 'root', password: rootPassword} as const;
    return new Client({url: this.url, credentials});
  }

  /** Does something with a client of this server as root, which is closed behind it. */
  async asRoot<T>(action: (client: Client) => Promise<T>): Promise<T> {
    const client = this.client();
    try {
      return await action(client);
    } finally {
      client.close();
    }
  }

  /** Asks it to end and waits; answers its exit code, or the signal that it died of. */
  stop(): Promise<number | string> {
    return end(this.#child, 'SIGTERM');
  }

  /** Ends it as a crash would: no goodbye, nothing flushed. */
  kill(): Promise<number | string> {
    return end(this.#child, 'SIGKILL');
  }

  /** Ends it and removes its folder. */
  async dispose(): Promise<void> {
    await this.kill();
    rmSync(this.root, {recursive: true, force: true});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }
}

/** A new folder for a server, under the system's folder for temporary files. */
export function temporaryRoot(name: string): string {
  return mkdtempSync(join(tmpdir(), `svc-${name}-`));
}

/**
 * Starts a server and waits until it is ready.
 *
 * @throws {Error} with the end of its log when it exits before, or takes too long.
 */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const {root, port, readyMillisMax = 60_000} = options;
  const {logCharactersMax = logCharactersDefault, isMeasured = false} = options;
  const url = `http://127.0.0.1:${port}`;
  const settings = {
    'svc.server.rootPath': root,
    'svc.server.httpIncomingHost': '127.0.0.1',
    'svc.server.httpIncomingPort': port,
    ...(isMeasured ? {} : testSettings),
    ...options.settings,
  };
  const words = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  const startedAt = performance.now();
  const pin = options.processors === undefined ? [] : ['taskset', '-c', options.processors];
  const [command = '', ...rest] = [...pin, options.program ?? program, 'start', ...words];
  const child = spawn(command, rest, {
    cwd: repository,
    env: {...process.env, SVC_SERVER_ROOTPASSWORD: options.password ?? rootPassword},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = {text: ''};
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      log.text = (log.text + String(chunk)).slice(-logCharactersMax);
    });
  }
  const client = new Client({url, credentials: {kind: 'none'}, timeoutMillis: 5_000});
  try {
    while (!(await client.ready())) {
      const waited = performance.now() - startedAt;
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
        throw new Error(`the server ended before it was ready:\n${log.text}`);
      }
      if (waited > readyMillisMax) {
        await end(child, 'SIGKILL');
        throw new Error(`the server was not ready after ${Math.round(waited)} ms:\n${log.text}`);
      }
      const pause = readyPollMillis[isMeasured ? 'measured' : 'usual'];
      await new Promise(resolve => setTimeout(resolve, pause));
    }
  } finally {
    client.close();
  }
  return new ServerProcess({url, root, readyMillis: performance.now() - startedAt, child, log});
}

function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | string> {
  const over = (): number | string | null => child.exitCode ?? child.signalCode;
  const known = over();
  if (known !== null) return Promise.resolve(known);
  const {promise, resolve} = Promise.withResolvers<number | string>();
  child.once('exit', () => resolve(over() ?? 0));
  child.kill(signal);
  return promise;
}

/** What a command left behind. */
export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/**
 * Runs `bin/svc` with the words to its end.
 *
 * @param input - What it reads on its standard input.
 */
export function runSvc(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  input = '',
): Promise<Ran> {
  const {promise, resolve: settle, reject} = Promise.withResolvers<Ran>();
  const env = {...process.env, ...environment};
  const child = spawn(program, words, {env, stdio: ['pipe', 'pipe', 'pipe']});
  let out = '';
  let error = '';
  child.stdout.on('data', chunk => (out += String(chunk)));
  child.stderr.on('data', chunk => (error += String(chunk)));
  child.on('error', reject);
  child.on('close', code => settle({code, out, error}));
  child.stdin.end(input);
  return promise;
}
