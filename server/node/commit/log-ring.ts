/**
 * The network thread's side of a log thread: entries go into a ring, what is too large for it into
 * shared memory of its own, and a small entry that comes alone is written right here
 * (log/inline-log-writer.ts). What the present turn of the event loop gives becomes one batch.
 *
 * A single server (local-log-pipeline.ts) and a member of a cluster (member-log/) share it.
 */
import type {Appended, InlineLogWriter} from '#server/log/inline-log-writer.ts';
import type {Outside} from './commit-messages.ts';
import {entryBytesInside, type RingMemory, RingWriter} from './commit-ring.ts';
import type {EventLoop} from './event-loop.ts';
import type {ThreadHandle, ThreadListener} from './thread-channel.ts';

export interface LogRingParts<Request, News> {
  readonly thread: ThreadHandle<Request | Outside, News>;
  readonly ring: RingMemory;
  /** Undefined where commits are not synced one by one: then the log thread has less to do. */
  readonly prompt: InlineLogWriter | undefined;
  readonly loop: EventLoop;
}

export class LogRing<Request, News> {
  readonly writer: RingWriter;
  /** Larger entries lie outside the ring. */
  readonly insideBytesMax: number;
  readonly #thread: ThreadHandle<Request | Outside, News>;
  readonly #prompt: InlineLogWriter | undefined;
  readonly #loop: EventLoop;
  #nextOutside = 1;
  #endsTick = false;

  constructor({thread, ring, prompt, loop}: LogRingParts<Request, News>) {
    this.writer = new RingWriter(ring);
    this.insideBytesMax = entryBytesInside(ring);
    this.#thread = thread;
    this.#prompt = prompt;
    this.#loop = loop;
  }

  listen(listener: ThreadListener<News>): void {
    this.#thread.listen(listener);
  }

  ask(request: Request): void {
    this.#thread.post(request);
    this.#thread.wake();
  }

  /** Puts an entry beside the ring, which has room for its number (`RingWriter.hasRoom(4)`). */
  putOutside(bytes: SharedArrayBuffer): void {
    const number = this.#nextOutside++;
    this.#thread.post({kind: 'outside', number, bytes});
    this.writer.writeOutside(number, 0);
  }

  /** What was put into the ring so far is for the log thread. */
  flush(): void {
    this.writer.publish();
    this.#thread.wake();
  }

  /**
   * Calls `end` once for all that the present turn of the event loop gives; for what comes alone at
   * the end of its very event, behind what that sends.
   */
  endTickSoon(isAlone: boolean, end: () => void): void {
    if (this.#endsTick) return;
    this.#endsTick = true;
    const over = (): void => {
      this.#endsTick = false;
      end();
    };
    if (isAlone) this.#loop.afterEvent(over);
    else this.#loop.atEndOfTick(over);
  }

  /** Whether an entry of so many bytes that comes alone may be written here. */
  admits(bytes: number): boolean {
    return this.#prompt?.admits(bytes) === true;
  }

  /** Writes an admitted entry here; nothing is in front of it in the ring, or it is left. */
  appendAlone(entry: Uint8Array): Appended {
    const prompt = this.#prompt;
    if (prompt === undefined) return 'left';
    const done = prompt.append(entry, () => this.writer.isEmpty);
    if (done === 'written' && prompt.takeLook()) this.#thread.wake();
    return done;
  }

  /** The log's value behind the entry that was written here last (segment-format.ts). */
  get chain(): number {
    return this.#prompt?.chain ?? 0;
  }

  /** Nothing more is written here: what is asked for behind this ends the thread. */
  closePrompt(): void {
    this.#prompt?.close();
  }

  terminate(): Promise<void> {
    return this.#thread.terminate();
  }
}
