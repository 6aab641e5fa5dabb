/** What a database may be called: its name is a directory, a part of URLs and a word for people. */
import {Refusal} from '#server/base/errors.ts';

const nameLengthMax = 128;
/** What is not seen, separators of paths, and what shells, URLs and file systems give a meaning. */
const nameForbidden = /[\p{C}\p{Z}\ufffd/\\:*?"'<>|`%]/u;

/**
 * The name becomes a directory: nothing in it may lead out of `databases/`. It has one spelling:
 * no other name is shown by the same characters. Plain blanks may stand inside.
 *
 * @throws {Refusal} `database.name`.
 */
export function checkDatabaseName(name: string): void {
  if (isDatabaseName(name)) return;
  throw new Refusal(
    'database.name',
    `'${name.slice(0, nameLengthMax)}' cannot be the name of a database: at most 128 characters, ` +
      "no separators, quotes, invisible or compound characters, no '..', not beginning with '.' " +
      "or '-'",
  );
}

export function isDatabaseName(name: string): boolean {
  const shape =
    name.length > 0 &&
    name.length <= nameLengthMax &&
    name === name.trim() &&
    name === name.normalize('NFKC') &&
    !/^[.-]|\.\.|\.$/.test(name);
  return shape && !nameForbidden.test(name.replaceAll(' ', '')) && name.isWellFormed();
}

const hiddenPattern = /^\.(?:restoring|importing)-[0-9a-f]{16}$/;

/**
 * Works like `checkDatabaseName`, of what another server says that it holds: hidden ones among it.
 *
 * @throws {Refusal} `database.name`.
 */
export function checkHeldName(name: string): void {
  if (!hiddenPattern.test(name)) checkDatabaseName(name);
}

/** Whether the database is one that is not served yet: those of people do not begin with a dot. */
export function isHiddenName(name: string): boolean {
  return name.startsWith('.');
}
