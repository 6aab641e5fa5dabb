/**
 * Servers as somebody starts them from a shell, who need not become ready: several on one root, in
 * PID namespaces of their own, ended or frozen in the middle of a start.
 */
import {execFileSync} from 'node:child_process';
import {mkdirSync, readFileSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {Client} from '#server/client/client.ts';
import {MemberProcess} from '../cluster/member-process.ts';
import {eventually} from '../time/eventually.ts';
import {freePort} from './free-port.ts';
import {program, rootPassword, temporaryRoot, testSettings} from './server-process.ts';

export type GivenSettings = Readonly<Record<string, string | number | boolean>>;

export const startedHost = '127.0.0.1';
/** Starts a server as process 1 of a PID namespace, as in a container. */
export const ownPids: readonly string[] = ['unshare', '--pid', '--fork', '--kill-child'];

export function canUnshare(): boolean {
  const [command = '', ...words] = ownPids;
  try {
    execFileSync(command, [...words, 'true'], {stdio: 'ignore'});
    return true;
  } catch {
    return false;
  }
}

export class StartedServer {
  readonly url: string;
  readonly process: MemberProcess;

  constructor(
    given: {
      readonly folder: string;
      readonly root: string;
      readonly port: number;
      readonly logName: string;
    },
    settings: GivenSettings,
    launcher: readonly string[],
  ) {
    const {folder, root, port, logName} = given;
    const all = {
      'svc.server.rootPath': root,
      'svc.server.httpIncomingHost': startedHost,
      'svc.server.httpIncomingPort': port,
      ...testSettings,
      ...settings,
    };
    const words = Object.entries(all).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
    this.url = `http://${startedHost}:${port}`;
    this.process = new MemberProcess('server', {
      words: [...launcher, program, 'start', ...words],
      folder,
      logFile: join(folder, logName),
      environment: {SVC_SERVER_ROOTPASSWORD: rootPassword},
    });
    this.process.start();
  }

  /** Status and body of a path; undefined while nothing listens. */
  async get(path: string): Promise<{readonly status: number; readonly text: string} | undefined> {
    try {
      const answer = await fetch(`${this.url}/api/v1${path}`);
      return {status: answer.status, text: await answer.text()};
    } catch {
      return undefined;
    }
  }

  async isReady(): Promise<boolean> {
    return (await this.get('/ready'))?.status === 204;
  }

  get hasEnded(): boolean {
    return this.process.ended !== undefined;
  }

  async untilReady(): Promise<void> {
    await eventually(`${this.url} is ready`, () => this.isReady());
  }

  async untilEnded(): Promise<void> {
    await eventually(`${this.url} has ended`, () => this.hasEnded);
  }

  client(): Client {
    const credentials = {kind: 'basic', user: 'root', password: rootPassword} as const;
    return new Client({url: this.url, credentials});
  }

  /** Whether its launcher has started it. */
  get isBegun(): boolean {
    return this.#own() !== undefined;
  }

  /** Sends a signal to the server itself, which its launcher has started. */
  signal(signal: NodeJS.Signals): void {
    const own = this.#own();
    if (own === undefined) throw new Error('its launcher has started nothing');
    process.kill(own, signal);
  }

  #own(): number | undefined {
    const {pid} = this.process;
    if (pid === 0) return undefined;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? undefined : Number(children.split(' ')[0]);
  }
}

/** Servers of one test, and their roots. */
export class StartedServers {
  readonly folder: string;
  readonly #all: StartedServer[] = [];

  constructor(name: string) {
    this.folder = temporaryRoot(name);
  }

  /** Starts one on the root of a name. */
  async start(
    name: string,
    settings: GivenSettings = {},
    launcher: readonly string[] = [],
  ): Promise<StartedServer> {
    const {folder} = this;
    const root = join(folder, name);
    mkdirSync(root, {recursive: true});
    const port = await freePort();
    // By its number: a port that was free again is that of another one.
    const logName = `${this.#all.length}.log`;
    const server = new StartedServer({folder, root, port, logName}, settings, launcher);
    this.#all.push(server);
    return server;
  }

  async close(): Promise<void> {
    for (const server of this.#all) await server.process.kill();
    rmSync(this.folder, {recursive: true, force: true});
  }
}
