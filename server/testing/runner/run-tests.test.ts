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

interface Outcome {
  readonly lines: readonly string[];
  readonly status: number | null;
}

type Files = Readonly<Record<string, string>>;

/** A folder that is a repository to the runner. */
class Repository {
  readonly #folder = mkdtempSync(join(tmpdir(), 'svc-runner-'));

  write(files: Files): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.#folder, path)), {recursive: true});
      writeFileSync(join(this.#folder, path), path.endsWith('.test.ts') ? imports + text : text);
    }
  }

  /** Runs the runner in it; node's runner must not see that it is nested. */
  async run(words: readonly string[]): Promise<Outcome> {
    const {NODE_TEST_CONTEXT: _context, BUSY: _busy, ...env} = process.env;
    const child = spawn(process.execPath, ['--conditions=source', runner, ...words], {
      cwd: this.#folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const status = new Promise<number | null>(resolve => child.once('close', resolve));
    const output = await text(child.stdout);
    return {lines: output.trimEnd().split('\n'), status: await status};
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, {recursive: true, force: true});
  }
}

async function run(
  files: Files,
  words: readonly string[] = ['files', '**/*.test.ts'],
): Promise<Outcome> {
  using repository = new Repository();
  repository.write(files);
  return await repository.run(words);
}

/** Lines of files without the time that they took. */
function fileLines(lines: readonly string[]): readonly string[] {
  return lines
    .filter(line => /^(?:ok {2}|FAIL) server/.test(line))
    .map(line => line.replace(/, [\d.]+ s of processors, [\d.]+ s\)$/, ')'))
    .sort();
}

