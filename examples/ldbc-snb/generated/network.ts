/**
 * A social network from a seed, in the schema and shape of the LDBC Social Network Benchmark: few
 * people know, write and are liked a lot, most of them little, and who knows whom goes with where
 * they live and what they like.
 *
 * The same seed and number of persons give the same tables on every machine.
 */
import type {DataSet} from '../data-set.ts';
import {Chance} from './chance.ts';
import {Forums} from './forums.ts';
import {makePersons} from './persons.ts';
import {Tables} from './tables.ts';
import {makeWorld} from './world.ts';

/** About 25 vertices and 110 edges a person. */
export function generatedNetwork({seed, persons}: {seed: number; persons: number}): DataSet {
  const tables = new Tables();
  const chance = new Chance(seed);
  const world = makeWorld(tables, chance);
  const people = makePersons(tables, {world, chance, count: persons});
  const forums = new Forums(tables, world, chance);
  for (const person of people) forums.addWall(person);
  for (const person of people) {
    for (let album = chance.below(3); album > 0; album -= 1) forums.addAlbum(person, album);
    if (chance.in100(25)) forums.addGroup(person, people);
  }
  return {
    name: `${persons} persons, seed ${seed}`,
    rows: table => tables.rows(table),
    paramsOf: () => [],
  };
}
