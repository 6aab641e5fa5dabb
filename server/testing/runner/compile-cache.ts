/**
 * Is loaded before a test file: keeps what was compiled of the sources for the files after it, which
 * load mostly the same ones. An engine's test spends 0.8 s less on a processor with it.
 */
import {enableCompileCache} from 'node:module';
import {join} from 'node:path';

enableCompileCache(join(import.meta.dirname, '../../../.cache/tests'));
