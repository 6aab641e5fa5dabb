/**
 * Starts the server of a container image, where no shell runs `bin/svc`: this process becomes
 * Node.js once more, with the flags and the environment that `bin/svc` gives within the same limits.
 *
 * V8 takes its flags at its start alone, and what they are depends on the memory and the processors
 * of the container, which nobody knows when the image is built. A test holds both programs against
 * each other; the reasons stand in `bin/svc`.
 */
import {readFileSync} from 'node:fs';
import {availableParallelism} from 'node:os';

const largeMegabytes = 2048;

/**
 * How to start a server within these limits.
 *
 * `memoryMax` and `cpuMax` are what the files of the control group hold, '' where there is none.
 */
export function startWithin({memoryMax, cpuMax, processors, env}) {
  const {flags: memory, env: more} = memoryFlags(memoryMax, env);
  const helpers = helperThreads(cpuMax, processors);
  return {
    flags: [...memory, '--max-inlined-bytecode-size-cumulative=2000', `--v8-pool-size=${helpers}`],
    env: {...env, ...more},
  };
}

function memoryFlags(memoryMax, env) {
  const megabytes = Math.floor(Number(memoryMax) / 1_048_576);
  if (!/^\d{1,10}$/.test(memoryMax) || megabytes >= largeMegabytes) {
    const flags = ['--max-semi-space-size=32', '--initial-old-space-size=128'];
    return {flags: [...flags, '--no-memory-reducer'], env: {}};
  }
  return {
    flags: [
      `--max-old-space-size=${Math.floor((megabytes * 3) / 8)}`,
      '--initial-old-space-size=32',
      `--max-semi-space-size=${Math.max(2, Math.floor(megabytes / 64))}`,
      '--no-memory-reducer',
    ],
    env: {
      MALLOC_ARENA_MAX: env.MALLOC_ARENA_MAX || '2',
      MALLOC_MMAP_THRESHOLD_: env.MALLOC_MMAP_THRESHOLD_ || '262144',
    },
  };
}

function helperThreads(cpuMax, processors) {
  const [quota = '', period = ''] = cpuMax.split(' ');
  const ofQuota = /^\d+$/.test(quota) ? Math.floor(Number(quota) / Number(period)) : processors;
  const least = Math.min(ofQuota, processors);
  return least > 5 ? 4 : Math.max(1, least - 1);
}

function firstOf(...paths) {
  for (const path of paths) {
    try {
      return readFileSync(path, 'utf8').trim();
    } catch {
      // There is none where control groups are of the other version, or not mounted.
    }
  }
  return '';
}

if (import.meta.main) {
  const memoryMax = firstOf(
    '/sys/fs/cgroup/memory.max',
    '/sys/fs/cgroup/memory/memory.limit_in_bytes',
  );
  const {flags, env} = startWithin({
    memoryMax,
    cpuMax: firstOf('/sys/fs/cgroup/cpu.max'),
    processors: availableParallelism(),
    env: process.env,
  });
  const program = new URL('../dist/main.mjs', import.meta.url).pathname;
  const words = [process.execPath, ...flags, program, ...process.argv.slice(2)];
  process.execve(process.execPath, words, env);
}
