/**
 * ServerAdmin over the REST interface of the server.
 *
 * Connections are kept by host. A question about the status gets five seconds; changes of members
 * as long as the server itself gives them.
 * Source: docs/http.md, docs/cluster.md.
 */
import {reasonOf} from '#server/base/errors.ts';
import {type Endpoint, endpoint} from '#server/client/exchange.ts';
import {exchangeJson, type JsonAnswer} from '#server/client/json-exchange.ts';
import {errorBodyOf} from '#server/client/server-error.ts';
import {at, listAt, numberAt, textAt} from '#operator/api/kube-object.ts';
import type {MemberReport, ReportedPeer} from '#operator/decide/agreement.ts';
import {
  AdminError,
  type AdminReason,
  type Archive,
  type NewPeer,
  type ServerAddress,
  type ServerAdmin,
} from './admin.ts';

const STATUS_MS = 5_000;
const CHANGE_MS = 90_000;
const TRANSFER_MS = 10_000;
const SETTING_MS = 10_000;
const LIST_MS = 30_000;
const RESTORE_MS = 12 * 3_600_000;
/** A follower of which nothing was heard for so long is not caught up, whatever its lag was. */
const SILENT_MS = 10_000;
const HOSTS_MAX = 512;
/** Far beyond a list of archives of years: what is larger is no answer of a server. */
const ANSWER_BYTES_MAX = 16 << 20;

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly timeoutMs: number;
}

export class HttpAdmin implements ServerAdmin {
  readonly #endpoints = new Map<string, Endpoint>();

