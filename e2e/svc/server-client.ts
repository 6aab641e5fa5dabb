/** What a scenario asks of one server, or of a service in front of several, over HTTP. */

export class RefusedByServer extends Error {
  readonly status: number;
  /** What to branch on, as docs/errors.md lists it; empty when the server did not say. */
  readonly exception: string;

  constructor(status: number, exception: string, message: string) {
    super(`${status} ${exception}: ${message}`);
    this.status = status;
    this.exception = exception;
  }
}

export interface ClusterPeer {
  readonly id: string;
  readonly inConfiguration: boolean;
  readonly isVoter: boolean;
  readonly role: 'LEADER' | 'FOLLOWER' | 'NOT_IN_CONFIGURATION';
}

export interface ClusterStatus {
  readonly localPeerId: string;
  readonly isLeader: boolean;
  readonly leaderReady: boolean;
  readonly leaderId: string | null;
  readonly currentTerm: number;
  readonly electionCount: number;
  readonly localAppliedIndex: number;
  readonly localReplicationLag: number;
  readonly peers: readonly ClusterPeer[];
}

export interface Asking {
  /** The name of a write: sent again, it is carried out once. */
  readonly requestId?: string;
  readonly consistency?: 'eventual' | 'read_your_writes' | 'linearizable';
  readonly params?: readonly unknown[];
  readonly seconds?: number;
}

const secondsDefault = 10;

export class ServerClient {
  readonly #api: string;
  readonly #authorization: string;

  /** @param host - With its port. */
  constructor(host: string, password: string) {
    this.#api = `http://${host}/api/v1`;
    this.#authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
  }

  async isReady(): Promise<boolean> {
    const signal = AbortSignal.timeout(2_000);
    const response = await fetch(`${this.#api}/ready`, {signal}).catch(() => undefined);
    return response?.status === 204;
  }

  /** Runs a statement and answers its rows. */
  async command(database: string, command: string, asking: Asking = {}): Promise<unknown[]> {
    const {params} = asking;
    const body = {language: 'sql', command, ...(params && {params})};
    return this.#rows(`command/${database}`, body, asking);
  }

  async query(database: string, command: string, asking: Asking = {}): Promise<unknown[]> {
    const {params} = asking;
    const body = {language: 'sql', command, limit: -1, ...(params && {params})};
    return this.#rows(`query/${database}`, body, asking);
  }

  async script(database: string, command: string): Promise<unknown[]> {
    return this.#rows(`command/${database}`, {language: 'sqlscript', command}, {});
  }

  /** A command of the server, as in `create database shop`. */
  async server(command: string): Promise<void> {
    await this.ask('POST', 'server', {command});
  }

  async cluster(): Promise<ClusterStatus> {
    return (await this.ask('GET', 'cluster')) as ClusterStatus;
  }

  /** Compares the copies of all members: `ALL_CONSISTENT` and others. */
  async verify(database: string): Promise<string> {
    const answer = (await this.ask('POST', `cluster/verify/${database}`, {}, {seconds: 60})) as {
      result: {overallStatus: string};
    };
    return answer.result.overallStatus;
  }

  /** @throws {RefusedByServer}; any other error means that the outcome is not known. */
  async ask(method: string, path: string, body?: object, asking: Asking = {}): Promise<unknown> {
    const response = await fetch(`${this.#api}/${path}`, {
      method,
      signal: AbortSignal.timeout((asking.seconds ?? secondsDefault) * 1_000),
      headers: {
        authorization: this.#authorization,
        'content-type': 'application/json',
        ...(asking.requestId !== undefined && {'x-request-id': asking.requestId}),
        ...(asking.consistency !== undefined && {'x-svc-read-consistency': asking.consistency}),
      },
      ...(body !== undefined && {body: JSON.stringify(body)}),
    });
    const text = await response.text();
    if (response.ok) return text === '' ? undefined : JSON.parse(text);
    const {error = text, detail = '', exception = ''} = parsed(text);
    throw new RefusedByServer(response.status, exception, `${error} ${detail}`.trim());
  }

  async #rows(path: string, body: object, asking: Asking): Promise<unknown[]> {
    const answer = (await this.ask('POST', path, body, asking)) as {
      result: unknown[];
      truncated?: boolean;
    };
    if (answer.truncated === true) throw new Error(`${path} answered a part of its rows`);
    return answer.result;
  }
}

interface Refused {
  readonly error?: string;
  readonly detail?: string;
  readonly exception?: string;
}

function parsed(text: string): Refused {
  try {
    return JSON.parse(text) as Refused;
  } catch {
    return {};
  }
}
