/**
 * Feeds parsers, decoders and a whole server with nonsense until the time or the count is over:
 * `make fuzz TARGET=sql`, or `cypher`, `json`, `record`, `http`, `mcp`; `sqlite` asks SQLite the
 * same as us, question by question; `plans` carries each question out in many ways, and
 * `worst-plans` looks for those whose chosen way is not a good one; `isolation` runs transactions
 * side by side and looks for what their levels forbid.
 *
 * Settings come by the environment: TARGET, SECONDS (60, and no end where a count is given), COUNT
 * of inputs, SEED. A failure prints the seed and the input; the same seed finds it again.
 */

import {join} from 'node:path';
import {sharedFolder} from '../conformance/conformance.ts';
import {cypherFuzzer} from './fuzz-cypher.ts';
import {jsonFuzzer} from './fuzz-json.ts';
import {httpFuzzer} from './fuzz-http.ts';
import {mcpFuzzer} from './fuzz-mcp.ts';
import {recordFuzzer} from './fuzz-record.ts';
import {sqlFuzzer} from './fuzz-sql.ts';
import type {Fuzzer} from './fuzzer.ts';
import {isolationFuzzer} from '../property/isolation-history.ts';
import {planFuzzer, planSearch} from '../property/plan-differential.ts';
import {sqliteFuzzer} from '../property/sqlite-differential.ts';

type Target = (seed: number) => Fuzzer | Promise<Fuzzer>;

const targets: ReadonlyMap<string, Target> = new Map<string, Target>([
  [
    'sql',
    seed => sqlFuzzer(seed, join(sharedFolder(), 'conformance/sql-inventory/statements.txt')),
  ],
  ['cypher', seed => cypherFuzzer(seed, join(sharedFolder(), 'conformance/opencypher-tck'))],
  ['json', jsonFuzzer],
  ['record', recordFuzzer],
  ['http', httpFuzzer],
  ['mcp', mcpFuzzer],
  ['sqlite', sqliteFuzzer],
  ['plans', planFuzzer],
  ['isolation', isolationFuzzer],
  ['worst-plans', planSearch],
]);

async function main(): Promise<void> {
  const {env} = process;
  const target = env['TARGET'] || 'sql';
  const make = targets.get(target);
  if (make === undefined) {
    throw new Error(`there is no target '${target}'; there are ${[...targets.keys()].join(', ')}`);
  }
  const count = Number(env['COUNT'] || Number.POSITIVE_INFINITY);
  const seconds = Number(
    env['SECONDS'] || (Number.isFinite(count) ? Number.POSITIVE_INFINITY : 60),
  );
  const seed = Number(env['SEED'] || Date.now() % 1_000_000);
  console.log(`fuzzing ${target} with seed ${seed}`);
  const fuzzer = await make(seed);
  const end = Date.now() + seconds * 1_000;
  try {
    const {inputsAtOnce = 1} = fuzzer;
    for (let fed = 0; fed < count && Date.now() < end; fed += inputsAtOnce) {
      const done = fuzzer.step();
      if (done !== undefined) await done;
    }
    await fuzzer.finish?.();
    console.log(fuzzer.summary());
  } finally {
    await fuzzer.close?.();
  }
}

await main();
