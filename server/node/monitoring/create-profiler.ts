/** The query profiler of a server, whose runs lie under its root path. */
import {statSync} from 'node:fs';
import {join, resolve} from 'node:path';
import type {Settings} from '#server/base/setting-values.ts';
import {ProfilerRuns} from '#server/monitoring/profiler-runs.ts';
import {QueryProfiler, type QueryProfilerOptions} from '#server/monitoring/query-profiler.ts';
import {createDisk} from '#server/platform/real/disk.ts';

export function createProfiler(
  settings: Settings,
  {clock, timers, logger, snapshot}: Omit<QueryProfilerOptions, 'runs'>,
): QueryProfiler {
  const runs = new ProfilerRuns({
    disk: createDisk(),
    directory: join(resolve(settings.get('svc.server.rootPath')), 'profiler'),
    modifiedAt: path => Math.round(statSync(path).mtimeMs),
  });
  return new QueryProfiler({clock, timers, logger, snapshot, runs});
}
