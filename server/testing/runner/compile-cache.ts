/**
 * Is loaded before a test file: keeps what was compiled of the sources for the files after it, as
 * most load the same ones. With it a test of the engine takes 1.5 s of a processor, not 2.5 s.
 */
import {enableCompileCache} from 'node:module';
import {join} from 'node:path';

enableCompileCache(join(import.meta.dirname, '../../../.cache/tests'));
