/** Every tool, in the order of `tools/list`. */
import type {Tool} from '../tool.ts';
import {getSchema} from './get-schema.ts';
import {listDatabases} from './list-databases.ts';
import {profilerStart, profilerStatus, profilerStop} from './profiler.ts';
import {sampleRecords} from './sample-records.ts';
import {fullTextSearch, hybridSearch, vectorSearch} from './searches.ts';
import {getServerSettings, setServerSetting} from './server-settings.ts';
import {serverStatus} from './server-status.ts';
import {executeCommand, query} from './statements.ts';
import {upsertEntity, upsertRelationship} from './upserts.ts';

export const tools: readonly Tool[] = [
  listDatabases,
  getSchema,
  query,
  executeCommand,
  sampleRecords,
  vectorSearch,
  fullTextSearch,
  hybridSearch,
  upsertEntity,
  upsertRelationship,
  serverStatus,
  profilerStart,
  profilerStop,
  profilerStatus,
  getServerSettings,
  setServerSetting,
];
