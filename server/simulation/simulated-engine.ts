/** An engine on the simulated machine: its threads are tasks, its rings and segments small. */
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import {type Engine, openEngine} from '#server/engine/engine.ts';
import type {EngineSettings} from '#server/engine/engine-options.ts';
import {commitTasks} from '#server/node/commit/commit-tasks.ts';
import {defaultEngineSettings} from '#server/engine/settings.ts';
import type {StoreFactory} from '#server/engine/store-factory.ts';

export interface SimulatedEngineOptions {
  readonly disk: Disk;
  readonly stores: StoreFactory;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly schedule: (task: () => void) => void;
  readonly settings?: Partial<EngineSettings>;
  /** Told of the commit pipe's ear for requests. */
  readonly onStart?: (asked: (client: unknown) => void) => void;
}

export function openSimulatedEngine(options: SimulatedEngineOptions): Promise<Engine> {
  const {disk, stores, clock, timers, random, schedule} = options;
  return openEngine({
    rootPath: '/data',
    nodeName: 'one',
    disk,
    clock,
    timers,
    random,
    logger: {log: () => {}},
    stores,
    settings: {...defaultEngineSettings, segmentBytes: 16 << 10, ...options.settings},
    startPipe: commitTasks({
      scheduler: {soon: schedule, after: (delayMs, task) => timers.after(delayMs, task)},
      disk,
      clock,
      ringBytes: 64 << 10,
      ...(options.onStart === undefined ? {} : {onStart: options.onStart}),
    }),
  });
}
