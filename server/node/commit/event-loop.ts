/** The moments of the event loop at which the commit path does something. */
import {createTimers} from '#server/platform/real/clock.ts';

export interface EventLoop {
  /** Runs when everything that is ready now has had its turn: entries until then are one batch. */
  readonly atEndOfTick: (task: () => void) => void;
  /** Runs behind what the present event sends, before the next event. */
  readonly afterEvent: (task: () => void) => void;
  /** Runs behind the answers that promises resolved now lead to, before the next event. */
  readonly behindAnswers: (task: () => void) => void;
  /** Runs after some time; does not keep the process alive. The result cancels it. */
  readonly after: (delayMs: number, task: () => void) => () => void;
}

const timers = createTimers();

/** Node's. */
export const nodeEventLoop: EventLoop = {
  atEndOfTick: task => void setImmediate(task),
  afterEvent: task => process.nextTick(() => process.nextTick(task)),
  behindAnswers: task => queueMicrotask(() => process.nextTick(task)),
  after: (delayMs, task) => timers.after(delayMs, task),
};
