/**
 * What a leader knows of one peer, and how much may be under way to it.
 *
 *   probe      where the logs agree is not known: one append at a time
 *   replicate  it is known: appends follow each other without waiting, within a window
 *   snapshot   what the peer needs is gone: it is offered a checkpoint, and no entries
 *
 * Invariant: match < next, and the peer holds the leader's log up to `match`, durably.
 */
import {assert} from '#server/base/assert.ts';
import {Fifo} from '#server/base/fifo.ts';
import type {LogIndex} from './message.ts';

export interface Window {
  readonly messagesMax: number;
  readonly bytesMax: number;
}

interface InFlight {
  readonly last: LogIndex;
  readonly bytes: number;
}

/** A joining server is near once a round of this kind takes less than an election timeout. */
interface CatchUp {
  readonly target: LogIndex;
  readonly since: number;
}

export class Progress {
  match: LogIndex = 0;
  next: LogIndex;
  mode: 'probe' | 'replicate' | 'snapshot' = 'probe';
  /** When the peer last answered in this term. */
  heardAt: number;
  /** The greatest commit index that was sent. */
  commitSent: LogIndex = 0;
  /** The greatest round of ours that the peer has answered. */
  answeredRound = 0;
  /** The round that a joining server is in, and whether the last one was quick. */
  catchUp: CatchUp;
  caughtUp = false;
  #inFlight = new Fifo<InFlight>();
  #bytes = 0;
  /** True in probe while the one append is under way; a heartbeat lifts it. */
  #paused = false;
  /** The commit index alone was sent, and neither entries nor an answer since. */
  #told = false;

  constructor(lastIndex: LogIndex, now: number) {
    this.next = lastIndex + 1;
    this.heardAt = now;
    this.catchUp = {target: lastIndex, since: now};
  }

  /** One word at a time, so that a slow peer is told no more often than it answers. */
  get mayTell(): boolean {
    return this.mode === 'replicate' && !this.#told;
  }

  told(): void {
    this.#told = true;
  }

  /** Whether another append with entries may be sent now. */
  maySend(window: Window): boolean {
    if (this.mode === 'probe') return !this.#paused;
    if (this.mode === 'snapshot') return false;
    return this.#inFlight.length < window.messagesMax && this.#bytes < window.bytesMax;
  }

  /** Entries up to `last` are under way. */
  sent(last: LogIndex, bytes: number): void {
    assert(this.mode !== 'snapshot', 'no entries to a peer that needs a checkpoint');
    if (this.mode === 'probe') {
      this.#paused = true;
      return;
    }
    this.next = last + 1;
    this.#told = false;
    this.#inFlight.push({last, bytes});
    this.#bytes += bytes;
  }

  /** The peer holds everything up to `match`; true when that is news. */
  accepted(match: LogIndex): boolean {
    const news = match > this.match;
    this.#told = false;
    this.match = Math.max(this.match, match);
    this.next = Math.max(this.next, this.match + 1);
    while ((this.#inFlight.first?.last ?? Number.POSITIVE_INFINITY) <= this.match) {
      this.#bytes -= this.#inFlight.shift()?.bytes ?? 0;
    }
    return news;
  }

  replicate(): void {
    this.#enter('replicate', this.match + 1);
  }

  probe(next: LogIndex): void {
    this.#enter('probe', Math.max(next, this.match + 1));
  }

  awaitSnapshot(): void {
    this.#enter('snapshot', this.match + 1);
  }

  /** Gives up, in probe, the append that is under way. */
  resume(): void {
    this.#paused = false;
  }

  #enter(mode: Progress['mode'], next: LogIndex): void {
    this.mode = mode;
    this.next = next;
    this.#inFlight = new Fifo();
    this.#bytes = 0;
    this.#paused = false;
    this.#told = false;
  }
}
