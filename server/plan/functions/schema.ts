/**
 * Signatures of the tables that show the schema: `SELECT FROM schema:types` and its like.
 *
 * Those of `schema:` have one output, `row`, a map, and only a target can name them; those of `db.`
 * are called as procedures. Those of views, triggers and
 * defined functions have no rows as long as none can be made.
 */
import type {FunctionSignature} from '../functions.ts';
import {tableRow} from '../signature.ts';

const view = {needs: 'database', cost: 10_000} as const;

export const schemaTables: readonly FunctionSignature[] = [
  tableRow('schema:types()', 'The types, each with its properties and indexes.', view),
  tableRow('schema:indexes()', 'The indexes.', view),
  tableRow('schema:index(name)', 'One index by name.', view),
  tableRow('schema:buckets()', 'The buckets.', view),
  tableRow('schema:bucket(name)', 'One bucket by name.', view),
  tableRow('schema:database()', 'The database and its settings.', view),
  tableRow('schema:dictionary()', 'The ids of the names of declared properties.', view),
  tableRow('schema:stats()', 'Counters of the database.', view),
  tableRow('schema:materializedViews()', 'The materialized views.', view),
  tableRow('schema:continuousAggregates()', 'The continuous aggregates.', view),
  tableRow('schema:graphAnalyticalViews()', 'The graph analytical views.', view),
  tableRow('schema:triggers()', 'The triggers.', view),
  tableRow('schema:functions()', 'The functions that users have defined.', view),
];
