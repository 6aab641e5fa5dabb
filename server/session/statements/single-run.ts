/**
 * Carries out what makes one record, without running its plan (execution/single-create.ts): the
 * same record, answer and refusals, for a fraction of the steps.
 */
import {queryTerminated} from '#server/base/errors.ts';
import {GraphWriter} from '#server/execution/graph-writer.ts';
import type {RecordJson} from '#server/execution/record-format.ts';
import {
  createSingle,
  type SingleCreate,
  singleJson,
  singleProperties,
  type SingleRecord,
} from '#server/execution/single-create.ts';
import type {AnswerForm} from '#server/plan/statement.ts';
import {newSummary} from '../connections/cursors.ts';
import {hasTriggers} from '../programs/trigger-graph.ts';
import type {ResultCursor, ResultSummary} from '../session.ts';
import type {StatementContext} from './statement-context.ts';
import {answerLimit, type ResultOptions, type WriteData} from './statement-run.ts';

/**
 * The answer of a statement that makes one record; undefined where its plan has to run after all,
 * and nothing is written then.
 *
 * @throws {Refusal} what stands in the way of the record.
 */
export function runSingle(
  single: SingleCreate,
  form: AnswerForm,
  {
    parts,
    data,
    requested,
  }: {
    readonly parts: StatementContext;
    readonly data: WriteData;
    readonly requested: ResultOptions;
  },
): ResultCursor | undefined {
  if (requested.format !== 'record') return undefined;
  const {session, guard, signal, request} = parts;
  const {catalog} = data.context;
  const {limit} = answerLimit(requested, undefined);
  // The plan leaves its only row out, refuses, or fires.
  if (limit === 0) return undefined;
  if (guard?.access.allowsOnType('createRecord', single.type) === false) return undefined;
  if (hasTriggers(catalog, createOnly)) return undefined;
  const properties = singleProperties(single, session.globals.under(request.parameters));
  if (properties === undefined) return undefined;
  if (signal.aborted) throw queryTerminated();
  const record = createSingle(single, properties, new GraphWriter(data.writer, catalog));
  data.writer.requireComplete();
  const summary = newSummary(Math.max(limit, -1));
  summary.returned = 1;
  summary.wrote = true;
  return new RecordCursor(record, session.jsonOf(data.context, form), summary);
}

const createOnly = ['create'] as const;

/** One record, made bytes when they are asked for: until then it keeps nothing more. */
class RecordCursor implements ResultCursor {
  readonly summary: ResultSummary;
  readonly #json: RecordJson;
  #record: SingleRecord | undefined;

  constructor(record: SingleRecord, json: RecordJson, summary: ResultSummary) {
    this.#record = record;
    this.#json = json;
    this.summary = summary;
  }

  get whole(): Buffer | undefined {
    return this.#record && singleJson(this.#record, this.#json);
  }

  next(): Promise<Buffer | undefined> {
    const record = this.#record;
    this.#record = undefined;
    // The caller keeps it while others come by.
    return Promise.resolve(record && Buffer.from(singleJson(record, this.#json)));
  }

  close(): void {
    this.#record = undefined;
  }
}
