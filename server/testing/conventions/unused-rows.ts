/**
 * Finds rows of the tables of server/base that nothing uses: a setting that no code reads would
 * be a knob without an effect, a refusal that no code raises a promise without a case.
 *
 * A row counts as used when its name stands as a string in a source outside its table. The maps
 * from refusals to statuses name every code by duty, so they do not count.
 */
import {blankText} from './source-text.ts';
import type {SourceFile, Violation} from './tidy.ts';

const TABLE = /^server\/base\/(?:settings(?:\/[a-z-]+)?|errors)\.ts$/;
/** What is said about settings in base/ gives them no effect. */
const ABOUT_SETTINGS = /^server\/base\/(?:setting-checks|settings[a-z-]*)\.ts$/;
const STATUS_MAP = /^server\/protocols\/[a-z]+\/status\.ts$/;

export function findUnusedRows(files: readonly SourceFile[]): Violation[] {
  const users = files
    .filter(
      ({path}) =>
        path.startsWith('server/') && !/(?:\.(?:test|contract)|\/testing-[a-z-]+)\.ts$/.test(path),
    )
    .filter(({path}) => !TABLE.test(path) && !STATUS_MAP.test(path))
    .filter(({path}) => !ABOUT_SETTINGS.test(path))
    .map(({text}) => blankText(text).withoutComments)
    .join('\n');
  return files
    .filter(({path}) => TABLE.test(path))
    .flatMap(({path, text}) =>
      rowsOf(text)
        .filter(({name}) => !users.includes(`'${name}'`))
        .map(({name, line}): Violation => {
          const message = `nothing uses '${name}': use it or take the row out`;
          return {rule: 'unused-row', path, line, message};
        }),
    );
}

/** Names of the rows of a table, which are indented once and open an object. */
function rowsOf(text: string): {name: string; line: number}[] {
  return text.split('\n').flatMap((content, index) => {
    const name = /^ {2}'?([a-zA-Z.-]+)'?: \{$/.exec(content)?.[1];
    return name === undefined ? [] : [{name, line: index + 1}];
  });
}
