/** Every tool, in the order of `tools/list`. */
import type {Tool} from '../tool.ts';
import {listDatabases} from './list-databases.ts';

export const tools: readonly Tool[] = [listDatabases];
