/** The statistic behind `make timing`: it finds a difference, and none where there is none. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {SeededRandom} from '../property/seeded-random.ts';
import {guessed, sampleChecks, worstT} from './timing.ts';

/** Times of 100 µs with noise, some far later, of one kind `later` nanoseconds more. */
function made(later: number): ReturnType<typeof worstT> {
  const random = new SeededRandom(7);
  const time = (): number =>
    100_000 + random.below(20_000) + (random.below(50) === 0 ? random.below(5_000_000) : 0);
  const existing = Array.from({length: 20_000}, time);
  const missing = Array.from({length: 20_000}, () => time() + later);
  return worstT({existing, missing});
}

test('equal times are equal, and a microsecond among noise is found', () => {
  assert.ok(made(0) < 4.5, String(made(0)));
  assert.ok(made(1_000) > 4.5, String(made(1_000)));
  assert.ok(made(-1_000) > 4.5, String(made(-1_000)));
});

for (const what of guessed) {
  test(`checks of both kinds are sampled: ${what}`, async () => {
    const {existing, missing} = await sampleChecks(what, 40);
    assert.equal(existing.length + missing.length, 40);
    for (const time of [...existing, ...missing]) assert.ok(time > 0);
  });
}
