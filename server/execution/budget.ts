/**
 * What one statement may spend: time, memory and rows; and when it must let others run.
 *
 * Operators and long-running functions report their work in units of about a microsecond
 * (`spend`). Every few hundred units the clock is read: past the deadline or when cancelled the
 * statement is refused, after 5 ms without a pause `spend` answers true and the operator passes
 * `pause` upwards. So a cancellation is noticed well within 50 ms of work anywhere.
 * A statement that is to wait (`sleep`) is paused in the same way and rests for longer.
 * Memory is an estimate of what operators keep (sorts, groups, joins), not of rows passing by;
 * a value that an expression makes is bounded by itself.
 */
import type {Cancellation} from '#server/base/cancellation.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {Machine} from '#server/platform/machine.ts';
import {ThreadNeeded} from './missing-prerequisites.ts';

export interface BudgetLimits {
  /** Milliseconds from the start; undefined: no deadline. */
  readonly timeoutMs?: number | undefined;
  readonly memoryBytesMax?: number | undefined;
  /** The largest value that an expression may make. */
  readonly valueBytesMax?: number | undefined;
  /** Where the memory counts together with that of other statements. */
  readonly pool?: MemoryPool | undefined;
}

/**
 * What stays free of the heap for what others do meanwhile: a part of it, and in a small heap, the
 * nursery of which counts too, at least so many bytes, but never more than that part of it.
 */
const heapReserve = {share: 0.15, bytesMin: 64 << 20, shareMax: 0.35};
const unitsPerLook = 256;
export const sliceMs = 5;
/** A run that has used up so many slices is long, and gives others their turn more often. */
const slicesOfShortRun = 10;
const sliceMsOfLongRun = 1;
/** How long a step may hold the thread beyond its slice, in a run that may move. */
const overrunMsMax = 5;
/** Bytes of new values between two looks at the heap. */
const bytesPerHeapLook = 8 << 20;
/** Bytes that are made in a unit of work. */
const bytesPerUnit = 256;
/** Longest wait between two looks at the cancellation. */
const restMsMax = 20;

export class Budget {
  readonly #clock: Clock;
  readonly #deadline: number;
  /** Time from its beginning on; infinite without a deadline. */
  readonly timeoutMs: number;
  readonly #memoryBytesMax: number;
  /** The largest value that an expression may make. */
  readonly valueBytesMax: number;
  readonly #pool: MemoryPool | undefined;
  readonly #cancellation: Cancellation | undefined;
  #unitsLeft = unitsPerLook;
  #sliceEnd: number;
  #slices = 1;
  #wakeAt = 0;
  #memoryBytes = 0;
  /** Counted in the pool: whole pages. */
  #pooledBytes = 0;
  #memoryBytesPeak = 0;
  #bytesToHeapLook = bytesPerHeapLook;
  #moves: (() => boolean) | undefined;
  /** How long the thread had worked when the slice was found to be used up. */
  #workedAtEnd: number | undefined;

  constructor(clock: Clock, limits: BudgetLimits, cancellation?: Cancellation) {
    const now = clock.monotonic();
    this.#clock = clock;
    this.timeoutMs = limits.timeoutMs ?? Number.POSITIVE_INFINITY;
    this.#deadline = now + this.timeoutMs;
    this.#memoryBytesMax = limits.memoryBytesMax ?? Number.POSITIVE_INFINITY;
    this.valueBytesMax = limits.valueBytesMax ?? Number.POSITIVE_INFINITY;
    this.#pool = limits.pool;
    this.#cancellation = cancellation;
    this.#sliceEnd = now + sliceMs;
  }

  /**
   * Reports work; true when the slice is used up and the caller should pass `pause` on.
   *
   * @throws {Refusal} `query.timeout`, `query.terminated`.
   * @throws {ThreadNeeded} As `moves` says.
   */
  spend(units: number): boolean {
    this.#unitsLeft -= units;
    return this.#unitsLeft <= 0 && this.look();
  }

