/**
 * Other members, asked over HTTP for the logins that they keep.
 *
 * A token names the server that made it; whoever has that name is asked, and where nobody is known
 * by it, everybody. Members are asked at once, and what they keep is found by any of them.
 */
import {Refusal} from '#server/base/errors.ts';
import {type Cluster, otherMembers} from '#server/cluster/cluster.ts';
import type {KeptLogin, LoginMembers} from '#server/security/member-logins.ts';
import type {PeerAnswer, PeerClient, PeerQuestion} from './peer-client.ts';

const loginPath = '/cluster/auth-session';
const loginMs = 2_000;
const uuidLength = 36;

export class AskedMembers implements LoginMembers {
  readonly #cluster: Cluster;
  readonly #peerClient: PeerClient;

  constructor(cluster: Cluster, peerClient: PeerClient) {
    this.#cluster = cluster;
    this.#peerClient = peerClient;
  }

  get secrets(): readonly string[] {
    return [this.#cluster.token, ...(this.#cluster.alsoAccepted ?? [])];
  }

  async find(token: string): Promise<KeptLogin | undefined> {
    const answers = await this.#askKeepers(token, 'POST');
    return answers.map(answer => answer && keptLoginIn(answer)).find(Boolean);
  }

  async end(token: string): Promise<void> {
    const answers = await this.#askKeepers(token, 'DELETE');
    if (answers.some(answer => answer?.status === 204)) return;
    if (answers.every(answer => answer?.status === 404)) return;
    const message = 'the server that keeps the login did not answer: log out again when it does';
    throw new Refusal('cluster.no-quorum', message);
  }

  async caughtUp(): Promise<void> {
    const index = await this.#cluster.readIndex(loginMs);
    if (await this.#cluster.whenApplied(index, loginMs)) return;
    const message = 'this server lags, and does not know the newest users: ask again';
    throw new Refusal('cluster.no-quorum', message);
  }

  #askKeepers(
    token: string,
    method: 'POST' | 'DELETE',
  ): Promise<readonly (PeerAnswer | undefined)[]> {
    const others = otherMembers(this.#cluster.state());
    const made = token.slice(0, token.lastIndexOf('.'));
    const maker = made.slice('AU-'.length, -uuidLength - 1);
    const named = others.filter(({name}) => name === maker);
    const asked = named.length === 0 ? others : named;
    return Promise.all(
      asked.map(peer => this.#ask({peer, method, path: loginPath, body: {token}})),
    );
  }

  /** Undefined: it did not answer. */
  async #ask(question: Omit<PeerQuestion, 'token' | 'timeoutMs'>): Promise<PeerAnswer | undefined> {
    const {token} = this.#cluster;
    try {
      return await this.#peerClient.ask({...question, token, timeoutMs: loginMs});
    } catch {
      return undefined;
    }
  }
}

function keptLoginIn({status, json}: PeerAnswer): KeptLogin | undefined {
  if (status !== 200 || typeof json !== 'object' || json === null) return undefined;
  const {user, credentials} = json as {readonly user?: unknown; readonly credentials?: unknown};
  if (typeof user !== 'string' || typeof credentials !== 'string') return undefined;
  return {user, credentials};
}
