/**
 * The runner of the tests, over files made for it: what it counts, and what it takes for a failure.
 */
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {text} from 'node:stream/consumers';
import {test} from 'node:test';

const runner = join(import.meta.dirname, '../run-tests.ts');
const imports = "import {test} from 'node:test';\nimport assert from 'node:assert/strict';\n";

/** Runs the runner in a folder that holds `files`; node's runner must not see that it is nested. */
async function run(
  files: Readonly<Record<string, string>>,
  words: readonly string[] = ['files', '**/*.test.ts'],
): Promise<{lines: readonly string[]; status: number | null}> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-runner-'));
  try {
    for (const [path, source] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), {recursive: true});
      writeFileSync(join(folder, path), imports + source);
    }
    const {NODE_TEST_CONTEXT: _context, BUSY: _busy, ...env} = process.env;
    const child = spawn(process.execPath, ['--conditions=source', runner, ...words], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const status = new Promise<number | null>(resolve => child.once('close', resolve));
    const output = await text(child.stdout);
    return {lines: output.trimEnd().split('\n'), status: await status};
  } finally {
    rmSync(folder, {recursive: true, force: true});
  }
}

/** Lines of files without the time that they took. */
function fileLines(lines: readonly string[]): readonly string[] {
  return lines
    .filter(line => /^(?:ok {2}|FAIL) /.test(line))
    .map(line => line.replace(/(?:, )?[\d.]+ s\)$/, ')'))
    .sort();
}

test('a case counts for the file that ran it, wherever its call stands', async () => {
  const {lines, status} = await run({
    'server/shared.ts':
      "export const both = () => ['one', 'two'].map(name => test(name, () => {}));",
    'server/a.test.ts': "import {both} from './shared.ts'; both(); test('three', () => {});",
    'server/b.test.ts': "import {both} from './shared.ts'; both();",
  });
  assert.deepEqual(fileLines(lines), [
    'ok   server/a.test.ts (3 passed)',
    'ok   server/b.test.ts (2 passed)',
  ]);
  assert.equal(lines.at(-1), '5 passed, 0 failed, 0 skipped');
  assert.equal(status, 0);
});

test('a failure, a file without cases and one that does not load fail the run', async () => {
  const {lines, status} = await run({
    'server/broken.test.ts': "import './absent.ts';",
    'server/empty.test.ts': 'assert.ok(true);',
    'server/wrong.test.ts': "test('sums', () => assert.equal(1 + 1, 3)); test('well', () => {});",
    'server/left.test.ts': "test('later', {skip: 'not here'}, () => {});",
  });
  assert.deepEqual(fileLines(lines), [
    'FAIL server/broken.test.ts (0 passed, 1 failed)',
    'FAIL server/empty.test.ts (0 passed, 1 failed)',
    'FAIL server/wrong.test.ts (1 passed, 1 failed)',
    'ok   server/left.test.ts (0 passed, 1 skipped)',
  ]);
  assert.deepEqual(lines.slice(lines.indexOf('failed:')), [
    'failed:',
    '  server/broken.test.ts: server/broken.test.ts',
    '  server/empty.test.ts: no case ran',
    '  server/wrong.test.ts: sums',
    '1 passed, 3 failed, 1 skipped',
  ]);
  assert.equal(status, 1);
});

test('a pattern that names no file, and a scope that there is not, are refused', async () => {
  const {status, lines} = await run({}, ['files', 'server/absent.test.ts']);
  assert.equal(status, 1);
  assert.deepEqual(lines, ['']);
  assert.equal((await run({}, ['some'])).status, 2);
  assert.equal((await run({}, ['all', 'server/a.test.ts'])).status, 2);
});
