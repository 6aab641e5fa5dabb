/**
 * The connections to the other servers, as the settings want them: TLS or none, who may come, how
 * much may wait. A server that is declared under an address of this machine alone listens there
 * alone; any other listens on every address that the machine has.
 */
import {lookup} from 'node:dns/promises';
import {isLoopbackAddress} from '#server/base/addresses.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {
  plainSockets,
  SecureSockets,
  type SocketSecurity,
} from '#server/replication/links/socket-security.ts';
import {PeerLinks, type PeerLinksOptions} from '#server/replication/links/peer-links.ts';
import {type DeclaredPeer, peerId} from '#server/replication/server-list.ts';
import {PeerKeyFiles} from '../keys/peer-keys.ts';

export interface PeerConnectionParts
  extends Pick<PeerLinksOptions, 'introduce' | 'judge' | 'token' | 'alsoAccepted'> {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  /** This server in the list. */
  readonly own: Pick<DeclaredPeer, 'host' | 'ports'>;
  /** Names and sockets; default: those of the system, secured as the settings say. */
  readonly network?: Pick<PeerLinksOptions, 'lookUp' | 'security'> | undefined;
}

/**
 * Nothing is dialled and nobody let in yet.
 *
 * @throws {Refusal} `start.refused`: keys of TLS that cannot be used.
 */
export function openPeerLinks(
  settings: Settings,
  {own, network, ...parts}: PeerConnectionParts,
): PeerLinks {
  return new PeerLinks({
    ...parts,
    ...(network ?? {lookUp, security: socketSecurity(settings, own.host, parts)}),
    cluster: settings.get('svc.ha.clusterName'),
    id: peerId(own),
    allowList: allowListOf(settings),
    messageBytesMax: settings.get('svc.ha.grpcMessageSizeMax'),
    queueBytesMax: settings.get('svc.ha.writeBufferSize'),
  });
}

/** Undefined: whoever knows the token may come, from any address. */
export function allowListOf(settings: Settings): PeerLinksOptions['allowList'] {
  if (!settings.get('svc.ha.peerAllowlist.enabled')) return undefined;
  return {
    refreshMs: settings.get('svc.ha.grpcAllowlistRefreshMs'),
    graceMs: settings.get('svc.ha.peerAllowlistStartupGraceMs'),
    stickyMs: settings.get('svc.ha.peerAllowlistStickyTtlMs'),
    alsoHosts: podNames(settings),
  };
}

/** Undefined is every address, of both families where the machine has both. */
export function listeningHost(ownHost: string): string | undefined {
  return ownHost === 'localhost' || isLoopbackAddress(ownHost) ? ownHost : undefined;
}

function socketSecurity(
  settings: Settings,
  host: string,
  parts: Pick<PeerConnectionParts, 'clock' | 'timers' | 'logger'>,
): SocketSecurity {
  if (!settings.get('svc.ha.tls.enabled')) return plainSockets;
  const files = new PeerKeyFiles(settings, host, parts.logger);
  return new SecureSockets(files.keys, renew => files.watch(parts, renew));
}

/**
 * The name of a headless service leads to all its pods, those beyond the list too: a pod of a
 * larger stateful set is let in as far as the handshake, where it proves that it knows the token.
 */
function podNames(settings: Settings): readonly string[] {
  const suffix = settings.get('svc.ha.k8sSuffix');
  if (!settings.get('svc.ha.k8s') || suffix === '') return [];
  return [suffix.replace(/^\./, '')];
}

async function lookUp(host: string): Promise<readonly string[]> {
  return (await lookup(host, {all: true})).map(({address}) => address);
}
