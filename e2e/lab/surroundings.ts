/**
 * Makes the namespaces that this process is in the lab's own: private mounts, a private network
 * with a switch for the nodes, and no way out of it.
 *
 * Refuses to go on where a link or a route exists already, which would be the machine's network.
 */
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {run} from './commands.ts';
import {addresses, type LabFolder} from './layout.ts';

/** What the kernel itself puts into a new namespace; all of it is down and without addresses. */
const kernelLinks =
  /^(?:lo|ifb\d+|sit0|tunl0|ip6tnl0|gre0|gretap0|erspan0|ip_vti0|ip6_vti0|ip6gre0|teql0)$/;

export const switchName = 'sw0';

export async function makeSurroundings(folder: LabFolder): Promise<void> {
  await refuseUplink();
  await run('mount', '--make-rshared', '/');
  await run('mount', '-t', 'tmpfs', 'tmpfs', '/run');
  mkdirSync('/run/netns');
  const resolver = `nameserver ${addresses.control}\nsearch svc.cluster.local cluster.local\n`;
  writeFileSync(folder.resolver, resolver);
  await run('mount', '--bind', folder.resolver, '/etc/resolv.conf');
  // Three kubelets watch more files than the kernel's default admits.
  await run('sysctl', '-qw', 'fs.inotify.max_user_instances=1024', 'net.ipv4.ip_forward=1');
  await run('ip', 'link', 'set', 'lo', 'up');
  await run('ip', 'link', 'add', switchName, 'type', 'bridge');
  await run('ip', 'addr', 'add', `${addresses.control}/24`, 'dev', switchName);
  await run('ip', 'link', 'set', switchName, 'up');
  await closeNetwork(run, addresses.control);
}

/**
 * Routes of a host in the lab. Addresses of services need one although nobody has them: the kernel
 * looks for a route before the rules of kube-proxy change the address.
 */
export async function closeNetwork(
  ip: (program: string, ...args: readonly string[]) => Promise<string>,
  source: string,
): Promise<void> {
  await ip('ip', 'link', 'add', 'services', 'type', 'bridge');
  await ip('ip', 'link', 'set', 'services', 'up');
  await ip('ip', 'route', 'add', addresses.services, 'dev', 'services', 'src', source);
  await ip('ip', 'route', 'add', 'unreachable', addresses.pods);
  await ip('ip', 'route', 'add', 'unreachable', 'default', 'metric', '4000000');
}

async function refuseUplink(): Promise<void> {
  const links = await run('ip', '-o', 'link');
  const foreign = [...links.matchAll(/^\d+: ([^:@\s]+)/gm)]
    .map(([, name = '']) => name)
    .filter(name => !kernelLinks.test(name));
  const routes = readFileSync('/proc/net/route', 'utf8').trim().split('\n').slice(1);
  if (foreign.length > 0 || routes.length > 0) {
    throw new Error(`this is no private network, it has ${[...foreign, ...routes].join(', ')}`);
  }
}
