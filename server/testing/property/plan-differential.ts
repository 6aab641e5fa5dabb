/**
 * One question, many plans: as it is bound, optimized with the statistics of the data and with
 * invented ones, without indexes, with rules off, with values as parameters, in batches of any
 * size: always the same rows. `make fuzz TARGET=plans`, and a slice in the tests.
 *
 * Invented statistics make the optimizer choose what it would choose for other data: every plan
 * that it can make is right for all data, only not as cheap.
 * Invariant: nothing writes after `open`.
 */
import {indexFamilies} from '#server/caches/index-families.ts';
import {Refusal} from '#server/base/errors.ts';
import {assert} from '#server/base/assert.ts';
import {Catalog} from '#server/catalog/catalog.ts';
import {pause, unitBatch} from '#server/execution/batch.ts';
import {Budget} from '#server/execution/budget.ts';
import {type ExecutionContext, newWriteCounts, SubplanMemo} from '#server/execution/context.ts';
import type {FunctionRegistry} from '#server/execution/function-registry.ts';
import {GraphReader} from '#server/execution/graph-reader.ts';
import {outputOf, prepareOutput, rowValue} from '#server/execution/output.ts';
import {PlanPreparation} from '#server/execution/prepare.ts';
import {PlanProfile} from '#server/execution/profile.ts';
import {createFunctionRegistry} from '#server/execution/standard-functions.ts';
import {bindCypher} from '#server/languages/cypher/bind.ts';
import {parseCypher} from '#server/languages/cypher/parser.ts';
import {bindSql} from '#server/languages/sql/bind-statement.ts';
import {groupKey} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import {optimize, rules} from '#server/optimizer/optimize.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {planText} from '#server/plan/printer.ts';
import type {Statistics} from '#server/plan/statistics.ts';
import {visitPlan} from '#server/plan/tree.ts';
import {createClock} from '#server/platform/real/clock.ts';
import {constantEvaluator} from '#server/session/preparation/constant-evaluator.ts';
import {DatabaseStatistics} from '#server/session/database/database-statistics.ts';
import type {Database} from '#server/engine/database.ts';
import {DatabaseSchema} from '#server/records/database-schema.ts';
import type {Fuzzer} from '../fuzz/fuzzer.ts';
import {ServiceWorld} from '../worlds/service-world.ts';
import {type PlanQuestion, PlanQuestions, planWorld} from './plan-questions.ts';
import {SeededRandom} from './seeded-random.ts';

/** A way to carry out a question. */
interface Way {
  readonly name: string;
  readonly plan: PlanNode;
  readonly batchRows: number;
  /** Evaluations before an expression is generated code: from the first one on, or never. */
  readonly hotAfter: number;
}

/** What came of one way. */
interface Outcome {
  /** A line a row; a refusal is one line. */
  readonly lines: readonly string[];
  /** Rows that all nodes of the plan passed on. */
  readonly touched: number;
}

export class PlanDifferential {
  readonly #world: ServiceWorld;
  readonly #database: Database;
  readonly #schema: DatabaseSchema;
  readonly #statistics: Statistics;
  readonly #functions: FunctionRegistry = createFunctionRegistry();
  readonly #clock = createClock();
  /** Questions, and the rows that their plans as they are bound gave. */
  asked = 0;
  rows = 0;
  refused = 0;