  async status(server: ServerAddress): Promise<MemberReport> {
    const asked = {method: 'GET', path: '/cluster', timeoutMs: STATUS_MS};
    return reportOf(await this.#ask(server, asked));
  }

  async addPeer(server: ServerAddress, peer: NewPeer): Promise<void> {
    const asked = {method: 'POST', path: '/cluster/peer', body: peer, timeoutMs: CHANGE_MS};
    await this.#ask(server, asked);
  }

  async removePeer(server: ServerAddress, peerId: string): Promise<void> {
    const path = `/cluster/peer/${encodeURIComponent(peerId)}`;
    await this.#ask(server, {method: 'DELETE', path, timeoutMs: CHANGE_MS});
  }

  async transferLeadership(server: ServerAddress, to: string): Promise<void> {
    const body = {peerId: to, timeoutMs: TRANSFER_MS};
    const timeoutMs = TRANSFER_MS + STATUS_MS;
    await this.#ask(server, {method: 'POST', path: '/cluster/leader', body, timeoutMs});
  }

  async setSetting(server: ServerAddress, key: string, value: string): Promise<void> {
    await this.#command(server, `set server setting ${key} ${value}`, SETTING_MS);
  }

  async setRootPassword(server: ServerAddress & {readonly token: string}): Promise<void> {
    const {password} = server;
    const asked = {method: 'PUT', path: '/server/users?name=root', body: {password}};
    await this.#ask(server, {...asked, timeoutMs: SETTING_MS});
  }

  async databases(server: ServerAddress): Promise<readonly string[]> {
    const answer = await this.#command(server, 'list databases', SETTING_MS);
    return listAt(answer, 'result').filter(name => typeof name === 'string');
  }

  async triggerBackup(
    server: ServerAddress,
    database: string,
    timeoutMs: number,
  ): Promise<Archive> {
    const answer = await this.#command(server, `trigger backup ${database}`, timeoutMs);
    return {fileName: textAt(answer, 'fileName') ?? '', bytes: numberAt(answer, 'size') ?? 0};
  }

  async listBackups(server: ServerAddress, database: string): Promise<readonly Archive[]> {
    const answer = await this.#command(server, `list backups ${database}`, LIST_MS);
    return listAt(answer, 'backups').flatMap(one => {
      const fileName = textAt(one, 'fileName');
      return fileName === undefined ? [] : [{fileName, bytes: numberAt(one, 'size') ?? 0}];
    });
  }

  async deleteBackup(server: ServerAddress, database: string, fileName: string): Promise<void> {
    await this.#command(server, `delete backup ${database} ${fileName}`, LIST_MS);
  }

  async archivedDatabases(server: ServerAddress): Promise<readonly string[]> {
    const answer = await this.#command(server, 'list archived databases', LIST_MS);
    return listAt(answer, 'databases').filter(name => typeof name === 'string');
  }

  async restoreDatabase(
    server: ServerAddress,
    database: string,
    from: {readonly file: string} | {readonly url: string},
  ): Promise<void> {
    const command =
      'file' in from
        ? `restore backup ${database} ${from.file}`
        : `restore database ${database} ${from.url}`;
    await this.#command(server, command, RESTORE_MS);
  }

  /** Ends all connections. */
  close(): void {
    for (const {agent} of this.#endpoints.values()) agent.destroy();
    this.#endpoints.clear();
  }

  #command(server: ServerAddress, command: string, timeoutMs: number): Promise<unknown> {
    return this.#ask(server, {method: 'POST', path: '/server', body: {command}, timeoutMs});
  }

  async #ask(server: ServerAddress, {method, path, body, timeoutMs}: Asked): Promise<unknown> {
    const sent = {
      method,
      path: `/api/v1${path}`,
      headers: credentialsOf(server),
      body,
      signal: AbortSignal.timeout(timeoutMs),
    };
    let answer: JsonAnswer;
    try {
      answer = await exchangeJson(this.#endpointOf(server, timeoutMs), sent);
    } catch (error) {
      throw new AdminError('silent', `${server.host}: ${reasonOf(error)}`, error);
    }
    if (answer.status < 300) return answer.json;
    throw refusalOf(server, answer);
  }

  #endpointOf({host, address, port}: ServerAddress, timeoutMillis: number): Endpoint {
    const at = address ?? host;
    const name = `${at.includes(':') ? `[${at}]` : at}:${port}`;
    const known = this.#endpoints.get(name);
    if (known !== undefined) return {...known, timeoutMillis};
    if (this.#endpoints.size >= HOSTS_MAX) this.close();
    const made = endpoint(`http://${name}`, {
      connectionsMax: 4,
      timeoutMillis,
      answerBytesMax: ANSWER_BYTES_MAX,
    });
    this.#endpoints.set(name, made);
    return made;
  }
}

function credentialsOf({password, token}: ServerAddress): Readonly<Record<string, string>> {
  if (token !== undefined) return {'X-Svc-Cluster-Token': token, 'X-Svc-Forwarded-User': 'root'};
  return {Authorization: `Basic ${Buffer.from(`root:${password}`).toString('base64')}`};
}

function refusalOf({host}: ServerAddress, {status, text}: JsonAnswer): AdminError {
  const {error, detail, exception = ''} = errorBodyOf(text);
  const said = [error, detail].filter(part => part !== undefined && part !== '').join(': ');
  return new AdminError(adminReasonOf(status, text, exception), `${host}: ${status} ${said}`);
}

function adminReasonOf(status: number, text: string, exception: string): AdminReason {
  if (status === 401 || status === 403) return 'refused';
  if (status === 503) return 'starting';
  if (status === 501 || /not available yet|NotAvailable/.test(`${text} ${exception}`)) {
    return 'not-available';
  }
  // A restore into a name that is taken is a bad request, as the public interface has it.
  if (status === 400 && / already exists\b/.test(text)) return 'conflict';
  if (status !== 409) return 'other';
  const isLeaderKnown = /"leader(HttpAddress)?"/.test(text);
  return isLeaderKnown ? 'not-leader' : 'conflict';
}

function reportOf(json: unknown): MemberReport {
  const clusterName = textAt(json, 'clusterName');
  const peerId = textAt(json, 'localPeerId');
  if (clusterName === undefined || peerId === undefined) {
    throw new AdminError('other', 'the answer is no status of a cluster');
  }
  return {
    clusterName,
    peerId,
    term: numberAt(json, 'currentTerm') ?? 0,
    leaderId: textAt(json, 'leaderId'),
    isReadyLeader: at(json, 'isLeader') === true && at(json, 'leaderReady') === true,
    isDiskFull: listAt(json, 'alerts').some(alert => textAt(alert, 'id') === 'disk-full'),
    peers: listAt(json, 'peers').flatMap(peerOf),
  };
}

function peerOf(peer: unknown): readonly ReportedPeer[] {
  const id = textAt(peer, 'id');
  if (id === undefined) return [];
  const lag = numberAt(peer, 'replicationLag');
  const lastContactMs = numberAt(peer, 'lastContactMs');
  const isSilent = lastContactMs !== undefined && (lastContactMs < 0 || lastContactMs > SILENT_MS);
  return [
    {
      id,
      inConfiguration: at(peer, 'inConfiguration') === true,
      isVoter: at(peer, 'isVoter') !== false,
      lag: lag === undefined || lag < 0 ? undefined : lag,
      isStuck: isSilent || textAt(peer, 'replicaStatus') === 'STALLED',
    },
  ];
}
