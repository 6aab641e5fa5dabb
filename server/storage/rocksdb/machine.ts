/**
 * Whether this machine can load the prebuilt library at all. Asked before loading: the library
 * was compiled for AVX2 and would end the process with SIGILL where there is none.
 */
import {readFileSync} from 'node:fs';

/** What the question needs to know about the machine; a value so that tests can make one up. */
export interface Machine {
  readonly platform: string;
  readonly architecture: string;
  /** Flags of the first processor, as /proc/cpuinfo lists them. */
  readonly processorFlags: ReadonlySet<string>;
  /** Version of the GNU C library, such as `2.36`; undefined with another library. */
  readonly glibc: string | undefined;
}

const glibcMin = [2, 34] as const;

let read: Machine | undefined;

/** The machine that this process runs on; it is read once. */
export function readMachine(): Machine {
  return (read ??= {
    platform: process.platform,
    architecture: process.arch,
    processorFlags: readProcessorFlags(),
    glibc: readGlibcVersion(),
  });
}

/** One sentence that says why the store cannot run here; undefined when it can. */
export function findObstacle(machine: Machine): string | undefined {
  const {platform, architecture} = machine;
  if (platform !== 'linux' || architecture !== 'x64') {
    return `the store runs on linux-x64 only, and this is ${platform}-${architecture}`;
  }
  if (!machine.processorFlags.has('avx2')) {
    return 'the store needs a processor with AVX2, and this one has none';
  }
  if (machine.glibc === undefined || !isAtLeast(machine.glibc)) {
    const found = machine.glibc ?? 'another C library';
    return `the store needs glibc ${glibcMin.join('.')} or later, and this is ${found}`;
  }
  return undefined;
}

function isAtLeast(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > glibcMin[0] || (major === glibcMin[0] && minor >= glibcMin[1]);
}

function readProcessorFlags(): ReadonlySet<string> {
  try {
    const line = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'));
    return new Set(line?.[1]?.trim().split(/\s+/));
  } catch {
    return new Set();
  }
}

function readGlibcVersion(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  // With the network the report would look up the names of hosts.
  const reporter: typeof process.report & {excludeNetwork?: boolean} = process.report;
  const excludeNetwork = reporter.excludeNetwork ?? false;
  reporter.excludeNetwork = true;
  const report = reporter.getReport() as {header?: {glibcVersionRuntime?: string}};
  reporter.excludeNetwork = excludeNetwork;
  return report.header?.glibcVersionRuntime;
}
