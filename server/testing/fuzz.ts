/**
 * Feeds parsers, decoders and a whole server with nonsense until the time or the count is over:
 * `make fuzz TARGET=sql`, or `cypher`, `json`, `record`, `http`; `sqlite` asks SQLite the same as
 * us, question by question; `plans` carries each question out in many ways, and `worst-plans`
 * looks for those whose chosen way is not a good one; `isolation` runs transactions side by side
 * and looks for what their levels forbid.
 *
 * Settings come by the environment: TARGET, SECONDS (60), COUNT, SEED. A failure prints the seed
 * and the input; the same seed finds it again.
 */

import {join} from 'node:path';
import {isDeepStrictEqual} from 'node:util';
import {Refusal} from '#server/base/errors.ts';
import {parseScript, parseStatement} from '#server/languages/sql/parser.ts';
import {printStatement} from '#server/languages/sql/printer-statement.ts';
import {sharedFolder} from './conformance.ts';
import {cypherFuzzer} from './hostile/fuzz-cypher.ts';
import {jsonFuzzer} from './hostile/fuzz-json.ts';
import {httpFuzzer} from './hostile/fuzz-http.ts';
import {recordFuzzer} from './hostile/fuzz-record.ts';
import type {Fuzzer} from './hostile/fuzzer.ts';
import {isolationFuzzer} from './random/isolation-history.ts';
import {planFuzzer, planSearch} from './random/plan-differential.ts';
import {sqliteFuzzer} from './random/sqlite-differential.ts';
import {SqlGenerator} from './sql-generator.ts';
import {withoutPlaces} from './sql-round-trip.ts';

const cpuMillisecondsMax = 100;

interface Tally {
  statements: number;
  mutated: number;
  refused: number;
  slowestMilliseconds: number;
}

/** One generated statement and one mutated; throws on any surprise. */
function step(generator: SqlGenerator, tally: Tally): void {
  const valid = generator.statement();
  measured(valid, tally, () => {
    const tree = parseStatement(valid);
    const again = parseStatement(printStatement(tree));
    if (!isDeepStrictEqual(withoutPlaces(tree), withoutPlaces(again))) {
      throw new Error('the print does not read back');
    }
  });
  const mutated = generator.mutated();
  tally.mutated++;
  measured(mutated, tally, () => {
    try {
      parseScript(mutated);
    } catch (error) {
      if (!(error instanceof Refusal) || error.place === undefined) throw error;
      tally.refused++;
    }
  });
}

function measured(text: string, tally: Tally, parse: () => void): void {
  const start = process.cpuUsage();
  try {
    parse();
  } catch (error) {
    throw new Error(`failed on ${JSON.stringify(text)}`, {cause: error});
  }
  const {user, system} = process.cpuUsage(start);
  const milliseconds = (user + system) / 1_000;
  tally.statements++;
  if (milliseconds > tally.slowestMilliseconds) tally.slowestMilliseconds = milliseconds;
  if (milliseconds > cpuMillisecondsMax) {
    throw new Error(`${milliseconds} ms of CPU for ${JSON.stringify(text)}`);
  }
}

/** Statements, generated and mutated. */
function sqlFuzzer(seed: number): Fuzzer {
  const generator = new SqlGenerator(seed);
  const tally: Tally = {statements: 0, mutated: 0, refused: 0, slowestMilliseconds: 0};
  return {
    step: () => step(generator, tally),
    summary: () =>
      `${tally.statements} statements, ${tally.mutated} of them mutated, ` +
      `${tally.refused} refused, ` +
      `slowest ${tally.slowestMilliseconds} ms of CPU`,
  };
}

type Target = (seed: number) => Fuzzer | Promise<Fuzzer>;

const targets: ReadonlyMap<string, Target> = new Map<string, Target>([
  ['sql', sqlFuzzer],
  ['cypher', seed => cypherFuzzer(seed, join(sharedFolder(), 'conformance/opencypher-tck'))],
  ['json', jsonFuzzer],
  ['record', recordFuzzer],
  ['http', httpFuzzer],
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
  const seconds = Number(env['SECONDS'] || 60);
  const count = Number(env['COUNT'] || Number.POSITIVE_INFINITY);
  const seed = Number(env['SEED'] || Date.now() % 1_000_000);
  console.log(`fuzzing ${target} with seed ${seed}`);
  const fuzzer = await make(seed);
  const end = Date.now() + seconds * 1_000;
  try {
    for (let steps = 0; steps < count && Date.now() < end; steps++) {
      const done = fuzzer.step();
      if (done !== undefined) await done;
    }
    console.log(fuzzer.summary());
  } finally {
    await fuzzer.close?.();
  }
}

await main();
