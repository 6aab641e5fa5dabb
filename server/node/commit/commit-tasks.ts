/**
 * The commit pipe of a server on one thread: the same pipelines and the same bodies of threads as
 * in commit-threads.ts, each body a task of a scheduler that runs when it is woken.
 *
 * In simulation every step, message and moment of the event loop is an event of its own, in an
 * order that follows from the seed. An error that no body expects (a simulated crash, a bug) leaves
 * through the scheduler.
 */
import type {PipeParts} from '#server/engine/engine-options.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import {createClock} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import type {CommitPipeline} from '#server/transactions/commit-pipeline.ts';
import {assert} from '#server/base/assert.ts';
import {ApplyBody, type StoreAccess} from './apply-body.ts';
import {startCommitThreads, type ThreadStarter} from './commit-threads.ts';
import type {EventLoop} from './event-loop.ts';
import {LocalLogBody} from './local-log-body.ts';
import {
  roomPollMs,
  type Progress,
  type ThreadBody,
  type ThreadHandle,
  type ThreadListener,
  type ThreadPort,
} from './thread-channel.ts';

/** Where the tasks run. */
export interface TaskScheduler {
  /** Runs a task soon, never at once; those of one call after the other in any order. */
  readonly soon: (task: () => void) => void;
  /** Runs a task after so many milliseconds at the earliest; the result cancels it. */
  readonly after: (delayMs: number, task: () => void) => () => void;
}

export interface CommitTasksOptions {
  readonly scheduler: TaskScheduler;
  /** Default: the real ones. */
  readonly disk?: Disk;
  readonly clock?: Clock;
  /** Bytes of the ring; a power of two. Small ones show more of what happens when it is full. */
  readonly ringBytes?: number;
  readonly outsideBytesMax?: number;
  /** Told of the pipe's ear for requests (CommitThreads.asked). */
  readonly onStart?: (asked: (client: unknown) => void) => void;
}

const ringBytesDefault = 256 << 10;

/** The pipe of an engine whose threads are tasks. */
export function commitTasks(options: CommitTasksOptions): (parts: PipeParts) => CommitPipeline {
  const {scheduler, disk = createDisk(), clock = createClock()} = options;
  return parts => {
    const threads = startCommitThreads({
      withLog: parts.log !== undefined,
      ringBytes: options.ringBytes ?? ringBytesDefault,
      ...(options.outsideBytesMax === undefined ? {} : {outsideBytesMax: options.outsideBytesMax}),
      prompt: {disk, clock},
      threads: taskThreads(scheduler, disk),
    });
    options.onStart?.(threads.asked);
    return threads.startPipe(parts);
  };
}

/** The threads of a commit pipe as tasks; the log lies on `disk`. */
export function taskThreads(scheduler: TaskScheduler, disk: Disk): ThreadStarter {
  return {
    loop: taskEventLoop(scheduler),
    startLog: start => new TaskThread(scheduler, port => new LocalLogBody(port, start, disk)),
    startApply: ring => new TaskThread(scheduler, port => new ApplyBody(port, {ring}, sameStore)),
    lend: store => store,
  };
}

/** Both sides use one store, which belongs to the network thread. */
const sameStore: StoreAccess = {
  open(lent) {
    assert('batch' in lent, 'the store itself is lent');
    return lent;
  },
  close: () => {},
};

/** The moments of an event loop: here they are tasks like others. */
export function taskEventLoop({soon, after}: TaskScheduler): EventLoop {
  return {atEndOfTick: soon, afterEvent: soon, behindAnswers: soon, after};
}

/** A body as a task that runs while it has something to do. */
export class TaskThread<Request, News, Body extends ThreadBody = ThreadBody>
  implements ThreadHandle<Request, News>
{
  readonly #scheduler: TaskScheduler;
  readonly #body: Body;
  readonly #requests: Request[] = [];
  #listener: ThreadListener<News> | undefined;
  /** News that nobody was told yet, oldest first. */
  readonly #news: News[] = [];
  #isRunning = false;
  #isPaused = false;
  /** Woken while it was running: it looks once more before it waits. */
  #isWoken = false;
  #cancelTidy: (() => void) | undefined;
  #isOver = false;

  constructor(scheduler: TaskScheduler, bodyOf: (port: ThreadPort<Request, News>) => Body) {
    this.#scheduler = scheduler;
    this.#body = bodyOf({
      receive: () => this.#requests.shift(),
      tell: news => this.#tell(news),
    });
  }

  post(request: Request): void {
    this.#requests.push(request);
  }

  wake(): void {
    this.#isWoken = true;
    if (this.#isRunning || this.#isOver) return;
    this.#isRunning = true;
    this.#scheduler.soon(() => this.#run());
  }

  listen(listener: ThreadListener<News>): void {
    this.#listener = listener;
  }

  /** Looks at the body, which has what it lends meanwhile. */
  look<Result>(at: (body: Body) => Result): Result {
    if (this.#isPaused) this.#body.resume();
    const result = at(this.#body);
    if (this.#isPaused) this.#body.pause();
    return result;
  }

  terminate(): Promise<void> {
    this.#isOver = true;
    this.#cancelTidy?.();
    return Promise.resolve();
  }

  /** Each in a task of its own, in order. */
  #tell(news: News): void {
    this.#news.push(news);
    this.#scheduler.soon(() => {
      const first = this.#news.shift();
      if (first !== undefined) this.#listener?.news(first);
    });
  }

  #run(): void {
    if (this.#isOver) return;
    this.#cancelTidy?.();
    this.#cancelTidy = undefined;
    if (this.#isPaused) this.#body.resume();
    this.#isPaused = false;
    this.#isWoken = false;
    const step = this.#body.work();
    if (typeof step === 'string') this.#goOn(step);
    else void step.then(progress => this.#goOn(progress));
  }

  #goOn(progress: Progress): void {
    if (this.#body.isClosed) {
      this.#isOver = true;
      this.#scheduler.soon(() => this.#listener?.ended(undefined));
      return;
    }
    if (progress === 'full') {
      this.#scheduler.after(roomPollMs, () => this.#run());
    } else if (progress === 'worked' || this.#isWoken) {
      this.#scheduler.soon(() => this.#run());
    } else {
      this.#wait();
    }
  }

  #wait(): void {
    this.#isRunning = false;
    this.#body.pause();
    this.#isPaused = true;
    const {patienceMs} = this.#body;
    if (patienceMs === Number.POSITIVE_INFINITY) return;
    this.#cancelTidy = this.#scheduler.after(patienceMs, () => {
      if (this.#isRunning || this.#isOver) return;
      this.#isRunning = true;
      this.#body.resume();
      this.#isPaused = false;
      this.#body.tidy();
      this.#run();
    });
  }
}

/** Tasks on the event loop of this thread: for tests and tools with a real disk. */
export const nodeScheduler: TaskScheduler = {
  soon: task => void setImmediate(task),
  after: (delayMs, task) => {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
};
