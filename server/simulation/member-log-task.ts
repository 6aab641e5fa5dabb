/**
 * The storage of a member on one thread: its log thread is a task of a scheduler, as in
 * node/commit/commit-tasks.ts.
 */
import type {Clock} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {RaftStorage} from '#server/replication/storage/raft-storage.ts';
import type {StoredLog} from '#server/replication/stored-log.ts';
import {TaskThread, taskEventLoop, type TaskScheduler} from '#server/node/commit/commit-tasks.ts';
import {MemberLogBody} from '#server/node/member-log/member-log-body.ts';
import type {MemberLogNews, MemberLogRequest} from '#server/node/member-log/member-log-messages.ts';
import {startMemberLogThread} from '#server/node/member-log/member-log-thread.ts';
import type {ResumeRule} from '#server/node/member-log/resume-attempts.ts';

export interface MemberLogTaskOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  /** The moments of the network thread's event loop. */
  readonly network: TaskScheduler;
  /** The steps of the log thread, and the way of its news. */
  readonly thread: TaskScheduler;
  /** Bytes of the ring; a power of two. */
  readonly ringBytes?: number;
  /** Default: without end. */
  readonly resume?: ResumeRule;
}

export interface MemberLogTask {
  readonly storage: RaftStorage;
  /** The log as it is now on the disk; undefined before the thread has begun with it. */
  readonly look: () => StoredLog | undefined;
}

/** Goes on with an opened log. */
export function memberLogTask(
  {disk, clock, network, thread: scheduler, ringBytes = 16 << 10, resume}: MemberLogTaskOptions,
  log: StoredLog,
): MemberLogTask {
  let task: TaskThread<MemberLogRequest, MemberLogNews, MemberLogBody> | undefined;
  const started = startMemberLogThread({
    clock,
    ringBytes,
    resume,
    threads: {
      disk,
      loop: taskEventLoop(network),
      startLog(start) {
        task = new TaskThread(scheduler, port => new MemberLogBody(port, start, {disk, clock}));
        return task;
      },
    },
  });
  const storage = started.start(log);
  return {storage, look: () => task?.look(body => body.stored)};
}
