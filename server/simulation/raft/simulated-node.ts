/**
 * One simulated node: the driver of a core, as `replication/` will be one, on a simulated disk,
 * network and clock. It keeps the duties of raft/effect.ts and checks that the core lets it.
 *
 * Invariant R3 is asserted where a message leaves: what it promises is durable on this node.
 */
import type {Effect, Persist} from '#server/raft/effect.ts';
import type {Input} from '#server/raft/input.ts';
import type {Checkpoint, Membership} from '#server/raft/membership.ts';
import type {Entry, LogIndex, Message, NodeId, Term} from '#server/raft/message.ts';
import {Raft, type RaftOptions} from '#server/raft/state.ts';
import {step} from '#server/raft/step.ts';
import {Violation} from '../ledger.ts';
import type {Scheduler} from '../scheduler.ts';
import type {SeededRandom} from '../seeded-random.ts';
import {checkPromise} from './promises.ts';
import {EntryArray, SimulatedLog} from './simulated-log.ts';

export interface NodeWorld {
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  send(from: NodeId, to: NodeId, message: Message): void;
  /** Begins to fetch a checkpoint for `node`; ends with one of its two inputs. */
  fetchCheckpoint(node: SimulatedNode, from: NodeId): void;
  /** The node's state is now that of `applied`: it starts, or a checkpoint is in place. */
  restored(node: SimulatedNode): void;
  wrote(node: SimulatedNode, write: Persist): void;
  applied(node: SimulatedNode, index: LogIndex, entry: Entry): void;
  /** Any effect that does not concern disk or network. */
  noticed(node: SimulatedNode, effect: Effect): void;
  /** Called after every step. */
  stepped(node: SimulatedNode, raft: Raft): void;
}

interface Held {
  readonly after: number;
  readonly to: NodeId;
  readonly message: Message;
}

export type NodeOptions = Omit<RaftOptions, 'seed'>;

const tickMs = 50;
const compactEvery = 60;
const compactGap = 20;

export class SimulatedNode {
  readonly id: NodeId;
  readonly log: SimulatedLog;
  /** Undefined while the process does not run. */
  raft: Raft | undefined;
  /** Number of the process: what an earlier one had begun does not reach a later one. */
  life = 0;
  applied: LogIndex = 0;
  paused = false;
  /** How fast this node's clock goes, against the world's. */
  clockRate = 1;
  diskDelayMs = 2;
  readonly #world: NodeWorld;
  readonly #options: NodeOptions;
  /** The log as the process sees it, durable or not. */
  #snapshot = new EntryArray({index: 0, term: 0});
  #held: Held[] = [];
  #durableNumber = 0;
  #missed: (() => void)[] = [];
  #clock = {at: 0, shows: 0};

  constructor(options: NodeOptions, membership: Membership, world: NodeWorld) {
    this.id = options.id;
    this.#options = options;
    this.#world = world;
    this.log = new SimulatedLog(membership);
  }

  get role(): string {
    return this.raft?.role.kind ?? 'down';
  }

