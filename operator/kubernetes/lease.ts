/**
 * Leader election among operators by a Lease: one acts, the others wait.
 *
 * Whether a lease has run out is judged by our own monotonic clock since its record last changed,
 * never by the times in it: clocks of nodes differ. Whoever leads and cannot renew in time stops
 * acting before anybody else may begin, and says so, whereupon the process ends.
 * Invariant: `isLeading` is true only within the renewal deadline of the last renewal.
 * Source: client-go's leaderelection (15 s, 10 s, 2 s).
 */
import {reasonOf} from '#server/base/errors.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {numberAt, type KubeObject, textAt} from '#operator/api/kube-object.ts';
import {hasReason, type KubeApi} from './api.ts';
import {kinds} from './kinds.ts';

export interface LeaseOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
  /** Different for every process. */
  readonly identity: string;
  /** How long it lasts without a renewal. */
  readonly leaseSeconds?: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Pick<Random, 'u32'>;
  readonly logger: Logger;
  /** Called once: this process acts from now on. */
  readonly onLeading: () => void;
  /** Called once, after leading: the process must end. */
  readonly onLost: () => void;
}

export const LEASE_SECONDS = 15;
/** Parts of what a lease lasts: when its holder stops without a renewal, and how often it tries. */
const DEADLINE_PART = 2 / 3;
const RETRY_PART = 2 / 15;

export class LeaseElection {
  readonly #options: LeaseOptions;
  readonly #seconds: number;
  #seen: {readonly record: string; readonly at: number} | undefined;
  #held: KubeObject | undefined;
  #renewedAt: number | undefined;
  #isEnded = false;
  #cancel = (): void => {};
  #trying: Promise<void> = Promise.resolve();

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#seconds = options.leaseSeconds ?? LEASE_SECONDS;
  }

  start(): void {
    this.#trying = this.#try();
  }

  get isLeading(): boolean {
    const {clock} = this.#options;
    const renewedAt = this.#renewedAt;
    const deadlineMs = this.#seconds * 1_000 * DEADLINE_PART;
    return renewedAt !== undefined && clock.monotonic() - renewedAt < deadlineMs;
  }

  /** Gives the lease up, so that the next one need not wait for its end. */
  async release(): Promise<void> {
    this.#isEnded = true;
    this.#cancel();
    await this.#trying;
    const held = this.#held;
    if (held === undefined || !this.isLeading) return;
    this.#renewedAt = undefined;
    try {
      await this.#options.api.replace(kinds.lease, {
        ...held,
        spec: {...held.spec, holderIdentity: '', leaseDurationSeconds: 1},
      });
    } catch (error) {
      this.#options.logger.log('info', 'lease.not-released', {message: String(error)});
    }
  }

  async #try(): Promise<void> {
    const wasHeld = this.#renewedAt !== undefined;
    try {
      await this.#attempt();
    } catch (error) {
      this.#options.logger.log('warn', 'lease.failed', {message: reasonOf(error)});
    }
    if (this.#isEnded) return;
    if (wasHeld && !this.isLeading) {
      this.#isEnded = true;
      this.#renewedAt = undefined;
      this.#options.onLost();
      return;
    }
    const {timers, random} = this.#options;
    const jitter = 1 + (random.u32() / 2 ** 32) * 0.2;
    this.#cancel = timers.after(this.#seconds * 1_000 * RETRY_PART * jitter, () => {
      this.#trying = this.#try();
    });
  }

  async #attempt(): Promise<void> {
    const {api, clock, identity, logger} = this.#options;
    const begun = clock.monotonic();
    const lease = await this.#read();
    if (lease === undefined)
      return await this.#taken(api.create(kinds.lease, this.#fresh()), begun);
    const record = JSON.stringify(lease.spec);
    if (this.#seen?.record !== record) this.#seen = {record, at: begun};
    const holder = textAt(lease, 'spec', 'holderIdentity') ?? '';
    const lastsMs = (numberAt(lease, 'spec', 'leaseDurationSeconds') ?? this.#seconds) * 1_000;
    const isOurs = holder === identity;
    if (!isOurs && holder !== '' && begun - this.#seen.at < lastsMs) return;
    if (!isOurs) logger.log('info', 'lease.taking', {from: holder});
    await this.#taken(api.replace(kinds.lease, this.#renewed(lease, isOurs)), begun);
  }

  async #read(): Promise<KubeObject | undefined> {
    const {api, namespace, name} = this.#options;
    try {
      return await api.get({kind: kinds.lease, namespace, name});
    } catch (error) {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async #taken(writing: Promise<KubeObject>, begun: number): Promise<void> {
    const isFirst = this.#renewedAt === undefined;
    this.#held = await writing;
    // From before the write: nobody else can count from earlier.
    this.#renewedAt = begun;
    if (!isFirst || this.#isEnded) return;
    this.#options.logger.log('info', 'lease.held', {identity: this.#options.identity});
    this.#options.onLeading();
  }

  #fresh(): KubeObject {
    const {namespace, name} = this.#options;
    const {apiVersion, kind} = kinds.lease;
    const spec = {...this.#claim(), acquireTime: this.#now(), leaseTransitions: 0};
    return {apiVersion, kind, metadata: {name, namespace}, spec};
  }

  #renewed(lease: KubeObject, isOurs: boolean): KubeObject {
    const transitions = numberAt(lease, 'spec', 'leaseTransitions') ?? 0;
    const taken = isOurs ? {} : {acquireTime: this.#now(), leaseTransitions: transitions + 1};
    return {...lease, spec: {...lease.spec, ...this.#claim(), ...taken}};
  }

  #claim() {
    const {identity: holderIdentity} = this.#options;
    return {holderIdentity, leaseDurationSeconds: this.#seconds, renewTime: this.#now()};
  }

  /** metav1.MicroTime. */
  #now(): string {
    return new Date(this.#options.clock.now()).toISOString().replace('Z', '000Z');
  }
}
