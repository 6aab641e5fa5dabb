/**
 * `make cluster-orders SEED=1 RUNS=200`: ten servers in every order of start, name, list and
 * signal; prints what became of them, and stops at the first order that does not hold.
 */
import {type Outcome, OrderWorld} from './order-world.ts';

const first = Number(process.env['SEED'] ?? 1);
const runs = Number(process.env['RUNS'] ?? 200);
const totals = new Map<Outcome, number>();
let endedAfterMs = 0;
let failed = 0;
for (let seed = first; seed < first + runs; seed++) {
  try {
    const report = await new OrderWorld(seed).run();
    for (const [outcome, count] of report.outcomes) {
      totals.set(outcome, (totals.get(outcome) ?? 0) + count);
    }
    endedAfterMs = Math.max(endedAfterMs, report.endedAfterMs);
  } catch (error) {
    failed++;
    process.stdout.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  }
}
const list = [...totals].map(([outcome, count]) => `${outcome} ${count}`).join(', ');
process.stdout.write(`${runs} orders from seed ${first}, ${failed} do not hold: ${list}\n`);
process.stdout.write(`the slowest end came ${endedAfterMs.toFixed(1)} ms after its signal\n`);
process.exitCode = failed === 0 ? 0 : 1;
