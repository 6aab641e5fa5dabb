/**
 * One Kubernetes of three nodes, from nothing to ready, in the namespaces that this process is in.
 *
 * It is the vocabulary of scenarios for what lies below Svc: the API server, nodes, programs of the
 * control plane, images. Everything ends with the process.
 */
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {buildPauseImage} from '../programs/pause-image.ts';
import {eventually} from '../eventually.ts';
import {baseObjects} from './base-objects.ts';
import {run, runWith} from './commands.ts';
import {startControlPlane, startServices} from './control-plane.ts';
import {makeIdentities} from './identities.ts';
import {Kubernetes, type KubernetesObject} from './kubernetes.ts';
import {apiServer, type LabFolder} from './layout.ts';
import {LabNode} from './node.ts';
import {Processes} from './processes.ts';
import {Storage} from './storage.ts';
import {makeSurroundings} from './surroundings.ts';

export interface LabOptions {
  readonly folder: LabFolder;
  readonly nodes: number;
  /** Archives that every node has from the start. */
  readonly images: readonly string[];
  readonly tell: (line: string) => void;
}

type NodeObject = KubernetesObject & {
  readonly status: {
    readonly conditions: readonly {readonly type: string; readonly status: string}[];
  };
};

export class Lab {
  readonly kubernetes: Kubernetes;
  readonly nodes: readonly LabNode[];
  readonly processes: Processes;
  readonly tell: (line: string) => void;
  readonly #folder: LabFolder;

  private constructor(
    {folder, tell}: LabOptions,
    parts: Pick<Lab, 'kubernetes' | 'nodes' | 'processes'>,
  ) {
    this.#folder = folder;
    this.tell = tell;
    this.kubernetes = parts.kubernetes;
    this.nodes = parts.nodes;
    this.processes = parts.processes;
  }

  /** Some ten seconds on a quiet machine. */
  static async start(options: LabOptions): Promise<Lab> {
    const {folder, images, tell} = options;
    mkdirSync(folder.logs, {recursive: true});
    await makeSurroundings(folder);
    const {authority, adminToken} = await makeIdentities(folder, options.nodes);
    const kubernetes = new Kubernetes(apiServer, authority, adminToken);
    const processes = new Processes(folder.logs);
    const numbers = Array.from({length: options.nodes}, (_, index) => index + 1);
    const nodes = numbers.map(number => new LabNode(number, folder, processes));
    const lab = new Lab(options, {kubernetes, nodes, processes});

    const pause = join(folder.path, 'pause.tar');
    writeFileSync(pause, await buildPauseImage());
    const control = startControlPlane(folder, processes, kubernetes);
    const made = Promise.all(nodes.map(node => node.make(nodes.length)));
    await control;
    await made;
    for (const object of baseObjects) await kubernetes.apply(object);
    const storage = new Storage(kubernetes, folder, nodes, tell);
    void storage.serve();
    const all = [pause, ...images];
    await Promise.all([startServices(folder, processes), ...nodes.map(node => node.start(all))]);
    await lab.untilNodesReady();
    await eventually('the default service account', () =>
      kubernetes.find({
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        namespace: 'default',
        name: 'default',
      }),
    );
    return lab;
  }

  async untilNodesReady(seconds = 120): Promise<void> {
    await eventually(
      `${this.nodes.length} ready nodes`,
      async () => {
        const nodes = await this.kubernetes.list<NodeObject>({apiVersion: 'v1', kind: 'Node'});
        const ready = nodes.filter(({status}) =>
          status.conditions.some(({type, status: is}) => type === 'Ready' && is === 'True'),
        );
        return ready.length === this.nodes.length;
      },
      {seconds},
    );
  }

  node(name: string): LabNode {
    const found = this.nodes.find(node => node.name === name);
    if (found === undefined) throw new Error(`there is no node ${name}`);
    return found;
  }

  get kubeconfig(): string {
    return this.#folder.kubeconfig('admin');
  }

  /** Runs kubectl, for what a person would type; scenarios ask `kubernetes` itself. */
  kubectl(...args: readonly string[]): Promise<string> {
    return run('kubectl', `--kubeconfig=${this.kubeconfig}`, ...args);
  }

  /** Runs helm, as a person would install a chart. */
  helm(...args: readonly string[]): Promise<string> {
    return run('helm', `--kubeconfig=${this.kubeconfig}`, ...args);
  }

  /** Applies a file or folder of manifests, as `kubectl apply -f`, or -k for a kustomization. */
  async applyFiles(path: string, {kustomize = false} = {}): Promise<void> {
    await this.kubectl(
      'apply',
      '--server-side',
      '--force-conflicts',
      kustomize ? '-k' : '-f',
      path,
    );
  }

  /** @param options - `isTrial`: the server checks everything and keeps nothing. */
  async applyText(manifests: string, {isTrial = false, namespace = 'default'} = {}): Promise<void> {
    const trial = isTrial ? ['--dry-run=server'] : [];
    const how = ['--server-side', '--force-conflicts', ...trial];
    const options = ['apply', ...how, '-n', namespace, '-f', '-'];
    await runWith(manifests, 'kubectl', `--kubeconfig=${this.kubeconfig}`, ...options);
  }
}
