/** `profiler_start`, `profiler_stop` and `profiler_status`: what statements cost, by their text. */
import {emptyProfile} from '#server/monitoring/query-profiler.ts';
import {integer, withDefault} from '../arguments.ts';
import {requireAdministrator, tool} from '../tool.ts';

export const profilerStart = tool({
  name: 'profiler_start',
  description:
    'Begins to record what every statement of the server costs, with the steps of its plan, ' +
    'until profiler_stop or until the time is over. A recording that is under way goes on.',
  annotations: {
    title: 'Start the profiler',
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  profiles: ['admin'],
  requires: ['admin'],
  input: {timeoutSeconds: withDefault(integer('Seconds until it ends by itself', 1, 3_600), 60)},
  run(call, {timeoutSeconds: wished}) {
    requireAdministrator(call);
    const {status, timeoutSeconds} = call.administration.profiler.start(wished);
    const message =
      status === 'started'
        ? `Query profiler started. It will auto-stop after ${timeoutSeconds} seconds. ` +
          'Use profiler_stop to stop early and retrieve results.'
        : 'The profiler is already recording. Use profiler_stop to stop it first, or ' +
          'profiler_status to check progress.';
    return JSON.stringify({status, timeoutSeconds, message});
  },
});

export const profilerStop = tool({
  name: 'profiler_stop',
  description:
    'Ends the recording and answers what each statement has cost: how often it ran, its least, ' +
    'greatest and average time, the time that 99 of 100 runs kept, and the steps of its plan.',
  annotations: {
    title: 'Stop the profiler',
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  profiles: ['admin'],
  requires: ['admin'],
  input: {},
  run(call) {
    requireAdministrator(call);
    const recorded = call.administration.profiler.stop();
    if (recorded !== undefined) return JSON.stringify(recorded);
    const message =
      'The profiler is not recording. Use profiler_start to begin, or profiler_status for what ' +
      'it recorded last.';
    return JSON.stringify({status: 'not_recording', message});
  },
});

export const profilerStatus = tool({
  name: 'profiler_status',
  description:
    'Answers whether statements are being recorded, what they have cost so far or did in the ' +
    'last recording, and the figures of the server from its beginning and end.',
  annotations: {title: 'Profiler status', readOnlyHint: true, openWorldHint: false},
  profiles: ['admin'],
  requires: ['admin'],
  input: {},
  run(call) {
    requireAdministrator(call);
    return JSON.stringify(call.administration.profiler.results() ?? emptyProfile);
  },
});
