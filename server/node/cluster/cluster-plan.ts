/**
 * What the settings say of the cluster: who this server is in it, who the others are, and the
 * names and times that all of them have to agree on.
 */
import {hash} from 'node:crypto';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {type Membership, ordered} from '#server/raft/membership.ts';
import type {LogIndex, NodeId} from '#server/raft/message.ts';
import type {FormationOutcome} from '#server/replication/formation/forming.ts';
import type {ReplicatedLogOptions} from '#server/replication/replicated-commit-log.ts';
import type {RaftOptions} from '#server/raft/state.ts';
import {
  type DeclaredPeer,
  ownPeer,
  parsePeer,
  parseServerList,
  peerId,
} from '#server/replication/server-list.ts';
import type {AddedPeer} from '#server/cluster/cluster.ts';
import type {MemberBeginning} from '#server/engine/engine-log.ts';

export interface ClusterPlan {
  readonly clusterName: string;
  readonly id: NodeId;
  readonly self: DeclaredPeer;
  readonly peers: readonly DeclaredPeer[];
  /** The log's id, equal on all servers of the cluster. */
  readonly logId: string;
  /** Who votes when a cluster begins. */
  readonly membership: Membership;
}

const logIdLength = 32;
const heartbeatMsMax = 100;
const heartbeatsPerTimeout = 10;
const appendBytesMax = 1 << 20;
const window = {messagesMax: 64, bytesMax: 16 << 20};
const transferLagMax = 10_000;
/** The term of the entry that a cluster's log begins after. */
const firstTerm = 1;
/** However few entries they hold. */
const logSegmentsMax = 16;

/** @throws {Refusal} `start.refused`: the list cannot be used, or does not name this server. */
export function planCluster(settings: Settings): ClusterPlan {
  const clusterName = settings.get('svc.ha.clusterName');
  const raftPort = settings.get('svc.ha.raftPort');
  const suffix = settings.get('svc.ha.k8sSuffix');
  const peers = parseServerList(settings.get('svc.ha.serverList'), {raftPort, suffix});
  const serverName = settings.get('svc.server.name');
  const self = ownServer(settings, peers, {serverName, raftPort, suffix});
  const members = peers.map(peer => ({
    id: peerId(peer),
    role: 'voter' as const,
    priority: peer.priority,
  }));
  return {
    clusterName,
    id: peerId(self),
    self,
    peers,
    logId: hash('sha256', `svc cluster log\0${clusterName}`, 'hex').slice(0, logIdLength),
    membership: ordered(members),
  };
}

/**
 * The server that an entry of the list names.
 *
 * @throws {Refusal} `argument`.
 */
export function peerAt(settings: Settings, entry: string): AddedPeer {
  const raftPort = settings.get('svc.ha.raftPort');
  const peer = parsePeer(entry, {raftPort, suffix: settings.get('svc.ha.k8sSuffix')});
  const {name, host, priority, ports} = peer;
  const {raft, http: httpPort, https: httpsPort} = ports;
  return {id: peerId(peer), host, raftPort: raft, httpPort, httpsPort, name, priority};
}

/**
 * Where the log of a member without a memory begins. That of a cluster with data begins above
 * everything that the data holds, so that places in it never go backwards.
 */
export function beginningOf(
  beginning: FormationOutcome,
  {id, self, membership}: ClusterPlan,
  lastIndex: LogIndex,
): MemberBeginning {
  const start = {index: 0, term: 0};
  switch (beginning.kind) {
    case 'together':
      return {checkpoint: {last: start, membership}, keepsData: false};
    case 'join':
      return {checkpoint: {last: start, membership: []}, keepsData: false};
    case 'adopt': {
      const {baseline} = beginning;
      const {index, term} = baseline;
      return {checkpoint: {last: {index, term}, membership: []}, keepsData: true, baseline};
    }
    default: {
      const alone = [{id, role: 'voter' as const, priority: self.priority}];
      const last = {index: lastIndex, term: firstTerm};
      return {checkpoint: {last, membership: alone}, keepsData: true};
    }
  }
}

/** When the log is shortened. */
export function purgeOptions(settings: Settings): ReplicatedLogOptions['purge'] {
  return {
    entriesMax: settings.get('svc.ha.snapshotThreshold'),
    intervalMs: settings.get('svc.ha.snapshotInterval'),
    entriesMin: settings.get('svc.ha.snapshotMinEntries'),
    gapEntries: settings.get('svc.ha.logPurgeGap'),
    passesLaggards: settings.get('svc.ha.logPurgeUptoSnapshot'),
    bytesMax: logSegmentsMax * settings.get('svc.ha.logSegmentSize'),
  };
}

/** The entry of this server; beyond the list of a stateful set, the one that it would have. */
function ownServer(
  settings: Settings,
  peers: readonly DeclaredPeer[],
  {
    serverName,
    raftPort,
    suffix,
  }: Readonly<Record<'serverName' | 'suffix', string>> & {
    readonly raftPort: number;
  },
): DeclaredPeer {
  const declared = ownPeer(peers, serverName);
  if (declared === undefined && settings.get('svc.ha.k8s')) {
    return {name: serverName, host: `${serverName}${suffix}`, ports: {raft: raftPort}, priority: 0};
  }
  if (declared === undefined) {
    throw new Refusal(
      'start.refused',
      `svc.ha.serverList does not say which entry is this server, '${serverName}': name it by ` +
        "'name@' in front of its host, or by its host, or let svc.server.name end in its place, " +
        'from 0, as in svc-0',
    );
  }
  if (declared.priority > 0 && settings.get('svc.ha.serverRole') === 'replica') {
    throw new Refusal(
      'start.refused',
      `svc.ha.serverList gives this server the priority ${declared.priority}, and ` +
        'svc.ha.serverRole is replica, which never leads: give it the priority 0',
    );
  }
  return declared;
}

/** How consensus goes about its work. `seed`: chance, different for every start. */
export function raftOptions(settings: Settings, id: NodeId, seed: number): RaftOptions {
  const electionTimeoutMinMs = settings.get('svc.ha.electionTimeoutMin');
  return {
    id,
    seed,
    electionTimeoutMinMs,
    electionTimeoutMaxMs: settings.get('svc.ha.electionTimeoutMax'),
    heartbeatMs: Math.min(heartbeatMsMax, electionTimeoutMinMs / heartbeatsPerTimeout),
    quorum: settings.get('svc.ha.quorum') === 'all' ? 'all' : 'majority',
    neverLeads: settings.get('svc.ha.serverRole') === 'replica',
    appendEntriesMax: settings.get('svc.ha.appendElementLimit'),
    appendBytesMax,
    window,
    uncommittedBytesMax: settings.get('svc.ha.groupCommitMaxQueuedBytes'),
    transferLagMax,
  };
}
