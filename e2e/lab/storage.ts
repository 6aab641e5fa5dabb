/**
 * The provisioner of the storage class `lab`: each volume is a sparse file with XFS on a loop
 * device, mounted on its node and handed out as a local volume. So a volume has a size that it can
 * exhaust, grows while it is in use, and outlives its pod.
 */
import {existsSync, mkdirSync, openSync, closeSync, rmSync, truncateSync} from 'node:fs';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {run} from './commands.ts';
import type {Kubernetes, KubernetesObject} from './kubernetes.ts';
import type {LabFolder} from './layout.ts';
import type {LabNode} from './node.ts';
import {bytesOf} from './quantity.ts';

export const storageClass = 'lab';
export const provisioner = 'e2e.svc.io/loop';

type Claim = KubernetesObject & {
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly resources: {readonly requests: {readonly storage: string}};
  };
  readonly status?: {readonly phase?: string; readonly capacity?: {readonly storage: string}};
};

type Volume = KubernetesObject & {
  readonly spec: {
    readonly local: {readonly path: string};
    readonly persistentVolumeReclaimPolicy: string;
  };
  readonly status?: {readonly phase?: string};
};

const claims = {apiVersion: 'v1', kind: 'PersistentVolumeClaim'};
const volumes = {apiVersion: 'v1', kind: 'PersistentVolume'};
const nodeLabel = 'e2e.svc.io/node';
const roundMs = 300;
/** The least that mkfs.xfs makes. */
const volumeBytesMin = 300 * 2 ** 20;

export class Storage {
  readonly #kubernetes: Kubernetes;
  readonly #folder: LabFolder;
  readonly #nodes: readonly LabNode[];
  readonly #tell: (line: string) => void;
  #told = '';

  constructor(
    kubernetes: Kubernetes,
    folder: LabFolder,
    nodes: readonly LabNode[],
    tell: (line: string) => void,
  ) {
    this.#kubernetes = kubernetes;
    this.#folder = folder;
    this.#nodes = nodes;
    this.#tell = tell;
    mkdirSync(folder.volumes, {recursive: true});
  }

  /** Serves claims until the process ends; a failure is told once and tried again. */
  async serve(): Promise<never> {
    for (;;) {
      await this.#round().catch((error: unknown) => {
        const line = error instanceof Error ? error.message : String(error);
        if (line !== this.#told) this.#tell(`storage: ${line}`);
        this.#told = line;
      });
      await sleep(roundMs);
    }
  }

  async #round(): Promise<void> {
    const present = new Map(
      (await this.#kubernetes.list<Volume>(volumes))
        .filter(({metadata}) => metadata.labels?.[nodeLabel] !== undefined)
        .map(volume => [volume.metadata.name, volume]),
    );
    for (const claim of await this.#kubernetes.list<Claim>(claims)) {
      const {spec, status, metadata} = claim;
      if (spec.storageClassName !== storageClass || metadata.deletionTimestamp) continue;
      const node = metadata.annotations?.['volume.kubernetes.io/selected-node'];
      const volume = present.get(spec.volumeName ?? '');
      if (spec.volumeName === undefined && node !== undefined && !present.has(nameOf(claim))) {
        await this.#provide(claim, node);
      } else if (volume && status?.capacity && wanted(claim) > bytesOf(status.capacity.storage)) {
        await this.#grow(claim, volume);
      }
    }
    for (const volume of present.values()) {
      const isFree = volume.status?.phase === 'Released';
      if (isFree && volume.spec.persistentVolumeReclaimPolicy === 'Delete') {
        await this.#remove(volume);
      }
    }
  }

  async #provide(claim: Claim, nodeName: string): Promise<void> {
    const node = this.#nodeNamed(nodeName);
    const name = nameOf(claim);
    const bytes = Math.max(wanted(claim), volumeBytesMin);
    const file = join(this.#folder.volumes, name);
    const path = this.#folder.node(node.number, 'volumes', name);
    mkdirSync(path, {recursive: true});
    if (!existsSync(file)) {
      closeSync(openSync(file, 'w'));
      truncateSync(file, bytes);
      await run('mkfs.xfs', '-q', '-K', file);
    }
    if ((await loopDevice(node, file)) === '') await node.run('mount', '-o', 'loop', file, path);
    const {namespace, name: claimName, uid} = claim.metadata;
    await this.#kubernetes.apply({
      ...volumes,
      metadata: {
        name,
        labels: {[nodeLabel]: nodeName},
        annotations: {'pv.kubernetes.io/provisioned-by': provisioner},
      },
      spec: {
        capacity: {storage: String(bytes)},
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Delete',
        storageClassName: storageClass,
        local: {path},
        claimRef: {...claims, namespace, name: claimName, uid},
        nodeAffinity: {required: {nodeSelectorTerms: [onNode(nodeName)]}},
      },
    });
  }

  async #grow(claim: Claim, volume: Volume): Promise<void> {
    const node = this.#nodeNamed(volume.metadata.labels?.[nodeLabel] ?? '');
    const {name} = volume.metadata;
    const file = join(this.#folder.volumes, name);
    truncateSync(file, wanted(claim));
    await node.run('losetup', '-c', await loopDevice(node, file));
    await node.run('xfs_growfs', volume.spec.local.path);
    const capacity = {storage: String(wanted(claim))};
    await this.#kubernetes.patch({...volumes, name}, {spec: {capacity}});
    const reference = {...claims, namespace: claim.metadata.namespace ?? ''};
    const status = {status: {capacity: claim.spec.resources.requests, conditions: []}};
    await this.#kubernetes.patch({...reference, name: claim.metadata.name}, status, {
      subresource: 'status',
    });
  }

  async #remove(volume: Volume): Promise<void> {
    const {name, labels} = volume.metadata;
    const node = this.#nodeNamed(labels?.[nodeLabel] ?? '');
    const file = join(this.#folder.volumes, name);
    const isMounted = existsSync(file) && (await loopDevice(node, file)) !== '';
    if (isMounted) await node.run('umount', '-l', volume.spec.local.path);
    rmSync(file, {force: true});
    await this.#kubernetes.remove({...volumes, name});
  }

  #nodeNamed(name: string): LabNode {
    const node = this.#nodes.find(one => one.name === name);
    if (node === undefined) throw new Error(`there is no node ${name}`);
    return node;
  }
}

function nameOf(claim: Claim): string {
  return `pvc-${claim.metadata.uid}`;
}

function wanted(claim: Claim): number {
  return bytesOf(claim.spec.resources.requests.storage);
}

async function loopDevice(node: LabNode, file: string): Promise<string> {
  return (await node.run('losetup', '-j', file, '-n', '-O', 'NAME')).trim();
}

function onNode(name: string): object {
  const isThere = {key: 'kubernetes.io/hostname', operator: 'In', values: [name]};
  return {matchExpressions: [isThere]};
}
