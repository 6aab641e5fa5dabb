/** A snapshot whose data is of the schema that statements are prepared under. */
import type {Timers} from '#server/platform/clock.ts';
import type {Database} from '#server/engine/database.ts';
import type {DatabaseSchema} from '#server/records/database-schema.ts';
import type {RecordContext} from '#server/records/context.ts';
import type {ReadSession} from '#server/transactions/transaction.ts';

export interface CurrentSchemaReader {
  /** The caller closes it. */
  readonly reader: ReadSession;
  readonly context: RecordContext;
}

/** Waits where a change of the schema is in the store and not announced yet. */
export async function readerInForce(
  database: Database,
  schema: DatabaseSchema,
  timers: Timers,
): Promise<CurrentSchemaReader> {
  for (;;) {
    const {context} = schema;
    const reader = database.read();
    if (reader.schemaVersion === context.catalog.version) return {reader, context};
    reader.close();
    await timers.yield();
  }
}
