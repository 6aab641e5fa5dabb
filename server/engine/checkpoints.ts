/**
 * When everything applied is made durable, so that the log may forget it.
 *
 * One at a time. The state file says how far everything is durable before the log is told (T9).
 */
import type {Logger} from '#server/platform/logger.ts';
import {isOutOfRoom} from '#server/platform/disk.ts';
import type {CommitPipeline, DurableState} from '#server/transactions/commit-pipeline.ts';
import type {LogIndex} from '#server/transactions/commit.ts';
import type {DatabaseSet} from './database-set.ts';
import type {EngineLog} from './engine-log.ts';

export interface CheckpointsOptions {
  readonly pipe: CommitPipeline;
  readonly set: DatabaseSet;
  readonly log: () => EngineLog;
  readonly logger: Logger;
  /** Applied bytes after which the next one is due. */
  readonly bytesMax: number;
}

export class Checkpoints {
  readonly #options: CheckpointsOptions;
  #bytes = 0;
  #underWay: Promise<void> | undefined;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
  }

  /** Entries of so many bytes were applied. */
  advanced(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes >= this.#options.bytesMax) this.soon();
  }

  /** Begins one; when it fails the log takes nothing more. */
  soon(): void {
    const {logger, log} = this.#options;
    this.#bytes = 0;
    this.run().catch((error: unknown) => {
      logger.log('error', 'log.checkpoint-failed', {error});
      log().fail(`a checkpoint failed: ${String(error)}`);
    });
  }

  /** Resolves when one has ended that is under way, or begins now. */
  run(): Promise<void> {
    this.#underWay ??= this.#run().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  /** Resolves when none is under way. */
  async ended(): Promise<void> {
    while (this.#underWay !== undefined) await this.#underWay;
  }

  /** Lets none begin until `work` has ended: it would save the state of before. */
  async during(work: () => Promise<void>): Promise<void> {
    await this.ended();
    const done = work();
    this.#underWay = done
      .catch(() => {})
      .finally(() => {
        this.#underWay = undefined;
      });
    await done;
  }

  async #run(): Promise<void> {
    const {pipe, set} = this.#options;
    const {floor, positions} = await pipe.makeDurable();
    const log = this.#options.log();
    if (log.failure !== undefined) return;
    const safe = set.heldFloor(log.executedFloor(floor));
    if (this.#save(safe, positions)) log.recycle(safe);
  }

  /** False when the disk is full: the log keeps what it could have forgotten until the next try. */
  #save(floor: LogIndex, positions: DurableState['positions']): boolean {
    try {
      this.#options.set.saveDurable(floor, positions);
      return true;
    } catch (error) {
      if (!isOutOfRoom(error)) throw error;
      this.#options.logger.log('warn', 'log.checkpoint-without-room', {error});
      return false;
    }
  }
}
