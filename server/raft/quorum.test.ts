/**
 * The arithmetic of majorities against a twin that knows no arithmetic: it tries every subset of
 * the voters. And the ground under single-server changes: two majorities next to each other meet.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {changedMembership, type Membership, ordered, votersOf} from './membership.ts';
import {majorityOf, reachedBy, voteResult} from './quorum.ts';

/** Every subset of `items`. */
function subsets<Item>(items: readonly Item[]): readonly Item[][] {
  return items.reduce<Item[][]>(
    (found, item) => [...found, ...found.map(subset => [...subset, item])],
    [[]],
  );
}

/** Subsets that outnumber what they leave out. */
function majorities<Item>(items: readonly Item[]): readonly Item[][] {
  return subsets(items).filter(subset => subset.length > items.length - subset.length);
}

const cases = [
  // held             needed  committed  because
  [[12], 1, 12, 'one voter is its own quorum'],
  [[12, 9], 2, 9, 'of two both are needed'],
  [[12, 9, 5, 5, 1], 3, 5, 'three of five have it'],
  [[3, 9, 7], 2, 7, 'the order of voters means nothing'],
  [[3, 9, 7], 3, 3, 'all means all'],
] as const;

for (const [held, needed, expected, because] of cases) {
  test(`${needed} of ${JSON.stringify(held)} reach ${expected}: ${because}`, () => {
    assert.equal(reachedBy(needed, held), expected);
  });
}

test('the value that a majority reaches is the best that any majority has in common', () => {
  const values = fc.array(fc.integer({min: 0, max: 20}), {minLength: 1, maxLength: 7});
  fc.assert(
    fc.property(values, held => {
      const common = majorities(held.map((value, voter) => ({value, voter}))).map(subset =>
        Math.min(...subset.map(({value}) => value)),
      );
      assert.equal(reachedBy(majorityOf(held.length), held), Math.max(...common));
    }),
    {numRuns: 2000},
  );
});

test('votes are won when a majority granted, lost when none can any more', () => {
  const vote = fc.constantFrom(true, false, undefined);
  fc.assert(
    fc.property(fc.array(vote, {minLength: 1, maxLength: 7}), answers => {
      const voters = answers.map((_, i) => `n${i}`);
      const votes = new Map([['stranger', true]]);
      for (const [i, answer] of answers.entries()) {
        if (answer !== undefined) votes.set(`n${i}`, answer);
      }
      const has = (want: (vote: boolean | undefined) => boolean) =>
        majorities(voters).some(subset => subset.every(voter => want(votes.get(voter))));
      const expected = has(given => given === true)
        ? 'won'
        : has(given => given !== false)
          ? 'open'
          : 'lost';
      assert.equal(voteResult(voters, votes), expected);
    }),
    {numRuns: 2000},
  );
});

test('every majority before a change meets every majority after it', () => {
  const member = fc.record({role: fc.constantFrom('voter', 'joining'), priority: fc.nat(2)});
  const change = fc.record({
    kind: fc.constantFrom('add', 'promote', 'remove', 'prioritize'),
    id: fc.integer({min: 0, max: 7}).map(i => `n${i}`),
    priority: fc.nat(2),
  });
  let changes = 0;
  fc.assert(
    fc.property(fc.array(member, {minLength: 1, maxLength: 6}), change, (members, wanted) => {
      const before: Membership = ordered(members.map((one, i) => ({...one, id: `n${i}`})));
      const after = changedMembership(before, wanted);
      if (typeof after === 'string' || votersOf(before).length === 0) return;
      changes++;
      for (const old of majorities(votersOf(before))) {
        for (const next of majorities(votersOf(after))) {
          assert.ok(
            old.some(id => next.includes(id)),
            `${old.join()} and ${next.join()}`,
          );
        }
      }
    }),
    {numRuns: 1000},
  );
  assert.ok(changes > 100, `${changes} changes`);
});
