/** A query profiler whose runs are kept in a folder of the test's own. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after} from 'node:test';
import {ProfilerRuns} from '#server/monitoring/profiler-runs.ts';
import {QueryProfiler} from '#server/monitoring/query-profiler.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';

export interface ProfilerWorld {
  readonly profiler: QueryProfiler;
  readonly directory: string;
}

/** Removes its folder behind the test, or the file. */
export function profilerWorld(means: {
  readonly clock: Clock;
  readonly timers: Timers;
}): ProfilerWorld {
  const root = mkdtempSync(join(tmpdir(), 'svc-profiler-'));
  after(() => rmSync(root, {recursive: true, force: true}));
  const directory = join(root, 'profiler');
  const {clock} = means;
  const runs = new ProfilerRuns({disk: createDisk(), directory, modifiedAt: () => clock.now()});
  const logger = {log: () => {}};
  const snapshot = () => ({profiler: {}, databases: {}});
  return {profiler: new QueryProfiler({...means, logger, runs, snapshot}), directory};
}
