/**
 * The conventions that no outside tool checks, as a pure function from sources to violations.
 *
 * tidy.test.ts runs it over the real tree and over fixtures that break one rule each, so that every
 * rule has been seen red. The compiler, the linter, the formatter and the search for dead code are
 * gates of their own; what they say is not repeated here.
 * Invariant G1: folders import each other as the table of ARCHITECTURE.md says, without a cycle.
 */
import {fileCycles} from './file-cycles.ts';
import type {FolderRule} from './folder-table.ts';
import {figureViolations, wordViolations} from './plain-words.ts';
import {
  type BlankedText,
  blankText,
  type ImportedModule,
  importedModules,
  lineAt,
} from './source-text.ts';

export interface SourceFile {
  /** The path from the project's root, with slashes. */
  readonly path: string;
  readonly text: string;
}

export type TidyRule =
  | 'banned-name'
  | 'banned-word'
  | 'comment-fragment'
  | 'file-cycle'
  | 'file-length'
  | 'file-lengths'
  | 'folder-cycle'
  | 'folder-depth'
  | 'folder-edge'
  | 'folder-size'
  | 'folder-unknown'
  | 'function-length'
  | 'header'
  | 'import-form'
  | 'line-length'
  | 'private-folder'
  | 'purity'
  | 'retired-word'
  | 'rotting-figure'
  | 'suppression'
  | 'type-cycle'
  | 'unused-exception'
  | 'unused-row';