  private constructor(world: ServiceWorld, database: Database) {
    this.#world = world;
    this.#database = database;
    this.#schema = new DatabaseSchema(database, {
      families: indexFamilies,
      recordBytesMax: 1 << 20,
      indexKeyBytesMax: 1 << 16,
      staleReadCheck: false,
      defaultsOf: () => () => null,
    });
    this.#statistics = new DatabaseStatistics(database, this.#schema, this.#clock);
  }

  static async open(): Promise<PlanDifferential> {
    const world = await ServiceWorld.open();
    const named = await world.database([]);
    for (const {language, text} of planWorld) await named.run(text, {language});
    return new PlanDifferential(world, world.stored(named));
  }

  /** The question of a seed. Throws with texts and plans where two ways differ. */
  ask(seed: number): void {
    const random = new SeededRandom(seed);
    const question = new PlanQuestions(random).next();
    const [first, ...others] = this.#ways(question, random);
    assert(first !== undefined, 'a question can be carried out as it is bound');
    const expected = this.#outcome(first, question);
    this.asked += 1;
    this.rows += expected.lines.length;
    if (expected.lines[0]?.startsWith('refused') === true) this.refused += 1;
    for (const way of others) {
      const found = this.#outcome(way, question);
      const at = expected.lines.findIndex((line, index) => line !== found.lines[index]);
      if (at < 0 && found.lines.length === expected.lines.length) continue;
      throw new Error(
        `seed ${seed}, ${question.language}: ${question.literal}\n` +
          `${way.name}, batches of ${way.batchRows}: ${found.lines.length} rows, not ` +
          `${expected.lines.length}; first difference at ${at}: ${found.lines[at]}, ` +
          `not ${expected.lines[at]}\n${planText(way.plan)}\nas bound:\n${planText(first.plan)}`,
      );
    }
  }

  /**
   * How much more the chosen plan of a seed's question touches than the best one found: rows
   * passed on by all nodes, a small number added to both.
   */
  excess(seed: number): {readonly ratio: number; readonly text: string} {
    const random = new SeededRandom(seed);
    const question = new PlanQuestions(random).next();
    const [bound, chosen, ...others] = this.#ways(question, random, 12);
    assert(bound !== undefined && chosen !== undefined, 'the second way is the chosen plan');
    const best = [bound, ...others]
      .map(way => ({way, touched: this.#outcome(way, question).touched}))
      .reduce((a, b) => (b.touched < a.touched ? b : a));
    const {touched} = this.#outcome(chosen, question);
    return {
      ratio: (touched + fewRows) / (best.touched + fewRows),
      text:
        `seed ${seed}, ${question.language}: ${question.literal}\n` +
        `chosen, ${touched} rows:\n${planText(chosen.plan)}\n` +
        `${best.way.name}, ${best.touched} rows:\n${planText(best.way.plan)}`,
    };
  }

  /** Lists the plans: as bound first, then as chosen for the data, then others. */
  #ways(question: PlanQuestion, random: SeededRandom, invented = 1): readonly Way[] {
    const {catalog} = this.#schema;
    const plain = new Catalog({...catalog.data, indexes: []});
    const constant = constantEvaluator(catalog, this.#functions);
    const bound = this.#bind(question, question.literal, catalog);
    const off = new Set([random.pick(rules).name]);
    const batchRows = (): number => random.pick([1, 2, 7, 1_024]);
    const statistics = this.#statistics;
    const way = (name: string, plan: PlanNode, rows = batchRows()): Way => ({
      name,
      plan,
      batchRows: rows,
      hotAfter: name === 'as bound' ? Number.POSITIVE_INFINITY : random.pick([0, 2, 1_000_000]),
    });
    const other = (): Statistics => inventedStatistics(random.below(1 << 30));
    return [
      way('as bound', bound, 1_024),
      way('chosen', optimize(bound, {catalog, statistics, constant})),
      way('chosen in batches of one', optimize(bound, {catalog, statistics, constant}), 1),
      ...Array.from({length: invented}, () =>
        way('invented statistics', optimize(bound, {catalog, statistics: other(), constant})),
      ),
      way(
        `without ${[...off][0]}`,
        optimize(bound, {catalog, statistics: other(), constant, without: off}),
      ),
      way(
        'without indexes',
        optimize(this.#bind(question, question.literal, plain), {
          catalog: plain,
          statistics: other(),
          constant,
        }),
      ),
      way(
        'with parameters',
        optimize(this.#bind(question, question.parametrized, catalog), {
          catalog,
          statistics: other(),
          constant,
        }),
      ),
    ];
  }

  #bind({language}: PlanQuestion, text: string, catalog: Catalog): PlanNode {
    const procedures = new Map<string, never>();
    const statement =
      language === 'sql'
        ? bindSql(text, catalog)
        : bindCypher(text, parseCypher(text), {catalog, procedures, databaseName: 'db'}).statement;
    assert(statement.kind === 'query', 'a question is a query');
    return statement.plan;
  }

  #outcome({plan, batchRows, hotAfter}: Way, {ordered, parameters}: PlanQuestion): Outcome {
    const reader = this.#database.read();
    const profile = new PlanProfile();
    try {
      const preparation = new PlanPreparation(plan, this.#functions, {profile, hotAfter});
      const output = outputOf(plan);
      assert(output !== undefined, 'a question says what the client sees');
      const prepared = prepareOutput(output, preparation);
      const graph = new GraphReader(reader, this.#schema.context);
      const context = this.#context(graph, parameters, batchRows);
      const lines: string[] = [];
      for (const batch of preparation.prepare(plan)(context, unitBatch)) {
        if (batch === pause) continue;
        for (let row = 0; row < batch.rowCount; row += 1) {
          lines.push(String(groupKey(rowValue(prepared, batch, row, context))));
        }
      }
      return {lines: ordered ? lines : lines.sort(), touched: touchedRows(plan, profile)};
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return {lines: [`refused: ${error.code}`], touched: 0};
    } finally {
      reader.close();
    }
  }

  #context(
    graph: GraphReader,
    parameters: ReadonlyMap<string, Value>,
    batchRows: number,
  ): ExecutionContext {
    return {
      graph,
      writes: undefined,
      catalog: this.#schema.catalog,
      parameters,
      clock: this.#clock,
      random: {u32: () => 4, fill: target => target.fill(4)},
      budget: new Budget(this.#clock, {}),
      startedAt: 0,
      format: {},
      batchRows,
      memo: new SubplanMemo(),
      counts: newWriteCounts(),
    };
  }

  close(): Promise<void> {
    return this.#world.close();
  }
}

