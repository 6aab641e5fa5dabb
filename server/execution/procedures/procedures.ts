/** The families of procedures: table functions that CALL knows by name. */
import type {FunctionFamily} from '../function-registry.ts';
import {conditionalProcedures} from './conditional.ts';
import {loadCsv} from './csv.ts';
import {catalogProcedures} from './lists.ts';
import {mergeProcedures} from './merges.ts';
import {metaProcedures} from './meta.ts';
import {pathProcedures} from './paths.ts';
import {showTables} from './shows.ts';

export const procedures: readonly FunctionFamily[] = [
  catalogProcedures,
  conditionalProcedures,
  loadCsv,
  mergeProcedures,
  metaProcedures,
  pathProcedures,
  showTables,
];
