/**
 * How the network thread and another thread of the commit path reach each other besides their
 * ring: requests one way, news the other way, and a word in shared memory that wakes.
 *
 * The pipelines and the bodies of the threads know these interfaces only. A server runs the bodies
 * in workers (this file); simulation, tests and tools run the same bodies as tasks of a scheduler
 * on one thread (commit-tasks.ts).
 */
import {type MessagePort, receiveMessageOnPort, type Worker} from 'node:worker_threads';
import {type RingMemory, signal, word} from './commit-ring.ts';

/** The network thread's end. */
export interface ThreadHandle<Request, News> {
  /** Is there for the thread when it is woken the next time. Wakes nobody. */
  post(request: Request): void;
  /** Has the thread look at its requests and its ring. */
  wake(): void;
  /** One listener; told later, never from within `post` or `wake`. */
  listen(listener: ThreadListener<News>): void;
  terminate(): Promise<void>;
}

export interface ThreadListener<News> {
  news(news: News): void;
  /** The thread is gone, for a reason where there is one: nothing more comes. */
  ended(reason: string | undefined): void;
}

/** The other thread's end. */
export interface ThreadPort<Request, News> {
  /** The oldest request that was not received yet. */
  receive(): Request | undefined;
  tell(news: News, transfer?: readonly ArrayBuffer[]): void;
}

/** What a step of a thread came to: `full` is to be tried again when the disk may have room. */
export type Progress = 'worked' | 'idle' | 'full';

/** What a thread of the commit path does, a step at a time, apart from waiting. */
export interface ThreadBody {
  /** Does what waits. Only the opening of a store takes a promise. */
  work(): Progress | Promise<Progress>;
  /** Is about to wait; `resume` comes before anything else then. */
  pause(): void;
  resume(): void;
  /** Milliseconds of waiting behind which `tidy` is due. */
  readonly patienceMs: number;
  /** What is put off until nothing else is to be done. */
  tidy(): void;
  readonly isClosed: boolean;
}

/** News of a log thread: the log takes nothing more. */
export interface LogFailed {
  readonly kind: 'failed';
  readonly reason: string;
}

/** How long a thread waits before it tries again on a full disk. */
export const roomPollMs = 100;

export function handleOf<Request, News>(
  worker: Worker,
  ring: RingMemory,
): ThreadHandle<Request, News> {
  const control = new Int32Array(ring.control);
  return {
    post: request => worker.postMessage(request),
    wake: () => signal(control),
    listen(listener) {
      worker.on('message', (news: News) => listener.news(news));
      worker.on('error', error => listener.ended(error.message));
      worker.on('exit', () => listener.ended(undefined));
    },
    async terminate() {
      await worker.terminate();
    },
  };
}

export function portOf<Request, News>(port: MessagePort): ThreadPort<Request, News> {
  return {
    receive: () => receiveMessageOnPort(port)?.message as Request | undefined,
    tell: (news, transfer = []) => port.postMessage(news, transfer),
  };
}

/** Runs a body in its worker until it is closed: it waits on the ring's word, not on events. */
export async function runBody(body: ThreadBody, ring: RingMemory): Promise<void> {
  const control = new Int32Array(ring.control);
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (!body.isClosed) {
    const seen = Atomics.load(control, word.signal);
    const step = body.work();
    const progress = typeof step === 'string' ? step : await step;
    if (progress === 'worked' || body.isClosed) continue;
    if (progress === 'full') {
      Atomics.wait(never, 0, 0, roomPollMs);
      continue;
    }
    body.pause();
    const woken = Atomics.wait(control, word.signal, seen, body.patienceMs);
    body.resume();
    if (woken === 'timed-out') body.tidy();
  }
}
