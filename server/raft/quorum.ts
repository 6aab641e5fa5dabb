/**
 * The arithmetic of majorities: everything that a group decides is one of these two questions.
 *
 * Commit index, confirmed read round and the time of the last contact with a quorum are all "the
 * greatest value that enough voters reach". quorum.test.ts holds both functions against a twin
 * that tries every subset of voters.
 */
import {assert} from '#server/base/assert.ts';

/** Voters that any two decisions share at least one of. */
export function majorityOf(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

/**
 * The greatest value that at least `needed` of `values` reach. Cost: compares each with all, which
 * for the few voters of a group is less than to sort a copy.
 */
export function reachedBy(needed: number, values: readonly number[]): number {
  assert(needed >= 1 && needed <= values.length, 'a quorum is a non-empty part of the voters');
  let greatest = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value <= greatest) continue;
    let count = 0;
    for (const other of values) if (other >= value) count++;
    if (count >= needed) greatest = value;
  }
  return greatest;
}

export type VoteResult = 'won' | 'lost' | 'open';

/** What the votes say so far; a vote of somebody who is no voter does not count. */
export function voteResult(
  voters: readonly string[],
  votes: ReadonlyMap<string, boolean>,
): VoteResult {
  const needed = majorityOf(voters.length);
  const granted = voters.filter(voter => votes.get(voter) === true).length;
  const refused = voters.filter(voter => votes.get(voter) === false).length;
  if (granted >= needed) return 'won';
  return voters.length - refused < needed ? 'lost' : 'open';
}
