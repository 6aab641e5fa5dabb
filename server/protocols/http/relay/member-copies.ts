/**
 * The copies that the other members of a cluster hold of its databases, asked for over HTTP: what
 * is in them at one place of the log, and that one be taken anew.
 *
 * Members are asked at once, and one that does not answer is an ERROR of its own. Source:
 * docs/cluster.md.
 */
import {reasonOf} from '#server/base/errors.ts';
import {type Cluster, type ClusterPeer, otherMembers} from '#server/cluster/cluster.ts';
import type {ClusterCopies} from '#server/cluster/align.ts';
import {printedHttpAddress} from '#server/cluster/status.ts';
import {
  type LocalDigest,
  type PeerDigest,
  type VerifiedFile,
  type VerifyResult,
  verifyResult,
} from '#server/cluster/verify.ts';
import type {DatabaseDigests} from '#server/session/database-digests.ts';
import type {PeerClient} from './peer-client.ts';

const compareMs = 60_000;
const roomMs = 2_000;
/** A follower answers when the copy is in its place. */
const replaceMs = 3_600_000;

export class MemberCopies implements ClusterCopies {
  /** The digests of this member's own copies. */
  readonly digests: DatabaseDigests;
  readonly #cluster: Cluster;
  readonly #peerClient: PeerClient;

  constructor(cluster: Cluster, digests: DatabaseDigests, peerClient: PeerClient) {
    this.digests = digests;
    this.#cluster = cluster;
    this.#peerClient = peerClient;
  }

  async compare(database: string): Promise<VerifyResult> {
    const {digests} = this;
    const state = this.#cluster.state();
    const {localPeerId} = state;
    const marker = await digests.mark(database);
    const others = otherMembers(state);
    const [local, ...asked] = await Promise.all([
      digests.digest(database, marker),
      ...others.map(peer => this.#digestOf(peer, database, marker)),
    ]);
    return verifyResult({database, localPeerId}, local, asked);
  }

  async replace(peerId: string, database: string): Promise<void> {
    const peer = this.#cluster.state().peers.find(({id}) => id === peerId);
    if (peer === undefined) throw new Error(`${peerId} is no member any more`);
    const {status, json} = await this.#peerClient.ask({
      peer,
      method: 'POST',
      path: `/cluster/resync/${encodeURIComponent(database)}`,
      token: this.#cluster.token,
      user: 'root',
      timeoutMs: replaceMs,
    });
    if (status !== 200) throw new Error(`it answered ${status}: ${detailIn(json)}`);
  }

  /** Whether a member says that its disks take writes; false where it does not answer. */
  async hasRoom(peerId: string): Promise<boolean> {
    const peer = this.#cluster.state().peers.find(({id}) => id === peerId);
    if (peer === undefined) return false;
    try {
      const {status, json} = await this.#peerClient.ask({
        peer,
        method: 'GET',
        path: '/cluster',
        token: this.#cluster.token,
        user: 'root',
        timeoutMs: roomMs,
      });
      const alerts = isObject(json) ? json['alerts'] : undefined;
      if (status !== 200 || !Array.isArray(alerts)) return false;
      return !alerts.some(alert => isObject(alert) && alert['id'] === 'disk-full');
    } catch {
      return false;
    }
  }

  /** Does not reject: why a member cannot be compared is a part of the answer. */
  async #digestOf(peer: ClusterPeer, database: string, marker: string): Promise<PeerDigest> {
    const {id: peerId} = peer;
    const httpAddress = printedHttpAddress(peer);
    const error = (reason: string): PeerDigest => ({peerId, httpAddress, digest: {error: reason}});
    try {
      const {status, json} = await this.#peerClient.ask({
        peer,
        method: 'POST',
        path: `/cluster/digest/${encodeURIComponent(database)}`,
        token: this.#cluster.token,
        timeoutMs: compareMs,
        body: {marker},
      });
      const digest = status === 200 ? digestIn(json) : undefined;
      if (digest !== undefined) return {peerId, httpAddress, digest};
      return error(`it answered ${status}: ${detailIn(json)}`);
    } catch (failure) {
      return error(reasonOf(failure));
    }
  }
}

function digestIn(json: unknown): LocalDigest | undefined {
  if (!isObject(json) || !Array.isArray(json['files'])) return undefined;
  const files = json['files'] as unknown[];
  if (!files.every(isVerifiedFile)) return undefined;
  return {localServer: String(json['localServer']), files};
}

function isVerifiedFile(value: unknown): value is VerifiedFile {
  if (!isObject(value)) return false;
  const {name, type, checksum, size} = value;
  const isNamed = typeof name === 'string' && typeof type === 'string';
  return isNamed && typeof checksum === 'number' && typeof size === 'number';
}

function detailIn(json: unknown): string {
  if (!isObject(json)) return 'nothing that could be read';
  const said = json['detail'] ?? json['error'];
  return typeof said === 'string' ? said : 'no reason';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
