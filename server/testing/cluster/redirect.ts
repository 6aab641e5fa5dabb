/**
 * Loaded into a member's process before anything else (`node --import`): connections to other
 * members go to the forwarders of `links.ts`, which the environment names.
 *
 * The server knows nothing of it: names, addresses and what it says of them stay as they are.
 */
import {Socket} from 'node:net';

/** `host:port` of a member to `host:port` of the forwarder that leads there. */
const table = JSON.parse(process.env['SVC_TEST_REDIRECTS'] ?? '{}') as Record<string, string>;

interface Destination {
  host?: string;
  port?: number | string;
}

type Connect = (this: Socket, ...words: unknown[]) => Socket;

const prototype = Socket.prototype as unknown as {connect: Connect};
const connectDirectly = prototype.connect;

prototype.connect = function connect(this: Socket, ...words: unknown[]): Socket {
  const destination = destinationOf(words);
  const forwarder = table[`${destination?.host}:${destination?.port}`];
  if (destination !== undefined && forwarder !== undefined) {
    const [host = '', port = ''] = forwarder.split(':');
    destination.host = host;
    destination.port = Number(port);
  }
  return connectDirectly.apply(this, words);
};

/** Node's own callers hand over an array of options and callback, others the options. */
function destinationOf(words: readonly unknown[]): Destination | undefined {
  const [first] = words;
  const options: unknown = Array.isArray(first) ? first[0] : first;
  return typeof options === 'object' && options !== null ? options : undefined;
}
