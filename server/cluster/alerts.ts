/**
 * What a person should know about the cluster now, each with what to do: `alerts` of the status.
 *
 * Functions from the state to sentences. What keeps this server from being ready has an alert by
 * the type of `faultAlerts`, so that nothing fails `/ready` in silence.
 *
 * Source: docs/cluster.md lists every id.
 */
import {words} from '#server/base/words.ts';
import type {ClusterPeer, ClusterState} from './cluster.ts';
import {faultsOf, localLag, type NodeFault} from './readiness.ts';
import type {LocalHealth} from './local-health.ts';
import {followersOf, replicationLag, type ReplicaStatus} from './replica-health.ts';

export type AlertSeverity = 'info' | 'warning' | 'critical';

/** Every id there is; docs/cluster.md has a row for each. */
export const alertIds = [
  ...words('no-leader not-a-member peers-not-in-configuration peers-not-in-server-list'),
  ...words('lagging-followers quorum-at-risk leader-not-ready local-replica-behind'),
  ...words('resync-in-progress raft-not-running raft-log-failure critical-halt'),
  ...words('databases-not-available disk-full repair-given-up stuck-at-stale-term'),
  ...words('stalled-behind-leader leader-missing-databases ambiguous-http-addresses'),
  ...words('connections-turned-away servers-waiting-outside several-releases backup-configuration'),
];

export type AlertId = (typeof alertIds)[number];