test('a case counts for the file that ran it, wherever its call stands', async () => {
  const {lines, status} = await run({
    'server/shared.ts': `${imports}
      export const both = () => ['one', 'two'].map(name => test(name, () => {}));`,
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

test('what a test leaves to its end, and throws in a callback, is that test’s', async () => {
  const {lines} = await run({
    'server/tracked.test.ts': `
      import {after} from 'node:test';
      const soon = () => new Promise(resolve => setImmediate(resolve));
      const ended = [];
      test('ends', async context => {
        await soon();
        after(() => ended.push('outer'));
        await context.test('within', async () => {
          await soon();
          after(() => ended.push('inner'));
        });
        assert.deepEqual(ended, ['inner']);
      });
      test('has ended', () => assert.deepEqual(ended, ['inner', 'outer']));
      test('throws', async () => {
        await soon();
        setTimeout(() => { throw new Error('later'); }, 0);
        await new Promise(() => {});
      });
      test('rejects', async () => {
        await soon();
        void Promise.reject(new Error('later'));
        await new Promise(() => {});
      });`,
  });
  assert.deepEqual(fileLines(lines), ['FAIL server/tracked.test.ts (3 passed, 2 failed)']);
  assert.deepEqual(lines.slice(-3, -1), [
    '  server/tracked.test.ts: throws',
    '  server/tracked.test.ts: rejects',
  ]);
});

test('what goes wrong when the cases are over fails the file, and is told', async () => {
  const {lines} = await run({
    'server/late.test.ts': `
      test('leaves a timer', () => void setTimeout(() => { throw new Error('later'); }, 0));
      test('goes on', () => new Promise(resolve => setTimeout(resolve, 50)));`,
    'server/killed.test.ts': "test('dies', () => process.kill(process.pid, 'SIGKILL'));",
  });
  assert.deepEqual(fileLines(lines), [
    'FAIL server/killed.test.ts (0 passed, 1 failed)',
    'FAIL server/late.test.ts (2 passed, 1 failed)',
  ]);
  assert.ok(lines.includes('its process ended with SIGKILL'));
  assert.ok(lines.includes('its process ended with exit code 1'));
  assert.ok(lines.some(line => /"leaves a timer".*"Error: later"/.test(line)));
});

test('a pattern that names no file, and a scope that there is not, are refused', async () => {
  const {status, lines} = await run({}, ['files', 'server/absent.test.ts']);
  assert.equal(status, 1);
  assert.deepEqual(lines, ['']);
  assert.equal((await run({}, ['some'])).status, 2);
  assert.equal((await run({}, ['all', 'server/a.test.ts'])).status, 2);
});

test('a check leaves out what has passed, until something that it depends on changes', async () => {
  using repository = new Repository();
  const asserts = 'export const sum = 2;';
  repository.write({
    'server/sum.ts': asserts,
    'server/data.txt': 'two',
    'server/loads.test.ts': `
      test('loads', async () => assert.equal((await import('./sum.ts')).sum, 2));`,
    'server/reads.test.ts': `import {readFileSync} from 'node:fs';
      test('reads', () => assert.ok(readFileSync('server/data.txt', 'utf8').startsWith('two')));`,
    'server/lists.test.ts': `import {readdir} from 'node:fs/promises';
      test('lists', async () => assert.ok((await readdir('server')).includes('data.txt')));`,
    'server/looks.test.ts': `import {existsSync} from 'node:fs';
      test('looks', () => assert.ok(!existsSync('server/absent.txt')));`,
    'server/asks.test.ts': "test('asks', () => assert.notEqual(process.env.ANSWER, '43'));",
    'server/names.test.ts': `
      test('names', () => assert.ok(!Object.keys(process.env).includes('ANSWER')));`,
    'server/thread.ts': "import './sum.ts';",
    'server/threads.test.ts': `import {once} from 'node:events';
      import {Worker} from 'node:worker_threads';
      const started = () => new Worker(new URL('./thread.ts', import.meta.url));
      test('threads', async () => assert.deepEqual(await once(started(), 'exit'), [0]));`,
    'server/spawns.test.ts': `import {execFileSync} from 'node:child_process';
      test('spawns', () => assert.equal(String(execFileSync('echo')), '\\n'));`,
    'server/fails.test.ts': "test('fails', () => assert.fail());",
  });
  const ran = async (): Promise<readonly string[]> => {
    const {lines} = await repository.run(['quick']);
    return fileLines(lines).map(line => /server\/(\w+)/.exec(line)?.[1] ?? line);
  };
  const always = ['fails', 'spawns'];
  const every = ['asks', 'fails', 'lists', 'loads', 'looks', 'names', 'reads', 'spawns', 'threads'];
  assert.deepEqual((await ran()).toSorted(), every);
  assert.deepEqual((await ran()).toSorted(), always);
  repository.write({'server/sum.ts': `${asserts} // Still.`});
  assert.deepEqual((await ran()).toSorted(), ['loads', 'threads', ...always].toSorted());
  repository.write({'server/data.txt': 'two and more'});
  assert.deepEqual((await ran()).toSorted(), ['reads', ...always].toSorted());
  repository.write({'server/absent.txt': ''});
  const {lines} = await repository.run(['quick']);
  assert.deepEqual(fileLines(lines), [
    'FAIL server/fails.test.ts (0 passed, 1 failed)',
    'FAIL server/looks.test.ts (0 passed, 1 failed)',
    'ok   server/lists.test.ts (1 passed)',
    'ok   server/spawns.test.ts (1 passed)',
  ]);
  assert.match(lines.at(-2) ?? '', /^4 files ran; 5 with 5 cases passed before, the first at /);
  assert.deepEqual((await ran()).toSorted(), ['looks', ...always].toSorted());
});

test('a check begins no file after its seconds, and the next goes on', async () => {
  using repository = new Repository();
  repository.write({
    'server/one.test.ts': "test('one', () => {});",
    'server/two.test.ts': "test('two', () => {});",
    'server/other.slow.test.ts': "test('other', () => {});",
  });
  const late = await repository.run(['check', '0']);
  assert.deepEqual(fileLines(late.lines), []);
  assert.equal(late.lines.at(-2), '2 files were left after 0 s: make check goes on with them');
  assert.equal(fileLines((await repository.run(['check', '60'])).lines).length, 2);
  assert.equal((await repository.run(['check', 'soon'])).status, 2);
});
