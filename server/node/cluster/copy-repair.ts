/**
 * Mends what is damaged on this member alone: a database that it can no longer use (a fence, files
 * that cannot be read at the start) is taken anew from the leader.
 *
 * A leader hands its leadership over first, since its copy cannot serve the writes. What fails is
 * tried again after a pause that doubles, because a copy costs the others reading and sending.
 */
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Cluster} from '#server/session/cluster.ts';
import type {Engine} from '#server/transactions/engine.ts';

export interface CopyRepairOptions {
  readonly engine: Pick<Engine, 'databases' | 'status'>;
  readonly cluster: Cluster;
  readonly settings: () => Settings;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

const pauseMsMin = 5_000;
const pauseMsMax = 600_000;
const transferMs = 10_000;

export class CopyRepair {
  readonly #options: CopyRepairOptions;
  /** By database: when to try again, and how long to wait after that. */
  readonly #tries = new Map<string, {readonly at: number; readonly pauseMs: number}>();
  #cancel: () => void = () => undefined;
  #isEnded = false;

  /** Begins with the next look. */
  constructor(options: CopyRepairOptions) {
    this.#options = options;
    this.#wait();
  }

  end(): void {
    this.#isEnded = true;
    this.#cancel();
  }

  #wait(): void {
    if (this.#isEnded) return;
    const {timers, settings} = this.#options;
    this.#cancel = timers.after(settings().get('svc.ha.healthCheckInterval'), () => {
      void this.#look().finally(() => this.#wait());
    });
  }

  /** One at a time: a member that repairs applies nothing. */
  async #look(): Promise<void> {
    const {engine, clock} = this.#options;
    const damaged = engine.databases().filter(name => engine.status(name) === 'fenced');
    for (const name of this.#tries.keys()) if (!damaged.includes(name)) this.#tries.delete(name);
    const now = clock.monotonic();
    const due = damaged.find(name => (this.#tries.get(name)?.at ?? 0) <= now);
    if (due === undefined) return;
    const pauseMs = this.#tries.get(due)?.pauseMs ?? pauseMsMin;
    await this.#repair(due);
    this.#tries.set(due, {
      at: clock.monotonic() + pauseMs,
      pauseMs: Math.min(pauseMs * 2, pauseMsMax),
    });
  }

  async #repair(name: string): Promise<void> {
    const {cluster, logger} = this.#options;
    try {
      if (cluster.isLeader) {
        logger.log('warn', 'database.damaged-on-leader', {database: name});
        await cluster.transferLeadership(undefined, transferMs);
      }
      if (cluster.state().leaderId === undefined) return;
      await cluster.resync(name);
      logger.log('info', 'database.repaired', {database: name});
    } catch (error) {
      logger.log('error', 'database.not-repaired', {database: name, reason: String(error)});
    }
  }
}
