/**
 * Looks after the members of a cluster on `svc.ha.healthCheckInterval`: how each follower does,
 * what a leader does about one that it hears nothing of (replication/links/channel-resets.ts), what
 * becomes of copies that stand still or cannot be used (replica-repairer.ts), and when the
 * cluster's data takes the formats of a newer release (cluster/format-raise.ts). A leader whose
 * disk is full hands over to a follower that has room.
 *
 * What is decided is decided there; here are the timer, the lines of the log and the carrying out.
 */
import {reasonOf} from '#server/base/errors.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import {
  ChannelResets,
  type FollowerSample,
  resetLine,
  type ResetStep,
} from '#server/replication/links/channel-resets.ts';
import type {PeerTransport} from '#server/replication/peer-transport.ts';
import type {ClusterState} from '#server/cluster/cluster.ts';
import {successorsOf} from '#server/cluster/changes.ts';
import {membersBehind} from '#server/cluster/format-raise.ts';
import {type LocalHealth, StallDetector} from '#server/cluster/local-health.ts';
import {followersOf, ReplicaHealth} from '#server/cluster/replica-health.ts';
import type {MemberCopies} from '#server/protocols/http/relay/member-copies.ts';
import {ReplicaRepairer, type CopyCareOptions} from './replica-repairer.ts';

export interface ClusterWatchOptions extends CopyCareOptions {
  readonly links: Pick<PeerTransport, 'reset'>;
  readonly copies: Pick<MemberCopies, 'replace' | 'hasRoom'>;
  /** The level that is written, the newest one of this build, and the step between them. */
  readonly formats: {
    readonly written: () => number;
    readonly newest: number;
    readonly raise: () => Promise<void>;
  };
  readonly clock: Clock;
  readonly timers: Timers;
}

const escalationMs = 10_000;

export class ClusterWatch {
  /** How this leader's followers do. */
  readonly health = new ReplicaHealth();
  readonly #standstill = new StallDetector();
  readonly #options: ClusterWatchOptions;
  readonly #resets: ChannelResets;
  readonly #copies: ReplicaRepairer;
  #cancel: () => void = () => undefined;
  /** Whom the formats of this build wait for, as the log was last told. */
  #waitsFor = '';
  #isHandingOver = false;

  /** Begins at once. */
  constructor(options: ClusterWatchOptions) {
    const given = options.settings();
    this.#options = options;
    this.#copies = new ReplicaRepairer(options);
    this.#resets = new ChannelResets({
      unreachableMs: given.get('svc.ha.peerUnreachableThreshold'),
      resetMs: given.get('svc.ha.peerChannelResetDuration'),
      escalates: given.get('svc.ha.peerChannelResetEscalation'),
    });
    this.#wait();
  }

  /** What goes wrong with this member itself. */
  get troubles(): LocalHealth {
    return {...this.#standstill.troubles, givenUp: this.#copies.givenUp};
  }

  end(): void {
    this.#cancel();
  }

  #wait(): void {
    const {timers, settings} = this.#options;
    this.#cancel = timers.after(settings().get('svc.ha.healthCheckInterval'), () => {
      this.#look();
      this.#wait();
    });
  }

  #look(): void {
    const {cluster, clock, settings} = this.#options;
    const state = cluster.state();
    const now = clock.monotonic();
    this.health.sample(state, now, {
      lagWarning: settings().get('svc.ha.replicationLagWarning'),
      unreachableMs: settings().get('svc.ha.peerUnreachableThreshold'),
    });
    const stalledMs = settings().get('svc.ha.stalledReplicaResyncDurationMs');
    this.#standstill.sample(state, now, stalledMs);
    for (const step of this.#resets.look(now, this.#samples(state, now))) this.#take(step);
    this.#copies.look(state, now);
    if (state.isLeader) void this.#raiseFormat(state);
    if (state.isLeader && state.spaceObstacle !== undefined) void this.#handOver(state);
    this.#report(state, settings().get('svc.ha.logVerbose'));
  }

  /** Does not reject: what was refused is tried again at the next look. */
  async #raiseFormat(state: ClusterState): Promise<void> {
    const {formats, logger} = this.#options;
    const {written, newest, raise} = formats;
    if (written() >= newest) return;
    const behind = membersBehind(state, newest);
    if (behind.join() !== this.#waitsFor && behind.length > 0) {
      logger.log('info', 'format.waits', {written: written(), newest, for: behind});
    }
    this.#waitsFor = behind.join();
    if (behind.length > 0) return;
    try {
      await raise();
    } catch (error) {
      logger.log('warn', 'format.not-raised', {newest, reason: reasonOf(error)});
    }
  }

  /** Does not reject: where nobody has room, or takes it, it is tried again at the next look. */
  async #handOver(state: ClusterState): Promise<void> {
    if (this.#isHandingOver) return;
    this.#isHandingOver = true;
    const {cluster, copies, logger} = this.#options;
    const obstacle = state.spaceObstacle;
    try {
      for (const to of successorsOf(state, id => this.health.status(id))) {
        if (!(await copies.hasRoom(to))) continue;
        const leader = await cluster.transferLeadership(to, escalationMs);
        logger.log('warn', 'disk.leadership-moved', {leader, obstacle});
        return;
      }
      logger.log('warn', 'disk.leadership-stays', {obstacle, reason: 'no follower has room'});
    } catch (error) {
      logger.log('warn', 'disk.leadership-stays', {obstacle, reason: reasonOf(error)});
    } finally {
      this.#isHandingOver = false;
    }
  }

  #report(state: ClusterState, verbosity: number): void {
    const {logger} = this.#options;
    const {leaderId, currentTerm, commitIndex, appliedIndex, uncommittedBytes} = state;
    if (verbosity >= 1) {
      const figures = {term: currentTerm, commitIndex, appliedIndex, uncommittedBytes};
      logger.log('info', 'cluster.state', {leader: leaderId, ...figures});
    }
    if (verbosity < 2 || !state.isLeader) return;
    for (const {id, progress} of followersOf(state)) {
      logger.log('info', 'cluster.follower', {
        peer: id,
        status: this.health.status(id),
        ...progress,
      });
    }
  }

  /** Lists those that may lead first, the fittest of them before the others. */
  #samples(state: ClusterState, now: number): readonly FollowerSample[] {
    if (!state.isLeader) return [];
    const heirs = successorsOf(state, id => this.health.status(id));
    return followersOf(state)
      .map(({id, progress: {lastContactMs, matchIndex}}) => ({
        id,
        heardAt: lastContactMs === undefined ? undefined : now - lastContactMs,
        hasReplicated: matchIndex > 0,
        mayLead: heirs.includes(id),
        rank: heirs.includes(id) ? heirs.indexOf(id) : heirs.length,
      }))
      .toSorted((a, b) => a.rank - b.rank);
  }

  #take(step: ResetStep): void {
    const {links, logger, cluster} = this.#options;
    const {level, event, fields} = resetLine(step);
    logger.log(level, event, fields);
    if (step.kind === 'reset') links.reset(step.peer);
    if (step.kind !== 'escalate') return;
    const {peer, to} = step;
    cluster.transferLeadership(to, escalationMs).then(
      leader => logger.log('warn', 'peer.leadership-moved', {peer, leader}),
      (error: unknown) => {
        logger.log('error', 'peer.leadership-stays', {peer, to, reason: reasonOf(error)});
      },
    );
  }
}
