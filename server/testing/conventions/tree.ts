/**
 * Reads the project's sources from disk for tidy.ts, and asks the linter which functions are long:
 * counting a function's lines takes a parser, and the linter has one.
 */
import {spawnSync} from 'node:child_process';
import {readdirSync, readFileSync} from 'node:fs';
import {join, relative} from 'node:path';
import type {SourceFile, Violation} from './tidy.ts';

const TOP_FOLDERS = ['server', 'operator', 'bench', 'examples', 'images', 'e2e'];
/** What the top level may hold, dot files aside: a change may have left something there. */
const TOP_LEVEL = new Set(
  (
    'ARCHITECTURE.md CONTRIBUTING.md LICENSE Makefile README.md bench bin biome.json charts crds ' +
    'deploy docs e2e ' +
    'examples images knip.json operator package-lock.json package.json proto server ' +
    'skaffold.yaml tsconfig.json tsconfig.pure.json'
  ).split(' '),
);
const SKIPPED = new Set(['node_modules', 'fixtures', 'testdata', '.cache']);

/** Every TypeScript source and test under the top folders, fixtures aside. */
export function sourceFiles(root: string): SourceFile[] {
  const present = new Set(readdirSync(root));
  return TOP_FOLDERS.filter(folder => present.has(folder))
    .flatMap(folder => filesUnder(join(root, folder)))
    .map(path => ({path: relative(root, path), text: readFileSync(path, 'utf8')}));
}

/** Selects the paths, from the project's root, that lie where nothing belongs. */
export function strayPaths(paths: readonly string[]): string[] {
  return paths.filter(path => {
    const [top = ''] = path.split('/');
    return !top.startsWith('.') && !TOP_LEVEL.has(top);
  });
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, {withFileTypes: true}).flatMap(entry => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : filesUnder(path);
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts') ? [path] : [];
  });
}

interface Diagnostic {
  readonly message: string;
  readonly filename: string;
  readonly labels: readonly {readonly span: {readonly line: number}}[];
}

/**
 * Functions over 70 lines (blank lines and comments not counted) in the sources under `folder`,
 * tests aside.
 */
export function findLongFunctions(root: string, folder: string): Violation[] {
  const config = join(root, 'server/testing/conventions/function-length.json');
  const oxlint = join(root, 'node_modules/oxlint/bin/oxlint');
  const {stdout, stderr} = spawnSync(
    process.execPath,
    [oxlint, '-c', config, '--format', 'json', folder],
    {cwd: folder, encoding: 'utf8', maxBuffer: 64 << 20},
  );
  if (!stdout.startsWith('{')) throw new Error(`oxlint failed: ${stdout}${stderr}`);
  const {diagnostics} = JSON.parse(stdout) as {diagnostics: readonly Diagnostic[]};
  return diagnostics
    .filter(({filename}) => !/(?:\.(?:test|contract)|\/testing-[a-z-]+)\.ts$/.test(filename))
    .map(({message, filename, labels}) => ({
      rule: 'function-length',
      path: relative(root, join(folder, filename)),
      line: labels[0]?.span.line ?? 1,
      message,
    }));
}
