/** The sources in which a setting that has an effect is named: all but the table and the tests. */
import {sourceFiles} from '../conventions/tree.ts';

/** The table and what is said about its rows: naming one there gives it no effect. */
const tables = /^server\/base\/setting[^/]*(?:\/[a-z-]+)?\.ts$/;

export function readerCode(root: string): string {
  return sourceFiles(root)
    .filter(({path}) => !tables.test(path) && /^server\/(?!testing|simulation)/.test(path))
    .filter(({path}) => !path.endsWith('.test.ts'))
    .map(({text}) => text)
    .join('\n');
}
