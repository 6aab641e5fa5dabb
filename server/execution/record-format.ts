/** How the records of one catalog version print: names by id, dates by patterns. */
import {settingRows} from '#server/base/settings.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {databaseSetting} from '#server/catalog/database-settings.ts';
import {RecordJson} from '#server/layout/record-json.ts';
import type {RecordSchema} from '#server/layout/record.ts';
import type {JsonFormat} from '#server/model/json.ts';
import type {AnswerForm} from '#server/plan/statement.ts';

export type {RecordJson};

/** Patterns of dates that the server prints where a database has none of its own. */
export interface ServerPatterns {
  /** `svc.dateFormat`. */
  readonly date: string;
  /** `svc.dateTimeFormat`. */
  readonly dateTime: string;
}

export function createRecordJson(
  schema: RecordSchema,
  catalog: Catalog,
  server: ServerPatterns,
  form: AnswerForm,
): RecordJson {
  const {durationsAsSeconds} = form;
  return new RecordJson(schema, {...formatOf(catalog, server), durationsAsSeconds});
}

/** The default patterns are no patterns: printing knows them, with fractions of a second. */
function formatOf(catalog: Catalog, server: ServerPatterns): JsonFormat {
  const datePattern = databaseSetting(catalog, 'svc.dateFormat') ?? server.date;
  const dateTimePattern = databaseSetting(catalog, 'svc.dateTimeFormat') ?? server.dateTime;
  return {
    ...(datePattern === settingRows['svc.dateFormat'].default ? {} : {datePattern}),
    ...(dateTimePattern === settingRows['svc.dateTimeFormat'].default ? {} : {dateTimePattern}),
  };
}
