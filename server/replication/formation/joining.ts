/**
 * How a server without a memory of its cluster gets in: it asks whoever it is connected to until
 * it is a member; those who do not lead pass it on, and the leader takes it in, first without a
 * vote.
 *
 * It knows that it is a member once the log says so, which for one that needs a snapshot is long
 * after it was taken in. It asks with the id of the log that it began with, so that the leader
 * knows a server that catches up from one that began anew once more.
 *
 * A server that was a member and lost its memory asks the same way. It may have voted and have
 * acknowledged entries that it knows nothing of, so the leader removes it first: once that is
 * committed nobody counts on it, and it comes back as somebody new (note 10, Names). Until it is
 * told that it belongs to the group it gives no vote (replicator.ts).
 */
import {Refusal} from '#server/base/errors.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {memberOf} from '#server/raft/membership.ts';
import type {NodeId} from '#server/raft/message.ts';
import type {Replicator} from '../replicator.ts';
import type {PeerReport} from './formation-decision.ts';
import type {Application, PeerControlTransport, ControlMessage} from './peer-control-transport.ts';

export interface JoiningOptions {
  readonly talk: PeerControlTransport;
  readonly replicator: Pick<Replicator, 'change' | 'membership' | 'role' | 'wasMember'>;
  /** This server takes commits, so it may change the members. */
  readonly isLeading: () => boolean;
  /** Puts the documents of the server into the log once more. @throws {Refusal} */
  readonly writeDocuments: () => Promise<void>;
  /** What a new server is told of this one. */
  readonly report: () => PeerReport;
  readonly application: Application;
  readonly timers: Timers;
  readonly logger: Logger;
  /** A server asked to be taken in: what is remembered of it is void. */
  readonly asked: (peer: NodeId) => void;
  /** It was removed, and stays out until somebody adds it. */
  readonly isDecommissioned: (peer: NodeId) => boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** A server that asks to be taken in, and was not yet. */
export interface WaitingServer {
  readonly id: NodeId;
  readonly reason: string;
  /** Milliseconds since it asked last. */
  readonly agoMs: number;
}

const askMs = 500;
/** Who has not asked for so long is gone. */
const waitingMsMax = 30_000;

export class Joining {
  readonly #options: JoiningOptions;
  readonly #admitting = new Set<NodeId>();
  /** The memory with which each was taken in by this leader. */
  readonly #admitted = new Map<NodeId, string | undefined>();
  /** Why each is outside still, as the leader knows it, and when it asked last. */
  readonly #waiting = new Map<NodeId, {readonly reason: string; readonly at: number}>();
  #isClosed = false;
  #toldReason = '';

  constructor(options: JoiningOptions) {
    this.#options = options;
    options.talk.hear((from, saying) => this.#heard(from, saying));
    this.#ask();
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Servers that asked this leader lately and are no members. */
  get waiting(): readonly WaitingServer[] {
    const {clock, replicator} = this.#options;
    const now = clock.monotonic();
    for (const [id, {at}] of this.#waiting) {
      const isIn = memberOf(replicator.membership, id) !== undefined;
      if (isIn || now - at > waitingMsMax) this.#waiting.delete(id);
    }
    return [...this.#waiting].map(([id, {reason, at}]) => ({id, reason, agoMs: now - at}));
  }

  /** What this server was answered last; empty where nobody answered. */
  get obstacle(): string {
    return this.#toldReason;
  }

  #heard(from: NodeId, saying: ControlMessage): void {
    const {talk, report} = this.#options;
    switch (saying.kind) {
      case 'report':
        if (saying.standing === 'new') talk.say(from, {kind: 'report', ...report()});
        return;
      case 'join':
        this.#asked(from, saying);
        return this.#passOn(from, saying);
      case 'join-of':
        // Passed on once: two members may each take the other for the leader.
        return this.#asked(saying.id, saying);
      case 'not-joined':
        return this.#tell(from, saying.reason);
      default:
        saying satisfies never;
    }
  }

  #asked(id: NodeId, application: Application): void {
    this.#options.asked(id);
    if (this.#options.isLeading()) void this.#admit(id, application);
  }

  #passOn(id: NodeId, {priority, memory, adopts}: Application): void {
    const {talk, replicator} = this.#options;
    const {name, leader} = replicator.role;
    if (name === 'leader' || leader === undefined || leader === id) return;
    talk.say(leader, {kind: 'join-of', id, priority, memory, adopts});
  }

  /** Each reason once, until there is another. */
  #tell(leader: NodeId, reason: string): void {
    if (reason === this.#toldReason) return;
    this.#toldReason = reason;
    this.#options.logger.log('info', 'cluster.not-joined', {leader, reason});
  }

  /** Asks, for as long as this server never was a member as far as it knows. */
  #ask(): void {
    const {talk, replicator, application, timers} = this.#options;
    if (this.#isClosed || replicator.wasMember) return;
    talk.sayToAll({kind: 'join', ...application});
    timers.after(askMs, () => this.#ask());
  }

  /** Removed first where it is a member with another memory. What is refused is asked again. */
  async #admit(id: NodeId, {priority, memory, adopts}: Application): Promise<void> {
    const {replicator, logger, writeDocuments} = this.#options;
    const isMember = memberOf(replicator.membership, id) !== undefined;
    const catchesUp = isMember && memory !== undefined && this.#admitted.get(id) === memory;
    if (catchesUp || this.#admitting.has(id)) return;
    if (!isMember && this.#options.isDecommissioned(id)) {
      return this.#refuse(id, 'it was removed, and stays out until it is added: svc cluster add');
    }
    this.#admitting.add(id);
    try {
      if (isMember) {
        logger.log('warn', 'cluster.peer-without-memory', {peer: id});
        await replicator.change({kind: 'remove', id});
      }
      // Behind what it came with, and before the entry that tells it that it belongs here.
      if (adopts) await writeDocuments();
      await replicator.change({kind: 'add', id, priority});
      this.#remember(id, memory);
      logger.log('info', 'cluster.peer-joins', {peer: id});
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#refuse(id, error.message);
    } finally {
      this.#admitting.delete(id);
    }
  }

  /** It asks twice a second: the log tells each reason once. */
  #refuse(id: NodeId, reason: string): void {
    const {talk, logger, clock} = this.#options;
    if (this.#waiting.get(id)?.reason !== reason) {
      logger.log('info', 'cluster.peer-waits', {peer: id, reason});
    }
    this.#waiting.set(id, {reason, at: clock.monotonic()});
    talk.say(id, {kind: 'not-joined', reason});
  }

  /** Remembers members only: what is known of another server has no meaning. */
  #remember(id: NodeId, memory: string | undefined): void {
    const {membership} = this.#options.replicator;
    for (const known of this.#admitted.keys()) {
      if (memberOf(membership, known) === undefined) this.#admitted.delete(known);
    }
    this.#admitted.set(id, memory);
  }
}
