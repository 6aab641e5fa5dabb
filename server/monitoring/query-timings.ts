/**
 * How long statements took, by protocol, database, language and whether the request only reads.
 */
import type {DurationHistogram} from './duration-histogram.ts';
import type {Figures} from './figures.ts';
import {Timings} from './timings.ts';

export interface TimedStatement {
  /** How it came in; absent: over HTTP. */
  readonly protocol?: string | undefined;
  readonly database: string;
  readonly language: string;
  readonly readOnly?: boolean | undefined;
}

export class QueryTimings {
  readonly #timings = new Timings();
  readonly #languages: ReadonlySet<string>;
  #last: {readonly statement: TimedStatement; readonly histogram: DurationHistogram} | undefined;

  /** `languages`: those that may be a label; any other word is `other`. */
  constructor(languages: Iterable<string>) {
    this.#languages = new Set(languages);
  }

  /** A statement has ended that took so long. */
  add(statement: TimedStatement, ms: number): void {
    const last = this.#last;
    if (last !== undefined && isSameKind(last.statement, statement)) {
      last.histogram.add(ms);
      return;
    }
    const histogram = this.#of(statement);
    const {protocol, database, language, readOnly} = statement;
    // A copy, so that the request of a client is not kept.
    this.#last = {statement: {protocol, database, language, readOnly}, histogram};
    histogram.add(ms);
  }

  /** How many statements ended, by database and whether their request only reads. */
  byDatabase(): Readonly<Record<string, {queries: number; commands: number}>> {
    const counts: Record<string, {queries: number; commands: number}> = {};
    for (const {labels, value} of this.#timings.samples()) {
      const [, database = '', , type] = labels;
      const known = (counts[database] ??= {queries: 0, commands: 0});
      known[type === 'query' ? 'queries' : 'commands'] += value.count;
    }
    return counts;
  }

  /** How many statements ended. */
  get count(): number {
    return this.#timings.samples().reduce((sum, {value}) => sum + value.count, 0);
  }

  figures(): Figures {
    const samples = this.#timings.samples();
    const countOf = (type: string): number =>
      samples
        .filter(({labels}) => labels[3] === type)
        .reduce((sum, {value}) => sum + value.count, 0);
    return {
      svc_query_duration_seconds: samples,
      svc_query_duration_seconds_max: this.#timings.maxima(),
      svc_engine_queries_total: countOf('query'),
      svc_engine_commands_total: countOf('command'),
    };
  }

  #of({protocol = 'http', database, language, readOnly}: TimedStatement): DurationHistogram {
    const word = this.#languages.has(language) ? language : 'other';
    const type = readOnly ? 'query' : 'command';
    const named = [protocol, database, word, type];
    const isNamed = this.#timings.has(named) || !this.#timings.isFull;
    return this.#timings.of(isNamed ? named : [protocol, '', word, type]);
  }
}

function isSameKind(one: TimedStatement, other: TimedStatement): boolean {
  return (
    one.database === other.database &&
    one.language === other.language &&
    one.readOnly === other.readOnly &&
    one.protocol === other.protocol
  );
}
