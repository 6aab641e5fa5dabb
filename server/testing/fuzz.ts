/**
 * Feeds parsers with nonsense until the time or the count is over: `make fuzz TARGET=sql`.
 *
 * Settings come by the environment: TARGET, SECONDS (60), COUNT, SEED. A failure prints the seed
 * and the text; the same seed finds it again.
 */

import {isDeepStrictEqual} from 'node:util';
import {Refusal} from '#server/base/errors.ts';
import {parseScript, parseStatement} from '#server/languages/sql/parser.ts';
import {printStatement} from '#server/languages/sql/printer-statement.ts';
import {SqlGenerator} from './sql-generator.ts';
import {withoutPlaces} from './sql-round-trip.ts';

const cpuMillisecondsMax = 100;

interface Tally {
  statements: number;
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

function main(): void {
  const {env} = process;
  const target = env['TARGET'] ?? 'sql';
  if (target !== 'sql') throw new Error(`there is no target '${target}'; there is sql`);
  const seconds = Number(env['SECONDS'] ?? 60);
  const count = Number(env['COUNT'] ?? Number.POSITIVE_INFINITY);
  const seed = Number(env['SEED'] ?? Date.now() % 1_000_000);
  console.log(`fuzzing ${target} with seed ${seed}`);
  const generator = new SqlGenerator(seed);
  const tally: Tally = {statements: 0, refused: 0, slowestMilliseconds: 0};
  const end = Date.now() + seconds * 1_000;
  while (tally.statements < count && (tally.statements % 256 !== 0 || Date.now() < end)) {
    step(generator, tally);
  }
  const {statements, refused, slowestMilliseconds} = tally;
  console.log(
    `${statements} statements, ${refused} refused, slowest ${slowestMilliseconds} ms of CPU`,
  );
}

main();
