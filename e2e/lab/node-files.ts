/** What the programs of a node are told: kubelet, kube-proxy, containerd, and the pods' network. */
import {addresses, clusterDomain, type LabFolder, pauseImage} from './layout.ts';

export function kubeletConfiguration(node: number, folder: LabFolder): string {
  return JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    cgroupDriver: 'cgroupfs',
    // The first version of cgroups is all that some machines have; 1.36 warns of it.
    failCgroupV1: false,
    cgroupRoot: `/${folder.cgroup(node)}`,
    enforceNodeAllocatable: [],
    // Below 0 would ask for a right that a container of a build machine may lack.
    oomScoreAdj: 0,
    failSwapOn: false,
    authentication: {
      anonymous: {enabled: false},
      webhook: {enabled: true},
      x509: {clientCAFile: `${folder.keys}/ca.crt`},
    },
    authorization: {mode: 'Webhook'},
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    clusterDNS: [addresses.dnsService],
    clusterDomain,
    resolvConf: folder.resolver,
    makeIPTablesUtilChains: false,
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: {
      'memory.available': '50Mi',
      'nodefs.available': '0%',
      'imagefs.available': '0%',
    },
    nodeStatusUpdateFrequency: '2s',
    nodeLeaseDurationSeconds: 8,
    syncFrequency: '10s',
    volumeStatsAggPeriod: '10s',
  });
}

/** @param node - Its name. */
export function proxyConfiguration(node: string, kubeconfig: string): string {
  return JSON.stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clusterCIDR: addresses.pods,
    hostnameOverride: node,
    oomScoreAdj: 0,
    clientConnection: {kubeconfig},
    // A network namespace of its own may not change the limits of the machine.
    conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s'},
    nftables: {minSyncPeriod: '100ms', syncPeriod: '10s'},
  });
}

/** @param defaults - `containerd config default`. */
export function containerdConfiguration(defaults: string): string {
  const changes: readonly (readonly [RegExp, string])[] = [
    [/sandbox_image = ".*"/, `sandbox_image = "${pauseImage}"`],
    [/restrict_oom_score_adj = false/, 'restrict_oom_score_adj = true'],
    [/bin_dir = "\/opt\/cni\/bin"/, 'bin_dir = "/usr/lib/cni"'],
  ];
  return changes.reduce((text, [pattern, setting]) => {
    if (!pattern.test(text)) throw new Error(`containerd's defaults have no ${pattern.source}`);
    return text.replace(pattern, setting);
  }, defaults);
}

export function podNetwork(node: number): string {
  return JSON.stringify({
    cniVersion: '0.4.0',
    name: 'lab',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        ipMasq: false,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          ranges: [[{subnet: addresses.podsOf(node)}]],
          routes: [{dst: '0.0.0.0/0'}],
          dataDir: '/run/cni-ipam',
        },
      },
      {type: 'portmap', capabilities: {portMappings: true}},
    ],
  });
}
