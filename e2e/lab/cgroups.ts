/**
 * The cgroups in which the pods of a node run: one of its own in every hierarchy of the first
 * version of cgroups. They are the only thing of the lab that outlives its namespaces.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {cgroupsOfLabs, type LabFolder} from './layout.ts';

const root = '/sys/fs/cgroup';

/** @throws {Error} on a machine with the second version alone. */
export function makeCgroups(folder: LabFolder, node: number): void {
  const all = hierarchies();
  if (all.length === 0) {
    throw new Error(`${root} has no hierarchies of version 1, which the lab's kubelets use`);
  }
  for (const hierarchy of all) {
    const own = join(hierarchy, folder.cgroup(node));
    mkdirSync(own, {recursive: true});
    // A new group of this hierarchy has no processors until it is given some.
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if (existsSync(join(hierarchy, file))) {
        writeFileSync(join(own, file), readFileSync(join(hierarchy, file)));
      }
    }
  }
}

/** Every process in the pods of a node. */
export function processesOf(folder: LabFolder, node: number): number[] {
  return processesIn(join(root, 'pids', folder.cgroup(node)));
}

/** Whether pods of another lab run on this machine: both would change settings of its kernel. */
export function otherLabRuns(folder: LabFolder): boolean {
  const pids = join(root, 'pids');
  if (!existsSync(pids)) return false;
  return readdirSync(pids)
    .filter(name => name.startsWith(cgroupsOfLabs) && !name.startsWith(folder.cgroups))
    .some(name => processesIn(join(pids, name)).length > 0);
}

/** Takes away what it can and answers what is left: groups that hold processes still. */
export function removeCgroups(folder: LabFolder): string[] {
  // The second version beside them gets groups, too, of which nobody asked for any.
  const mounts = existsSync(root) ? readdirSync(root).map(name => join(root, name)) : [];
  const own = mounts
    .filter(path => statSync(path).isDirectory())
    .flatMap(mount =>
      readdirSync(mount)
        .filter(name => name.startsWith(folder.cgroups))
        .map(name => join(mount, name)),
    );
  return own.flatMap(groupsUnder).filter(group => {
    try {
      rmdirSync(group);
      return false;
    } catch {
      return true;
    }
  });
}

function processesIn(group: string): number[] {
  return groupsUnder(group).flatMap(one =>
    readFileSync(join(one, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number),
  );
}

function hierarchies(): string[] {
  if (!existsSync(root)) return [];
  return readdirSync(root)
    .filter(name => name !== 'unified')
    .map(name => join(root, name))
    .filter(path => existsSync(join(path, 'cgroup.procs')) && existsSync(join(path, 'tasks')));
}

/** The deepest first. */
function groupsUnder(group: string): string[] {
  if (!existsSync(group)) return [];
  const inside = readdirSync(group, {withFileTypes: true}).filter(entry => entry.isDirectory());
  return [...inside.flatMap(({name}) => groupsUnder(join(group, name))), group];
}
