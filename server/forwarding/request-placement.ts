/**
 * Where a request to a member of a cluster runs: the one place that decides it, for every protocol.
 *
 * What may change something runs on the leader, and so does whatever belongs to a transaction or
 * begins one. A read runs where it was asked, once that member has applied what its client has
 * seen. What this server cannot carry out after all, since it leads no more or its copy is damaged,
 * goes to the leader as long as nothing of it has happened.
 * Why: docs/design/0056-one-place-for-every-request.md.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {isLocalCopyDamaged, requiresLeader} from '#server/cluster/leadership.ts';
import {type ReadConsistency, ReadConsistencyGate} from '#server/cluster/read-consistency-gate.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Principal} from '#server/security/principal.ts';
import type {RunRequest, Service} from '#server/session/session.ts';

export interface RequestPlacementOptions {
  readonly cluster: Cluster;
  /** This server's own. */
  readonly service: Pick<Service, 'needsLeader' | 'appliedIndex'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly settings: () => Settings;
}

/** The two ways of a request. */
export interface RequestWays<T> {
  readonly requiresLeader: boolean;
  /** Carries it out on this server. */
  readonly here: () => Promise<T> | T;
  /** Has the leader carry it out; undefined: this server leads. */
  readonly atLeader: () => Promise<T | undefined>;
  /** Whether one that failed here, and did nothing, may be brought to the leader. */
  readonly mayMove: (error: unknown) => boolean;
}

export class RequestPlacement {
  readonly cluster: Cluster;
  readonly #options: RequestPlacementOptions;
  readonly #gate: ReadConsistencyGate;

  constructor(options: RequestPlacementOptions) {
    const {cluster, clock, logger, settings, service} = options;
    this.cluster = cluster;
    this.#options = options;
    const appliedIndex = (): number => service.appliedIndex;
    this.#gate = new ReadConsistencyGate({cluster, clock, logger, settings, appliedIndex});
  }

  /**
   * Whether a statement is one for the leader, which is another server; a promise where its text is
   * long. One that cannot be prepared here may be about what has not arrived yet, so the leader
   * says what is wrong with it.
   */
  requiresLeader(principal: Principal, request: RunRequest): boolean | Promise<boolean> {
    if (this.cluster.isLeader) return false;
    if (request.transactionId !== undefined) return true;
    return !request.readOnly && this.#mayWrite(principal, request);
  }

  /**
   * Waits until a statement may read what is applied here; a promise only when it must. A
   * transaction reads as of its begin, and a write on the leader is confirmed by its commit, or
   * where it wrote nothing asks itself (transact.ts): neither waits.
   *
   * @throws {Refusal} `cluster.no-quorum` for a linearizable read that cannot be one.
   */
  readable(principal: Principal, request: RunRequest): Promise<void> | undefined {
    const {transactionId, consistency, readOnly} = request;
    if (transactionId !== undefined || !this.#gate.waits(consistency)) return undefined;
    if (readOnly || !this.cluster.isLeader) return this.#gate.reached(consistency);
    const mayWrite = this.#mayWrite(principal, request);
    if (mayWrite instanceof Promise) {
      return mayWrite.then(may => (may ? undefined : this.#gate.reached(consistency)));
    }
    return mayWrite ? undefined : this.#gate.reached(consistency);
  }

  /** Works like `readable`, for what is no statement. */
  reached(requested?: ReadConsistency): Promise<void> {
    return this.#gate.reached(requested);
  }

  /** A change that went through this server to the leader is part of everything up to `index`. */
  relayed(index: number): void {
    this.#gate.relayed(index);
  }

  /** Resolves when a leadership that takes no writes for the moment does so again; see Cluster. */
  settled(): Promise<void> | undefined {
    return this.cluster.whenSettled(this.#waitMs);
  }

  /**
   * Carries a request out where it belongs.
   *
   * @throws whatever it fails with there.
   */
  async carryOut<T>({requiresLeader, here, atLeader, mayMove}: RequestWays<T>): Promise<T> {
    const {clock, timers} = this.#options;
    if (requiresLeader) {
      const answer = await atLeader();
      if (answer !== undefined) return answer;
    }
    for (const deadline = clock.monotonic() + this.#waitMs; ; ) {
      try {
        return await here();
      } catch (error) {
        if (!this.isMovable(error) || !mayMove(error)) throw error;
        const answer = await atLeader();
        if (answer !== undefined) return answer;
        // A leader that is handing over takes nothing for a moment.
        const restMs = deadline - clock.monotonic();
        if (restMs <= 0) throw error;
        await (this.cluster.whenSettled(restMs) ?? timers.yield());
      }
    }
  }

  /** Whether nothing of a request that failed so has happened, and another server may do it. */
  isMovable(error: unknown): boolean {
    return requiresLeader(error) || (isLocalCopyDamaged(error) && !this.cluster.isLeader);
  }

  get #waitMs(): number {
    return this.#options.settings().get('svc.ha.forwardLeaderWaitTimeoutMs');
  }

  #mayWrite(principal: Principal, request: RunRequest): boolean | Promise<boolean> {
    try {
      const needs = this.#options.service.needsLeader(principal, request);
      return needs instanceof Promise ? needs.catch(leaderKnows) : needs;
    } catch (error) {
      return leaderKnows(error);
    }
  }
}

function leaderKnows(error: unknown): true {
  if (!(error instanceof Refusal)) throw error;
  return true;
}
