/**
 * Reads the folder table of ARCHITECTURE.md: which folders there are, which of them are pure, and
 * which folders each may import.
 *
 * The table is the rule: tidy.ts holds the real imports against it, so the map cannot lie. Columns
 * are the folder, what lives there, and the folders it may import, by name; `everything` and
 * `nothing` stand for themselves. Of `types of platform` no code is imported. `base` is open to all
 * and is not named.
 */
import {assert} from '#server/base/assert.ts';

export interface FolderRule {
  readonly folder: string;
  /** No I/O, no clock, no chance, no process. */
  readonly pure: boolean;
  readonly mayImport: ReadonlySet<string> | 'everything';
  /** Folders among them of which it imports types, and no code. */
  readonly typesOnly: ReadonlySet<string>;
  /** Imported by tests only. */
  readonly testsOnly: boolean;
}

const HEADER = /^\|\s*folder\s*\|[^|]*\|\s*may import\s*\|\s*$/m;

const TYPES_OF = /\btypes of (?=([a-z0-9/-]+))/g;

/** The rules by folder, in the table's order. */
export function readFolderTable(markdown: string): ReadonlyMap<string, FolderRule> {
  const header = HEADER.exec(markdown);
  assert(header, 'ARCHITECTURE.md has a table with the columns folder, ... and may import');
  const rules = new Map<string, FolderRule>();
  const lines = markdown.slice(header.index).split('\n').slice(2);
  for (const line of lines) {
    if (!line.startsWith('|')) break;
    const cells = line.split('|').map(cell => cell.trim());
    const [, name = '', , imports = ''] = cells;
    for (const [, folder = ''] of name.matchAll(/`([a-z0-9/-]+)\/`/g)) {
      assert(!rules.has(folder), `folder ${folder} stands once in the table`);
      rules.set(folder, {
        folder,
        pure: name.includes('**pure**'),
        mayImport: readImports(imports.replaceAll(TYPES_OF, ''), folder, rules),
        typesOnly: new Set(Array.from(imports.matchAll(TYPES_OF), ([, from = '']) => from)),
        testsOnly: imports.includes('tests only'),
      });
    }
  }
  return rules;
}

function readImports(
  cell: string,
  folder: string,
  above: ReadonlyMap<string, FolderRule>,
): FolderRule['mayImport'] {
  if (cell.startsWith('everything')) return 'everything';
  const names = cell === 'nothing' ? [] : cell.split(',').map(name => name.trim());
  for (const name of names) {
    assert(above.has(name), `${folder} imports ${name}, which stands above it in the table`);
  }
  return new Set(names);
}
