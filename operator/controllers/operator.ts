/**
 * The operator as a whole: informers, queues, workers and the election, with one way to start and
 * one way to stop.
 *
 * Stopping takes no new work, lets what is under way end, and gives the lease up last, so that the
 * next operator finds nothing half done.
 */
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {CertificateMaker} from '#operator/certificates/certificates.ts';
import type {ServerAdmin} from '#operator/database/admin.ts';
import type {Key, KubeApi} from '#operator/kubernetes/api.ts';
import {EventRecorder} from '#operator/kubernetes/event-recorder.ts';
import {KeyQueue} from '#operator/kubernetes/key-queue.ts';
import {LeaseElection} from '#operator/kubernetes/lease.ts';
import {ClusterStore} from '#operator/observe/cluster-store.ts';
import {BackupController} from './backup-controller.ts';
import {ClusterController, type Outcome} from './cluster-controller.ts';
import {type Figures, noFigures} from './figures.ts';

export interface OperatorOptions {
  readonly api: KubeApi;
  readonly admin: ServerAdmin;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  /** Undefined: all. */
  readonly namespaces: readonly string[] | undefined;
  readonly readsNodes: boolean;
  /** Name of the pod, and its namespace, in which the lease lies. */
  readonly podName: string;
  readonly namespace: string;
  /** Different for every process. */
  readonly identity: string;
  /** How long its lease lasts without a renewal; absent: as that of every controller does. */
  readonly leaseSeconds?: number;
  readonly workers: number;
  /** Called when the lease was lost: the process must end. */
  readonly onLost: () => void;
  readonly certificates: CertificateMaker;
  readonly figures?: Figures;
}

const DRAIN_MS = 20_000;
const SECRET_BYTES = 24;

type Work = 'cluster' | 'schedule' | 'backup';

export class Operator {
  readonly store: ClusterStore;
  readonly #options: OperatorOptions;
  readonly #figures: Figures;
  readonly #queue: KeyQueue;
  readonly #election: LeaseElection;
  readonly #clusters: ClusterController;
  readonly #backups: BackupController;
  #workers: Promise<unknown> = Promise.resolve();
  #isStopping = false;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.#figures = options.figures ?? noFigures;
    this.#queue = new KeyQueue(options);
    this.store = new ClusterStore({
      ...options,
      onCluster: (key, priority) => this.#queue.add(workKey('cluster', key), priority),
      onBackup: (kind, key) => this.#queue.add(workKey(kind, key)),
    });
    const events = new EventRecorder({...options, component: options.podName});
    const parts = {
      ...options,
      store: this.store,
      events,
      assertLeading: () => this.#assertLeading(),
      secretText: () => secretText(options.random),
    };
    this.#clusters = new ClusterController({
      ...parts,
      wake: key => this.#queue.addAfter(workKey('cluster', key), 0),
    });
    this.#backups = new BackupController({
      ...parts,
      later: (kind, key, ms) => this.#queue.addAfter(workKey(kind, key), ms),
    });
    this.#election = new LeaseElection({
      ...options,
      name: 'svc-operator',
      onLeading: () => this.#work(),
    });
  }

  start(): void {
    this.store.start();
    this.#election.start();
  }

  /** Ready: the copies are whole. An operator that only waits is ready too. */
  get isReady(): boolean {
    return this.store.isSynced && !this.#isStopping;
  }

  get isLeading(): boolean {
    return this.#election.isLeading;
  }

  get queueFigures(): KeyQueue['figures'] {
    return this.#queue.figures;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#queue.shutDown();
    const {promise: late, resolve} = Promise.withResolvers<void>();
    const cancel = this.#options.timers.after(DRAIN_MS, resolve);
    await Promise.race([this.#workers, late]);
    cancel();
    this.#backups.stop();
    await this.#election.release();
    await this.store.stop();
  }

  /** Called once, when this operator becomes the one that acts. */
  #work(): void {
    this.#workers = this.store.whenSynced().then(async () => {
      const {workers} = this.#options;
      await Promise.all(Array.from({length: workers}, () => this.#workOn()));
    });
  }

  async #workOn(): Promise<void> {
    for (;;) {
      const key = await this.#queue.get();
      if (key === undefined) return;
      const {clock} = this.#options;
      const begun = clock.monotonic();
      const outcome = await this.#reconcile(key);
      const [work = ''] = key.split(' ');
      this.#figures.reconciled(work, outcome.kind, clock.monotonic() - begun);
      if (outcome.kind === 'failed') {
        this.#queue.addRateLimited(key);
      } else {
        this.#queue.forget(key);
        if (outcome.kind === 'done') this.#queue.addAfter(key, outcome.recheckMs);
        else this.#queue.drop(key);
      }
      this.#queue.done(key);
    }
  }

  async #reconcile(key: Key): Promise<Outcome> {
    const [work = '', name = ''] = key.split(' ');
    try {
      this.#assertLeading();
      if (work === 'cluster') return await this.#clusters.reconcile(name);
      return await this.#backups.reconcile(work === 'schedule' ? 'schedule' : 'backup', name);
    } catch (error) {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#options.logger.log('warn', 'reconcile.failed', {work, name, message});
      return {kind: 'failed', error};
    }
  }

  #assertLeading(): void {
    if (!this.#election.isLeading) throw new Error('this operator does not hold the lease');
  }
}

function workKey(work: Work, key: Key): Key {
  return `${work} ${key}`;
}

/** 32 letters and digits that are safe in a file, a header and a shell. */
function secretText(random: Random): string {
  const bytes = Buffer.alloc(SECRET_BYTES);
  random.fill(bytes);
  return bytes.toString('base64url').replaceAll(/[-_]/g, 'x');
}