export interface Violation {
  readonly rule: TidyRule;
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** A file that may break a rule, and why. */
export interface TidyException {
  readonly rule: TidyRule;
  readonly path: string;
  readonly reason: string;
}

export interface Tree {
  readonly files: readonly SourceFile[];
  readonly folders: ReadonlyMap<string, FolderRule>;
}

const FILE_LINES_MAX = 800;
const FILE_LINES_MEDIAN_MAX = 150;
const FILE_LINES_P95_MAX = 500;
const LINE_COLUMNS_MAX = 100;
const HEADER_LINES_MIN = 1;
const HEADER_LINES_MAX = 24;
const FOLDER_FILES_MAX = 20;
const FOLDER_DEPTH_MAX = 3;

/** Subfolders whose files are meant to be many: one rule, operator or function each. */
const WIDE_FOLDERS = new Set(['rules', 'operators', 'functions']);

/** Folders whose subfolders are public on their own, and never import each other. */
const FAMILIES = new Set(['languages', 'protocols']);

const BANNED_NAME_PARTS = ['util', 'utils', 'helper', 'helpers', 'common', 'misc', 'manager'];
const BANNED_NAMES = [...BANNED_NAME_PARTS, 'impl', 'types', 'index'];

const BANNED_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bFIXM[E]\b/, 'fix it, or name an issue'],
  [/\b(?:TOD[O]|XX[X]|HAC[K])\b(?!\(#\d+\))/, 'name an issue behind it, as in (#12), or do it'],
  [/\bnot (?:yet )?implemented\b/i, "refuse with 'not-available' and name the feature"],
  [/(?<![\w.~])\/(?:work|root|home|Users)\/\w/, 'no path of one machine'],
  [/\bregistry\.[a-z]+\.[a-z]+/, 'no host of a registry'],
];

const IMPURE: readonly (readonly [RegExp, string])[] = [
  [/(?<![\w.#'])Date\b(?=\s*[.(]|\(\))/, 'time arrives as an argument'],
  [/\bMath\.random\b/, 'chance arrives as an argument'],
  [/(?<![\w.#])process\./, 'no process'],
  [/(?<![\w.#])console\./, 'no console'],
  [/(?<![\w.#])Buffer\b(?=\s*\.)/, 'bytes are Uint8Array'],
  [/(?<![\w.#])(?:setTimeout|setInterval|setImmediate|queueMicrotask)\s*\(/, 'no timers'],
];

/** What silences a gate; allowed for one line, with a reason behind two dashes. */
const SUPPRESSION =
  /(?:oxlint|eslint)-disabl[e]|biome-ignor[e]|@ts-(?:ignor[e]|expect-erro[r]|nochec[k])/;
const REASONED = /(?:oxlint-disabl[e]-(?:next-)?line|@ts-expect-erro[r])\s.*-- \w+ \w+/;

/** Tests, contracts that several tests share, and programs that tests start. */
const TEST = /(?:\.(?:test|contract)|\/testing-[a-z-]+)\.ts$/;

interface Examined extends SourceFile {
  readonly blanked: BlankedText;
  readonly imports: readonly ImportedModule[];
  readonly isTest: boolean;
  /** Its folder in the table, or undefined. */
  readonly folder: string | undefined;
}

/** Every violation in the tree, ordered by path and line; exceptions are not applied. */
export function findViolations(tree: Tree): Violation[] {
  const files = tree.files.map(file => examined(file, tree.folders));
  const found = [
    ...files.flatMap(file => [
      ...nameViolations(file),
      ...textViolations(file),
      ...wordsOf(file),
      ...headerViolations(file),
      ...purityViolations(file, tree.folders),
      ...importViolations(file, tree.folders),
    ]),
    ...folderCycles(files, tree.folders),
    ...fileCycles(files.map(importing)),
    ...folderSizes(files),
    ...fileLengths(files),
  ];
  return found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line));
}

/** The list of retired words is itself a file of the tree, and names them. */
function wordsOf({path, text, isTest}: Examined): readonly Violation[] {
  if (path.endsWith('conventions/plain-words.ts')) return [];
  return [...wordViolations(text), ...(isTest ? [] : figureViolations(text))].map(violation => ({
    ...violation,
    path,
  }));
}

/** What is left of `violations`; an exception that excuses nothing becomes one. */
export function applyExceptions(
  violations: readonly Violation[],
  exceptions: readonly TidyException[],
): Violation[] {
  const excuses = (exception: TidyException, violation: Violation): boolean =>
    exception.rule === violation.rule && exception.path === violation.path;
  return [
    ...violations.filter(violation => !exceptions.some(one => excuses(one, violation))),
    ...exceptions
      .filter(exception => !violations.some(violation => excuses(exception, violation)))
      .map(
        ({path, rule}): Violation => ({
          rule: 'unused-exception',
          path,
          line: 1,
          message: `nothing breaks ${rule} here any more: take it off the list`,
        }),
      ),
  ];
}

/** One line a person can follow: place, rule, what to do. */
export function printViolation({path, line, rule, message}: Violation): string {
  return `${path}:${line}: ${rule}: ${message}`;
}

function examined(file: SourceFile, folders: Tree['folders']): Examined {
  const blanked = blankText(file.text);
  return {
    ...file,
    blanked,
    imports: importedModules(blanked),
    isTest: TEST.test(file.path),
    folder: folderOf(file.path, folders),
  };
}

/**
 * `server/raft/step.ts` lies in `raft`, `operator/api/group.ts` in `operator/api`, `bench/w1.ts` in
 * `bench`.
 */
function folderOf(path: string, folders: Tree['folders']): string | undefined {
  const [top = '', second = ''] = path.split('/');
  const folder =
    top === 'server'
      ? second
      : top === 'operator' && second !== '' && !second.endsWith('.ts')
        ? `${top}/${second}`
        : top;
  return folders.has(folder) ? folder : undefined;
}

function nameViolations({path, folder}: Examined): Violation[] {
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/(\.\w[\w-]*)+$/, '');
  const found: Violation[] = [];
  const add = (rule: TidyRule, message: string): void => {
    found.push({rule, path, line: 1, message});
  };
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) add('banned-name', 'file names are kebab-case');
  const banned =
    BANNED_NAMES.find(word => name === word) ??
    name.split('-').find(part => BANNED_NAME_PARTS.includes(part));
  if (banned !== undefined) add('banned-name', `'${banned}' says nothing: name the thing inside`);
  if (folder === undefined) add('folder-unknown', 'this folder is not in ARCHITECTURE.md');
  const depth = path.split('/').length - (/^(?:server|operator)\//.test(path) ? 2 : 1);
  if (depth > FOLDER_DEPTH_MAX) add('folder-depth', `at most ${FOLDER_DEPTH_MAX} folders deep`);
  return found;
}

function textViolations({path, text}: Examined): Violation[] {
  const found: Violation[] = [];
  const lines = text.replace(/\n$/, '').split('\n');
  if (lines.length > FILE_LINES_MAX) {
    const message = `${lines.length} lines, at most ${FILE_LINES_MAX}`;
    found.push({rule: 'file-length', path, line: FILE_LINES_MAX, message});
  }
  for (const [index, content] of lines.entries()) {
    const line = index + 1;
    if (content.length > LINE_COLUMNS_MAX && !/https?:\/\/\S+$/.test(content)) {
      const message = `${content.length} columns, at most ${LINE_COLUMNS_MAX}`;
      found.push({rule: 'line-length', path, line, message});
    }
    for (const [pattern, message] of BANNED_WORDS) {
      if (pattern.test(content)) found.push({rule: 'banned-word', path, line, message});
    }
    if (SUPPRESSION.test(content)) {
      if (!REASONED.test(content)) {
        const message = 'silence one rule on one line, and say why behind --';
        found.push({rule: 'suppression', path, line, message});
      }
    }
  }
  return found;
}

function headerViolations({path, text}: Examined): Violation[] {
  const body = text.replace(/^#!.*\n/, '');
  const header = /^\/\*\*?([\s\S]*?)\*\//.exec(body)?.[1] ?? /^((?:\/\/.*\n)+)/.exec(body)?.[1];
  const lines = (header ?? '').split('\n').filter(line => /\w/.test(line));
  if (lines.length < HEADER_LINES_MIN) {
    const message = 'a file opens with a comment: what it is, why, its invariant, its source';
    return [{rule: 'header', path, line: 1, message}];
  }
  if (lines.length > HEADER_LINES_MAX) {
    const message = `${lines.length} lines of header, at most ${HEADER_LINES_MAX}`;
    return [{rule: 'header', path, line: 1, message}];
  }
  return [];
}

function purityViolations(file: Examined, folders: Tree['folders']): Violation[] {
  const {path, isTest, folder, blanked, imports} = file;
  if (isTest || folder === undefined || !folders.get(folder)?.pure) return [];
  const found: Violation[] = [];
  for (const [pattern, message] of IMPURE) {
    for (const match of blanked.codeOnly.matchAll(new RegExp(pattern, 'g'))) {
      const line = lineAt(blanked.codeOnly, match.index);
      found.push({rule: 'purity', path, line, message: `${match[0]}: ${message}`});
    }
  }
  for (const {specifier, line} of imports) {
    if (specifier.startsWith('.') || specifier.startsWith('#')) continue;
    const message = `${folder} is pure and imports '${specifier}'`;
    found.push({rule: 'purity', path, line, message});
  }
  return found;
}

function importViolations(file: Examined, folders: Tree['folders']): Violation[] {
  const {path, folder, isTest} = file;
  const found: Violation[] = [];
  for (const {specifier, line, sideEffect, typeOnly} of file.imports) {
    const add = (rule: TidyRule, message: string): void => {
      found.push({rule, path, line, message});
    };
    if (sideEffect) add('import-form', `'${specifier}' is imported for its side effects`);
    const target = importTarget(file, specifier);
    if (target === undefined) continue;
    const other = folderOf(target, folders);
    const relative = specifier.startsWith('.');
    if (!target.endsWith('.ts') && !target.endsWith('.mjs') && !target.endsWith('.json')) {
      add('import-form', `'${specifier}' lacks its extension`);
    }
    if (relative && other !== folder) {
      add('import-form', `'${specifier}' leaves the folder: write #server/... or #operator/...`);
    }
    if (!relative && other === folder) {
      add('import-form', `'${specifier}' is in the same folder: write it relatively`);
    }
    if (!isTest && folder !== undefined) {
      const refusal = edgeRefusal({from: path, folder, target, other, typeOnly}, folders);
      if (refusal) add(refusal.rule, refusal.message);
    }
  }
  return found;
}

/** Path of the imported file from the root; undefined for packages and node's own modules. */
function importTarget({path}: SourceFile, specifier: string): string | undefined {
  if (specifier.startsWith('#')) return specifier.slice(1);
  if (!specifier.startsWith('.')) return undefined;
  const parts = path.split('/').slice(0, -1);
  for (const part of specifier.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}

interface Edge {
  readonly from: string;
  readonly folder: string;
  readonly target: string;
  readonly other: string | undefined;
  readonly typeOnly: boolean;
}

function edgeRefusal(
  {from, folder, target, other, typeOnly}: Edge,
  folders: Tree['folders'],
): {rule: TidyRule; message: string} | undefined {
  const rule = folders.get(folder);
  if (rule === undefined) return undefined;
  if (other === undefined) {
    return {rule: 'folder-edge', message: `${target} lies in no folder of the table`};
  }
  if (other === folder) return siblingRefusal(folder, from, target);
  const otherRule = folders.get(other);
  if (rule.mayImport !== 'everything') {
    const open = other === 'base' || rule.mayImport.has(other);
    if (!open) return {rule: 'folder-edge', message: `${folder} may not import ${other}`};
    if (rule.typesOnly.has(other) && !typeOnly) {
      return {rule: 'folder-edge', message: `${folder} may import types alone of ${other}`};
    }
    const depth = target.split('/').length;
    const publicDepth = 3 + (FAMILIES.has(other) ? 1 : 0);
    if (depth > publicDepth) {
      return {rule: 'private-folder', message: `${target} is a private part of ${other}`};
    }
  }
  if (otherRule?.testsOnly && !rule.testsOnly) {
    return {rule: 'folder-edge', message: `${other} is imported by tests only`};
  }
  return undefined;
}

/** Languages know nothing of each other, and neither do protocols. */
function siblingRefusal(folder: string, from: string, target: string) {
  if (!FAMILIES.has(folder)) return undefined;
  const [, , mine = ''] = from.split('/');
  const [, , theirs = ''] = target.split('/');
  const shared = theirs.endsWith('.ts');
  if (mine === theirs || shared) return undefined;
  return {rule: 'folder-edge' as const, message: `${folder}/${mine} imports its sibling ${theirs}`};
}

function importing(file: Examined) {
  const targets = file.imports.flatMap(({specifier, typeOnly}) => {
    const path = importTarget(file, specifier);
    return path === undefined ? [] : [{path, typeOnly}];
  });
  return {path: file.path, targets};
}

/** Cycles of the folder graph as it is, tests aside, type imports included. */
function folderCycles(files: readonly Examined[], folders: Tree['folders']): Violation[] {
  const edges = new Map<string, Map<string, string>>();
  for (const file of files) {
    const from = file.folder;
    if (file.isTest || from === undefined) continue;
    for (const {specifier} of file.imports) {
      const to = folderOf(importTarget(file, specifier) ?? '', folders);
      if (to === undefined || to === from) continue;
      const targets = edges.get(from) ?? new Map<string, string>();
      if (!targets.has(to)) edges.set(from, targets.set(to, file.path));
    }
  }
  const found: Violation[] = [];
  const done = new Set<string>();
  const visit = (folder: string, trail: readonly string[]): void => {
    if (trail.includes(folder)) {
      const cycle = [...trail.slice(trail.indexOf(folder)), folder].join(' -> ');
      const path = edges.get(trail.at(-1) ?? '')?.get(folder) ?? folder;
      found.push({rule: 'folder-cycle', path, line: 1, message: cycle});
      return;
    }
    if (done.has(folder)) return;
    for (const next of edges.get(folder)?.keys() ?? []) visit(next, [...trail, folder]);
    done.add(folder);
  };
  for (const folder of edges.keys()) visit(folder, []);
  return found;
}

function folderSizes(files: readonly Examined[]): Violation[] {
  const counts = new Map<string, number>();
  for (const {path, isTest} of files) {
    const folder = path.slice(0, path.lastIndexOf('/'));
    if (!isTest) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([folder]) => !WIDE_FOLDERS.has(folder.slice(folder.lastIndexOf('/') + 1)))
    .filter(([, count]) => count > FOLDER_FILES_MAX)
    .map(([path, count]) => {
      const message = `${count} source files, at most ${FOLDER_FILES_MAX}`;
      return {rule: 'folder-size', path, line: 1, message};
    });
}

/** Median and 95th percentile over all sources: one long file is an exception, many are a style. */
function fileLengths(files: readonly Examined[]): Violation[] {
  const lengths = files
    .filter(({isTest}) => !isTest)
    .map(({text}) => text.split('\n').length - 1)
    .sort((a, b) => a - b);
  const at = (share: number): number => lengths[Math.floor((lengths.length - 1) * share)] ?? 0;
  const found: Violation[] = [];
  const check = (name: string, actual: number, max: number): void => {
    if (actual <= max) return;
    const message = `${name} of all files is ${actual} lines, at most ${max}`;
    found.push({rule: 'file-lengths', path: 'server', line: 1, message});
  };
  check('the median', at(0.5), FILE_LINES_MEDIAN_MAX);
  check('the 95th percentile', at(0.95), FILE_LINES_P95_MAX);
  return found;
}
