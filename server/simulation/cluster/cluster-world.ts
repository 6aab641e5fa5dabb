/**
 * A cluster of whole servers under faults, in one thread: clients work while servers die in the
 * middle of writes, pause, lose each other and their disks, and members come and go. Then
 * everything heals: the group must go on, and all its members must hold the same, which is what
 * the log and the clients say.
 *
 * Held against each other at the end: what clients were told, the log, and every store
 * (ledger.ts), and what registers showed against real time (register-history.ts); in between,
 * snapshots against themselves. One seed, one trace.
 *
 * Source: docs/design/0022-whole-servers-simulated.md.
 */
import {isVoter, memberOf, ordered} from '#server/raft/membership.ts';
import type {LogIndex, NodeId} from '#server/raft/message.ts';
import type {Engine} from '#server/engine/engine.ts';
import {type Attempt, countOldRows, Ledger, Violation} from '../ledger.ts';
import {Machine, SimulatedCrash} from '../machine.ts';
import {
  beginFault,
  faultKinds,
  type FaultKind,
  type FaultTarget,
  type PlannedFault,
} from '../raft/raft-faults.ts';
import {FaultRun} from '../raft/fault-run.ts';
import {RegisterHistory} from '../raft/register-history.ts';
import {fairWeather, SimulatedNetwork} from '../raft/simulated-network.ts';
import {smallerWorlds, type WorldSize} from '../raft/smaller-worlds.ts';
import {Scheduler} from '../scheduler.ts';
import {createSeededRandom, type SeededRandom} from '../seeded-random.ts';
import type {Shrinkable} from '../shrink.ts';
import {ClusterClients, Nobody} from './cluster-clients.ts';
import {CommittedLog} from './committed-log.ts';
import {SimulatedServer, type SimulatedSnapshot} from './simulated-server.ts';

/** Faults of any node, of disks, of the power of all at once, and a restart of one. */
export const clusterFaultKinds = [
  ...faultKinds,
  'full-disk',
  'failed-sync',
  'blackout',
  'stop',
  'misdirected',
] as const;

export type ClusterFaultKind = (typeof clusterFaultKinds)[number];

export interface ClusterWorldOptions extends WorldSize<ClusterFaultKind> {
  /** The seconds after which one server after the other comes back with the next release. */
  readonly upgradeAfterSeconds?: number;
}

export interface ClusterWorldReport {
  readonly traceHash: string;
  readonly simulatedMs: number;
  /** Operations of clients. */
  readonly operations: number;
  readonly operationsByKind: ReadonlyMap<string, number>;
  /** Faults counted by kind and by the role of who was hit. */
  readonly faults: ReadonlyMap<string, number>;
}

const electionTimeoutMaxMs = 1_200;
const healMs = 90 * electionTimeoutMaxMs;
/** Logs are looked at so often; they keep more than is committed meanwhile. */
const lookMs = 100;
/** An upgrade turns to the next server so often; and a leader looks whether all are done. */
const upgradeMs = 400;
/** An operator looks so often whether a lost member is replaced. */
const operatorMs = 500;
/** Clients that wait for an answer. */
const clientsMax = 40;

export class ClusterWorld {
  readonly #options: ClusterWorldOptions;
  readonly #machine = new Machine();
  readonly #random: SeededRandom;
  readonly #scheduler: Scheduler;
  readonly #network: SimulatedNetwork<Buffer>;
  readonly #servers = new Map<NodeId, SimulatedServer>();
  readonly #ledger = new Ledger();
  readonly #log = new CommittedLog();
  readonly #clients: ClusterClients;
  readonly #faults: FaultRun<ClusterFaultKind, SimulatedServer>;
  #operations = 0;
  #refusals = 0;
  #installs = 0;
  #raises = 0;
  #working = 0;
  #healing = false;
  /** Whose disk puts writes elsewhere: one at a time, until another has come in its place. */
  #misdirected: SimulatedServer | undefined;
  /** Who found that its disk has lost something, and who comes in its place. */
  #lost: {readonly id: NodeId; readonly heir: SimulatedServer} | undefined;
  #failure: Error | undefined;

