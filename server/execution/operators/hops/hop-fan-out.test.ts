/** A list of starts, some of them twice, gives each place the hops of its vertex. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import fc from 'fast-check';
import type {RecordValue, Rid} from '#server/model/value.ts';
import type {Direction} from '#server/plan/node.ts';
import {World} from '#server/testing/worlds/hand-built-plan.ts';
import {openStoredWorld} from '#server/testing/worlds/stored-world.ts';
import type {Graph, Hop} from '../../graph.ts';
import {HopFanOut} from './hop-fan-out.ts';

const stored = await openStoredWorld();
after(() => stored.close());
const worlds = [new World(), await stored.open('committed')];

function everything(graph: Graph): readonly RecordValue[] {
  const source = graph.scanType('Thing', true, {descending: false});
  const records: RecordValue[] = [];
  for (let part = source.next(50); part !== undefined; part = source.next(50)) {
    records.push(...part);
  }
  source.close();
  return records;
}

function hopsOf(graph: Graph, vertex: Rid, direction: Direction): readonly Hop[] {
  const source = graph.hops([vertex], {direction, types: undefined});
  const hops = source.next(1_000) ?? [];
  source.close();
  return hops;
}

test('each place gives the hops of its vertex, in order, whatever is asked for at once', () => {
  for (const world of worlds) {
    const {graph} = world;
    const vertices = everything(graph).map(record => record.rid);
    const cases = fc.record({
      picks: fc.array(fc.nat(vertices.length - 1), {maxLength: 30}),
      direction: fc.constantFrom<Direction>('out', 'in', 'both'),
      max: fc.integer({min: 1, max: 9}),
      odd: fc.boolean(),
    });
    fc.assert(
      fc.property(cases, ({picks, direction, max, odd}) => {
        const starts = picks.map(pick => vertices[pick] as Rid);
        const keep = (hop: Hop): boolean => !odd || hop.other.position % 2 === 1;
        const expected = starts.flatMap((start, place) =>
          hopsOf(graph, start, direction)
            .filter(keep)
            .map(hop => [place, hop.edge, hop.other]),
        );
        const filter = (hops: readonly Hop[]): readonly Hop[] => hops.filter(keep);
        const fanOut = new HopFanOut(graph, starts, {
          choice: {direction, types: undefined},
          filter,
        });
        const found: unknown[] = [];
        for (let part = fanOut.next(max); part !== undefined; part = fanOut.next(max)) {
          assert.ok(part.hops.length <= max);
          part.hops.forEach((hop, at) => {
            found.push([part.places[at], hop.edge, hop.other]);
            assert.deepEqual(fanOut.vertices[hop.source], starts[part.places[at] as number]);
          });
        }
        fanOut.close();
        assert.deepEqual(found, expected);
      }),
    );
  }
});
