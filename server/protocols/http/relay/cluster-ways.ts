/**
 * The ways of a member's requests, tied together: where each runs, how it gets to the leader, and
 * the service and the commands of the cluster over them, for every protocol.
 */
import type {Settings} from '#server/base/setting-values.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {type WayOfCommands, wayOfCommands} from '#server/forwarding/administration-way.ts';
import {ClusterService} from '#server/forwarding/cluster-service.ts';
import type {LeaderChannel} from '#server/forwarding/leader-channel.ts';
import {RequestPlacement} from '#server/forwarding/request-placement.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Service} from '#server/session/session.ts';
import {HttpLeaderChannel} from './http-leader-channel.ts';
import type {RelayContext} from './relayed-exchange.ts';

export interface ClusterWays {
  readonly placement: RequestPlacement;
  /** Whoever made it closes it. */
  readonly channel: LeaderChannel;
  readonly service: ClusterService;
  readonly commands: WayOfCommands;
}

export interface ClusterWaysOptions {
  readonly cluster: Cluster;
  /** This server's own. */
  readonly service: Service;
  readonly settings: () => Settings;
  readonly clock: RelayContext['options']['clock'];
  readonly timers: RelayContext['options']['timers'];
  readonly peerClient: RelayContext['options']['peerClient'];
  readonly authorities: RelayContext['options']['authorities'];
  readonly logger: Logger;
}

export function createClusterWays(options: ClusterWaysOptions): ClusterWays {
  const {cluster, service: local, settings, logger} = options;
  const placement = new RequestPlacement({...options, service: local});
  const context = {
    options,
    get settings() {
      return settings();
    },
  };
  const channel = new HttpLeaderChannel(context, cluster);
  const service = new ClusterService({local, placement, channel, logger});
  return {placement, channel, service, commands: wayOfCommands(service, placement)};
}
