/**
 * One simulated member of a cluster: a whole engine with its replicator, on a machine of its own
 * with a disk, stores, a clock, and a way to the others. It starts, serves, and ends by power loss,
 * kill or a fault of its disk; then it starts again, unless it found that its disk has lost
 * something.
 *
 * Everything that a process does happens in tasks of the world's scheduler. Those of a process
 * that has ended never run; those of a paused one run when it goes on. A crash that was planned for
 * an operation of the disk ends the process in the middle of that operation.
 */
import {Corruption} from '#server/base/errors.ts';
import {LogFailure} from '#server/log/segment-log.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Input} from '#server/raft/input.ts';
import type {Checkpoint, Membership} from '#server/raft/membership.ts';
import type {NodeId} from '#server/raft/message.ts';
import {decodeMessage} from '#server/raft/message-encoding.ts';
import type {RaftOptions} from '#server/raft/state.ts';
import {commitTasks, type TaskScheduler} from '#server/node/commit/commit-tasks.ts';
import {memberLogTask} from '../member-log-task.ts';
import {ReplicatedMemberLog, type RunningMember} from '#server/replication/storage/member-log.ts';
import {openStoredLog, type StoredLog} from '#server/replication/stored-log.ts';
import {MemoryTransport} from '#server/replication/testing-members.ts';
import {type Engine, openEngine} from '#server/engine/engine.ts';
import {checkpointPath} from '#server/engine/server-checkpoint.ts';
import type {ServerState} from '#server/engine/server-state.ts';
import {defaultEngineSettings} from '#server/engine/settings.ts';
import {Machine, SimulatedCrash} from '../machine.ts';
import {checkPromise} from '../raft/promises.ts';
import type {FaultVictim} from '../raft/raft-faults.ts';
import type {Scheduler} from '../scheduler.ts';
import {createSeededRandom, type SeededRandom} from '../seeded-random.ts';
import {SimulatedDisk} from '../simulated-disk.ts';
import {simulatedFormats} from '../simulated-formats.ts';
import {SimulatedStores} from '../simulated-stores.ts';

type EndedBy = 'crash in an operation' | 'failed disk' | 'damage found' | 'stopped';

/** What a server needs of its world. */
export interface ServerWorld {
  readonly scheduler: Scheduler;
  send(from: NodeId, to: NodeId, bytes: Buffer): void;
  /** The server needs a checkpoint from another one; ends with `install` or `installFailed`. */
  checkpointNeeded(server: SimulatedServer, from: NodeId): void;
  /** Its process ended by itself; the world decides when the next one starts. */
  ended(server: SimulatedServer, how: EndedBy): void;
  /** What no fault explains. */
  broke(error: Error): void;
}

export interface ServerOptions {
  readonly raft: Omit<RaftOptions, 'seed'>;
  readonly seed: number;
  /** The group at its beginning; empty on a server that waits to be added. */
  readonly founders: Membership;
  readonly quorumTimeoutMs: number;
}

/** A checkpoint on the disk of the server that made it. */
export interface SimulatedSnapshot {
  readonly directory: string;
  readonly state: ServerState;
  readonly checkpoint: Checkpoint;
  readonly stores: SimulatedStores;
}

/** What runs while a process does. */
interface Process {
  readonly number: number;
  readonly release: 1 | 2;
  readonly transport: MemoryTransport;
  /** What the disk holds of its log. */
  log: () => StoredLog | undefined;
  engine: Engine | undefined;
  member: RunningMember | undefined;
  /** Snapshots are put in place one after the other, as by node/cluster/member-snapshots.ts. */
  installing: Promise<void>;
  isStopping: boolean;
}

const groupLogId = '00112233445566778899aabbccddeeff';
const segmentBytes = 16 << 10;
const cacheBytesMax = 4_000;
const snapshotsDirectory = '/data/databases/.snapshots';
/** A rest of a wait that is too short for the clock to show would be waited for again, for ever. */
const shortestWaitMs = 0.001;
const roomInAll = Number.MAX_SAFE_INTEGER;

export class SimulatedServer implements FaultVictim {
  readonly id: NodeId;
  readonly machine = new Machine();
  readonly disk = new SimulatedDisk(this.machine);
  paused = false;
  /** What the next process is of; with the second one come other formats. */
  release: 1 | 2 = 1;
  diskDelayMs = 2;
  readonly #options: ServerOptions;
  readonly #world: ServerWorld;
  readonly #random: SeededRandom;
  readonly #stores = new SimulatedStores(this.machine, this.disk);
  #process: Process | undefined;
  #processes = 0;
  #given = 0;
  #missed: (() => void)[] = [];
  #isGone = false;
  #clock = {at: 0, shows: 0, rate: 1};

