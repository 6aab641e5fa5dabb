/**
 * Takes away what a lab leaves behind when its namespaces have ended: cgroups, settings of the
 * kernel, mount points, its folder. Whoever begins a lab does it as well, for one whose cleaner was
 * killed too.
 */
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import {spawnSync} from 'node:child_process';
import {eventually} from '../eventually.ts';
import {removeCgroups} from './cgroups.ts';
import type {LabFolder} from './layout.ts';

/** Kubelets and the lab change these for the whole machine. */
const changed = [
  'vm.overcommit_memory',
  'vm.panic_on_oom',
  'kernel.panic',
  'kernel.panic_on_oops',
  'fs.inotify.max_user_instances',
];
/** Folders that a node makes to mount its own over them. */
const mountPoints = ['/var/lib/kubelet', '/etc/cni'];

export function rememberSysctls(folder: LabFolder): void {
  const values = Object.fromEntries(changed.map(name => [name, sysctl('-n', name).trim()]));
  writeFileSync(folder.sysctls, JSON.stringify(values));
}

/** The process that holds the namespaces, if it lives; one that ended and waits has none. */
export function livingNamespace(folder: LabFolder): number | undefined {
  if (!existsSync(folder.namespacePid)) return undefined;
  const pid = Number(readFileSync(folder.namespacePid, 'utf8'));
  try {
    readlinkSync(`/proc/${pid}/ns/net`);
    return pid;
  } catch {
    return undefined;
  }
}

/**
 * Waits for the end of the namespaces first, which takes all processes, mounts and links along.
 *
 * @param keepsLogs - What the programs wrote stays for whoever asks why a scenario failed.
 */
export async function removeLeftovers(folder: LabFolder, keepsLogs: boolean): Promise<void> {
  const ended = (): boolean => livingNamespace(folder) === undefined;
  await eventually('the end of the lab', ended, {everyMs: 50});
  if (existsSync(folder.sysctls)) {
    const values = JSON.parse(readFileSync(folder.sysctls, 'utf8')) as Record<string, string>;
    for (const [name, value] of Object.entries(values)) sysctl('-qw', `${name}=${value}`);
  }
  // The kernel takes its time with the last processes of a killed group.
  await eventually('the end of the cgroups', () => removeCgroups(folder).length === 0);
  for (const path of mountPoints) removeEmpty(path);
  if (keepsLogs) {
    for (const name of ['etcd', 'keys', 'volumes', 'n1', 'n2', 'n3', 'sysctls.json', 'pause.tar']) {
      rmSync(`${folder.path}/${name}`, {recursive: true, force: true});
    }
    rmSync(folder.namespacePid, {force: true});
  } else rmSync(folder.path, {recursive: true, force: true});
}

/** A folder that goes takes the mounts over it along, those of another lab as well. */
function removeEmpty(path: string): void {
  if (isMountPoint(path)) return;
  try {
    rmdirSync(path);
  } catch {
    // It is not there, or somebody else's things are in it.
  }
}

/** Whether any process of the machine sees a mount over the folder. */
function isMountPoint(path: string): boolean {
  return readdirSync('/proc').some(pid => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(` ${path} `);
    } catch {
      return false; // It has ended.
    }
  });
}

function sysctl(...args: readonly string[]): string {
  return spawnSync('sysctl', args, {encoding: 'utf8'}).stdout;
}
