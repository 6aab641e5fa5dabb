/**
 * The log thread of a member of a cluster (commit/log-body.ts): besides entries it is told, in the
 * ring between them, of term and vote, cuts, and where the log begins. Laggards are read to between
 * two batches, in runs whose size the reader bounds.
 */
import type {Clock} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import {StoredLog} from '#server/replication/stored-log.ts';
import {type RingRecord, word} from '../commit/commit-ring.ts';
import type {LogThreadStart} from '../commit/commit-messages.ts';
import {LogBody} from '../commit/log-body.ts';
import type {Progress, ThreadPort} from '../commit/thread-channel.ts';
import {
  type Command,
  decodeCommand,
  type MemberLogNews,
  type MemberLogRequest,
} from './member-log-messages.ts';
import {ResumeAttempts} from './resume-attempts.ts';

/** A log goes on where there is room for so many segments. */
const segmentsOfRoom = 2;
/** What the log takes is told when it has changed by so much. */
const retainedStepBytes = 256 << 10;

export class MemberLogBody extends LogBody<StoredLog, MemberLogRequest, MemberLogNews> {
  readonly #disk: Disk;
  readonly #attempts: ResumeAttempts | undefined;
  #durableNumber = 0;
  #retainedBytes = 0;

  constructor(
    port: ThreadPort<MemberLogRequest, MemberLogNews>,
    start: LogThreadStart,
    {disk, clock}: {readonly disk: Disk; readonly clock: Clock},
  ) {
    super(port, start, word.applied);
    this.#disk = disk;
    this.#attempts = start.resume && new ResumeAttempts(start.resume, clock);
  }

  /** The log; undefined before the thread was given it. */
  get stored(): StoredLog | undefined {
    return this.log;
  }

  override work(): Progress {
    this.#tellRetained();
    return super.work();
  }

  protected override handle(request: MemberLogRequest): void {
    switch (request.kind) {
      case 'start':
        return this.start(StoredLog.resume(this.#disk, request.state));
      case 'outside':
        return this.addOutside(request.number, request.bytes);
      case 'read':
        return this.#read(request);
      default:
        this.closeWhenDone(() => {
          this.perform(
            log => log.close(),
            () => this.tell({kind: 'closed'}),
          );
        });
    }
  }

  /** A step that finds no room is repeated from the record that it had come to. */
  protected override batch(log: StoredLog, records: readonly RingRecord[]): () => void {
    let number = this.#durableNumber;
    let at = 0;
    return () => {
      for (; at < records.length; at++) {
        const {payload} = records[at] as RingRecord;
        const command = decodeCommand(payload);
        if (command === undefined) log.append(payload);
        else if (command.kind === 'end') ({number} = command);
        else carryOut(log, command);
      }
      log.flush();
      this.#durableNumber = number;
    };
  }

  protected override givesUp(log: StoredLog): string | undefined {
    return this.#attempts?.failed(
      () => this.#disk.freeBytes(log.directory) >= segmentsOfRoom * log.segmentBytes,
    );
  }

  protected override goesOn(): void {
    this.#attempts?.succeeded();
  }

  protected override written(): void {
    this.tell(this.#durableNumber);
  }

  #tellRetained(): void {
    const bytes = this.log?.retainedBytes ?? 0;
    if (Math.abs(bytes - this.#retainedBytes) < retainedStepBytes) return;
    this.#retainedBytes = bytes;
    this.tell({kind: 'retained', bytes});
  }

  #read({id, first, through, bytesMax}: MemberLogRequest & {readonly kind: 'read'}): void {
    let run: ReturnType<StoredLog['read']>;
    this.perform(
      log => {
        run = log.read(first, through, bytesMax);
      },
      () => this.tell({kind: 'read', id, run}, run === undefined ? [] : [bufferOf(run.bytes)]),
    );
  }
}

function bufferOf({buffer}: Uint8Array): ArrayBuffer {
  return buffer as ArrayBuffer;
}

function carryOut(log: StoredLog, command: Exclude<Command, {readonly kind: 'end'}>): void {
  if (command.kind === 'compact') return log.compact(command.base);
  const {hardState, restart, keepThrough} = command;
  log.remember(hardState);
  if (restart !== undefined) log.restart(restart);
  log.keepThrough(keepThrough);
}
