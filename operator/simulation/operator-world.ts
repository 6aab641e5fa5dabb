/**
 * A world with an API server, servers and an operator that may be ended between any two of its
 * calls, whose calls may fail, whose answers may be lost and whose watches may lag.
 *
 * Everything follows from the seed: the trace is a hash over each call, its time and its outcome.
 */
import {checkCluster} from '#operator/api/cluster-check.ts';
import {hashOf, type JsonMap, type KubeObject} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {clusterObject} from '#operator/api/testing-cluster.ts';
import type {CertificateMaker} from '#operator/certificates/certificates.ts';
import {Operator} from '#operator/controllers/operator.ts';
import {AdminError} from '#operator/database/admin.ts';
import type {MemberReport} from '#operator/decide/agreement.ts';
import {ApiError, type ApiReason} from '#operator/kubernetes/api.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import {RetryingApi} from '#operator/kubernetes/retrying-api.ts';
import {type CallMade, InMemoryApi, type Interference} from './fake-api/in-memory-api.ts';
import {SeededRandom} from './seeded-random.ts';
import {SimulatedKubernetes} from './simulated-kubernetes.ts';
import {SimulatedServers} from './simulated-servers.ts';
import {VirtualTime} from './virtual-time.ts';

export interface Faults {
  /** Probability that a call is not carried out, or carried out and its answer lost. */
  readonly failure: number;
  /** Probability that the operator ends before or after a call. */
  readonly death: number;
  /** Probability that a watch ends at a change. */
  readonly cut: number;
  /** Milliseconds that an event may be late. */
  readonly lateMs: number;
}

export const noFaults: Faults = {failure: 0, death: 0, cut: 0, lateMs: 0};

/** Keys of chance would make each run another one. */
const wordsForKeys: CertificateMaker = {
  authority: name => ({certificate: `authority ${name}`, key: `key of ${name}`}),
  server: (by, hosts) => ({certificate: `${hosts.join()} by ${by.certificate}`, key: 'a key'}),
};

export interface WorldCounts {
  calls: number;
  failures: number;
  deaths: number;
  reconciles: number;
}