  constructor(options: ServerOptions, world: ServerWorld) {
    this.id = options.raft.id;
    this.#options = options;
    this.#world = world;
    this.#random = createSeededRandom(options.seed);
    this.machine.dead = true;
  }

  get isDown(): boolean {
    return this.#process === undefined;
  }

  /** Undefined while it starts or does not run. */
  get engine(): Engine | undefined {
    return this.#process?.engine;
  }

  get member(): RunningMember | undefined {
    return this.#process?.engine === undefined ? undefined : this.#process.member;
  }

  /** It ends by itself soon, and is not served from any more. */
  get isStopping(): boolean {
    return this.#process?.isStopping === true;
  }

  /** Whether it runs the second release. */
  get isUpgraded(): boolean {
    return this.#process?.engine !== undefined && this.#process.release === 2;
  }

  get role(): string {
    return this.isDown ? 'down' : (this.member?.replicator.role.name ?? 'starting');
  }

  get members(): Membership {
    return this.member?.replicator.membership ?? [];
  }

  /** Number of the process that runs: what an earlier one had begun does not reach a later one. */
  get life(): number {
    return this.#process?.number ?? 0;
  }

  /** Does nothing where damage was found: somebody else has to take its place. */
  start(): void {
    if (this.#isGone) return;
    const {machine, disk} = this;
    machine.boot();
    disk.freeBytesLeft = roomInAll;
    this.paused = false;
    this.#missed = [];
    const {nowMs} = this.#world.scheduler;
    this.#clock = {at: nowMs, shows: this.#random.below(1_000_000), rate: 1};
    const number = ++this.#processes;
    const transport = new MemoryTransport({
      carry: (to, bytes) => {
        this.#send(process, to, bytes);
        return true;
      },
      left: () => {},
    });
    const process: Process = {
      number,
      release: this.release,
      transport,
      log: () => undefined,
      engine: undefined,
      member: undefined,
      installing: Promise.resolve(),
      isStopping: false,
    };
    this.#process = process;
    this.#open(process).then(
      engine => {
        if (this.#process === process) process.engine = engine;
      },
      (error: unknown) => this.#caught(process, error),
    );
  }

  crash(ending: 'power-loss' | 'kill'): void {
    if (this.#process === undefined) return;
    // Half of the losses of power come in the middle of one of the next operations.
    if (ending === 'power-loss' && !this.paused && this.#random.chance(50)) {
      this.machine.crashAt = this.machine.operationCount + 1 + this.#random.below(12);
      return;
    }
    this.#end(ending);
  }

  /** Stops as an operator stops it. */
  stop(): void {
    const process = this.#process;
    if (process?.engine === undefined || this.paused) return;
    process.isStopping = true;
    process.engine.close().then(
      () => {
        if (this.#process === process) this.#endByItself('stopped');
      },
      (error: unknown) => this.#caught(process, error),
    );
  }

  resume(): void {
    this.paused = false;
    const missed = this.#missed;
    this.#missed = [];
    for (const work of missed) work();
  }

  setClock(rate: number, leapMs: number): void {
    const shows = this.#monotonic() + leapMs;
    this.#clock = {at: this.#world.scheduler.nowMs, shows, rate};
  }

  hearLost(peer: NodeId): void {
    const process = this.#process;
    if (process !== undefined) this.#act(process, () => process.transport.news?.lost(peer));
  }

  administer(requested: Extract<Input, {readonly kind: 'transfer' | 'change'}>): void {
    const process = this.#process;
    const replicator = this.member?.replicator;
    if (process === undefined || replicator === undefined) return;
    const work =
      requested.kind === 'change'
        ? replicator.change(requested.change)
        : replicator.transfer(requested.to);
    // What became of it is the group's to know.
    Promise.resolve(work).catch((error: unknown) => {
      if (!isRefusal(error)) this.#caught(process, error);
    });
  }

  receive(from: NodeId, bytes: Buffer): void {
    const process = this.#process;
    if (process !== undefined)
      this.#act(process, () => process.transport.news?.message(from, bytes));
  }

  /** Makes a checkpoint for another server; undefined when this one cannot. */
  async give(): Promise<SimulatedSnapshot | undefined> {
    const {engine, member} = this;
    if (engine === undefined || member === undefined) return undefined;
    this.disk.makeDirectory(snapshotsDirectory);
    const directory = `${snapshotsDirectory}/${++this.#given}`;
    const state = await engine.capture(directory).catch((error: unknown) => {
      if (!isDiskFault(error) && !isRefusal(error)) throw error;
    });
    if (state === undefined) return undefined;
    const checkpoint = member.replicator.heldCheckpointAt(state.durableIndex);
    return checkpoint && {directory, state, checkpoint, stores: this.#stores};
  }

  /** Puts the checkpoint of another server in the place of what is here. */
  install({directory, state, checkpoint, stores}: SimulatedSnapshot): void {
    const process = this.#process;
    const {engine, member} = this;
    if (process === undefined || engine === undefined || member === undefined) return;
    const {log, replicator} = member;
    const put = (): Promise<void> =>
      log.interrupted(async () => {
        for (const {id} of state.databases) {
          const staged = engine.snapshots.stagedPath(id);
          this.#stores.take(stores, checkpointPath(directory, id), staged);
        }
        await engine.install({state, checkpoint});
        await replicator.installed(checkpoint);
        engine.snapshots.forget();
        return state.durableIndex;
      });
    process.installing = process.installing.then(put).catch((error: unknown) => {
      if (this.#process !== process) return;
      if (!isRefusal(error)) this.#caught(process, error);
      this.installFailed();
    });
  }

  installFailed(): void {
    this.member?.replicator.installFailed();
  }

  /** The disk has no room for a while. */
  fillDisk(bytesLeft: number): () => void {
    this.disk.freeBytesLeft = bytesLeft;
    return () => {
      this.disk.freeBytesLeft = roomInAll;
    };
  }

  /** One of the next syncs fails. */
  failSync(): void {
    const {machine} = this;
    machine.failSyncAt = (machine.counts.get('sync') ?? 0) + 1 + this.#random.below(4);
  }

  /** One of the next writes is confirmed and lies elsewhere. */
  misdirect(seed: number): void {
    this.disk.misdirect(createSeededRandom(seed));
  }

  /** Nothing that was planned for the machine happens any more. */
  calm(): void {
    this.machine.crashAt = Number.POSITIVE_INFINITY;
    this.machine.failSyncAt = Number.POSITIVE_INFINITY;
  }

  async #open(process: Process): Promise<Engine> {
    const {scheduler} = this.#world;
    const timers = this.#timersOf(process);
    return await openEngine({
      rootPath: '/data',
      nodeName: this.id,
      disk: this.disk,
      clock: this.#clockOf(scheduler),
      timers,
      random: this.#random,
      logger: {log: () => {}},
      stores: this.#stores,
      settings: {
        ...defaultEngineSettings,
        segmentBytes,
        formats: simulatedFormats(process.release),
      },
      startPipe: commitTasks({
        scheduler: this.#tasks(timers, () => this.#random.below(3)),
        disk: this.disk,
        clock: this.#clockOf(scheduler),
        ringBytes: 64 << 10,
      }),
      memberLog: {
        logId: groupLogId,
        // The world says who begins it.
        exists: () => true,
        form: () => Promise.reject(new Error('the founders are given')),
        open: (directory, installed) =>
          Promise.resolve(this.#openLog(process, timers, directory, installed)),
      },
    });
  }

  #openLog(
    process: Process,
    timers: Timers,
    directory: string,
    installed: Checkpoint | undefined,
  ): ReplicatedMemberLog {
    const {founders, quorumTimeoutMs, raft} = this.#options;
    const {log, recovered} = openStoredLog({
      disk: this.disk,
      directory,
      segmentBytes,
      random: this.#random,
      checkpoint: installed ?? {last: {index: 0, term: 0}, membership: founders},
    });
    const {storage, look} = memberLogTask(
      {
        disk: this.disk,
        clock: this.#clockOf(this.#world.scheduler),
        network: this.#tasks(timers, () => 0),
        thread: this.#tasks(
          timers,
          () => 0.05 + (this.#random.below(1000) / 2000) * this.diskDelayMs,
        ),
      },
      log,
    );
    process.log = look;
    return new ReplicatedMemberLog({
      raft: {...raft, seed: this.#random.u32()},
      log: {logId: groupLogId, storageId: log.logId, storage, recovered},
      transport: process.transport,
      clock: this.#clockOf(this.#world.scheduler),
      timers,
      cacheBytesMax,
      processId: `${this.id}-${process.number}`,
      unreadable: (from, reason) =>
        this.#world.broke(new Error(`${this.id} cannot read a message of ${from}: ${reason}`)),
      quorumTimeoutMs: () => quorumTimeoutMs,
      queueEntriesMax: 100,
      roomTimeoutMs: () => 0,
      proposalsMax: 100,
      purge: {
        entriesMax: 60,
        intervalMs: 0,
        entriesMin: 0,
        gapEntries: 40,
        passesLaggards: true,
        bytesMax: Number.MAX_SAFE_INTEGER,
      },
      started: member => {
        process.member = member;
      },
      news: {
        roleChanged: () => {},
        membershipChanged: () => {},
        transferFailed: () => {},
        checkpointNeeded: from => this.#world.checkpointNeeded(this, from),
      },
    });
  }

  #tasks(timers: Timers, delayMs: () => number): TaskScheduler {
    return {
      soon: task => void timers.after(delayMs(), task),
      after: (waitMs, task) => timers.after(waitMs, task),
    };
  }

  #clockOf(scheduler: Scheduler): Clock {
    return {now: () => scheduler.clock.now(), monotonic: () => this.#monotonic()};
  }

  #monotonic(): number {
    const {nowMs} = this.#world.scheduler;
    const {at, shows, rate} = this.#clock;
    this.#clock = {at: nowMs, shows: shows + (nowMs - at) * rate, rate};
    return this.#clock.shows;
  }

  /** Nothing is said that the disk does not hold. */
  #send(process: Process, to: NodeId, bytes: Buffer): void {
    if (this.#process !== process) return;
    const log = process.log();
    if (log === undefined) return;
    const {hardState, base} = log.kept;
    const installed = process.engine?.state.durableIndex ?? 0;
    const checkpointIndex = Math.max(base.last.index, installed);
    const node = {id: this.id, hardState, lastIndex: log.lastIndex, checkpointIndex};
    try {
      checkPromise(node, to, decodeMessage(bytes));
    } catch (error) {
      this.#world.broke(error instanceof Error ? error : new Error(String(error)));
    }
    this.#world.send(this.id, to, bytes);
  }

  #timersOf(process: Process): Timers {
    const {scheduler} = this.#world;
    return {
      after: (delayMs, task) => {
        let isWanted = true;
        const waitMs = delayMs > 0 ? Math.max(delayMs, shortestWaitMs) : 0;
        scheduler.after(waitMs, this.id, () => {
          if (isWanted) this.#act(process, task);
        });
        return () => {
          isWanted = false;
        };
      },
      yield: () =>
        new Promise(resolve => {
          scheduler.after(0, this.id, () => this.#act(process, resolve));
        }),
    };
  }

  /** Does something as this process, unless it has ended; later when it is paused. */
  #act(process: Process, work: () => void): void {
    if (this.#process !== process) return;
    if (this.paused) {
      this.#missed.push(() => this.#act(process, work));
      return;
    }
    try {
      work();
    } catch (error) {
      this.#caught(process, error);
    }
    this.look();
  }

  /** A process that died in an operation, or cannot write any more, has ended. */
  look(): void {
    const process = this.#process;
    if (process === undefined) return;
    if (this.machine.dead) return this.#endByItself('crash in an operation');
    if (process.member?.log.failure !== undefined) this.#endByItself('failed disk');
  }

  #caught(process: Process, error: unknown): void {
    if (this.#process !== process) return;
    if (error instanceof SimulatedCrash || this.machine.dead) {
      this.#endByItself('crash in an operation');
    } else if (isDiskFault(error)) {
      this.#endByItself('failed disk');
    } else if (error instanceof Corruption && this.disk.isDamaged) {
      this.#isGone = true;
      this.#endByItself('damage found');
    } else {
      this.#world.broke(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #endByItself(how: EndedBy): void {
    this.#end(how === 'crash in an operation' ? 'power-loss' : 'kill');
    this.#world.ended(this, how);
  }

  #end(ending: 'power-loss' | 'kill'): void {
    this.#process = undefined;
    this.#missed = [];
    this.machine.dead = true;
    if (ending === 'kill') {
      this.disk.kill();
      this.#stores.kill();
    } else {
      this.disk.crash(this.#random);
      this.#stores.crash(this.#random);
    }
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'Refusal';
}

function isDiskFault(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof LogFailure) return true;
    if ('code' in cause && (cause.code === 'EIO' || cause.code === 'ENOSPC')) return true;
  }
  return false;
}
