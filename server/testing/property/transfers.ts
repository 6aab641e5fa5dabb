/** Transfers between the vertices of a type, which change no sum. */
import type {SeededRandom} from '#server/simulation/seeded-random.ts';
import type {TestDatabase} from '../worlds/service-world.ts';

/**
 * Takes one of `v` from a vertex whose `key` is 1 to 200 and gives it to one of 201 to 400; a
 * transfer that does not come through its conflicts has changed nothing.
 */
export function transfer(
  database: TestDatabase,
  {type, key}: {readonly type: string; readonly key: string},
  dice: SeededRandom,
): Promise<unknown> {
  const text =
    `MATCH (a:${type} {${key}: $a}), (b:${type} {${key}: $b}) ` +
    'SET a.v = a.v - 1, b.v = b.v + 1';
  return database
    .run(text, {
      language: 'cypher',
      parameters: new Map([
        ['a', 1 + dice.below(200)],
        ['b', 201 + dice.below(200)],
      ]),
      retries: 50,
    })
    .catch(() => undefined);
}
