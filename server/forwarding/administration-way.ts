/** Administrative commands of a member's clients, brought to the leader where they belong there. */
import {givenOf} from '#server/administration/arguments.ts';
import type {ClusterWay} from '#server/administration/command.ts';
import {administrativeCommands} from '#server/administration/commands.ts';
import {assert} from '#server/base/assert.ts';
import type {Principal} from '#server/security/principal.ts';
import type {RequestContext} from '#server/session/session.ts';
import type {ClusterService} from './cluster-service.ts';
import type {RequestPlacement} from './request-placement.ts';

/** The way of one caller's commands. @param isPrivate - See `AdministrationCall`. */
export type WayOfCommands = (
  principal: Principal,
  isPrivate: boolean,
  context: RequestContext,
) => ClusterWay;

export function wayOfCommands(service: ClusterService, placement: RequestPlacement): WayOfCommands {
  return (principal, isPrivate, context) => ({
    async relay(row, given) {
      if (placement.cluster.isLeader) return undefined;
      const [name] =
        Object.entries(administrativeCommands).find(([, known]) => known === row) ?? [];
      assert(name !== undefined, 'a command that is given is one of the table');
      const values = givenOf(row.arguments, given);
      const done = await service.administer(principal, name, values, isPrivate, context);
      return done && {answer: done.value};
    },
    reached: () => placement.reached(),
  });
}
