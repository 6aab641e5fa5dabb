/** Whether a host is the machine that this server runs on, by what its name leads to. */
import {lookup} from 'node:dns/promises';
import {networkInterfaces} from 'node:os';
import {isLoopbackAddress, plainAddress} from '#server/base/addresses.ts';

/**
 * False for a name that leads nowhere: it cannot be this server.
 *
 * Loopback addresses are this machine's own, except among members that live on them: there each
 * stands for a machine of its own.
 *
 * @param ownHost - Under which the others know this server.
 */
export async function isSameMachine(host: string, ownHost: string): Promise<boolean> {
  const [theirs, ours] = await Promise.all([addressesOf(host), addressesOf(ownHost)]);
  if (theirs.some(address => ours.includes(address))) return true;
  if (ours.length === 0 || ours.some(isLoopbackAddress)) return false;
  const local = Object.values(networkInterfaces())
    .flatMap(entries => entries ?? [])
    .map(({address}) => plainAddress(address));
  return theirs.some(address => isLoopbackAddress(address) || local.includes(address));
}

async function addressesOf(host: string): Promise<readonly string[]> {
  try {
    const found = await lookup(host, {all: true});
    return found.map(({address}) => plainAddress(address));
  } catch {
    return [];
  }
}