  start(): void {
    const {scheduler, random} = this.#world;
    const recovered = this.log.recover();
    this.life++;
    this.applied = recovered.applied;
    this.#snapshot = new EntryArray(recovered.base, [...recovered.entries]);
    this.#held = [];
    this.#durableNumber = 0;
    this.#missed = [];
    this.paused = false;
    this.#clock = {at: scheduler.nowMs, shows: random.below(1_000_000)};
    this.raft = new Raft({...this.#options, seed: random.u32()}, recovered, this.now());
    this.#world.restored(this);
    this.#tickLater(random.below(tickMs));
  }

  crash(): void {
    this.raft = undefined;
    this.life++;
    this.log.crash(this.#world.random);
  }

  /** The node's own clock: monotonic, and wrong at will. */
  now(): number {
    const {nowMs} = this.#world.scheduler;
    const shows = this.#clock.shows + (nowMs - this.#clock.at) * this.clockRate;
    this.#clock = {at: nowMs, shows};
    return shows;
  }

  setClock(rate: number, leapMs: number): void {
    const shows = this.now() + leapMs;
    this.#clock = {at: this.#world.scheduler.nowMs, shows};
    this.clockRate = rate;
  }

  resume(): void {
    this.paused = false;
    const missed = this.#missed;
    this.#missed = [];
    for (const work of missed) work();
  }

  /** Does `work` unless this process has ended; a paused one does it when it goes on. */
  whileAlive(life: number, work: () => void): void {
    if (this.life !== life || this.raft === undefined) return;
    if (this.paused) this.#missed.push(() => this.whileAlive(life, work));
    else work();
  }

  input(input: Input): readonly Effect[] {
    const {raft} = this;
    if (raft === undefined) return [];
    const effects = step(raft, this.now(), input);
    for (const effect of effects) this.#carryOut(effect);
    this.#world.stepped(this, raft);
    return effects;
  }

  get isDown(): boolean {
    return this.raft === undefined;
  }

  get members(): Membership {
    return this.raft?.memberships.current ?? [];
  }

  hearLost(peer: NodeId): void {
    this.whileAlive(this.life, () => this.input({kind: 'peer-lost', id: peer}));
  }

  administer(requested: Extract<Input, {readonly kind: 'transfer' | 'change'}>): void {
    this.input(requested);
  }

  receive(from: NodeId, message: Message): void {
    this.whileAlive(this.life, () => this.input({kind: 'message', from, message}));
  }

  /** The term in the log as the process sees it. */
  termAt(index: LogIndex): Term | undefined {
    return this.#snapshot.termAt(index);
  }

  /** A checkpoint as this node would give one now. */
  checkpoint(): Checkpoint | undefined {
    const term = this.#snapshot.termAt(this.applied);
    if (this.raft === undefined || term === undefined) return undefined;
    const membership = this.raft.memberships.at(this.applied);
    return {last: {index: this.applied, term}, membership};
  }

  install(checkpoint: Checkpoint): void {
    if (checkpoint.last.index > this.applied) {
      this.log.putCheckpoint(checkpoint);
      this.applied = checkpoint.last.index;
      this.#world.restored(this);
    }
    this.input({kind: 'installed', checkpoint});
  }

  #carryOut(effect: Effect): void {
    switch (effect.kind) {
      case 'persist':
        this.#snapshot.write(effect);
        this.#world.wrote(this, effect);
        this.log.add(effect);
        return this.#writeLater();
      case 'send':
        return this.#sendAfter(effect);
      case 'send-entries': {
        const {head, through, to, after} = effect;
        const entries = this.#snapshot.slice(head.previous.index, through);
        return this.#sendAfter({to, after, message: {...head, entries}});
      }
      case 'apply':
        return this.#apply(effect.through);
      case 'install':
        return this.#world.fetchCheckpoint(this, effect.from);
      default:
        this.#world.noticed(this, effect);
    }
  }

  #apply(through: LogIndex): void {
    for (let index = this.applied + 1; index <= through; index++) {
      const entry = this.#snapshot.at(index);
      if (entry === undefined) throw new Violation(`${this.id} is to apply ${index}, not held`);
      this.applied = index;
      this.#world.applied(this, index, entry);
    }
    if (this.applied - this.#snapshot.base.index >= compactEvery) this.#compactLater();
  }

  /** Compacts in a step of its own: within one, messages may still need what would be forgotten. */
  #compactLater(): void {
    const {life} = this;
    this.#world.scheduler.after(0, 'compact', () => {
      this.whileAlive(life, () => {
        const {raft} = this;
        const index = this.applied - compactGap;
        if (raft === undefined || index <= this.#snapshot.base.index) return;
        this.log.compact(index, raft.memberships.at(index));
        this.#snapshot.compact(index);
        this.input({kind: 'compact', through: index});
      });
    });
  }

  #writeLater(): void {
    const {scheduler, random} = this.#world;
    if (!this.log.idle || !this.log.hasWork) return;
    const {life} = this;
    this.log.beginGroup();
    const delayMs = 0.1 + (random.below(1000) / 1000) * this.diskDelayMs;
    scheduler.after(delayMs, 'synced', () => {
      if (this.life !== life) return;
      const number = this.log.endGroup();
      this.#writeLater();
      this.whileAlive(life, () => this.#synced(number));
    });
  }

  #synced(number: number): void {
    this.#durableNumber = number;
    const ready = this.#held.filter(held => held.after <= number);
    this.#held = this.#held.filter(held => held.after > number);
    for (const {to, message} of ready) this.#send(to, message);
    this.input({kind: 'persisted', number});
  }

  #sendAfter(held: Held): void {
    if (held.after <= this.#durableNumber) this.#send(held.to, held.message);
    else this.#held.push(held);
  }

  #send(to: NodeId, message: Message): void {
    this.#checkPromise(to, message);
    this.#world.send(this.id, to, message);
  }

  /** Invariant R3. */
  #checkPromise(to: NodeId, message: Message): void {
    const {hardState, durable, checkpointIndex} = this.log;
    checkPromise(
      {id: this.id, hardState, lastIndex: durable.lastIndex, checkpointIndex},
      to,
      message,
    );
    const isTaken = message.kind === 'append-reply' && message.accepted;
    if (!isTaken || hardState.term !== message.term || message.match <= checkpointIndex) return;
    const held = durable.termAt(message.match);
    const meant = this.#snapshot.termAt(message.match);
    if (held !== undefined && meant !== undefined && held !== meant) {
      throw new Violation(`${this.id} confirms ${message.match} to ${to}, and holds another entry`);
    }
  }

  #tickLater(delayMs: number): void {
    const {life} = this;
    this.#world.scheduler.after(delayMs, 'tick', () => {
      if (this.life !== life) return;
      this.#tickLater(tickMs);
      if (!this.paused) this.input({kind: 'tick'});
    });
  }
}
