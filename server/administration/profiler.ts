/** Commands of the query profiler (docs/monitoring.md). */
import {emptyProfile} from '#server/monitoring/query-profiler.ts';
import {argument, optional} from './arguments.ts';
import {command} from './command.ts';

export const profilerCommands = {
  startProfiler: command({
    words: 'profiler start [<seconds>]',
    right: 'root',
    at: 'asked',
    changes: true,
    isFields: true,
    arguments: {seconds: optional('integer', 'when it ends by itself: 1 to 3600, by default 60')},
    says: 'Begins to record what statements cost; a session that is under way goes on as it is.',
    answer: '`recording` and `timeoutSeconds`',
    refusals: ['argument'],
    run({parts}, {seconds}) {
      const {timeoutSeconds} = parts.administration.profiler.start(seconds);
      return {recording: true, timeoutSeconds};
    },
  }),
  stopProfiler: command({
    words: 'profiler stop',
    right: 'root',
    at: 'asked',
    changes: true,
    isWhole: true,
    arguments: {},
    says: 'Ends the session of the profiler and keeps what it found on disk too.',
    answer: 'the document of the run that ended last',
    refusals: [],
    run({parts}) {
      const {profiler} = parts.administration;
      return profiler.stop() ?? profiler.results() ?? emptyProfile;
    },
  }),
  getProfilerResults: command({
    words: 'profiler results',
    right: 'root',
    at: 'asked',
    changes: false,
    isWhole: true,
    arguments: {},
    says: 'Gives what the profiler records now, else what it recorded last.',
    answer: 'the document of the run',
    refusals: [],
    run: ({parts}) => parts.administration.profiler.results() ?? emptyProfile,
  }),
  resetProfiler: command({
    words: 'profiler reset',
    right: 'root',
    at: 'asked',
    changes: true,
    arguments: {},
    says: 'Forgets what the profiler recorded; runs on disk stay.',
    answer: 'nothing',
    refusals: [],
    run: ({parts}) => parts.administration.profiler.reset(),
  }),
  listProfilerRuns: command({
    words: 'profiler list',
    right: 'root',
    at: 'asked',
    changes: false,
    arguments: {},
    says: 'Lists the runs of the profiler that are kept on disk, the newest first.',
    answer: '`fileName`, `size` in bytes and `lastModified` of each',
    refusals: [],
    run: ({parts}) => parts.administration.profiler.list(),
  }),
  loadProfilerRun: command({
    words: 'profiler load <fileName...>',
    right: 'root',
    at: 'asked',
    changes: false,
    isWhole: true,
    arguments: {fileName: argument('text', 'the file, as the list names it')},
    says: 'Gives a run of the profiler that is kept on disk.',
    answer: 'the document of the run',
    refusals: ['argument'],
    run: ({parts}, {fileName}) => parts.administration.profiler.load(fileName),
  }),
};
