/**
 * A lab ends with the process that began it, even when that is killed with SIGKILL: its processes,
 * cgroups, folder and changes to the kernel's settings go. What runs inside is a stand-in here.
 */
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {test} from 'node:test';
import {eventually} from '../eventually.ts';
import {LabFolder} from './layout.ts';
import {removeLeftovers} from './leftovers.ts';

const isRoot = process.getuid?.() === 0;
const hasCgroups = existsSync('/sys/fs/cgroup/pids/cgroup.procs');
const skip = isRoot && hasCgroups ? false : 'namespaces and cgroups need root and version 1';
const setting = 'fs.inotify.max_user_instances';
const node = 9;

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`nothing is left of a lab whose process ends by ${signal}`, {skip}, async () => {
    const parent = mkdtempSync(join(tmpdir(), 'svc-teardown-'));
    const folder = join(parent, 'lab');
    const before = {setting: sysctl('-n', setting), cgroups: cgroups(folder)};
    try {
      const lab = spawn(process.execPath, ['--conditions=source', starter(parent, folder)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [line] = (await once(createInterface({input: lab.stdout}), 'line')) as [string];
      const sleeper = Number(line);
      const inside = Number(readFileSync(join(folder, 'namespace.pid'), 'utf8'));
      assert.ok(isAlive(inside) && sleeper > 0, 'the lab runs');
      assert.notDeepEqual(cgroups(folder), before.cgroups, 'it has cgroups');
      assert.notEqual(sysctl('-n', setting), before.setting, 'it changed a setting');
      lab.kill(signal);
      await eventually('the end of the lab', () => !existsSync(folder) && !isAlive(inside), {
        seconds: 20,
      });
      assert.deepEqual(cgroups(folder), before.cgroups);
      assert.equal(sysctl('-n', setting), before.setting);
    } finally {
      rmSync(parent, {recursive: true, force: true});
    }
  });
}

test('what a lab leaves behind goes without the mounts of another one', {skip}, async () => {
  const parent = mkdtempSync(join(tmpdir(), 'svc-teardown-'));
  const path = '/var/lib/kubelet';
  const mounting = `mkdir -p ${path} && mount -t tmpfs other ${path} && echo mounted && exec cat`;
  const other = spawn('unshare', ['--mount', 'sh', '-c', mounting], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const isMounted = (): boolean =>
    readFileSync(`/proc/${other.pid}/mountinfo`, 'utf8').includes(` ${path} `);
  try {
    await once(other.stdout, 'data');
    await removeLeftovers(new LabFolder(join(parent, 'lab')), false);
    assert.ok(isMounted(), 'the other lab has its folder');
  } finally {
    const ended = once(other, 'exit');
    other.stdin.end();
    await ended;
    rmSync(parent, {recursive: true, force: true});
  }
});

/** A program that begins a lab, and in it one that leaves behind what a lab does. */
function starter(parent: string, folder: string): string {
  const inside = join(parent, 'inside.ts');
  const source = (name: string): string => JSON.stringify(join(import.meta.dirname, name));
  writeFileSync(
    inside,
    `import {spawn, spawnSync} from 'node:child_process';
     import {makeCgroups} from ${source('cgroups.ts')};
     import {LabFolder} from ${source('layout.ts')};
     makeCgroups(new LabFolder(${JSON.stringify(folder)}), ${node});
     
     spawnSync('sysctl', ['-qw', '${setting}=777']);
     const {pid} = spawn('sleep', ['600'], {detached: true, stdio: 'ignore'});
     console.log(pid);
     setInterval(() => {}, 1000);`,
  );
  const main = join(parent, 'main.ts');
  writeFileSync(
    main,
    `import {LabFolder} from ${source('layout.ts')};
     import {Namespaces} from ${source('namespaces.ts')};
     const folder = new LabFolder(${JSON.stringify(folder)});
     const program = ${JSON.stringify(inside)};
     const lab = await Namespaces.enter({folder, program, args: [], path: []});
     process.on('SIGTERM', () => lab.kill());
     await lab.ended;
     await lab.cleanUp({keepsLogs: false});`,
  );
  return main;
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}/ns/net`);
}

function cgroups(folder: string): string[] {
  return readdirSync('/sys/fs/cgroup').flatMap(name => {
    const group = join('/sys/fs/cgroup', name, new LabFolder(folder).cgroup(node));
    return existsSync(group) ? [group] : [];
  });
}

function sysctl(...args: readonly string[]): string {
  return spawnSync('sysctl', args, {encoding: 'utf8'}).stdout.trim();
}
