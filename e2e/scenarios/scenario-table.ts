/** All scenarios, in the order in which they run. */
import type {Scenario} from './scenario.ts';
import {definitionsAccepted} from './e00-definitions.ts';
import {appliedCluster} from './e01-applied.ts';
import {threeMembers} from './s01-three-members.ts';
import {fourthMember} from './s02-fourth-member.ts';
import {leaderKilled} from './s13-leader-killed.ts';
import {followerDeleted} from './s14-follower-deleted.ts';
import {nodeOff} from './s16-node-off.ts';
import {volumeGrows} from './s18-volume-grows.ts';

export const scenarios: readonly Scenario[] = [
  threeMembers,
  fourthMember,
  leaderKilled,
  followerDeleted,
  nodeOff,
  volumeGrows,
  definitionsAccepted,
  appliedCluster,
];

/** @param only - Ids between commas; empty: all. @throws {Error} for an id that is none. */
export function chosen(all: readonly Scenario[], only: string): readonly Scenario[] {
  const ids = only
    .split(',')
    .map(id => id.trim().toUpperCase())
    .filter(id => id !== '');
  const unknown = ids.find(id => !all.some(scenario => scenario.id === id));
  if (unknown !== undefined) {
    const known = all.map(({id}) => id).join(', ');
    throw new Error(`there is no scenario ${unknown}; there are ${known}`);
  }
  return ids.length === 0 ? all : all.filter(({id}) => ids.includes(id));
}