export interface ClusterAlert {
  readonly id: AlertId;
  readonly severity: AlertSeverity;
  readonly title: string;
  readonly message: string;
  readonly recommendation: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface AlertInput {
  readonly state: ClusterState;
  readonly troubles: LocalHealth;
  /** `svc.server.readinessHAMaxLag`. */
  readonly lagMax: number;
  readonly replicaStatus: (peerId: string) => ReplicaStatus;
  /** Databases that are not available here; those that the caller may know of. */
  readonly unavailableDatabases: readonly string[];
  /** Why the configuration of backups cannot be used here; undefined: it can, or there is none. */
  readonly backupFault: string | undefined;
  /** Which databases the leader lacks though a member has them; from the matrix of presence. */
  readonly missingOnLeader: readonly string[];
}

/** All alerts, the worst first. */
export function clusterAlerts(input: AlertInput): readonly ClusterAlert[] {
  const {state, lagMax} = input;
  const outside = outsideConfiguration(state);
  // A server that is declared and was left out has the specification's own alert.
  const saysSelf = outside.some(({severity}) => severity === 'critical');
  const found = [
    ...faultsOf(state, lagMax)
      .filter(fault => fault !== 'not-member' || !saysSelf)
      .map(fault => ({id: faultIds[fault], ...faultAlerts[fault](state)})),
    ...outside,
    ...undeclared(state),
    ...lagging(input),
    ...thinQuorum(state),
    ...ambiguousAddresses(state),
    ...turnedAway(state),
    ...waitingOutside(state),
    ...severalReleases(state),
    ...fullDisk(state),
    ...databasesAway(input),
    ...backupsUnscheduled(input),
    ...stall(input),
  ];
  const rank = {critical: 0, warning: 1, info: 2};
  return found.toSorted((a, b) => rank[a.severity] - rank[b.severity]);
}

const faultIds: Readonly<Record<NodeFault, AlertId>> = {
  halted: 'critical-halt',
  'log-failed': 'raft-log-failure',
  'not-running': 'raft-not-running',
  'not-member': 'not-a-member',
  'no-leader': 'no-leader',
  installing: 'resync-in-progress',
  'leader-not-ready': 'leader-not-ready',
  behind: 'local-replica-behind',
};

type Told = Omit<ClusterAlert, 'id'>;

const faultAlerts: Readonly<Record<NodeFault, (state: ClusterState) => Told>> = {
  halted: state => ({
    severity: 'critical',
    title: 'Consensus has stopped on this server',
    message: `${state.localPeerId} takes no part in the cluster any more.`,
    recommendation:
      'Read its log for the first error, mend the cause (often the disk) and restart it. If its ' +
      'files are damaged, remove the peer, empty its directory and add it again.',
    details: {appliedIndex: state.appliedIndex},
  }),
  'log-failed': state => ({
    severity: 'critical',
    title: 'The log of this server takes nothing more',
    message: `${state.localPeerId}: ${state.logFailure ?? 'the disk failed'}`,
    recommendation: 'Check the disk (space, mount, errors of the kernel), then restart the server.',
    details: {index: state.appliedIndex, cause: state.logFailure},
  }),
  'not-running': state => ({
    severity: state.raftState === 'CLOSED' ? 'critical' : 'warning',
    title: 'Consensus is not running on this server',
    message: `${state.localPeerId} is ${state.raftState}.`,
    recommendation:
      'A start takes a moment. If it stays so, read the log of the server: it waits for its ' +
      'peers, or was asked to stop.',
    details: {raftState: state.raftState},
  }),
  'not-member': state => ({
    severity: 'critical',
    title: 'This server is no member of the cluster',
    message: `${state.localPeerId} is in no membership that it knows of, so nothing reaches it.`,
    recommendation: 'Add it on the leader: svc cluster add <host>:<raftPort>:<httpPort>.',
    details: {peer: state.localPeerId},
  }),
  'no-leader': state => ({
    severity: 'critical',
    title: 'No leader is known',
    message:
      `Writes are refused: ${voterCount(state)} voters, and no leader in term ` +
      `${state.currentTerm}.${notReached(state)}`,
    recommendation:
      'An election takes a moment. If it does not end, look which members run and reach each ' +
      'other on the Raft port: a majority of the voters must.',
    details: {term: state.currentTerm, voters: voterCount(state)},
  }),
  installing: state => ({
    severity: 'warning',
    title: 'A snapshot is being put in place',
    message: `${state.localPeerId} lacked entries that the others hold no more.`,
    recommendation:
      'Wait; the log of the server tells the progress. It answers no reads until then.',
    details: {appliedIndex: state.appliedIndex},
  }),
  'leader-not-ready': state => ({
    severity: 'warning',
    title: 'The leader is not ready yet',
    message: 'It was elected and has not applied an entry of its own term.',
    recommendation:
      'Wait a moment. If it stays so, a majority of the members does not acknowledge: look at ' +
      'their status.',
    details: {term: state.currentTerm, appliedIndex: state.appliedIndex},
  }),
  behind: state => ({
    severity: 'warning',
    title: 'This server is behind the leader',
    message: `${state.localPeerId} has ${localLag(state)} committed entries still to apply.`,
    recommendation:
      'It catches up by itself unless its disk is slower than the writes; compare its disk and ' +
      'processors with the leader.',
    details: {lag: localLag(state), appliedIndex: state.appliedIndex},
  }),
};

function outsideConfiguration(state: ClusterState): readonly ClusterAlert[] {
  // A membership that holds nobody is not known yet, which the faults of the node tell.
  const missing = state.peers.filter(peer => peer.isDeclared && !peer.inConfiguration);
  if (missing.length === 0 || voterCount(state) === 0) return [];
  const isSelf = missing.some(({id}) => id === state.localPeerId);
  const ids = idsOf(missing);
  return [
    {
      id: 'peers-not-in-configuration',
      severity: isSelf ? 'critical' : 'warning',
      title: 'Declared peers are not in the cluster',
      message:
        `${ids.join(', ')} ${are(ids)} in svc.ha.serverList and not in the live configuration` +
        `${isSelf ? ': this server is one of them' : ''}.`,
      recommendation:
        'Add them on the leader (svc cluster add <host>:<raftPort>:<httpPort>), or take them out ' +
        'of svc.ha.serverList.',
      details: {peers: ids},
    },
  ];
}

function undeclared(state: ClusterState): readonly ClusterAlert[] {
  const strangers = state.peers.filter(peer => peer.inConfiguration && !peer.isDeclared);
  if (strangers.length === 0) return [];
  const ids = idsOf(strangers);
  return [
    {
      id: 'peers-not-in-server-list',
      severity: 'info',
      title: 'Members that the list of servers does not name',
      message: `${ids.join(', ')} ${are(ids)} in the cluster and not in svc.ha.serverList here.`,
      recommendation:
        'Nothing is wrong: members added at run time are kept. Name them in svc.ha.serverList ' +
        'so that their names, ports and priorities are known after a restart.',
      details: {peers: ids},
    },
  ];
}

function lagging({state, replicaStatus}: AlertInput): readonly ClusterAlert[] {
  const late = followersOf(state).filter(({id}) =>
    ['STALLED', 'FALLING_BEHIND'].includes(replicaStatus(id)),
  );
  if (late.length === 0) return [];
  const stalled = late.filter(({id}) => replicaStatus(id) === 'STALLED');
  const followers = late.map(({id, progress}) => ({
    peer: id,
    status: replicaStatus(id),
    lag: replicationLag(state, progress),
    lastContactMs: Math.round(progress.lastContactMs ?? -1),
  }));
  const told = followers.map(({peer, status, lag}) => `${peer} (${status}, ${lag} entries)`);
  return [
    {
      id: 'lagging-followers',
      severity: stalled.length > 0 ? 'critical' : 'warning',
      title: stalled.length > 0 ? 'Followers stand still' : 'Followers are falling behind',
      message: `Behind this leader: ${told.join(', ')}.`,
      recommendation:
        stalled.length > 0
          ? 'Check that the server runs and is reached on its Raft port. It gets a snapshot by ' +
            'itself when it comes back; svc cluster resync <database> on it begins one now.'
          : 'Its disk, network or processors do not keep up with the writes: compare them with ' +
            'the leader, or send fewer writes.',
      details: {followers},
    },
  ];
}

/** Tells a leader that the loss of one more member would stop the writes. */
function thinQuorum(state: ClusterState): readonly ClusterAlert[] {
  const voters = voterCount(state);
  if (!state.isLeader || voters === 1) return [];
  const reached = state.peers.filter(
    peer =>
      peer.isVoter &&
      (peer.id === state.localPeerId || (peer.progress?.lastContactMs ?? silentMs) < silentMs),
  ).length;
  const needed = Math.floor(voters / 2) + 1;
  if (reached > needed) return [];
  const isPair = voters === 2 && reached === 2;
  return [
    {
      id: 'quorum-at-risk',
      severity: isPair ? 'info' : 'warning',
      title: 'The loss of one more member stops the writes',
      message: `${reached} of ${voters} voters answer, and ${needed} are needed.`,
      recommendation: isPair
        ? 'Two servers survive no failure: add a third.'
        : 'Bring back the members that do not answer, or remove them if they are gone for good.',
      details: {voters, reached, needed},
    },
  ];
}

/** A heartbeat comes many times in this while. */
const silentMs = 10_000;

function ambiguousAddresses({peers}: ClusterState): readonly ClusterAlert[] {
  const shared = peers.filter(({httpPort}) => httpPort === 'ambiguous');
  if (shared.length === 0) return [];
  const ids = idsOf(shared);
  return [
    {
      id: 'ambiguous-http-addresses',
      severity: 'warning',
      title: 'Peers share an HTTP address',
      message: `${ids.join(', ')}: the same host and port follow for several of them.`,
      recommendation:
        'Declare the http port of each in svc.ha.serverList (host:{raft:2434,http:2480}). Until ' +
        'then requests are not passed on to them, and they give out no snapshots.',
      details: {peers: ids},
    },
  ];
}

function turnedAway({turnedAway: rejected}: ClusterState): readonly ClusterAlert[] {
  const [latest] = rejected;
  if (latest === undefined) return [];
  const connections = rejected.map(({remoteAddress, reason, times, agoMs}) => ({
    remoteAddress,
    reason,
    times,
    secondsAgo: Math.round(agoMs / 1_000),
  }));
  return [
    {
      id: 'connections-turned-away',
      severity: 'warning',
      title: 'Somebody is not let in as a member',
      message: `Lately from ${latest.remoteAddress}: ${latest.reason}.`,
      recommendation:
        'If it is a server of this cluster, mend what the reason says on that server or here; ' +
        'it tries again by itself. If not, keep strangers off the Raft port.',
      details: {connections},
    },
  ];
}

function waitingOutside({waiting}: ClusterState): readonly ClusterAlert[] {
  const [first] = waiting;
  if (first === undefined) return [];
  return [
    {
      id: 'servers-waiting-outside',
      severity: 'warning',
      title: 'A server asks to be taken in',
      message: `${first.id} is not taken in: ${first.reason}.`,
      recommendation:
        'One that was removed comes back by POST /cluster/peer (svc cluster add); what else ' +
        'stands in its way passes, or the reason says what to mend.',
      details: {servers: waiting.map(({id, reason}) => ({id, reason}))},
    },
  ];
}

function severalReleases({peers}: ClusterState): readonly ClusterAlert[] {
  const releases = new Set(peers.flatMap(({release}) => release ?? []));
  if (releases.size < 2) return [];
  const byPeer = peers.flatMap(({id, release}) =>
    release === undefined ? [] : [[id, release] as const],
  );
  return [
    {
      id: 'several-releases',
      severity: 'info',
      title: 'Members run different releases',
      message: byPeer.map(([id, release]) => `${id}: ${release}`).join(', '),
      recommendation: 'Finish the upgrade: what is new is used when every member can read it.',
      details: {releases: Object.fromEntries(byPeer)},
    },
  ];
}

function backupsUnscheduled({state, backupFault}: AlertInput): readonly ClusterAlert[] {
  if (backupFault === undefined) return [];
  return [
    {
      id: 'backup-configuration',
      severity: 'warning',
      title: 'The configuration of backups cannot be used',
      message: `${state.localPeerId} schedules no new backups: ${backupFault}`,
      recommendation: 'Correct what it names, and set it by svc backup config --set.',
      details: {reason: backupFault},
    },
  ];
}

/** A member whose disk is full takes nothing, whoever leads. */
function fullDisk({localPeerId, isLeader, spaceObstacle}: ClusterState): readonly ClusterAlert[] {
  if (spaceObstacle === undefined) return [];
  return [
    {
      id: 'disk-full',
      severity: 'critical',
      title: 'A disk of this server is full',
      message:
        `${localPeerId}: ${spaceObstacle}. ` +
        (isLeader ? 'Writes are refused.' : 'It falls behind once nothing is left.'),
      recommendation:
        'Make room on that disk: it goes on by itself then. A leader hands over meanwhile where ' +
        'a follower has room.',
      details: {peer: localPeerId},
    },
  ];
}

function databasesAway(input: AlertInput): readonly ClusterAlert[] {
  const {unavailableDatabases: away, missingOnLeader: missing} = input;
  const told: ClusterAlert[] = [];
  if (away.length > 0) {
    told.push({
      id: 'databases-not-available',
      severity: 'critical',
      title: 'Databases are not available on this server',
      message: `${away.join(', ')}: damaged, or a snapshot was not put in place wholly.`,
      recommendation: `Take the leader's copy: svc cluster resync ${away[0]}, on this server.`,
      details: {databases: away},
    });
  }
  if (missing.length > 0) {
    told.push({
      id: 'leader-missing-databases',
      severity: 'warning',
      title: 'Members hold databases that the leader lacks',
      message: `${missing.join(', ')}: kept where they are, and not replicated.`,
      recommendation:
        'Move the leadership to a member that holds them before it is too late, or delete their ' +
        'directories when they are not wanted.',
      details: {databases: missing},
    });
  }
  return told;
}

function stall({state, troubles}: AlertInput): readonly ClusterAlert[] {
  const {givenUp, isStuckAtStaleTerm, isStalledBehindLeader} = troubles;
  const {localPeerId: peer, currentTerm: term, appliedIndex} = state;
  const told: ClusterAlert[] = [];
  if (givenUp.length > 0) {
    told.push({
      id: 'repair-given-up',
      severity: 'critical',
      title: 'Databases were taken anew again and again, and cannot be used',
      message:
        `${givenUp.join(', ')}: so many attempts as svc.ha.divergedFollowerMaxReformats allows ` +
        'came to nothing.',
      recommendation:
        'Look at the disk of this server and at its log (resync.failed, database.damaged); then ' +
        `svc cluster resync ${givenUp[0]} on it takes the copy once more.`,
      details: {databases: givenUp},
    });
  }
  if (isStuckAtStaleTerm) {
    told.push({
      id: 'stuck-at-stale-term',
      severity: 'critical',
      title: 'This server has been left behind in an old term',
      message: `${peer} reaches most voters and has known no leader since term ${term}.`,
      recommendation:
        'Look at the status of the others: if they have a leader, remove this peer there and add ' +
        'it again; if not, compare what their logs say of elections.',
      details: {peer, term},
    });
  }
  if (isStalledBehindLeader) {
    told.push({
      id: 'stalled-behind-leader',
      severity: 'critical',
      title: 'This server applies nothing of what is committed',
      message: `${peer} stands still at entry ${appliedIndex} with ${localLag(state)} behind it.`,
      recommendation:
        'Look at its disk and its log; a restart tries again from there, and svc cluster resync ' +
        'takes a database anew.',
      details: {peer, appliedIndex, lag: localLag(state)},
    });
  }
  return told;
}

function notReached({peers}: ClusterState): string {
  const told = peers.flatMap(({id, obstacle}) =>
    obstacle === undefined ? [] : [`${id} (${obstacle})`],
  );
  return told.length === 0 ? '' : ` Not reached: ${told.join(', ')}.`;
}

function voterCount({peers}: ClusterState): number {
  return peers.filter(peer => peer.isVoter).length;
}

function idsOf(peers: readonly ClusterPeer[]): readonly string[] {
  return peers.map(({id}) => id);
}

function are(ids: readonly string[]): string {
  return ids.length === 1 ? 'is' : 'are';
}
