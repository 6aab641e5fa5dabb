/**
 * A group of cores under faults: clients write and read registers while nodes die, pause, lose
 * each other, change members and leaders. Then everything heals, and the group must go on.
 *
 * Held at every step: the five properties of the Raft paper (entry-history.ts), what a message
 * promises (simulated-node.ts), the order that clients see (register-history.ts), and that what a
 * leader calls committed is durable on enough voters. One seed, one trace.
 */
import type {Effect, Persist} from '#server/raft/effect.ts';
import {type Membership, memberOf, ordered, votersOf} from '#server/raft/membership.ts';
import type {Entry, LogIndex, LogPosition, Message, NodeId, Term} from '#server/raft/message.ts';
import {majorityOf} from '#server/raft/quorum.ts';
import type {Raft} from '#server/raft/state.ts';
import {Violation} from '../ledger.ts';
import {Machine} from '../machine.ts';
import {Scheduler} from '../scheduler.ts';
import {createSeededRandom, type SeededRandom} from '../seeded-random.ts';
import type {Shrinkable} from '../shrink.ts';
import {EntryHistory} from './entry-history.ts';
import {FaultRun} from './fault-run.ts';
import {RaftClients} from './raft-clients.ts';
import {beginFault, faultKinds, type FaultKind} from './raft-faults.ts';
import {fairWeather, SimulatedNetwork} from './simulated-network.ts';
import {smallerWorlds, type WorldSize} from './smaller-worlds.ts';
import {type NodeOptions, SimulatedNode} from './simulated-node.ts';

export type RaftWorldOptions = WorldSize<FaultKind>;

export interface RaftWorldReport {
  readonly traceHash: string;
  readonly simulatedMs: number;
  /** Operations of clients. */
  readonly operations: number;
  readonly operationsByKind: ReadonlyMap<string, number>;
  /** Faults counted by kind and by the role of who was hit. */
  readonly faults: ReadonlyMap<string, number>;
}

const electionTimeoutMaxMs = 1200;
const healMs = 60 * electionTimeoutMaxMs;

export class RaftWorld {
  readonly #options: RaftWorldOptions;
  readonly #machine = new Machine();
  readonly #random: SeededRandom;
  readonly #scheduler: Scheduler;
  readonly #network: SimulatedNetwork<Message>;
  readonly #nodes = new Map<NodeId, SimulatedNode>();
  readonly #history = new EntryHistory();
  readonly #clients: RaftClients;
  readonly #faults: FaultRun<FaultKind, SimulatedNode>;
  readonly #quorum: 'majority' | 'all';
  /** What the leader of each term was last seen to have committed. */
  readonly #commitSeen = new Map<Term, LogIndex>();
  #installs = 0;
  #changes = 0;
  #healing = false;

