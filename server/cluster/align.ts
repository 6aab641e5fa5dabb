/**
 * ALIGN DATABASE: compares the copies of a database that the members of a cluster hold, has those
 * that differ from the leader's taken anew, and compares again: what is answered was seen.
 *
 * A copy that more members hold than the leader's is not thrown away: then the leader's is likely
 * to be the wrong one, and another member has to lead before anything is mended.
 */
import {queryTerminated, reasonOf} from '#server/base/errors.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import type {VerifiedPeer, VerifyResult} from './verify.ts';

/** The copies of a cluster's databases, as its leader reaches them. */
export interface ClusterCopies {
  /** @throws {Refusal} what stands in the way of a marker in the log. */
  compare(database: string): Promise<VerifyResult>;
  /** A member throws its copy away and takes the leader's. Rejects with the reason if not. */
  replace(peerId: string, database: string): Promise<void>;
}

/** What was found of one member, and done about it. */
export interface AlignedMember {
  /** Its peer id; of a server alone its name. */
  readonly member: string;
  /** How its copy stood to the leader's. */
  readonly found: VerifiedPeer['status'];
  /** Parts of the database in which it differed. */
  readonly differing: readonly string[];
  readonly done: 'nothing' | 'taken anew';
  /** How it stands now. */
  readonly status: VerifiedPeer['status'];
  /** Why it is not as it should be. */
  readonly error?: string;
}

/** @returns a row: the server has the only copy. */
export function alignedAlone(serverName: string): AlignedMember {
  const status = 'CONSISTENT';
  return {member: serverName, found: status, differing: [], done: 'nothing', status};
}

/**
 * Carries it out on the leader; a row each member, the leader's first.
 *
 * Cost: two reads of the whole database on every member where something differs, else one.
 *
 * @throws {Refusal} `query.terminated` between two members when `signal` says so; what `compare`
 *   throws.
 */
export async function alignDatabase(
  copies: ClusterCopies,
  database: string,
  signal: Cancellation,
): Promise<AlignedMember[]> {
  const before = await copies.compare(database);
  const differing = before.peers.filter(({status}) => status === 'INCONSISTENT');
  const isOutvoted = heldMost(before.peers) > 1 + countOf(before.peers, 'CONSISTENT');
  const errors = new Map<string, string>();
  const taken = new Set<string>();
  for (const {peerId} of isOutvoted ? [] : differing) {
    if (signal.aborted) throw queryTerminated();
    try {
      // One at a time: the others go on with a majority.
      await copies.replace(peerId, database);
      taken.add(peerId);
    } catch (error) {
      errors.set(peerId, reasonOf(error));
    }
  }
  const after = taken.size > 0 ? await copies.compare(database) : before;
  const now = new Map(after.peers.map(peer => [peer.peerId, peer]));
  return [
    leaderRow(before.localPeerId, isOutvoted),
    ...before.peers.map((peer): AlignedMember => {
      const {peerId, status: found} = peer;
      const last = now.get(peerId);
      const error = errors.get(peerId) ?? (last === undefined ? gone : last.error);
      return {
        member: peerId,
        found,
        differing: (peer.mismatches ?? []).map(({file}) => file),
        done: taken.has(peerId) ? 'taken anew' : 'nothing',
        status: last?.status ?? 'ERROR',
        ...(error !== undefined && {error}),
      };
    }),
  ];
}

const gone = 'it is no member any more';

function leaderRow(member: string, isOutvoted: boolean): AlignedMember {
  const done = 'nothing';
  if (!isOutvoted) {
    return {member, found: 'CONSISTENT', differing: [], done, status: 'CONSISTENT'};
  }
  const error =
    'it leads, and more members hold another copy than hold its own: nothing was replaced. Move ' +
    'the leadership to one of them, then align again';
  return {member, found: 'INCONSISTENT', differing: [], done, status: 'INCONSISTENT', error};
}

/** How many members hold the copy that is not the leader's and is held most. */
function heldMost(peers: readonly VerifiedPeer[]): number {
  const holders = new Map<string, number>();
  for (const {status, mismatches} of peers) {
    if (status !== 'INCONSISTENT') continue;
    const copy = JSON.stringify(mismatches);
    holders.set(copy, (holders.get(copy) ?? 0) + 1);
  }
  return Math.max(0, ...holders.values());
}

function countOf(peers: readonly VerifiedPeer[], status: VerifiedPeer['status']): number {
  return peers.filter(peer => peer.status === status).length;
}
