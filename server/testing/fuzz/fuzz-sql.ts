/**
 * SQL: what the grammar allows is read, printed and read again as the same; what it does not is
 * refused with its place; nothing takes more than 100 ms of processor time.
 *
 * Before all else every statement of the corpus goes round: our own of every kind, and those that
 * the reference system was asked. Then statements are made up, and both kinds are damaged.
 */
import {existsSync, readFileSync} from 'node:fs';
import {isDeepStrictEqual} from 'node:util';
import {Refusal} from '#server/base/errors.ts';
import {parseScript} from '#server/languages/sql/parser.ts';
import {printScript} from '../property/print-sql.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {SqlGenerator} from '../property/sql-generator.ts';
import {withoutPlaces} from '../property/sql-round-trip.ts';
import type {Fuzzer} from './fuzzer.ts';

const cpuMillisecondsMax = 100;
/** Statements that one step makes up and damages. */
const damagedAtOnce = 8;

const kitchenSink = new URL('../../languages/sql/testdata/kitchen-sink.sql', import.meta.url);

/** @param inventory - The file of statements that the reference was asked; it may be missing. */
export function sqlFuzzer(seed: number, inventory: string): Fuzzer {
  const generator = new SqlGenerator(seed);
  const random = createSeededRandom(seed);
  const corpus = [...ownStatements(), ...statementsIn(inventory)];
  const tally = {made: 0, damaged: 0, refused: 0, slowestMilliseconds: 0};
  const measured = <T>(text: string, work: () => T): T => {
    const start = process.threadCpuUsage();
    let result: T;
    try {
      result = work();
    } catch (error) {
      throw new Error(`failed on ${JSON.stringify(text)}`, {cause: error});
    }
    const {user, system} = process.threadCpuUsage(start);
    const milliseconds = (user + system) / 1_000;
    tally.slowestMilliseconds = Math.max(tally.slowestMilliseconds, milliseconds);
    if (milliseconds > cpuMillisecondsMax) {
      throw new Error(`${milliseconds} ms of CPU for ${JSON.stringify(text)}`);
    }
    return result;
  };
  const read = corpus.filter(text => measured(text, () => goesRound(text))).length;
  return {
    step() {
      const made = generator.statement();
      tally.made += 1;
      if (!measured(made, () => goesRound(made))) throw new Error(`${made} is refused`);
      for (let left = damagedAtOnce; left > 0; left--) {
        const text = random.below(2) === 0 ? generator.statement() : random.pick(corpus);
        const damaged = generator.damaged(text);
        tally.damaged += 1;
        if (!measured(damaged, () => isRead(damaged))) tally.refused += 1;
      }
    },
    summary: () =>
      `${read} of ${corpus.length} statements of the corpus and ${tally.made} others were read ` +
      `and went round, ${corpus.length - read} were refused; of ${tally.damaged} damaged ones ` +
      `${tally.refused} were refused; slowest ${tally.slowestMilliseconds} ms of CPU`,
  };
}

/** Whether it is read; throws where its print does not read back as the same. */
function goesRound(text: string): boolean {
  if (!isRead(text)) return false;
  const tree = parseScript(text);
  const again = parseScript(printScript(tree));
  if (isDeepStrictEqual(withoutPlaces(tree), withoutPlaces(again))) return true;
  throw new Error('the print does not read back');
}

/** False where it is refused with its place; throws what is no such refusal. */
function isRead(text: string): boolean {
  try {
    parseScript(text);
    return true;
  } catch (error) {
    if (!(error instanceof Refusal) || error.place === undefined) throw error;
    return false;
  }
}

function ownStatements(): readonly string[] {
  const {statements} = parseScript(readFileSync(kitchenSink, 'utf8'));
  return statements.map(statement => printScript({statements: [statement]}));
}

function statementsIn(inventory: string): readonly string[] {
  if (!existsSync(inventory)) return [];
  return readFileSync(inventory, 'utf8')
    .split('\n')
    .filter(line => /^(sql|script)> /.test(line))
    .map(line => line.replace(/^\w+> /, '').replace(/ \|\|\| \{.*$/, ''));
}
