/**
 * What a leader does about a follower that it hears nothing of: names it unreachable, rebuilds its
 * channel once in an interval, and after the last attempt hands leadership to somebody whose
 * channel may be better, or asks for a person.
 *
 * Pure: samples and a time go in, steps come out, and whoever asks carries them out. A follower
 * that is heard again has all its attempts back. This node escalates over one follower at most
 * once in half an hour: leadership must not wander because one machine is gone for good.
 *
 * Source: docs/cluster-connections.md.
 */
import type {NodeId} from '#server/raft/message.ts';

export interface ChannelResetOptions {
  /** `svc.ha.peerUnreachableThreshold`; 0 switches everything here off. */
  readonly unreachableMs: number;
  /** `svc.ha.peerChannelResetDuration`; 0: no channel is rebuilt. */
  readonly resetMs: number;
  /** `svc.ha.peerChannelResetEscalation`. */
  readonly escalates: boolean;
}

/** A follower as the leader sees it; the fittest to lead come first. */
export interface FollowerSample {
  readonly id: NodeId;
  /** Monotonic time at which it was last heard; undefined: never. */
  readonly heardAt: number | undefined;
  /** Whether it has ever acknowledged an entry. */
  readonly hasReplicated: boolean;
  /** A voter that may lead and is not far behind. */
  readonly mayLead: boolean;
}

export type ResetStep =
  | {readonly kind: 'unreachable' | 'never-received' | 'reachable'; readonly peer: NodeId}
  /** Close its connections and build new ones. */
  | {readonly kind: 'reset'; readonly peer: NodeId; readonly attempt: number}
  /** Transfer leadership to `to`, which is never the peer itself. */
  | {readonly kind: 'escalate'; readonly peer: NodeId; readonly to: NodeId}
  | {readonly kind: 'give-up'; readonly peer: NodeId; readonly reason: string};

export const resetAttemptsMax = 5;
const escalationPauseMs = 30 * 60_000;

/** One follower; times are monotonic. */
interface Watched {
  readonly since: number;
  /** Undefined while it is reachable. */
  unreachableAt: number | undefined;
  attempts: number;
  /** When the next attempt is due, while it is unreachable. */
  nextAt: number;
  isGivenUp: boolean;
}

export class ChannelResets {
  readonly #options: ChannelResetOptions;
  #watched = new Map<NodeId, Watched>();
  readonly #escalatedAt = new Map<NodeId, number>();

  constructor(options: ChannelResetOptions) {
    this.#options = options;
  }

  /** Whether a follower was unreachable at the last look. */
  isUnreachable(peer: NodeId): boolean {
    return this.#watched.get(peer)?.unreachableAt !== undefined;
  }

  /** Looks at all followers; none of them while this node does not lead. */
  look(now: number, followers: readonly FollowerSample[]): readonly ResetStep[] {
    const {unreachableMs} = this.#options;
    if (unreachableMs === 0) return [];
    const before = this.#watched;
    this.#watched = new Map(
      followers.map(({id}) => [id, before.get(id) ?? newlyWatched(now)] as const),
    );
    const isSilent = ({id, heardAt}: FollowerSample): boolean =>
      now - (heardAt ?? this.#watched.get(id)?.since ?? now) >= unreachableMs;
    const heirs = followers.filter(follower => follower.mayLead && !isSilent(follower));
    return followers.flatMap(follower => {
      const watched = this.#watched.get(follower.id);
      if (watched === undefined) return [];
      if (!isSilent(follower)) return this.#heard(follower.id, watched);
      return this.#silent(now, {follower, watched, heir: heirs[0]?.id});
    });
  }

  #heard(peer: NodeId, watched: Watched): readonly ResetStep[] {
    if (watched.unreachableAt === undefined) return [];
    watched.unreachableAt = undefined;
    watched.attempts = 0;
    watched.isGivenUp = false;
    return [{kind: 'reachable', peer}];
  }

  #silent(
    now: number,
    {
      follower,
      watched,
      heir,
    }: {follower: FollowerSample; watched: Watched; heir: NodeId | undefined},
  ): readonly ResetStep[] {
    const peer = follower.id;
    const {resetMs} = this.#options;
    if (watched.unreachableAt === undefined) {
      watched.unreachableAt = now;
      watched.nextAt = now + resetMs;
      return [{kind: follower.hasReplicated ? 'unreachable' : 'never-received', peer}];
    }
    if (resetMs === 0 || watched.isGivenUp || now < watched.nextAt) return [];
    watched.nextAt = now + resetMs;
    if (watched.attempts < resetAttemptsMax) {
      return [{kind: 'reset', peer, attempt: ++watched.attempts}];
    }
    watched.isGivenUp = true;
    return [this.#lastStep(now, peer, heir)];
  }

  #lastStep(now: number, peer: NodeId, heir: NodeId | undefined): ResetStep {
    const giveUp = (reason: string): ResetStep => ({kind: 'give-up', peer, reason});
    if (!this.#options.escalates) return giveUp('svc.ha.peerChannelResetEscalation is off');
    const escalatedAt = this.#escalatedAt.get(peer);
    if (escalatedAt !== undefined && now - escalatedAt < escalationPauseMs) {
      return giveUp('leadership was handed over because of it within the last 30 minutes');
    }
    if (heir === undefined) return giveUp('no other follower is fit to lead');
    this.#escalatedAt.set(peer, now);
    return {kind: 'escalate', peer, to: heir};
  }
}

/** A step as a line of the log. */
export function resetLine(step: ResetStep): {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
} {
  const {kind, ...fields} = step;
  const event = `peer.${kind}`;
  switch (kind) {
    case 'reachable':
      return {level: 'info', event, fields};
    case 'unreachable':
      return {level: 'warn', event, fields};
    case 'reset':
      return {level: 'warn', event, fields: {...fields, of: resetAttemptsMax}};
    default:
      return {level: 'error', event, fields};
  }
}

function newlyWatched(now: number): Watched {
  return {since: now, unreachableAt: undefined, attempts: 0, nextAt: 0, isGivenUp: false};
}
