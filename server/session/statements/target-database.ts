/** What a run asks of the database that it runs in, beside its data: its rules and its texts. */
import type {DatabaseAccess} from '#server/access/decide.ts';
import type {RecordJson} from '#server/execution/record-format.ts';
import type {ViewFigures} from '#server/execution/external-access.ts';
import type {JavaScriptEngine} from '#server/platform/javascript.ts';
import type {AnswerForm} from '#server/plan/statement.ts';
import type {ReadSchema} from '#server/records/context.ts';
import type {DerivedCaches} from '#server/caches/derived-caches.ts';
import type {Prepared} from '../preparation/prepared.ts';

/** What whoever a statement runs for may do. */
export interface Guard {
  readonly access: DatabaseAccess;
  readonly user: string;
}

export interface TargetDatabase {
  readonly database: {readonly name: string};
  readonly javascript: JavaScriptEngine;
  readonly kept: DerivedCaches;
  readonly views: {figures(typeId: number): ViewFigures | undefined};
  /**
   * What a user may do at present; undefined: everything.
   *
   * @throws {Refusal} `security.denied` for one who may do nothing here, or is not there.
   */
  guardOf(user: string): Guard | undefined;
  /** How records print under a schema. */
  jsonOf(schema: ReadSchema, form: AnswerForm): RecordJson;
  /** The body of a function or trigger, or a query that is a text. @throws {Refusal} */
  prepare(language: string, text: string, schema: ReadSchema): Prepared;
}
