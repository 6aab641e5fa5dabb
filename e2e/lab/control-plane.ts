/**
 * The control plane: etcd, API server, controllers, scheduler, and what stands beside them in a
 * cluster: DNS, and rules for addresses of services where the scenarios run.
 *
 * Settings that differ from the defaults make the lab fast, never another cluster: etcd does not
 * wait for the disk, a silent node is given up after 12 s instead of 50.
 */
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {eventually} from '../eventually.ts';
import {run} from './commands.ts';
import type {Kubernetes} from './kubernetes.ts';
import {addresses, clusterDomain, type LabFolder} from './layout.ts';
import {proxyConfiguration} from './node-files.ts';
import type {Processes} from './processes.ts';

const etcd = 'http://127.0.0.1:2379';
/** Enough that no controller waits for its turn at the API server. */
const clientRates = ['--kube-api-qps=300', '--kube-api-burst=600'];

/** Resolves when the API server answers; controllers start behind it. */
export async function startControlPlane(
  folder: LabFolder,
  processes: Processes,
  kubernetes: Kubernetes,
): Promise<void> {
  startEtcd(folder, processes);
  startApiServer(folder, processes);
  processes.start(
    'kube-controller-manager',
    'kube-controller-manager',
    `--kubeconfig=${folder.kubeconfig('controllers')}`,
    '--leader-elect=false',
    '--use-service-account-credentials',
    '--bind-address=127.0.0.1',
    `--service-account-private-key-file=${join(folder.keys, 'service-accounts.key')}`,
    `--root-ca-file=${join(folder.keys, 'ca.crt')}`,
    ...clientRates,
    '--node-monitor-period=2s',
    '--node-monitor-grace-period=12s',
    '--pvclaimbinder-sync-period=2s',
  );
  processes.start(
    'kube-scheduler',
    'kube-scheduler',
    `--kubeconfig=${folder.kubeconfig('scheduler')}`,
    '--leader-elect=false',
    '--bind-address=127.0.0.1',
    ...clientRates,
  );
  await eventually('the API server', () => kubernetes.ask('GET', '/readyz'), {
    seconds: 120,
    everyMs: 100,
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${processes.lastWords('kube-apiserver')}`);
  });
}

/** DNS for pods and scenarios, and the addresses of services for scenarios. */
export async function startServices(folder: LabFolder, processes: Processes): Promise<void> {
  const file = join(folder.path, 'kube-proxy.json');
  // Under the name of a node that there is: without its object kube-proxy waits half a minute.
  writeFileSync(file, proxyConfiguration('n1', folder.kubeconfig('proxy')));
  processes.start('kube-proxy', 'kube-proxy', '--config', file);
  const corefile = join(folder.path, 'Corefile');
  writeFileSync(corefile, corefileText(folder.kubeconfig('coredns')));
  processes.start('coredns', 'coredns', '-conf', corefile);
  await eventually('DNS', () => run('curl', '-sf', 'http://127.0.0.1:8181/ready'));
}

function startEtcd(folder: LabFolder, processes: Processes): void {
  processes.start(
    'etcd',
    'etcd',
    '--name',
    'lab',
    '--data-dir',
    join(folder.path, 'etcd'),
    `--listen-client-urls=${etcd}`,
    `--advertise-client-urls=${etcd}`,
    '--listen-peer-urls=http://127.0.0.1:2380',
    '--unsafe-no-fsync',
    '--heartbeat-interval=50',
    '--election-timeout=250',
  );
}

function startApiServer(folder: LabFolder, processes: Processes): void {
  const key = (name: string): string => join(folder.keys, name);
  processes.start(
    'kube-apiserver',
    'kube-apiserver',
    `--etcd-servers=${etcd}`,
    `--advertise-address=${addresses.control}`,
    `--tls-cert-file=${key('apiserver.crt')}`,
    `--tls-private-key-file=${key('apiserver.key')}`,
    `--client-ca-file=${key('ca.crt')}`,
    `--token-auth-file=${key('tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    `--service-cluster-ip-range=${addresses.services}`,
    `--service-account-issuer=https://kubernetes.default.svc.${clusterDomain}`,
    `--service-account-key-file=${key('service-accounts.pub')}`,
    `--service-account-signing-key-file=${key('service-accounts.key')}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--kubelet-client-certificate=${key('kubelet-client.crt')}`,
    `--kubelet-client-key=${key('kubelet-client.key')}`,
    '--default-unreachable-toleration-seconds=10',
    '--default-not-ready-toleration-seconds=10',
  );
}

function corefileText(kubeconfig: string): string {
  return `${clusterDomain}:53 in-addr.arpa:53 {
  bind ${addresses.control}
  errors
  health 127.0.0.1:8091
  ready 127.0.0.1:8181
  kubernetes ${clusterDomain} in-addr.arpa {
    kubeconfig ${kubeconfig}
    pods insecure
    ttl 1
  }
  cache 1
  loadbalance
}
`;
}
