/**
 * Signatures of the tables that show the schema: `SELECT FROM schema:types` and its like.
 *
 * Those of `schema:` have one output, `row`, a map, and only a target can name them; those of `db.`
 * are called as procedures. Those of views, triggers and
 * defined functions have no rows as long as none can be made.
 */
import type {FunctionSignature} from './functions.ts';
import {tableRow} from './signature.ts';

const view = {needs: 'database', cost: 10_000} as const;
const none = [0, 0] as const;
const one = [1, 1] as const;

export const schemaTables: readonly FunctionSignature[] = [
  tableRow('schema:types', none, 'The types, each with its properties and indexes.', view),
  tableRow('schema:indexes', none, 'The indexes.', view),
  tableRow('schema:index', one, 'One index by name.', view),
  tableRow('schema:buckets', none, 'The buckets.', view),
  tableRow('schema:bucket', one, 'One bucket by name.', view),
  tableRow('schema:database', none, 'The database and its settings.', view),
  tableRow('schema:dictionary', none, 'The ids of the names of declared properties.', view),
  tableRow('schema:stats', none, 'Counters of the database.', view),
  tableRow('schema:materializedViews', none, 'The materialized views.', view),
  tableRow('schema:continuousAggregates', none, 'The continuous aggregates.', view),
  tableRow('schema:graphAnalyticalViews', none, 'The graph analytical views.', view),
  tableRow('schema:triggers', none, 'The triggers.', view),
  tableRow('schema:functions', none, 'The functions that users have defined.', view),
];
