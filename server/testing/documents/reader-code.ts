/** The sources in which a setting that has an effect is named: all but the table and the tests. */
import {sourceFiles} from '../house/tree.ts';

const TABLE = 'server/base/settings.ts';

export function readerCode(root: string): string {
  return sourceFiles(root)
    .filter(({path}) => path !== TABLE && /^server\/(?!testing|simulation)/.test(path))
    .filter(({path}) => !path.endsWith('.test.ts'))
    .map(({text}) => text)
    .join('\n');
}
