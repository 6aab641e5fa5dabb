/**
 * One simulated server that begins or joins a cluster as `svc start` does: its real settings, the
 * real conversation with the others over simulated sockets, a whole engine on a simulated disk.
 *
 * It ends as a process does at SIGTERM: at once while it starts, in order once it runs
 * (node/run-server.ts, node/start-server.ts).
 */
import {Refusal} from '#server/base/errors.ts';
import {type RawSetting, resolveSettings, type Settings} from '#server/base/setting-values.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {HostLookUp} from '#server/replication/links/host-addresses.ts';
import type {Role} from '#server/replication/replicator.ts';
import {hasStoredLog, openStoredLog} from '#server/replication/stored-log.ts';
import {type Engine, openEngine} from '#server/engine/engine.ts';
import type {LogCheckpoint} from '#server/engine/engine-log.ts';
import {defaultEngineSettings} from '#server/engine/settings.ts';
import {ClusterNode, type ClusterNodeOptions} from '#server/node/cluster/cluster-node.ts';
import {planCluster} from '#server/node/cluster/cluster-plan.ts';
import {commitTasks, type TaskScheduler} from '#server/node/commit/commit-tasks.ts';
import {memberLogTask} from '../member-log-task.ts';
import {version} from '#server/node/version.ts';
import {Machine} from '../machine.ts';
import type {Scheduler} from '../scheduler.ts';
import {createSeededRandom, type SeededRandom} from '../seeded-random.ts';
import {SimulatedDisk} from '../simulated-disk.ts';
import {SimulatedStores} from '../simulated-stores.ts';
import type {SimulatedHost, SimulatedSockets} from './simulated-sockets.ts';

export interface FormingServerOptions {
  readonly address: string;
  /** Servers that were told to be of one cluster. */
  readonly group: string;
  readonly settings: Readonly<Record<string, RawSetting>>;
  readonly seed: number;
}

export interface FormingWorld {
  readonly scheduler: Scheduler;
  readonly sockets: SimulatedSockets;
  readonly lookUp: HostLookUp;
  /** A server leads a term. */
  led(server: FormingServer, term: number): void;
  /** What is no refusal. */
  broke(error: Error): void;
}

interface Process {
  readonly host: SimulatedHost;
  readonly timers: Timers;
  node: ClusterNode | undefined;
  engine: Engine | undefined;
  stoppedAt: number | undefined;
}

const segmentBytes = 16 << 10;

export class FormingServer {
  readonly options: FormingServerOptions;
  readonly #world: FormingWorld;
  readonly #machine = new Machine();
  readonly #disk = new SimulatedDisk(this.#machine);
  readonly #stores = new SimulatedStores(this.#machine, this.#disk);
  readonly #random: SeededRandom;
  #process: Process | undefined;
  /** Why its last start was refused. */
  refusal: string | undefined;
  /** How long its last end took from the signal on, in milliseconds. */
  endedAfterMs: number | undefined;

  constructor(options: FormingServerOptions, world: FormingWorld) {
    this.options = options;
    this.#world = world;
    this.#random = createSeededRandom(options.seed);
  }

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  get isStopping(): boolean {
    return this.#process?.stoppedAt !== undefined;
  }

  /** Undefined before it knows its cluster, and while it does not run. */
  get node(): ClusterNode | undefined {
    return this.#process?.node;
  }

  get role(): Role | undefined {
    return this.node?.member?.replicator.role;
  }

  /** What it answers while it is not ready; empty when nothing stands in the way. */
  get obstacle(): string {
    const {node} = this;
    if (node === undefined || this.isMember) return '';
    if (node.member === undefined) return node.startState.reason;
    return this.role?.leader === undefined ? 'No leader is known' : node.joinObstacle;
  }

  /** It is in the group, knows its leader, and has heard of itself as a member. */
  get isMember(): boolean {
    const {role, membership = []} = this.node?.member?.replicator ?? {};
    return role?.leader !== undefined && membership.some(({id}) => id === this.node?.plan.id);
  }

