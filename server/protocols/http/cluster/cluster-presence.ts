/**
 * Which databases each member holds: what members tell each other, and the matrix that a leader
 * makes of it (`databasePresence` of the status).
 *
 * All members are asked at once, and none is waited for longer than `askMs`.
 * Source: docs/cluster.md.
 */
import {
  type Cluster,
  type ClusterPeer,
  type ClusterState,
  otherMembers,
} from '#server/cluster/cluster.ts';
import type {Exchange} from '../message/exchange.ts';
import type {PeerClient} from '../relay/peer-client.ts';

export interface DatabasePresence {
  readonly nodes: readonly string[];
  readonly unreachable: readonly string[];
  readonly databases: readonly {
    readonly name: string;
    readonly present: readonly string[];
    readonly missing: readonly string[];
  }[];
}

const askMs = 5_000;

/** POST `/cluster/capabilities`, between members: what this server reads, and holds. */
export function tellCapabilities(exchange: Exchange, state: ClusterState): void {
  const {administration} = exchange.context;
  const self = state.peers.find(({id}) => id === state.localPeerId);
  exchange.answerJson(200, {
    peerId: state.localPeerId,
    version: administration.identity.version,
    formats: self?.formats ?? null,
    databases: ownDatabases(exchange),
  });
}

/** Asks every other member. Does not reject: who did not answer is `unreachable`. */
export async function databasePresence(
  exchange: Exchange,
  cluster: Cluster,
  client: PeerClient,
): Promise<DatabasePresence> {
  const state = cluster.state();
  const members = state.peers.filter(peer => peer.inConfiguration);
  const held = new Map<string, readonly string[]>([[state.localPeerId, ownDatabases(exchange)]]);
  await Promise.all(
    otherMembers(state).map(async peer => {
      const names = await databasesOf(peer, cluster.token, client);
      if (names !== undefined) held.set(peer.id, names);
    }),
  );
  const nodes = members.map(({id}) => id).filter(id => held.has(id));
  const names = new Set([...held.values()].flat());
  return {
    nodes,
    unreachable: members.map(({id}) => id).filter(id => !held.has(id)),
    databases: [...names].toSorted().map(name => ({
      name,
      present: nodes.filter(id => held.get(id)?.includes(name)),
      missing: nodes.filter(id => !held.get(id)?.includes(name)),
    })),
  };
}

async function databasesOf(
  peer: ClusterPeer,
  token: string,
  client: PeerClient,
): Promise<readonly string[] | undefined> {
  try {
    const path = '/cluster/capabilities';
    const {status, json} = await client.ask({peer, method: 'POST', path, token, timeoutMs: askMs});
    return status === 200 ? namesIn(json) : undefined;
  } catch {
    // Told as unreachable: why it is so stands in the status of its connection.
    return undefined;
  }
}

function namesIn(json: unknown): readonly string[] | undefined {
  if (typeof json !== 'object' || json === null || !('databases' in json)) return undefined;
  const {databases} = json;
  if (!Array.isArray(databases)) return undefined;
  return databases.filter(name => typeof name === 'string');
}

/** Lists those that cannot be used, too: they are here. */
export function ownDatabases({context}: Exchange): readonly string[] {
  const root = context.security.principalOf('root');
  const names = root === undefined ? [] : context.service.databaseNames(root);
  return [...new Set([...names, ...context.administration.fencedDatabases()])];
}