export class OperatorWorld {
  readonly time = new VirtualTime();
  readonly random: SeededRandom;
  readonly servers: SimulatedServers;
  readonly kubernetes: SimulatedKubernetes;
  readonly counts: WorldCounts = {calls: 0, failures: 0, deaths: 0, reconciles: 0};
  /** What an operator hears of a server that told this; never, when it hangs. */
  heard: (report: MemberReport) => Promise<MemberReport> = report => Promise.resolve(report);
  /** How far the clocks of operators that start are ahead of that of everybody else. */
  aheadMs = 0;
  /** Called before each call of an operator that changes something. */
  onChange: (call: CallMade | {readonly verb: 'admin'; readonly name: string}) => void = () => {};
  faults: Faults = noFaults;
  operator: Operator | undefined;
  #trace = '';
  #starts = 0;
  #lastDelivery = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    const {time, random} = this;
    const calm = {before: () => Promise.resolve(), after: () => Promise.resolve()};
    this.servers = new SimulatedServers({time, random, joinsItself: seed % 2 === 0, ...calm});
    this.kubernetes = new SimulatedKubernetes({time, random, servers: this.servers});
  }

  get trace(): string {
    return this.#trace;
  }

  startOperator(): Operator {
    const life = {isOver: false};
    const {time, servers, kubernetes} = this;
    const api = new InMemoryApi(kubernetes.store, this.#interference(life));
    const number = ++this.#starts;
    const random = new SeededRandom(this.random.u32());
    const {aheadMs} = this;
    const clock = {now: () => time.now() + aheadMs, monotonic: () => time.monotonic()};
    const means = {clock, timers: time, random};
    const admin = servers.askedBy({
      before: (call, host) => this.#admin(life, 'before', `${call} at ${host}`),
      after: (call, host) => this.#admin(life, 'after', `${call} at ${host}`),
    });
    const operator = new Operator({
      ...means,
      api: new RetryingApi(api, means),
      admin: {...admin, status: async server => this.heard(await admin.status(server))},
      logger: {log: () => {}},
      namespaces: undefined,
      readsNodes: true,
      podName: 'svc-operator-0',
      namespace: 'svc-system',
      identity: `operator-${number}`,
      workers: 2,
      certificates: wordsForKeys,
      onLost: () => this.#die(life),
      figures: {
        reconciled: () => {
          if (!life.isOver) this.counts.reconciles++;
        },
      },
    });
    this.operator = operator;
    operator.start();
    return operator;
  }

  #die(life: {isOver: boolean}): void {
    if (life.isOver) return;
    life.isOver = true;
    this.counts.deaths++;
    this.operator = undefined;
    this.#tell('operator ends');
    this.time.after(1_000 + this.random.below(20_000), () => void this.startOperator());
  }

  #interference(life: {isOver: boolean}): Interference {
    return {
      before: call => this.#before(life, call),
      after: call => this.#after(life, `${call.verb} ${call.kind} ${call.name}`),
      deliver: task => {
        const at = this.time.monotonic() + this.random.below(this.faults.lateMs + 1);
        this.#lastDelivery = Math.max(this.#lastDelivery, at);
        if (this.faults.lateMs === 0 && this.#lastDelivery <= this.time.monotonic()) return task();
        this.time.after(this.#lastDelivery - this.time.monotonic(), task);
      },
      isWatchCut: () => life.isOver || this.random.chance(this.faults.cut),
    };
  }

  async #before(life: {isOver: boolean}, call: CallMade): Promise<void> {
    await this.#pass(life);
    this.#tell(`${call.verb} ${call.kind} ${call.name}`);
    if (this.random.chance(this.faults.failure)) throw this.#failure();
    if (!['get', 'list', 'watch'].includes(call.verb)) this.onChange(call);
  }

  async #after(life: {isOver: boolean}, call: string): Promise<void> {
    await this.#pass(life);
    if (this.random.chance(this.faults.failure)) {
      this.#tell(`${call} unheard`);
      throw this.#failure('Network');
    }
  }

  async #admin(life: {isOver: boolean}, when: 'before' | 'after', call: string): Promise<void> {
    await this.#pass(life);
    this.#tell(`${when} ${call}`);
    if (when === 'before' && !call.startsWith('status')) this.onChange({verb: 'admin', name: call});
    if (!this.random.chance(this.faults.failure)) return;
    this.counts.failures++;
    throw new AdminError('silent', 'no answer');
  }

  /** An operator that has ended never hears of its call again. */
  async #pass(life: {isOver: boolean}): Promise<void> {
    this.counts.calls++;
    if (!life.isOver && this.random.chance(this.faults.death)) this.#die(life);
    if (life.isOver) await new Promise(() => {});
  }

  #failure(reason?: ApiReason): ApiError {
    this.counts.failures++;
    const chosen = reason ?? this.random.pick<ApiReason>(['Network', 'Unavailable', 'Conflict']);
    return new ApiError(chosen === 'Conflict' ? 409 : 503, chosen, 'a fault of the simulation');
  }

  #tell(what: string): void {
    this.#trace = hashOf([this.#trace, this.time.monotonic(), what]);
  }

  // What people do.

  create(spec: JsonMap, name = 'db'): void {
    this.kubernetes.store.create(kinds.cluster, clusterObject(spec, {metadata: {name}}));
  }

  patch(patch: unknown, name = 'db'): void {
    this.kubernetes.store.patch({kind: kinds.cluster, namespace: 'shop', name}, patch);
  }

  object(name = 'db'): KubeObject {
    return this.kubernetes.store.get({kind: kinds.cluster, namespace: 'shop', name});
  }

  isThere(name = 'db'): boolean {
    return this.kubernetes.store.find({kind: kinds.cluster, namespace: 'shop', name}) !== undefined;
  }

  cluster(name = 'db'): SvcCluster {
    return checkCluster(this.object(name)).cluster;
  }

  pods(): readonly KubeObject[] {
    return this.kubernetes.store.list({
      kind: kinds.pod,
      namespace: 'shop',
      labelSelector: undefined,
    });
  }

  async end(): Promise<void> {
    // An operator that died in its last call would never be heard to have stopped.
    this.faults = noFaults;
    this.kubernetes.end();
    const stopping = this.operator?.stop();
    await this.time.run(60_000);
    await stopping;
  }
}
