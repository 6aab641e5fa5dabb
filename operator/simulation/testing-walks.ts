/** Walks through worlds of the simulation as tests; a failure says how to replay it. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {walk} from './walk.ts';

export function testWalks(seeds: readonly number[]): void {
  for (const seed of seeds) {
    test(`world ${seed}: every wish comes true or can be taken back`, async () => {
      const {violations, steps} = await walk(seed);
      const replay = `replay: make simulate PROFILE=operator SEED=${seed}`;
      assert.deepEqual(violations, [], `${steps.join('\n')}\n${replay}`);
    });
  }
}

/** Seeds from one to another, both among them. */
export function seedsFrom(first: number, last: number): readonly number[] {
  return Array.from({length: last - first + 1}, (_, at) => first + at);
}
