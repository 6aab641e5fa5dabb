/**
 * The storage of a member on one thread: its log thread is a task of a scheduler, as in
 * commit/commit-tasks.ts. For simulation, tests and tools.
 */
import type {Clock} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {RaftStorage} from '#server/replication/storage/raft-storage.ts';
import type {StoredLog} from '#server/replication/stored-log.ts';
import {TaskThread, taskEventLoop, type TaskScheduler} from '../commit/commit-tasks.ts';
import {MemberLogBody} from './member-log-body.ts';
import type {MemberLogNews, MemberLogRequest} from './member-log-messages.ts';
import {startMemberLogThread} from './member-log-thread.ts';

export interface MemberLogTaskOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  /** The moments of the network thread's event loop. */
  readonly network: TaskScheduler;
  /** The steps of the log thread, and the way of its news. */
  readonly thread: TaskScheduler;
  /** Bytes of the ring; a power of two. */
  readonly ringBytes?: number;
}

export interface MemberLogTask {
  readonly storage: RaftStorage;
  /** The log as it is now on the disk; undefined before the thread has begun with it. */
  readonly look: () => StoredLog | undefined;
}

/** Goes on with an opened log. */
export function memberLogTask(
  {disk, clock, network, thread: scheduler, ringBytes = 16 << 10}: MemberLogTaskOptions,
  log: StoredLog,
): MemberLogTask {
  let task: TaskThread<MemberLogRequest, MemberLogNews, MemberLogBody> | undefined;
  const started = startMemberLogThread({
    clock,
    ringBytes,
    threads: {
      disk,
      loop: taskEventLoop(network),
      startLog(start) {
        task = new TaskThread(scheduler, port => new MemberLogBody(port, start, disk));
        return task;
      },
    },
  });
  const storage = started.start(log);
  return {storage, look: () => task?.look(body => body.stored)};
}
