/**
 * A cluster kept in memory, at the interface that protocols see: it says of itself what a test
 * wants, and remembers what it was asked for.
 */
import {Refusal} from '#server/base/errors.ts';
import type {AddedPeer, Cluster, ClusterState, HttpAddress} from '#server/cluster/cluster.ts';

/** Takes a transfer within 666 ms as one during which the leadership ends. */
export class MemoryCluster implements Cluster {
  readonly token: string = 'the-token';
  readonly done: unknown[] = [];
  current: ClusterState;

  constructor(state: ClusterState) {
    this.current = state;
  }

  state(): ClusterState {
    return this.current;
  }

  get isLeader(): boolean {
    return this.current.isLeader;
  }

  get wasRemoved(): boolean {
    return this.current.wasRemoved;
  }

  leaderHttpAddress(): HttpAddress | undefined {
    return undefined;
  }

  onLeaderChange(_listener: () => void): () => void {
    return () => undefined;
  }

  whenLeaderKnown(): Promise<boolean> {
    return Promise.resolve(true);
  }

  whenSettled(_timeoutMs: number): Promise<void> | undefined {
    return undefined;
  }

  readIndex(): Promise<number> {
    return Promise.resolve(this.current.commitIndex);
  }

  whenApplied(): Promise<boolean> {
    return Promise.resolve(true);
  }

  async addPeer(peer: AddedPeer): Promise<void> {
    this.done.push(['add', peer]);
  }

  async removePeer(id: string, force: boolean): Promise<void> {
    this.done.push(['remove', id, force]);
  }

  async transferLeadership(to: string | undefined, timeoutMs: number): Promise<string> {
    this.done.push(['transfer', to, timeoutMs]);
    if (timeoutMs === 666) throw new Refusal('cluster.not-leader', 'it went a moment ago');
    const leaderId = to ?? 'chosen_1';
    this.current = {...this.current, isLeader: false, leaderReady: false, leaderId};
    return leaderId;
  }

  async resync(database: string): Promise<void> {
    this.done.push(['resync', database]);
    if (database !== 'db') throw new Refusal('database.missing', `no database '${database}'`);
  }
}
