/**
 * The programs of Debian that the lab runs: a container engine without its daemon's comforts, and
 * what makes networks, filters and file systems. Missing ones are installed.
 */
import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';

/** The package by a file of it. */
const packages: Readonly<Record<string, string>> = {
  '/usr/bin/containerd': 'containerd',
  '/usr/sbin/runc': 'runc',
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
  '/usr/sbin/nft': 'nftables',
  '/usr/sbin/iptables': 'iptables',
  '/usr/sbin/conntrack': 'conntrack',
  '/sbin/mkfs.xfs': 'xfsprogs',
  '/usr/bin/openssl': 'openssl',
  '/bin/ip': 'iproute2',
  '/usr/bin/nsenter': 'util-linux',
};

/** @throws {Error} when something is missing and cannot be installed. */
export function installPackages(tell: (line: string) => void): void {
  const missing = Object.entries(packages)
    .filter(([file]) => !existsSync(file))
    .map(([, name]) => name);
  if (missing.length === 0) return;
  tell(`installing ${missing.join(', ')}`);
  apt(['update', '-qq']);
  apt(['install', '-y', '-qq', '--no-install-recommends', ...missing]);
}

function apt(args: readonly string[]): void {
  const env = {...process.env, DEBIAN_FRONTEND: 'noninteractive'};
  const {status, stderr} = spawnSync('apt-get', args, {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (status !== 0) throw new Error(`apt-get ${args[0]} ended with ${status}:\n${stderr}`);
}