  constructor(options: RaftWorldOptions) {
    this.#options = options;
    const random = createSeededRandom(options.seed);
    this.#random = random;
    this.#scheduler = new Scheduler(random, this.#machine);
    this.#clients = new RaftClients(random);
    this.#network = new SimulatedNetwork(this.#scheduler, random, (to, from, message) =>
      this.#nodes.get(to)?.receive(from, message),
    );
    this.#quorum = random.chance(15) ? 'all' : 'majority';
    const ids = Array.from({length: options.voters + options.spares}, (_, i) => `n${i + 1}`);
    const members = ids.slice(0, options.voters).map(id => {
      return {id, role: 'voter', priority: random.chance(15) ? 1 : 0} as const;
    });
    for (const id of ids) this.#addNode(id, ordered(members));
    this.#faults = new FaultRun({
      scheduler: this.#scheduler,
      nodes: this.#nodes,
      network: this.#network,
      begin: beginFault,
    });
  }

  get report(): RaftWorldReport {
    const {history} = this.#clients;
    return {
      traceHash: this.#machine.traceHash,
      simulatedMs: this.#scheduler.nowMs,
      operations: this.#clients.attempts,
      operationsByKind: new Map([
        ['writes acknowledged', history.writes],
        ['writes refused', this.#clients.refusals],
        ['reads', history.reads],
        ['reads at followers', history.followerReads],
        ['messages', this.#network.delivered],
        ['entries', this.#history.committedCount],
        ['terms led', this.#history.elections],
        ['checkpoints installed', this.#installs],
        ['membership entries', this.#changes],
      ]),
      faults: this.#faults.counts,
    };
  }

  /** Runs the world, heals it, and runs on until it has converged; throws Violation. */
  run(): RaftWorldReport {
    for (const node of this.#nodes.values()) node.start();
    this.#faults.plan(this.#options);
    this.#operateLater();
    while (this.#scheduler.nowMs < this.#options.seconds * 1000) this.#scheduler.runNext();
    this.#heal();
    return this.report;
  }

  #addNode(id: NodeId, founders: Membership): void {
    const random = this.#random;
    const options: NodeOptions = {
      id,
      electionTimeoutMinMs: electionTimeoutMaxMs / 2,
      electionTimeoutMaxMs,
      heartbeatMs: 120,
      quorum: this.#quorum,
      appendEntriesMax: 1 + random.below(8),
      appendBytesMax: 100 + random.below(600),
      window: {messagesMax: 1 + random.below(6), bytesMax: 300 + random.below(2000)},
      uncommittedBytesMax: 4000,
      transferLagMax: 8,
    };
    const membership = memberOf(founders, id) === undefined ? [] : founders;
    this.#nodes.set(
      id,
      new SimulatedNode(options, membership, {
        scheduler: this.#scheduler,
        random,
        send: (from, to, message) => this.#network.send(from, to, message, message.kind),
        fetchCheckpoint: (node, from) => this.#fetchCheckpoint(node, from),
        restored: node => this.#clients.restore(node),
        wrote: (node, write) => this.#wrote(node, write),
        applied: (node, index, entry) => this.#applied(node, index, entry),
        noticed: (node, effect) => this.#noticed(node, effect),
        stepped: (node, raft) => this.#stepped(node, raft),
      }),
    );
  }

  #operateLater(): void {
    const meanMs = 1000 / this.#options.operationsPerSecond;
    this.#scheduler.after((this.#random.below(2000) / 1000) * meanMs, 'operation', () => {
      if (this.#healing) return;
      this.#operateLater();
      this.#clients.operate([...this.#nodes.values()]);
    });
  }

  /** The download takes its time, and needs the way from there to here twice. */
  #fetchCheckpoint(node: SimulatedNode, from: NodeId): void {
    const {life} = node;
    this.#scheduler.after(20 + this.#random.below(400), 'checkpoint', () => {
      node.whileAlive(life, () => {
        const reachable = this.#network.reaches(from, node.id);
        const checkpoint = reachable ? this.#nodes.get(from)?.checkpoint() : undefined;
        if (checkpoint === undefined) {
          node.input({kind: 'install-failed'});
          return;
        }
        this.#installs++;
        node.install(checkpoint);
      });
    });
  }

  #wrote(node: SimulatedNode, {restart, keepThrough, entries}: Persist): void {
    if (restart !== undefined || entries.length === 0) return;
    const term = node.termAt(keepThrough);
    if (term === undefined) throw new Violation(`${node.id} writes behind nothing`);
    this.#history.wrote(node.id, {index: keepThrough, term}, entries);
  }

  #applied(node: SimulatedNode, index: LogIndex, entry: Entry): void {
    const first = this.#history.applied(node.id, index, entry);
    if (first && entry.kind === 'membership') this.#changes++;
    this.#clients.applied(node, index, entry, first);
  }

  #noticed(node: SimulatedNode, effect: Effect): void {
    const {raft} = node;
    if (effect.kind === 'role' && effect.role === 'leader' && raft !== undefined) {
      const {log} = raft;
      this.#history.led(
        node.id,
        effect.term,
        position => position.index < log.base.index || log.holds(position),
      );
    }
    this.#machine.trace(`${node.id} ${effect.kind}`);
    this.#clients.noticed(effect);
  }

  #stepped(node: SimulatedNode, raft: Raft): void {
    this.#clients.serveReads(node);
    const {role, commit, term} = raft;
    if (role.kind !== 'leader' || commit === this.#commitSeen.get(term)) return;
    if (raft.log.termAt(commit) !== term) return;
    this.#commitSeen.set(term, commit);
    this.#history.committed(commit, term);
    // The step that committed may have gone on to the next change of members.
    const memberships = [raft.memberships.current, raft.memberships.at(commit)];
    if (memberships.some(membership => this.#isHeld({index: commit, term}, membership))) return;
    throw new Violation(`${node.id} commits ${commit} of term ${term}, not durable on a quorum`);
  }

  #isHeld({index, term}: LogPosition, membership: Membership): boolean {
    const voters = votersOf(membership);
    const holders = voters.filter(voter => {
      const durable = this.#nodes.get(voter)?.log.durable;
      if (durable === undefined) return false;
      return durable.base.index > index || durable.termAt(index) === term;
    });
    const needed = this.#quorum === 'all' ? voters.length : majorityOf(voters.length);
    return holders.length >= needed;
  }

  /** Ends every fault; then a write must be acknowledged and all members must have everything. */
  #heal(): void {
    this.#healing = true;
    this.#faults.end();
    this.#network.weather = fairWeather;
    for (const node of this.#nodes.values()) {
      if (node.raft === undefined) node.start();
      if (node.paused) node.resume();
    }
    const {history} = this.#clients;
    const before = history.writes;
    const until = this.#scheduler.nowMs + healMs;
    let writeDue = this.#scheduler.nowMs;
    while (history.writes === before || !this.#converged()) {
      if (this.#scheduler.nowMs > until) throw new Violation(`no progress: ${this.#describe()}`);
      this.#scheduler.runNext();
      if (this.#scheduler.nowMs < writeDue || history.writes > before) continue;
      writeDue = this.#scheduler.nowMs + 300;
      for (const node of this.#nodes.values()) {
        if (node.role === 'leader') this.#clients.write(node);
      }
    }
    history.checkAcknowledged(this.#history.committedCount);
  }

  #converged(): boolean {
    const leader = [...this.#nodes.values()].find(node => node.role === 'leader');
    const raft = leader?.raft;
    if (raft === undefined || raft.commit < raft.log.lastIndex) return false;
    return raft.memberships.current.every(
      ({id, role}) =>
        role === 'voter' && this.#nodes.get(id)?.applied === this.#history.committedCount,
    );
  }

  #describe(): string {
    return [...this.#nodes.values()]
      .map(({id, role, applied, raft}) => {
        const members = raft?.memberships.current.map(member => member.id).join('+') ?? '';
        const last = raft?.log.lastIndex ?? 0;
        return `${id} ${role} term ${raft?.term ?? 0} applied ${applied} of ${last} (${members})`;
      })
      .join('; ');
  }
}

/**
 * The world of a seed, as `make simulate PROFILE=raft` runs it: calm ones and storms, on average
 * 1.6 faults and 25 operations a second.
 */
export function raftWorldOf(seed: number): RaftWorldOptions {
  return {
    seed,
    voters: seed % 2 === 0 ? 5 : 3,
    spares: 2,
    seconds: 60,
    operationsPerSecond: 25,
    faultsPerSecond: [0.3, 0.6, 1.5, 4][(seed >> 1) % 4] ?? 1,
    faults: faultKinds,
    without: [],
  };
}

export const raftWorlds: Shrinkable<RaftWorldOptions, RaftWorldReport> = {
  run: options => new RaftWorld(options).run(),
  smallerThan: smallerWorlds,
};
