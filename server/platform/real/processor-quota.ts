/** Whether the system lets this process have so much of its processors and no more. */
import {readFileSync} from 'node:fs';

/** The quota of a container's own group: cgroup v2, and v1. */
const quotaOfGroup = '/sys/fs/cgroup/cpu.max';
const quotaOfGroupBefore = '/sys/fs/cgroup/cpu/cpu.cfs_quota_us';

/**
 * True in a container with a limit of processor time, where what is spent for nothing is missing
 * afterwards. `read`: a file's text, undefined where it is not there.
 */
export function hasProcessorQuota(read: (path: string) => string | undefined = readText): boolean {
  const [quota = 'max'] = (read(quotaOfGroup) ?? read(quotaOfGroupBefore) ?? '').split(/\s/);
  return /^\d+$/.test(quota);
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
