/** Ten servers in some orders of start, name, list and signal: `make cluster-orders` takes 200. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {mistakes, type Mistake} from './order-plan.ts';
import {OrderWorld} from './order-world.ts';

/** Seeds of orders that once did not hold. */
const once: readonly number[] = [
  // A server that waited and ended was counted among those that begin, and nobody could be elected.
  33,
  // Who joined heard its leader, whom its list did not name, and had no way to answer it.
  34,
];

test('every server forms, joins, refuses or says what it waits for, and ends in time', async t => {
  const met = new Set<Mistake>();
  const traces = new Map<number, string>();
  let ended = 0;
  for (const seed of [...once, 1, 2, 3, 4, 5, 6, 7]) {
    const {plan, outcomes, traceHash} = await new OrderWorld(seed).run();
    traces.set(seed, traceHash);
    for (const {mistake} of plan.servers) met.add(mistake);
    ended += outcomes.get('ended') ?? 0;
  }
  assert.ok(ended > 0);
  t.diagnostic(`${[...met].sort().join(', ')}; of ${mistakes.length} mistakes`);
  const {traceHash} = await new OrderWorld(7).run();
  assert.equal(traceHash, traces.get(7), 'the same seed gives the same trace');
});
