/**
 * Where things are in the lab: folders of this machine, addresses of its private network.
 *
 * The network exists in namespaces of the lab alone, so that its addresses are free by definition.
 */
import {createHash} from 'node:crypto';
import {join} from 'node:path';

export const addresses = {
  /** The control plane, DNS and whoever runs the scenarios. */
  control: '10.89.0.1',
  node: (number: number): string => `10.89.0.${10 + number}`,
  nodes: '10.89.0.0/24',
  pods: '10.244.0.0/16',
  podsOf: (number: number): string => `10.244.${number}.0/24`,
  services: '10.96.0.0/16',
  apiService: '10.96.0.1',
  dnsService: '10.96.0.10',
} as const;

export const apiServer = `https://${addresses.control}:6443`;
export const clusterDomain = 'cluster.local';
export const cgroupsOfLabs = 'svc-e2e-';
export const pauseImage = 'svc.e2e/pause:1';

/** Everything that a lab writes lies under one folder, which goes with it. */
export class LabFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  get logs(): string {
    return join(this.path, 'log');
  }

  get keys(): string {
    return join(this.path, 'keys');
  }

  /** The folder of the volumes, each of which is a sparse file. */
  get volumes(): string {
    return join(this.path, 'volumes');
  }

  get namespacePid(): string {
    return join(this.path, 'namespace.pid');
  }

  /** The kernel's settings as they were before the lab. */
  get sysctls(): string {
    return join(this.path, 'sysctls.json');
  }

  get resolver(): string {
    return join(this.path, 'resolv.conf');
  }

  /** The prefix of the lab's cgroups, which all labs of a machine have side by side. */
  get cgroups(): string {
    const id = createHash('sha256').update(this.path).digest('hex').slice(0, 8);
    return `${cgroupsOfLabs}${id}-`;
  }

  /** A cgroup of this name holds the pods of a node, in every hierarchy. */
  cgroup(node: number): string {
    return `${this.cgroups}n${node}`;
  }

  kubeconfig(name: string): string {
    return join(this.keys, `${name}.kubeconfig`);
  }

  node(number: number, ...parts: readonly string[]): string {
    return join(this.path, `n${number}`, ...parts);
  }
}
