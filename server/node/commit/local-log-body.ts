/**
 * The log thread of a server alone: appends the entries of the ring as one batch, gives each its
 * chain value, and syncs (log-body.ts).
 */
import {SegmentLog} from '#server/log/segment-log.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {LogNews, LogRequest, LogThreadStart} from './commit-messages.ts';
import {type RingRecord, word} from './commit-ring.ts';
import {LogBody} from './log-body.ts';
import type {ThreadPort} from './thread-channel.ts';

const batchEntriesMax = 4096;
/** What was written is synced this long after it at the latest when `svc.txWalFlush` is below 2. */
const relaxedSyncMs = 1000;

export class LocalLogBody extends LogBody<SegmentLog, LogRequest, LogNews> {
  readonly #control: Int32Array;
  readonly #disk: Disk;
  readonly #chains = new Uint32Array(batchEntriesMax);
  #syncCommits = true;

  constructor(port: ThreadPort<LogRequest, LogNews>, start: LogThreadStart, disk: Disk) {
    super(port, start, word.logged);
    this.#control = new Int32Array(start.ring.control);
    this.#disk = disk;
  }

  override get patienceMs(): number {
    return Math.min(super.patienceMs, this.#hasUnsynced ? relaxedSyncMs : Number.POSITIVE_INFINITY);
  }

  override tidy(): void {
    if (this.#hasUnsynced) this.perform(log => log.sync());
    super.tidy();
  }

  protected override handle(request: LogRequest): void {
    switch (request.kind) {
      case 'start': {
        const {directory, segmentBytes, state} = request;
        this.#syncCommits = request.syncCommits;
        return this.start(SegmentLog.resume({disk: this.#disk, directory, segmentBytes}, state));
      }
      case 'outside':
        return this.addOutside(request.number, request.bytes);
      case 'recycle':
        return this.perform(log => log.recycle(request.floor));
      case 'sync':
        return this.perform(
          log => log.sync(),
          () => this.tell({kind: 'done', id: request.id}),
        );
      default:
        this.closeWhenDone(() => {
          this.log?.close();
          this.tell({kind: 'done', id: request.id});
        });
    }
  }

  protected override batch(log: SegmentLog, records: readonly RingRecord[]): () => void {
    const entries = records.map(record => record.payload);
    return () => {
      if (entries.length > 0) log.append(entries, this.#chains, this.#syncCommits);
      records.forEach((record, number) => this.writeChain(record, this.#chains[number] ?? 0));
    };
  }

  protected override written(): void {
    // One message is enough until the network thread has looked.
    if (Atomics.exchange(this.#control, word.notified, 1) === 0) this.tell('logged');
  }

  get #hasUnsynced(): boolean {
    const {log} = this;
    return log !== undefined && log.failed === undefined && log.durableIndex < log.lastIndex;
  }
}