  /** Works like `spend`, and reads the clock in any case. */
  look(): boolean {
    if (this.#cancellation?.aborted === true) {
      throw new Refusal('query.terminated', 'the statement was terminated');
    }
    const now = this.#clock.monotonic();
    if (now > this.#deadline) {
      throw new Refusal('query.timeout', `the statement ran longer than ${this.timeoutMs} ms`, {
        detail: {timeoutMs: this.timeoutMs},
      });
    }
    const isLong = this.#isLong || this.#overruns(now);
    if (isLong && this.#moves?.() === true) throw new ThreadNeeded();
    const isOver = now >= this.#sliceEnd || now < this.#wakeAt;
    // Until it pauses every report looks: a function may have been told, who can only go on.
    this.#unitsLeft = isOver ? 0 : unitsPerLook;
    return isOver;
  }

  /**
   * Whether the present step holds the thread for long beyond its slice, by the time for which the
   * thread has worked: while it waits for a processor, reads of a millisecond would be sent to
   * threads, which take more of that processor.
   */
  #overruns(now: number): boolean {
    if (this.#moves === undefined || now <= this.#sliceEnd) return false;
    if (this.#clock.worked === undefined) return now > this.#sliceEnd + overrunMsMax;
    const worked = this.#clock.worked();
    this.#workedAtEnd ??= worked;
    return worked > this.#workedAtEnd + overrunMsMax;
  }

  /**
   * Set while the run may begin again elsewhere; tells whether it could now. ThreadNeeded then ends
   * a run that turns out to be long, or that holds the thread in a step that cannot pause, as a
   * call of a function.
   */
  set moves(moves: (() => boolean) | undefined) {
    this.#moves = moves;
  }

  /** How long one step may take that cannot pause, before the run begins again elsewhere. */
  get stepMsMax(): number {
    return this.#moves?.() === true ? overrunMsMax : Number.POSITIVE_INFINITY;
  }

  /** @throws {ThreadNeeded} when the run may begin again elsewhere, where it may take longer. */
  moveIfItMay(): void {
    if (this.#moves !== undefined) throw new ThreadNeeded();
  }

  /** Whether the next look would refuse. */
  get isOver(): boolean {
    return this.#cancellation?.aborted === true || this.#clock.monotonic() > this.#deadline;
  }

  /** Begins a new slice: others have had their turn. The next `spend` looks. */
  resume(): void {
    this.#unitsLeft = 0;
    this.#slices += 1;
    this.#workedAtEnd = undefined;
    this.#sliceEnd = this.#clock.monotonic() + (this.#isLong ? sliceMsOfLongRun : sliceMs);
  }

  get #isLong(): boolean {
    return this.#slices > slicesOfShortRun;
  }

  /** Delays the statement by so much in all; its next `spend` asks for a pause. */
  sleep(milliseconds: number): void {
    this.#unitsLeft = 0;
    this.#wakeAt = Math.max(this.#wakeAt, this.#clock.monotonic()) + milliseconds;
  }

  /** The milliseconds that a paused statement rests before it is asked again; 0: none. */
  get restMs(): number {
    if (this.#cancellation?.aborted === true) return 0;
    const leftMs = Math.min(this.#wakeAt, this.#deadline) - this.#clock.monotonic();
    return Math.max(0, Math.min(leftMs, restMsMax));
  }

  /**
   * Counts `bytes` as kept; give them back by `release`.
   *
   * @throws {Refusal} `query.memory`, `query.memory-total`.
   */
  keep(bytes: number): void {
    this.#countFor(this.#memoryBytes + bytes);
    this.#memoryBytes += bytes;
    if (this.#memoryBytes <= this.#memoryBytesPeak) return;
    this.#memoryBytesPeak = this.#memoryBytes;
    if (this.#memoryBytes > this.#memoryBytesMax) {
      throw new Refusal(
        'query.memory',
        `the statement keeps more than ${this.#memoryBytesMax} bytes in memory ` +
          '(svc.queryMemoryMax)',
        {detail: {memoryBytesMax: this.#memoryBytesMax}},
      );
    }
  }

  release(bytes: number): void {
    this.#memoryBytes -= bytes;
    this.#countFor(this.#memoryBytes);
  }

  /** Whoever keeps a little for each row asks the server's pool once for each page of it. */
  #countFor(bytes: number): void {
    const more = Math.ceil(bytes / pageBytes) * pageBytes - this.#pooledBytes;
    if (more === 0) return;
    if (more > 0) this.#pool?.keep(more);
    else this.#pool?.release(-more);
    this.#pooledBytes += more;
  }

  /** Gives back what is kept still; the statement has ended. Idempotent. */
  end(): void {
    this.release(this.#memoryBytes);
  }

  /** @throws {Refusal} `query.memory` for a row that takes more bytes than a value may. */
  checkRow(bytes: number): void {
    if (bytes > this.valueBytesMax) throw this.#tooLarge('a row of the answer has');
  }

  /**
   * Reports a value of so many bytes that an expression made, or a part of one.
   *
   * @throws {Refusal} `query.memory` when it is larger than a value may be, `query.memory-total`
   *   when the process has no room for more.
   */
  made(bytes: number): void {
    if (bytes > this.valueBytesMax) throw this.#tooLarge('an expression makes a value of');
    this.#bytesToHeapLook -= bytes;
    if (this.#bytesToHeapLook <= 0) {
      this.#bytesToHeapLook = bytesPerHeapLook;
      this.#pool?.checkHeap();
    }
    this.spend(bytes / bytesPerUnit);
  }

  #tooLarge(what: string): Refusal {
    const {valueBytesMax} = this;
    const message = `${what} more than ${valueBytesMax} bytes (svc.queryValueSizeMax)`;
    return new Refusal('query.memory', message, {detail: {memoryBytesMax: valueBytesMax}});
  }

  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  get memoryBytesPeak(): number {
    return this.#memoryBytesPeak;
  }
}

/**
 * What the statements of each thread keep, where all threads see it: a word a thread, in pages.
 * Each writes its own word and reads the others', so two may go beyond the limit together by what
 * they ask for in the same instant.
 */
export interface MemoryLedger {
  readonly pages: Int32Array;
  /** The word of this thread. */
  readonly own: number;
}

const pageBytes = 4_096;
/** Bytes that are counted as kept between two looks at the heap. */
const keptPerHeapLook = 1 << 20;

/**
 * What the statements of one server keep in memory together.
 *
 * Budgets count in here what they count for their statement, and take it out when it ends. Their
 * figures are estimates and leave out what lives shortly, so the heap itself is looked at from
 * time to time: a statement that makes more values while little of it is left is refused, so that
 * no sum of statements ends the process.
 */
export class MemoryPool {
  readonly #bytesMax: () => number;
  readonly #machine: Machine;
  readonly #ledger: MemoryLedger;
  #bytes = 0;
  #bytesToHeapLook = keptPerHeapLook;
  /** A statement was refused, and the heap has been full since. */
  #hasRefused = false;
  #listener: (() => void) | undefined;
  #shortage: (() => void) | undefined;

  /** @param bytesMax - `svc.queryMemoryTotalMax`. */
  constructor(
    bytesMax: () => number,
    machine: Machine,
    ledger: MemoryLedger = {pages: new Int32Array(1), own: 0},
  ) {
    this.#bytesMax = bytesMax;
    this.#machine = machine;
    this.#ledger = ledger;
  }

  /** The bytes that the statements of all threads hold. */
  get bytes(): number {
    return this.#bytes + this.#othersBytes();
  }

  /**
   * Whether more than `part` (0 to 1) of what may be kept is kept; or, since a statement was
   * refused for want of memory, of what the heap may hold. The heap holds garbage too, which is no
   * reason to wait as long as nobody is refused.
   */
  isShort(part: number): boolean {
    if (this.bytes > part * this.#bytesMax()) return true;
    if (!this.#hasRefused) return false;
    const {heapBytes, isNearLimit = false} = this.#machine;
    this.#hasRefused = isNearLimit || heapBytes > part * this.#heapBytesOfUse();
    return this.#hasRefused;
  }

  /** @throws {Refusal} `query.memory-total`; nothing is counted then. */
  keep(bytes: number): void {
    // Figures are estimates: what is kept may take more of the heap than was counted.
    this.#bytesToHeapLook -= bytes;
    if (this.#bytesToHeapLook <= 0) {
      this.#bytesToHeapLook = keptPerHeapLook;
      this.checkHeap();
    }
    const bytesMax = this.#bytesMax();
    if (this.bytes + bytes > bytesMax) {
      this.#runShort();
      throw new Refusal(
        'query.memory-total',
        `the statements that run keep more than ${bytesMax} bytes together ` +
          '(svc.queryMemoryTotalMax); retry later',
        {detail: {memoryBytesMax: bytesMax}},
      );
    }
    this.#count(bytes);
  }

  release(bytes: number): void {
    this.#count(-bytes);
    this.#listener?.();
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    const {pages, own} = this.#ledger;
    Atomics.store(pages, own, Math.ceil(this.#bytes / pageBytes));
  }

  #othersBytes(): number {
    const {pages, own} = this.#ledger;
    let count = 0;
    for (let at = 0; at < pages.length; at += 1) if (at !== own) count += Atomics.load(pages, at);
    return count * pageBytes;
  }

  /** Calls `listener` when something was given back. One listener. */
  onRelease(listener: () => void): void {
    this.#listener = listener;
  }

  /** Calls `listener` when a statement is refused for want of memory. One listener. */
  onShortage(listener: () => void): void {
    this.#shortage = listener;
  }

  #runShort(): void {
    this.#hasRefused = true;
    this.#shortage?.();
  }

  /** What the heap may hold before statements are refused. */
  #heapBytesOfUse(): number {
    const {heapBytesMax} = this.#machine;
    const {share, bytesMin, shareMax} = heapReserve;
    const reserve = Math.max(share * heapBytesMax, Math.min(bytesMin, shareMax * heapBytesMax));
    return heapBytesMax - reserve;
  }

  /** @throws {Refusal} `query.memory-total` when the heap, or the container, is nearly full. */
  checkHeap(): void {
    if (!this.#isFull) return;
    // Much of it may be garbage: V8 collects late where it thinks that there is room.
    this.#machine.collectGarbage();
    if (!this.#isFull) return;
    this.#runShort();
    const {heapBytes, heapBytesMax} = this.#machine;
    throw new Refusal(
      'query.memory-total',
      `the server has ${heapBytes} of ${heapBytesMax} bytes of memory in use; retry later`,
      {detail: {memoryBytesMax: heapBytesMax}},
    );
  }

  get #isFull(): boolean {
    const {heapBytes, isNearLimit = false} = this.#machine;
    return isNearLimit || heapBytes > this.#heapBytesOfUse();
  }
}
