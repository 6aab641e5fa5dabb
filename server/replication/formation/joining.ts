/**
 * How a server without a memory of its cluster gets in: it asks until it is a member; the leader
 * takes it in, first without a vote.
 *
 * A server that was a member and lost its memory asks the same way. It may have voted and have
 * acknowledged entries that it knows nothing of, so the leader removes it first: once that is
 * committed nobody counts on it, and it comes back as somebody new (note 10, Names). Until it is
 * told that it belongs to the group it gives no vote (replicator.ts).
 */
import {Refusal} from '#server/base/errors.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {memberOf} from '#server/raft/membership.ts';
import type {NodeId} from '#server/raft/message.ts';
import type {Replicator} from '../replicator.ts';
import type {PeerReport} from './formation-decision.ts';
import type {PeerTalk} from './peer-talk.ts';

export interface JoiningOptions {
  readonly talk: PeerTalk;
  readonly replicator: Replicator;
  /** This server takes commits, so it may change the members. */
  readonly isLeading: () => boolean;
  /** What a new server is told of this one. */
  readonly report: () => PeerReport;
  readonly priority: number;
  readonly timers: Timers;
  readonly logger: Logger;
  /** A server asked to be taken in: what is remembered of it is void. */
  readonly asked: (peer: NodeId) => void;
}

const askMs = 500;

export class Joining {
  readonly #options: JoiningOptions;
  readonly #admitting = new Set<NodeId>();
  #isClosed = false;

  constructor(options: JoiningOptions) {
    const {talk, report, asked} = options;
    this.#options = options;
    talk.hear((from, saying) => {
      if (saying.kind === 'report') {
        if (saying.standing === 'new') talk.say(from, {kind: 'report', ...report()});
        return;
      }
      asked(from);
      if (options.isLeading()) void this.#admit(from, saying.priority);
    });
    this.#ask();
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Asks, for as long as this server never was a member as far as it knows. */
  #ask(): void {
    const {talk, replicator, priority, timers} = this.#options;
    if (this.#isClosed || replicator.wasMember) return;
    talk.sayToAll({kind: 'join', priority});
    timers.after(askMs, () => this.#ask());
  }

  /** Removed first where it is a member. What is refused is asked for again. */
  async #admit(id: NodeId, priority: number): Promise<void> {
    if (this.#admitting.has(id)) return;
    this.#admitting.add(id);
    const {replicator, logger} = this.#options;
    try {
      if (memberOf(replicator.membership, id) !== undefined) {
        logger.log('warn', 'cluster.peer-without-memory', {peer: id});
        await replicator.change({kind: 'remove', id});
      }
      await replicator.change({kind: 'add', id, priority});
      logger.log('info', 'cluster.peer-joins', {peer: id});
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      logger.log('info', 'cluster.peer-waits', {peer: id, reason: error.message});
    } finally {
      this.#admitting.delete(id);
    }
  }
}
