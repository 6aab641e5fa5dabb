/** Runs the shell blocks of the pages on bringing data in and out. */
import {runsAsWritten} from './runs-as-written.ts';

for (const page of [
  'docs/backup.md',
  'docs/import-export.md',
  'docs/migrate/neo4j.md',
  'docs/migrate/arcadedb-orientdb.md',
  'docs/migrate/postgresql.md',
]) {
  runsAsWritten(page);
}