  constructor(options: ClusterWorldOptions) {
    this.#options = options;
    const random = createSeededRandom(options.seed);
    this.#random = random;
    this.#scheduler = new Scheduler(random, this.#machine);
    this.#network = new SimulatedNetwork(this.#scheduler, random, (to, from, bytes) =>
      this.#servers.get(to)?.receive(from, bytes),
    );
    const ids = Array.from({length: options.voters + options.spares}, (_, at) => `n_${at}`);
    const founders = ordered(
      ids.slice(0, options.voters).map(id => ({id, role: 'voter', priority: 0})),
    );
    for (const [at, id] of ids.entries()) this.#addServer(id, at < options.voters ? founders : []);
    this.#clients = new ClusterClients({
      servers: this.#servers,
      ledger: this.#ledger,
      random,
      scheduler: this.#scheduler,
    });
    this.#faults = new FaultRun({
      scheduler: this.#scheduler,
      nodes: this.#servers,
      network: this.#network,
      begin: (fault, victim, target) => this.#effectOf(fault, victim, target),
    });
  }

  get report(): ClusterWorldReport {
    const {tallies} = this.#clients;
    const {committed, unknown, absent} = this.#ledger.tallies;
    return {
      traceHash: this.#machine.traceHash,
      simulatedMs: this.#scheduler.nowMs,
      operations: this.#operations,
      operationsByKind: new Map([
        ['commits acknowledged', committed],
        ['commits unknown', unknown],
        ['commits refused', absent],
        ['register writes', tallies.writes],
        ['linearizable reads', tallies.reads],
        ['linearizable reads at followers', tallies.followerReads],
        ['reads in sessions', tallies.sessionReads],
        ['transfers', tallies.transfers],
        ['snapshots checked', tallies.snapshots],
        ['operations without a server', this.#refusals],
        ['snapshots installed', this.#installs],
        ['formats raised', this.#raises],
        ['messages', this.#network.delivered],
      ]),
      faults: this.#faults.counts,
    };
  }

  /** Runs the world, heals it, and compares everything; throws Violation. */
  async run(): Promise<ClusterWorldReport> {
    const {seconds, upgradeAfterSeconds} = this.#options;
    for (const server of this.#servers.values()) server.start();
    await this.#until(5 * electionTimeoutMaxMs, 'a database', () => this.#hasDatabase());
    const begin = this.#scheduler.nowMs;
    this.#faults.plan(this.#options);
    if (upgradeAfterSeconds !== undefined) {
      this.#scheduler.after(upgradeAfterSeconds * 1_000, 'upgrade', () => this.#upgrade());
    }
    this.#operateLater();
    this.#lookLater();
    await this.#go(() => this.#scheduler.nowMs >= begin + seconds * 1_000);
    await this.#heal();
    await this.#compare();
    for (const server of this.#servers.values()) this.#machine.trace(server.machine.traceHash);
    return this.report;
  }

  #addServer(id: NodeId, founders: ReturnType<typeof ordered>): SimulatedServer {
    const random = this.#random;
    const raft = {
      id,
      electionTimeoutMinMs: electionTimeoutMaxMs / 2,
      electionTimeoutMaxMs,
      heartbeatMs: 120,
      quorum: 'majority',
      appendEntriesMax: 1 + random.below(20),
      appendBytesMax: 500 + random.below(4_000),
      window: {messagesMax: 1 + random.below(6), bytesMax: 2_000 + random.below(8_000)},
      uncommittedBytesMax: 100_000,
      transferLagMax: 20,
    } as const;
    const options = {raft, seed: random.u32(), founders, quorumTimeoutMs: 2_000};
    const server = new SimulatedServer(options, {
      scheduler: this.#scheduler,
      send: (from, to, bytes) => this.#network.send(from, to, bytes, 'message'),
      checkpointNeeded: (taker, from) => this.#giveLater(taker, from),
      ended: (ended, how) => {
        this.#faults.count(how);
        if (how === 'damage found') this.#replace(ended);
        else this.#startLater(ended);
      },
      broke: error => {
        this.#failure ??= error;
      },
    });
    this.#servers.set(id, server);
    return server;
  }

  /** Acts as an operator does: who lost something leaves the group, and a new one comes. */
  #replace(server: SimulatedServer): void {
    const {id} = server;
    this.#servers.delete(id);
    const heir = this.#addServer(`${id}+`, []);
    heir.release = server.release;
    heir.start();
    this.#lost = {id, heir};
    this.#replaceLater(this.#lost);
  }

  #replaceLater(lost: {readonly id: NodeId; readonly heir: SimulatedServer}): void {
    this.#scheduler.after(operatorMs, 'replace', () => {
      const leader = this.#leader();
      const members = leader?.members ?? [];
      if (isVoter(members, lost.heir.id)) {
        // One change after the other: what came before is committed.
        this.#lost = undefined;
        this.#misdirected = undefined;
        return;
      }
      this.#replaceLater(lost);
      if (leader?.paused !== false) return;
      const isLeft = memberOf(members, lost.id) === undefined;
      if (!isLeft) leader.administer({kind: 'change', change: {kind: 'remove', id: lost.id}});
      else if (memberOf(members, lost.heir.id) === undefined) {
        const change = {kind: 'add', id: lost.heir.id, priority: 0} as const;
        leader.administer({kind: 'change', change});
      }
    });
  }

  /** One server at a time; then the leader takes the formats of the new release, as it would. */
  #upgrade(): void {
    this.#scheduler.after(upgradeMs, 'upgrade', () => this.#upgrade());
    const servers = [...this.#servers.values()];
    const begun = servers.find(({release, isUpgraded}) => release === 2 && !isUpgraded);
    if (begun !== undefined) return begun.stop();
    const next = servers.find(({release}) => release === 1);
    if (next !== undefined) {
      this.#faults.count('upgrade');
      next.release = 2;
      return next.stop();
    }
    const engine = this.#leader()?.engine;
    if (engine?.formatLevel !== 1) return;
    this.#raises++;
    engine.raiseFormat().catch((error: unknown) => this.#caught(error));
  }

  /** A download takes its time, and needs both servers and the way between them at its end. */
  #giveLater(taker: SimulatedServer, from: NodeId): void {
    const {life} = taker;
    const giver = this.#servers.get(from);
    let given: SimulatedSnapshot | undefined;
    const {life: giverLife} = giver ?? {};
    this.#work(async () => {
      given = await giver?.give();
    });
    this.#scheduler.after(50 + this.#random.below(700), 'snapshot', () => {
      if (taker.life !== life) return;
      const isThere =
        giver?.life === giverLife &&
        this.#network.reaches(from, taker.id) &&
        this.#network.reaches(taker.id, from);
      if (given === undefined || !isThere) return taker.installFailed();
      this.#installs++;
      taker.install(given);
    });
  }

  #startLater(server: SimulatedServer): void {
    this.#scheduler.after(50 + this.#random.below(1_500), 'start', () => {
      if (server.isDown) server.start();
    });
  }

  /** Time goes on until `finished`, or something broke. */
  async #go(finished: () => boolean): Promise<void> {
    await this.#scheduler.run(() => this.#failure !== undefined || finished());
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #until(limitMs: number, what: string, isSo: () => boolean): Promise<void> {
    const deadline = this.#scheduler.nowMs + limitMs;
    await this.#go(() => isSo() || this.#scheduler.nowMs > deadline);
    if (!isSo()) throw new Violation(`no ${what}: ${this.#describe()}`);
  }

  #leader(): SimulatedServer | undefined {
    return [...this.#servers.values()].find(({member}) => member?.log.isLeading);
  }

  #creating = false;

  #hasDatabase(): boolean {
    const engine = this.#leader()?.engine;
    if (engine === undefined) return false;
    if (engine.databases().includes('main')) return true;
    if (this.#creating) return false;
    this.#creating = true;
    const done = (): void => {
      this.#creating = false;
    };
    engine.createDatabase('main').then(done, done);
    return false;
  }

  #operateLater(): void {
    const meanMs = 1_000 / this.#options.operationsPerSecond;
    this.#scheduler.after((this.#random.below(2_000) / 1_000) * meanMs, 'operation', () => {
      if (this.#healing) return;
      this.#operateLater();
      if (this.#working < clientsMax) this.#work(() => this.#clients.operate());
    });
  }

  #work(work: () => Promise<void>): void {
    this.#operations++;
    this.#working++;
    const ended = (): void => {
      this.#working--;
    };
    // Whose server died waits for ever: it leaves its place after a while.
    let waits = true;
    const leave = (): void => {
      if (waits) ended();
      waits = false;
    };
    this.#scheduler.after(5_000, 'client gives up', leave);
    work().then(leave, (error: unknown) => {
      leave();
      this.#caught(error);
    });
  }

  /** Clients are used to refusals, and to servers that end. */
  #caught(error: unknown): void {
    if (error instanceof Nobody || error instanceof SimulatedCrash) {
      this.#refusals++;
      return;
    }
    if (error instanceof Error && error.name === 'Refusal') {
      this.#refusals++;
      return;
    }
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
  }

  #effectOf(
    planned: PlannedFault<ClusterFaultKind>,
    victim: SimulatedServer,
    target: FaultTarget,
  ): () => void {
    const {kind} = planned;
    if (kind === 'full-disk') return victim.fillDisk(planned.seed % 20_000);
    if (kind === 'failed-sync') {
      victim.failSync();
      return () => {};
    }
    if (kind === 'blackout') return this.#blackOut();
    if (kind === 'misdirected') {
      this.#misdirected ??= victim;
      this.#misdirected.misdirect(planned.seed);
      return () => {};
    }
    if (kind === 'stop') {
      victim.stop();
      return () => {};
    }
    return beginFault({...planned, kind: kind satisfies FaultKind}, victim, target);
  }

  #blackOut(): () => void {
    for (const server of this.#servers.values()) server.crash('power-loss');
    return () => {
      for (const server of this.#servers.values()) if (server.isDown) server.start();
    };
  }

  /** Ends every fault; then a write must be acknowledged and all members must have everything. */
  async #heal(): Promise<void> {
    this.#healing = true;
    this.#faults.end();
    this.#network.weather = fairWeather;
    for (const server of this.#servers.values()) {
      server.calm();
      if (server.isDown) server.start();
      if (server.paused) server.resume();
    }
    const {tallies} = this.#clients;
    const before = tallies.writes;
    let writeDue = 0;
    await this.#until(healMs, 'progress', () => {
      if (tallies.writes > before) return this.#hasConverged();
      if (this.#scheduler.nowMs >= writeDue) {
        writeDue = this.#scheduler.nowMs + 300;
        this.#work(() => this.#clients.write());
      }
      return false;
    });
  }

  #hasConverged(): boolean {
    if (this.#lost !== undefined) return false;
    const members = this.#membersOfLeader();
    const leader = this.#leader();
    const replicator = leader?.member?.replicator;
    if (replicator === undefined || replicator.commitIndex < replicator.lastIndex) return false;
    if ((leader?.engine?.migrating.length ?? 0) > 0) return false;
    return members.every(
      ({engine, isStopping}) =>
        engine !== undefined && !isStopping && engine.appliedIndex === replicator.commitIndex,
    );
  }

  #membersOfLeader(): SimulatedServer[] {
    return (this.#leader()?.members ?? []).flatMap(({id}) => this.#servers.get(id) ?? []);
  }

  /** The log, what clients know, and every store say the same. */
  async #compare(): Promise<void> {
    let isOver = false;
    const looking = this.#look().finally(() => {
      isOver = true;
    });
    // What lies on a disk is read by its log thread.
    await this.#go(() => isOver);
    await looking;
    const history = new RegisterHistory();
    const places = new Map<string, LogIndex>();
    for (const {index, key, value} of this.#log.puts()) {
      this.#clients.committed(history, index, key, value);
      if (key[0] !== markerPrefix) continue;
      const marker = key.toString('latin1');
      const before = places.get(marker);
      if (before !== undefined) throw new Violation(`a commit stands at ${before} and ${index}`);
      places.set(marker, index);
    }
    this.#ledger.endOfLife();
    this.#ledger.reorder((attempt: Attempt) => places.get(attempt.marker));
    for (const server of this.#membersOfLeader()) this.#compareStore(server.id, server.engine);
    this.#clients.check(history);
  }

  /** Gathers what is committed, from everybody. */
  async #look(): Promise<void> {
    for (const server of this.#servers.values()) await this.#log.learn(server);
  }

  #lookLater(): void {
    this.#scheduler.after(lookMs, 'look', () => {
      this.#look().catch((error: unknown) => this.#caught(error));
      this.#lookLater();
    });
  }

  #compareStore(id: NodeId, engine: Engine | undefined): void {
    const session = engine?.database('main')?.read();
    if (session === undefined) throw new Violation(`${id} has lost the database`);
    try {
      const isNew = this.#leader()?.engine?.formatLevel === 2;
      if (isNew && countOldRows(session) > 0)
        throw new Violation('rows of the old format are left');
      this.#ledger.check(session, bucketId => session.recordCount(bucketId));
      this.#clients.checkSnapshot(session);
    } catch (error) {
      throw error instanceof Violation ? new Violation(`${id}: ${error.message}`) : error;
    } finally {
      session.close();
    }
  }

  #describe(): string {
    return [...this.#servers.values()]
      .map(({id, role, engine, member}) => {
        const members = member?.replicator.membership.map(one => one.id).join('+') ?? '';
        const {commitIndex = 0, lastIndex = 0} = member?.replicator ?? {};
        const applied = engine?.appliedIndex ?? 0;
        return `${id} ${role} applied ${applied} of ${commitIndex} of ${lastIndex} (${members})`;
      })
      .join('; ');
  }
}

const markerPrefix = 0x60;

/**
 * The world of a seed, as `make simulate PROFILE=cluster` runs it: calm ones and storms, on
 * average 0.8 faults and 20 operations a second.
 */
export function clusterWorldOf(seed: number): ClusterWorldOptions {
  return {
    seed,
    voters: seed % 3 === 0 ? 5 : 3,
    spares: 2,
    seconds: 60,
    operationsPerSecond: 22,
    faultsPerSecond: [0.2, 0.5, 1, 1.5][seed % 4] ?? 1,
    // A group of three that is being made smaller does without nobody's disk.
    faults: clusterFaultKinds.filter(kind => kind !== (seed % 5 === 4 ? 'remove' : 'misdirected')),
    without: [],
    ...(seed % 5 === 0 ? {upgradeAfterSeconds: 10 + (seed % 30)} : {}),
  };
}

export const clusterWorlds: Shrinkable<ClusterWorldOptions, ClusterWorldReport> = {
  run: options => new ClusterWorld(options).run(),
  smallerThan: smallerWorlds,
};
