/**
 * When a member shortens its log, and how far.
 *
 * What is durable in the databases is not needed here, but a peer that is a little behind is sent
 * entries much cheaper than a snapshot, so some stay. Pure: figures and a time go in.
 *
 * Source: docs/cluster.md.
 */
import type {LogIndex} from '#server/raft/message.ts';

export interface LogPurgeOptions {
  /** `svc.ha.snapshotThreshold`: held entries from which on the log is shortened. */
  readonly entriesMax: number;
  /** `svc.ha.snapshotInterval`; 0: not by time. */
  readonly intervalMs: number;
  /** `svc.ha.snapshotMinEntries`: fewer are not worth it by time. */
  readonly entriesMin: number;
  /** `svc.ha.logPurgeGap`: stay in any case. */
  readonly gapEntries: number;
  /** `svc.ha.logPurgeUptoSnapshot`: entries go that a slow member still lacks. */
  readonly passesLaggards: boolean;
  /** Bytes on the disk from which on the log is shortened, however few entries they are. */
  readonly bytesMax: number;
}

export interface LogFigures {
  /** Everything up to here is forgotten. */
  readonly base: LogIndex;
  readonly applied: LogIndex;
  readonly bytes: number;
  /** What the slowest member has that this node sends entries to, if there is one. */
  readonly slowest: LogIndex | undefined;
  /** Where the oldest snapshot stands that others are taking: they need what comes behind it. */
  readonly snapshot?: LogIndex | undefined;
}

export class LogPurge {
  readonly #options: LogPurgeOptions;
  #askedAt: number;

  constructor(options: LogPurgeOptions, now: number) {
    this.#options = options;
    this.#askedAt = now;
  }

  /** Whether the databases should be made durable now, so that the log can be shortened. */
  isDue(now: number, figures: LogFigures): boolean {
    const {intervalMs, entriesMin, gapEntries} = this.#options;
    const isTime = intervalMs > 0 && now - this.#askedAt >= intervalMs;
    const surplus = figures.applied - figures.base - gapEntries;
    const isDue = this.#isLong(figures) || (isTime && surplus >= entriesMin);
    if (isDue || isTime) this.#askedAt = now;
    return isDue;
  }

  /** Where the log may end to begin anew, when everything up to `durable` is in the databases. */
  through(durable: LogIndex, {base, slowest, snapshot}: LogFigures): LogIndex {
    const {gapEntries, passesLaggards} = this.#options;
    const wished = durable - gapEntries;
    const held = passesLaggards ? wished : Math.min(wished, slowest ?? wished);
    return Math.max(base, Math.min(held, snapshot ?? held));
  }

  #isLong({applied, base, bytes}: LogFigures): boolean {
    const {entriesMax, gapEntries, bytesMax} = this.#options;
    const entries = applied - base - gapEntries;
    return entries >= entriesMax || (bytes >= bytesMax && entries > 0);
  }
}
