/**
 * How new the data must be that a read is answered from, and the wait until it is.
 *
 * A server alone is as fresh as itself. A member of a cluster applies what the leader committed a
 * moment later, so a read waits: until what its client has seen written is applied
 * (`read_your_writes`), or until everything is that was committed when it came (`linearizable`).
 * What a client wrote through this server is known here; what it wrote elsewhere it tells by the
 * index of an earlier answer. Only a linearizable read fails for want of freshness; the other is
 * answered from what there is, with a warning in the log.
 *
 * Source: docs/cluster.md.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Cluster} from './cluster.ts';

export const readConsistencies = ['eventual', 'read_your_writes', 'linearizable'] as const;
export type ReadMode = (typeof readConsistencies)[number];

/** What a request says of it; what it leaves out, the server's setting says. */
export interface ReadConsistency {
  readonly consistency: ReadMode | undefined;
  /** An index that the client knows: nothing older may be read. */
  readonly after: number | undefined;
}

export interface ReadConsistencyGateOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: () => Settings;
  /** Greatest index applied on this server. */
  readonly appliedIndex: () => number;
}

const warningEveryMs = 60_000;
const byTheSetting: ReadConsistency = {consistency: undefined, after: undefined};

function removed(): Refusal {
  return new Refusal(
    'cluster.no-quorum',
    'this server was removed from its cluster, and what it holds grows old: ask a member, or ' +
      'read with X-Svc-Read-Consistency: eventual',
  );
}

export class ReadConsistencyGate {
  readonly #options: ReadConsistencyGateOptions;
  #relayedIndex = 0;
  #lateReads = 0;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ReadConsistencyGateOptions) {
    this.#options = options;
  }

  /** A write that went through this server to the leader is part of everything up to `index`. */
  relayed(index: number): void {
    if (index > this.#relayedIndex) this.#relayedIndex = index;
  }

  /** Whether a read must wait at all. */
  waits(requested: ReadConsistency = byTheSetting): boolean {
    const consistency = this.#consistency(requested);
    if (consistency === 'linearizable' || this.#options.cluster.wasRemoved) return true;
    return consistency !== 'eventual' && this.#after(requested) > this.#options.appliedIndex();
  }

  /**
   * Waits until a read may be answered from what is applied here.
   *
   * @throws {Refusal} `cluster.no-quorum` for a linearizable read that cannot be one.
   */
  async reached(requested: ReadConsistency = byTheSetting): Promise<void> {
    if (this.#options.cluster.wasRemoved && requested.consistency !== 'eventual') throw removed();
    if (!this.waits(requested)) return;
    if (this.#consistency(requested) === 'linearizable') await this.#linearizable();
    else await this.#applied(this.#after(requested));
  }

  #consistency({consistency}: ReadConsistency): string {
    return consistency ?? this.#options.settings().get('svc.ha.readConsistency');
  }

  #after({after = 0}: ReadConsistency): number {
    return Math.max(after, this.#relayedIndex);
  }

  async #applied(index: number): Promise<void> {
    const {cluster, settings} = this.#options;
    const waitMs = settings().get('svc.ha.quorumTimeout');
    // Whoever asks the leader is told what is committed with the next word, and not a moment later.
    cluster.readIndex(waitMs).catch(() => undefined);
    if (!(await cluster.whenApplied(index, waitMs))) this.#late(index);
  }

  async #linearizable(): Promise<void> {
    const {cluster, clock, settings, appliedIndex} = this.#options;
    const waitMs = settings().get('svc.ha.quorumTimeout');
    const deadline = clock.monotonic() + waitMs;
    const index = await cluster.readIndex(waitMs);
    if (index <= appliedIndex()) return;
    const restMs = Math.max(0, deadline - clock.monotonic());
    if (await cluster.whenApplied(index, restMs)) return;
    throw new Refusal(
      'cluster.no-quorum',
      `this server has applied entry ${appliedIndex()} of ${index} that a linearizable read ` +
        'must see: ask again, or another member',
    );
  }

  #late(index: number): void {
    this.#lateReads++;
    const {clock, logger, appliedIndex} = this.#options;
    const now = clock.monotonic();
    if (now - this.#warnedAt < warningEveryMs) return;
    this.#warnedAt = now;
    logger.log('warn', 'read.behind', {
      wanted: index,
      applied: appliedIndex(),
      lateReads: this.#lateReads,
      advice: 'reads were answered from older data than their clients have seen: this member lags',
    });
  }
}
