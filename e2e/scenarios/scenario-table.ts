/** All scenarios, in the order in which they run. */
import type {Scenario} from './scenario.ts';
import {threeMembers} from './s01-three-members.ts';
import {leaderKilled} from './s13-leader-killed.ts';
import {followerDeleted} from './s14-follower-deleted.ts';

export const scenarios: readonly Scenario[] = [threeMembers, leaderKilled, followerDeleted];

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