  start(): void {
    const {scheduler, sockets} = this.#world;
    const host = sockets.host(this.options.address);
    const after: Timers['after'] = (waitMs, task) => {
      let isWanted = true;
      scheduler.after(Math.max(waitMs, 0.001), this.options.address, () => {
        if (isWanted && !host.hasEnded) task();
      });
      return () => {
        isWanted = false;
      };
    };
    const timers = {after, yield: () => new Promise<void>(resolve => void after(0, resolve))};
    const process: Process = {
      host,
      timers,
      node: undefined,
      engine: undefined,
      stoppedAt: undefined,
    };
    this.#process = process;
    this.#machine.boot();
    this.refusal = undefined;
    this.endedAfterMs = undefined;
    this.#open(process).then(
      engine => {
        if (this.#process === process) process.engine = engine;
      },
      (error: unknown) => this.#failed(process, error),
    );
  }

  /** SIGTERM. A start that is not over is broken off. */
  stop(): void {
    const process = this.#process;
    if (process === undefined || process.stoppedAt !== undefined) return;
    process.stoppedAt = this.#world.scheduler.nowMs;
    const {engine, node} = process;
    if (engine === undefined || node === undefined) return this.#end(process);
    node
      .stepDown()
      .then(() => engine.close())
      .then(
        () => this.#end(process),
        (error: unknown) => this.#failed(process, error),
      );
  }

  #failed(process: Process, error: unknown): void {
    if (this.#process !== process) return;
    if (error instanceof Refusal) this.refusal = error.message;
    else this.#world.broke(error instanceof Error ? error : new Error(String(error)));
    this.#end(process);
  }

  #end(process: Process): void {
    if (this.#process !== process) return;
    const {stoppedAt, host} = process;
    this.#process = undefined;
    if (stoppedAt !== undefined) this.endedAfterMs = this.#world.scheduler.nowMs - stoppedAt;
    host.end();
    this.#machine.dead = true;
    this.#disk.kill();
    this.#stores.kill();
  }

  async #open(process: Process): Promise<Engine> {
    const {settings, refused} = resolveSettings([{name: 'order', values: this.options.settings}]);
    const [first] = refused;
    if (first !== undefined) throw first;
    const node = this.#nodeOf(process, settings);
    process.node = node;
    let toldTerm = 0;
    node.onChange(() => {
      const {name, term} = node.member?.replicator.role ?? {};
      if (name !== 'leader' || term === undefined || term === toldTerm) return;
      toldTerm = term;
      this.#world.led(this, term);
    });
    const {scheduler} = this.#world;
    const {timers} = process;
    return await openEngine({
      rootPath: '/data',
      nodeName: settings.get('svc.server.name'),
      disk: this.#disk,
      clock: scheduler.clock,
      timers,
      random: this.#random,
      logger: {log: () => {}},
      stores: this.#stores,
      settings: {...defaultEngineSettings, segmentBytes},
      startPipe: commitTasks({
        scheduler: this.#tasks(timers),
        disk: this.#disk,
        clock: scheduler.clock,
        ringBytes: 64 << 10,
      }),
      memberLog: node,
    });
  }

  #nodeOf({host, timers}: Process, settings: Settings): ClusterNode {
    const {scheduler, lookUp} = this.#world;
    const options: ClusterNodeOptions = {
      plan: planCluster(settings),
      settings: () => settings,
      clock: scheduler.clock,
      random: this.#random,
      timers,
      logger: {log: () => {}},
      token: settings.get('svc.ha.clusterToken'),
      alsoAccepted: [],
      release: version,
      formats: {from: 1, to: 1},
      network: {lookUp, security: host},
      storage: {
        exists: directory => hasStoredLog(this.#disk, directory),
        open: (directory, checkpoint) => this.#openStorage(timers, directory, checkpoint),
      },
    };
    return new ClusterNode(options);
  }

  async #openStorage(timers: Timers, directory: string, checkpoint: LogCheckpoint | undefined) {
    const {log, recovered} = openStoredLog({
      disk: this.#disk,
      directory,
      segmentBytes,
      random: this.#random,
      checkpoint,
    });
    const {clock} = this.#world.scheduler;
    const tasks = this.#tasks(timers);
    const {storage} = memberLogTask({disk: this.#disk, clock, network: tasks, thread: tasks}, log);
    return {storageId: log.logId, storage, recovered};
  }

  #tasks(timers: Timers): TaskScheduler {
    return {
      soon: task => void timers.after(this.#random.below(1_000) / 1_000, task),
      after: (waitMs, task) => timers.after(waitMs, task),
    };
  }
}
