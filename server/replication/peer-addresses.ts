/**
 * Which addresses may open a connection to this peer (`svc.ha.peerAllowlist.*`).
 *
 * The list is what the hosts of the peers resolve to. An address that was allowed stays so for a
 * while after it left the list (a pod that moved keeps its channels), and while the list was never
 * complete strangers are let in for the time of a start: every peer has still to prove that it
 * knows the cluster's token (handshake.ts). A stranger makes the list be resolved again, at most
 * once a second. Addresses of this machine always pass.
 *
 * Source: docs/cluster-connections.md.
 */
import {isLoopbackAddress, plainAddress} from '#server/base/addresses.ts';
import type {Clock} from '#server/platform/clock.ts';

export interface PeerAddressOptions {
  readonly clock: Clock;
  /** Every address of a host; rejects when it cannot be told. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** `svc.ha.grpcAllowlistRefreshMs`. */
  readonly refreshMs: number;
  /** `svc.ha.peerAllowlistStickyTtlMs`. */
  readonly stickyMs: number;
  /** `svc.ha.peerAllowlistStartupGraceMs`; 0 lets no stranger in. */
  readonly graceMs: number;
}

export type Admission = 'allowed' | 'grace' | 'refused';

const strangerRefreshMs = 1_000;

export class PeerAddresses {
  readonly #options: PeerAddressOptions;
  readonly #startedAt: number;
  #hosts: readonly string[] = [];
  /** The moment until which an address is allowed. */
  readonly #allowedUntil = new Map<string, number>();
  #current: ReadonlySet<string> = new Set();
  #resolvedAt = Number.NEGATIVE_INFINITY;
  #wasComplete = false;
  #resolving: Promise<void> | undefined;

  constructor(options: PeerAddressOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
  }

  /** The peers' hosts, whenever the membership changes. */
  async setHosts(hosts: readonly string[]): Promise<void> {
    this.#hosts = hosts;
    this.#resolvedAt = Number.NEGATIVE_INFINITY;
    await this.#resolve();
  }

  /** Decides on one connection. Looks names up only when the list is old or does not know it. */
  async admit(remoteAddress: string): Promise<Admission> {
    const address = plainAddress(remoteAddress);
    if (isLoopbackAddress(address)) return 'allowed';
    if (this.#age() >= this.#options.refreshMs) await this.#resolve();
    if (this.#isAllowed(address)) return 'allowed';
    if (this.#age() >= strangerRefreshMs) {
      await this.#resolve();
      if (this.#isAllowed(address)) return 'allowed';
    }
    const {clock, graceMs} = this.#options;
    const inGrace = !this.#wasComplete && clock.monotonic() - this.#startedAt < graceMs;
    return inGrace ? 'grace' : 'refused';
  }

  #age(): number {
    return this.#options.clock.monotonic() - this.#resolvedAt;
  }

  #isAllowed(address: string): boolean {
    if (this.#current.has(address)) return true;
    const until = this.#allowedUntil.get(address);
    if (until === undefined) return false;
    if (until > this.#options.clock.monotonic()) return true;
    this.#allowedUntil.delete(address);
    return false;
  }

  async #resolve(): Promise<void> {
    this.#resolving ??= this.#resolveOnce().finally(() => {
      this.#resolving = undefined;
    });
    await this.#resolving;
  }

  async #resolveOnce(): Promise<void> {
    const {clock, resolve, stickyMs} = this.#options;
    const hosts = this.#hosts;
    const found = await Promise.allSettled(hosts.map(host => resolve(host)));
    const now = clock.monotonic();
    const next = new Set<string>();
    for (const outcome of found) {
      if (outcome.status !== 'fulfilled') continue;
      for (const address of outcome.value) next.add(plainAddress(address));
    }
    for (const address of this.#current) this.#allowedUntil.set(address, now + stickyMs);
    for (const [address, until] of this.#allowedUntil) {
      if (until <= now) this.#allowedUntil.delete(address);
    }
    const isComplete =
      hosts.length > 0 &&
      found.every(outcome => outcome.status === 'fulfilled' && outcome.value.length > 0);
    this.#wasComplete ||= isComplete;
    this.#current = next;
    this.#resolvedAt = now;
  }
}
