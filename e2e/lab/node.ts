/**
 * A node of the lab: a machine made of namespaces, with a container engine, a kubelet and rules for
 * addresses of services; and what may happen to a machine.
 *
 * Its folders lie under the usual paths inside of it, since three kubelets of one machine would
 * otherwise share sockets.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {mkdirSync, readdirSync, readlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {eventually} from '../eventually.ts';
import {makeCgroups, processesOf} from './cgroups.ts';
import {run} from './commands.ts';
import {addresses, type LabFolder} from './layout.ts';
import {
  containerdConfiguration,
  kubeletConfiguration,
  podNetwork,
  proxyConfiguration,
} from './node-files.ts';
import type {Processes} from './processes.ts';
import {closeNetwork, switchName} from './surroundings.ts';

const mounted = {
  kubelet: '/var/lib/kubelet',
  containerd: '/var/lib/containerd',
  log: '/var/log',
  cni: '/etc/cni',
} as const;

export class LabNode {
  readonly number: number;
  readonly name: string;
  readonly #folder: LabFolder;
  readonly #processes: Processes;
  /** Holds the namespaces open. */
  #anchor: ChildProcess | undefined;
  readonly #images = new Set<string>();

  constructor(number: number, folder: LabFolder, processes: Processes) {
    this.number = number;
    this.name = `n${number}`;
    this.#folder = folder;
    this.#processes = processes;
  }

  /** @param count - Of all nodes: each has a route to the pods of the others. */
  async make(count: number): Promise<void> {
    for (const name of [...Object.keys(mounted), 'volumes']) {
      mkdirSync(this.#folder.node(this.number, name), {recursive: true});
    }
    makeCgroups(this.#folder, this.number);
    await this.#makeNamespaces();
    await this.#makeMounts();
    await this.#makeNetwork(count);
    const defaults = await run('containerd', 'config', 'default');
    const write = (name: string, text: string): void =>
      writeFileSync(this.#folder.node(this.number, name), text);
    write('containerd.toml', containerdConfiguration(defaults));
    write('kubelet.json', kubeletConfiguration(this.number, this.#folder));
    write('kube-proxy.json', proxyConfiguration(this.name, this.#folder.kubeconfig('proxy')));
    mkdirSync(this.#folder.node(this.number, 'cni/net.d'));
    write('cni/net.d/10-lab.conflist', podNetwork(this.number));
  }

  /** Starts what does not run; after `powerOff` that is everything. */
  async start(images: readonly string[]): Promise<void> {
    const file = (name: string): string => this.#folder.node(this.number, name);
    this.#startProgram('containerd', 'containerd', '--config', file('containerd.toml'));
    await eventually(`containerd of ${this.name}`, () => this.run('ctr', 'version'));
    for (const image of images) await this.load(image);
    this.#startProgram(
      'kubelet',
      'kubelet',
      '--config',
      file('kubelet.json'),
      '--kubeconfig',
      this.#folder.kubeconfig(this.name),
      `--node-ip=${addresses.node(this.number)}`,
      `--node-labels=topology.kubernetes.io/zone=z${this.number}`,
    );
    this.#startProgram('kube-proxy', 'kube-proxy', '--config', file('kube-proxy.json'));
  }

  /** An archive of `make images`; what is there already costs nothing. */
  async load(archive: string): Promise<void> {
    if (this.#images.has(archive)) return;
    await this.run('ctr', '-n', 'k8s.io', 'images', 'import', archive);
    this.#images.add(archive);
  }

  /** Gives an image that is there another name, as a registry would hold two releases. */
  async tag(image: string, name: string): Promise<void> {
    const full = (short: string): string => `docker.io/${short}`;
    await this.run('ctr', '-n', 'k8s.io', 'images', 'tag', '--force', full(image), full(name));
  }

  /** Runs a command on the node, to its end. */
  run(...command: readonly string[]): Promise<string> {
    return run('nsenter', ...this.#entering(), ...command);
  }

  /** The cable is pulled; its pods go on among themselves. */
  async cut(): Promise<void> {
    await run('ip', 'link', 'set', this.#link, 'down');
  }

  async heal(): Promise<void> {
    await run('ip', 'link', 'set', this.#link, 'up');
  }

  /** Every process of the node ends in this moment, those of its pods too. Disks stay. */
  powerOff(): void {
    const anchor = this.#anchorPid;
    const mounts = readlinkSync(`/proc/${anchor}/ns/mnt`);
    const own = readdirSync('/proc')
      .map(Number)
      .filter(pid => pid > 0 && pid !== anchor && mountsOf(pid) === mounts);
    for (const pid of [...own, ...processesOf(this.#folder, this.number)]) kill(pid);
  }

  async powerOn(): Promise<void> {
    await eventually(
      `the end of ${this.name}`,
      () => processesOf(this.#folder, this.number).length === 0,
    );
    await this.start([]);
  }

  get #link(): string {
    return `link${this.number}`;
  }

  get #anchorPid(): number {
    const pid = this.#anchor?.pid;
    if (pid === undefined) throw new Error(`${this.name} was not made`);
    return pid;
  }

  #entering(): string[] {
    return ['-t', String(this.#anchorPid), '-m', '-n', '-u', '--'];
  }

  #startProgram(program: string, ...command: readonly string[]): void {
    const name = `${program}-${this.name}`;
    if (!this.#processes.isRunning(name)) {
      this.#processes.start(name, 'nsenter', ...this.#entering(), ...command);
    }
  }

  async #makeNamespaces(): Promise<void> {
    const options = ['--mount', '--net', '--uts', '--propagation', 'private'];
    this.#anchor = spawn('unshare', [...options, 'sleep', 'infinity'], {stdio: 'ignore'});
    const mine = readlinkSync('/proc/self/ns/net');
    await eventually(
      `the namespaces of ${this.name}`,
      () => readlinkSync(`/proc/${this.#anchorPid}/ns/net`) !== mine,
      {everyMs: 10},
    );
  }

  async #makeMounts(): Promise<void> {
    await this.run('hostname', this.name);
    await this.run('mount', '--make-rshared', '/');
    await this.run('mount', '-t', 'tmpfs', 'tmpfs', '/run');
    await this.run('mkdir', '-p', '/run/netns', ...Object.values(mounted));
    for (const [name, path] of Object.entries(mounted)) {
      await this.run('mount', '--bind', this.#folder.node(this.number, name), path);
    }
  }

  async #makeNetwork(count: number): Promise<void> {
    const own = addresses.node(this.number);
    const peer = ['peer', 'name', 'eth0', 'netns', `/proc/${this.#anchorPid}/ns/net`];
    await run('ip', 'link', 'add', this.#link, 'type', 'veth', ...peer);
    await run('ip', 'link', 'set', this.#link, 'master', switchName, 'up');
    await run('ip', 'route', 'add', addresses.podsOf(this.number), 'via', own);
    await this.run('ip', 'link', 'set', 'lo', 'up');
    await this.run('ip', 'addr', 'add', `${own}/24`, 'dev', 'eth0');
    await this.run('ip', 'link', 'set', 'eth0', 'up');
    await this.run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
    await closeNetwork((program, ...args) => this.run(program, ...args), own);
    for (let other = 1; other <= count; other++) {
      if (other === this.number) continue;
      const route = [addresses.podsOf(other), 'via', addresses.node(other)];
      await this.run('ip', 'route', 'add', ...route);
    }
  }
}

function mountsOf(pid: number): string | undefined {
  try {
    return readlinkSync(join('/proc', String(pid), 'ns/mnt'));
  } catch {
    return undefined;
  }
}

/** Whoever ended meanwhile has ended. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
