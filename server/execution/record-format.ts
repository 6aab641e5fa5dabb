/** How the records of one catalog version print: names by id, dates by the database's settings. */
import type {Catalog} from '#server/catalog/catalog.ts';
import {RecordJson} from '#server/layout/record-json.ts';
import type {RecordSchema} from '#server/layout/record-schema.ts';

export type {RecordJson};

export function createRecordJson(schema: RecordSchema, {settings}: Catalog): RecordJson {
  const datePattern = settings.get('dateFormat');
  const dateTimePattern = settings.get('dateTimeFormat');
  return new RecordJson(schema, {
    ...(typeof datePattern === 'string' ? {datePattern} : {}),
    ...(typeof dateTimePattern === 'string' ? {dateTimePattern} : {}),
  });
}