/** No plan is better than another below this many rows. */
const fewRows = 200;

function touchedRows(plan: PlanNode, profile: PlanProfile): number {
  let rows = 0;
  visitPlan(plan, node => {
    rows += profile.of(node)?.rows ?? 0;
  });
  return rows;
}

/** Answers that a name and the seed decide, and nothing else. */
function inventedStatistics(seed: number): Statistics {
  const of = (...words: readonly string[]): SeededRandom => {
    let mixed = seed;
    for (const letter of words.join(' ')) mixed = Math.imul(mixed, 31) + letter.charCodeAt(0);
    return new SeededRandom(mixed);
  };
  const size = (random: SeededRandom): number => 10 ** random.below(7);
  return {
    recordCount: type => size(of(type)),
    property: (type, name) => {
      const random = of(type, name);
      const distinct = size(random);
      return {present: 1, distinct, frequent: [], quantiles: [0, random.below(100) + 1]};
    },
    edges: type => {
      const random = of(type);
      const shares = new Map([
        ['Person', random.below(10) / 10],
        ['City', random.below(10) / 10],
      ]);
      return {count: size(random), from: shares, to: shares};
    },
  };
}

/** Searches for plans that touch much more than another one would; says which are the worst. */
export async function planSearch(seed: number): Promise<Fuzzer> {
  const differential = await PlanDifferential.open();
  const shown = 12;
  let worst: {readonly ratio: number; readonly text: string}[] = [];
  let next = seed;
  return {
    step: () => {
      worst.push(differential.excess(next++));
      worst = worst.sort((a, b) => b.ratio - a.ratio).slice(0, shown);
    },
    summary: () =>
      [
        `${next - seed} questions; what the chosen plan touches beside the best one, at worst:`,
        ...worst.map(({ratio, text}) => `${ratio.toFixed(2)} times: ${text}`),
      ].join('\n\n'),
    close: () => differential.close(),
  };
}

export async function planFuzzer(seed: number): Promise<Fuzzer> {
  const differential = await PlanDifferential.open();
  let next = seed;
  return {
    step: () => differential.ask(next++),
    summary: () =>
      `${differential.asked} questions, ${differential.rows} rows, ` +
      `${differential.refused} refused; ` +
      'one answer by every plan',
    close: () => differential.close(),
  };
}
