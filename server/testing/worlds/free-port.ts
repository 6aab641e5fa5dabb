/**
 * Ports for servers that a test or a benchmark starts. The server opens its port later and in a
 * process of its own, perhaps again after a crash, so the port has to stay free meanwhile.
 *
 * Port 0 does not do: the kernel draws it from the ports that it gives to outgoing connections as
 * well, and gives it to the next who asks as soon as it is closed.
 */
import {randomInt} from 'node:crypto';
import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import {createServer, type ListenOptions, type Server} from 'node:net';

/** The lowest port that is drawn: below are those of known services, such as 2480 and 9090. */
const lowest = 10_240;
const triesMax = 100;

/** The end of what is drawn: the first port that the kernel gives to an outgoing connection. */
const end = endOf(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'));

/**
 * A port that nobody listens on at any address of this machine, that no outgoing connection gets,
 * and that nobody else is given by this function until this process has ended.
 *
 * @throws {Error} when none of 100 ports was free.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < triesMax; tries++) {
    const port = randomInt(lowest, end);
    if (await takePort(port)) return port;
  }
  throw new Error(`none of ${triesMax} ports between ${lowest} and ${end} is free`);
}

/**
 * Whether a port is this process's now, until it has ended: nobody had taken it, and nobody
 * listens on it.
 *
 * What keeps it is a name that the kernel frees with the process, however it ends: an abstract
 * socket, which lies in no folder and, like ports, belongs to a network namespace. Only who has
 * taken the port looks whether it is in use: to look is to listen on it for a moment, which would
 * be in the way of a server of somebody else that starts.
 */
export async function takePort(port: number): Promise<boolean> {
  const kept = await listening({path: `\0svc-test-port-${port}`});
  if (kept === undefined) return false;
  const found = await listening({port, host: '0.0.0.0'});
  if (found === undefined) {
    await kept[Symbol.asyncDispose]();
    return false;
  }
  await found[Symbol.asyncDispose]();
  kept.unref();
  return true;
}

/**
 * The end of the ports to draw from, given the first and last of the kernel's own as Linux tells
 * them. Where those leave too few below, theirs are drawn from: other tests keep away even so.
 */
export function endOf(rangeOfKernel: string): number {
  const first = Number.parseInt(rangeOfKernel, 10);
  return first >= lowest + 1_000 ? first : 65_536;
}

/** A server that listens; undefined where somebody else does. */
async function listening(options: ListenOptions): Promise<Server | undefined> {
  const server = createServer().listen(options);
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}
