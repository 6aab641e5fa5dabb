/**
 * `profiler_start`, `profiler_stop` and `profiler_status`: what queries cost, while somebody looks.
 * This server records no queries yet, and says so.
 */
import {integer, withDefault} from '../arguments.ts';
import {requireAdministrator, tool, type ToolCall} from '../tool.ts';
import {ToolRefusal} from '../tool-refusal.ts';

export const profilerStart = tool({
  name: 'profiler_start',
  description: 'Begins to record what queries cost, until profiler_stop or until the time is over.',
  annotations: {title: 'Start the profiler', readOnlyHint: false, openWorldHint: false},
  profiles: ['admin'],
  requires: ['admin'],
  input: {timeoutSeconds: withDefault(integer('Seconds of the recording', 1, 3_600), 60)},
  run: call => notAvailable(call),
});

export const profilerStop = tool({
  name: 'profiler_stop',
  description: 'Ends the recording of profiler_start and answers what each query has cost.',
  annotations: {title: 'Stop the profiler', readOnlyHint: false, openWorldHint: false},
  profiles: ['admin'],
  requires: ['admin'],
  input: {},
  run: call => notAvailable(call),
});

export const profilerStatus = tool({
  name: 'profiler_status',
  description: 'Answers whether queries are being recorded, and what they have cost so far.',
  annotations: {title: 'Profiler status', readOnlyHint: true, openWorldHint: false},
  profiles: ['admin'],
  requires: ['admin'],
  input: {},
  run: call => notAvailable(call),
});

function notAvailable(call: ToolCall): never {
  requireAdministrator(call);
  throw new ToolRefusal(
    'The query profiler is not available in this version of the server: PROFILE before a ' +
      'statement measures that one',
  );
}
