/**
 * `make simulate PROFILE=operator`: `SEED=1` replays one world, `RUNS=2000` runs that many from a
 * seed on, `HOURS=2` as many as fill so many simulated hours. Prints `seed N trace HASH` for each.
 */
import {type WalkResult, walk} from './walk.ts';

const {SEED, RUNS, HOURS} = process.env;
const first = Number(SEED ?? 1);
const hours = Number(HOURS ?? 0);
const runs = RUNS !== undefined ? Number(RUNS) : hours > 0 ? Number.MAX_SAFE_INTEGER : 1;
const isVerbose = SEED !== undefined && RUNS === undefined && hours === 0;

const total = {worlds: 0, violations: 0, calls: 0, failures: 0, deaths: 0, reconciles: 0};
let simulatedMs = 0;
let wallMs = 0;

for (let seed = first; seed < first + runs; seed++) {
  const result = await walk(seed);
  print(result);
  total.worlds++;
  total.violations += result.violations.length;
  for (const name of ['calls', 'failures', 'deaths', 'reconciles'] as const) {
    total[name] += result.counts[name];
  }
  simulatedMs += result.simulatedMs;
  wallMs += result.wallMs;
  if (hours > 0 && simulatedMs >= hours * 3_600_000) break;
}

const simulatedHours = simulatedMs / 3_600_000;
console.log(
  `${total.worlds} worlds, ${total.violations} violations; ${total.reconciles} looks, ` +
    `${total.calls} calls, ${total.failures} faults, ${total.deaths} operators ended; ` +
    `${simulatedHours.toFixed(1)} simulated hours, ${(simulatedMs / wallMs).toFixed(0)}x real time`,
);
process.exitCode = total.violations === 0 ? 0 : 1;

function print({seed, trace, violations, steps}: WalkResult): void {
  console.log(`seed ${seed} trace ${trace}${violations.length === 0 ? '' : ' FAILED'}`);
  if (isVerbose || violations.length > 0) for (const step of steps) console.log(`  ${step}`);
  for (const violation of violations) console.log(`  ${violation}`);
}
