/**
 * Two HTTP servers that take each other for members of one cluster: whoever leads is told to both.
 *
 * Each has a `WordService` of its own, so a test sees which of them carried out a request. There
 * is no log between them: what a member has applied is what the test says.
 */
import {Refusal} from '#server/base/errors.ts';
import type {BatchHandler} from '#server/protocols/http/server.ts';
import type {HttpAddress} from '#server/cluster/cluster.ts';
import {MemoryCluster} from './memory-cluster.ts';
import {followerState, peerOf} from './member-states.ts';
import {type HttpWorld, httpWorld} from '../worlds/http-world.ts';

export const clusterToken = 'token-of-the-cluster';

/** What one member knows of the cluster: who leads, and what is applied where. */
export class KnownCluster extends MemoryCluster {
  override readonly token = clusterToken;
  leader: HttpAddress | undefined;
  /** What a linearizable read must see; undefined: no quorum. */
  quorumIndex: number | undefined;
  /** Applied here. */
  applied = (): number => 0;
  /** Was elected and is not ready, or hands over. */
  isSettling = false;
  /** How many wait for a leader, for the end of a hand-over or for an entry. */
  waiting = 0;
  #leads = false;
  readonly #listeners = new Set<() => void>();

  constructor() {
    super(followerState());
  }

  override get isLeader(): boolean {
    return this.#leads;
  }

  override set isLeader(leads: boolean) {
    this.#leads = leads;
  }

  override leaderHttpAddress(): HttpAddress | undefined {
    return this.#leads ? undefined : this.leader;
  }

  /** Where the one that leads, by `state`, listens for HTTPS. */
  setHttpsAddress({host, port}: HttpAddress): void {
    this.current = followerState({peers: [peerOf(0), peerOf(1, {host, httpsPort: port})]});
  }

  override onLeaderChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  override whenLeaderKnown(timeoutMs?: number): Promise<boolean> {
    return this.#until(() => this.isLeader || this.leader !== undefined, timeoutMs);
  }

  override whenSettled(timeoutMs?: number): Promise<void> | undefined {
    if (!this.isSettling) return undefined;
    return this.#until(() => !this.isSettling, timeoutMs).then(() => undefined);
  }

  override readIndex(): Promise<number> {
    const index = this.quorumIndex;
    if (index !== undefined) return Promise.resolve(index);
    return Promise.reject(new Refusal('cluster.no-quorum', 'no majority answered'));
  }

  override whenApplied(index = 0, timeoutMs?: number): Promise<boolean> {
    return this.#until(() => this.applied() >= index, timeoutMs);
  }

  #until(holds: () => boolean, timeoutMs = 0): Promise<boolean> {
    this.waiting += 1;
    return new Promise(resolve => {
      const end = (): void => {
        clearTimeout(timer);
        forget();
        this.waiting -= 1;
        resolve(holds());
      };
      const timer = setTimeout(end, timeoutMs);
      const forget = this.onLeaderChange(() => {
        if (holds()) end();
      });
      if (holds()) end();
    });
  }

  /** How many are told of a change of the leader. */
  get listening(): number {
    return this.#listeners.size;
  }
}

export interface Member extends HttpWorld {
  readonly cluster: KnownCluster;
}

export interface MemberParts {
  readonly batch?: BatchHandler;
  /** Who vouches for the other member's HTTPS. */
  readonly authorities?: () => readonly string[];
}

export interface ClusterOfTwo {
  readonly leader: Member;
  readonly replica: Member;
  /** Makes one of them lead, or nobody. */
  lead(member: Member | undefined): void;
  close(): Promise<void>;
}

export async function clusterOfTwo(
  settings: Readonly<Record<string, string | number | boolean>> = {},
  {batch, authorities}: MemberParts = {},
): Promise<ClusterOfTwo> {
  const members: Member[] = [];
  for (let count = 0; count < 2; count++) {
    const cluster = new KnownCluster();
    const world = await httpWorld(settings, batch, {cluster, authorities});
    cluster.applied = () => world.service.appliedIndex;
    members.push({...world, cluster});
  }
  const [leader, replica] = members as [Member, Member];
  const lead = (member: Member | undefined): void => {
    for (const {cluster} of members) {
      cluster.isLeader = cluster === member?.cluster;
      cluster.leader = member && {host: '127.0.0.1', port: member.port};
    }
    for (const {cluster} of members) cluster.changed();
  };
  lead(leader);
  return {
    leader,
    replica,
    lead,
    close: async () => {
      await Promise.all(members.map(({server}) => server.close(0)));
    },
  };
}
