/**
 * `make alone`: what somebody meets who clones the repository and has nothing beside it. Clones
 * this checkout into an empty folder, without `SVC_SHARED`, and runs the quick tests there, with
 * those that can use data from outside the repository. What needs such data must be skipped.
 *
 * The packages and the compiled RocksDB of this checkout are used: both are made from the lock
 * file and from sources that the clone has as well. So is what it remembers of its tests: a file
 * that has passed here runs again if anything that it loads, reads, lists, looks for or asks of the
 * environment is another one in the clone, or is not there.
 */
import {spawn, spawnSync} from 'node:child_process';
import {cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {passesPath} from './runner/passes.ts';

const root = join(import.meta.dirname, '../..');

/** The quick files, and the slow ones that need outside data. */
const patterns = ['examples/**/*.test.ts', 'server/testing/conformance/*.test.ts'];

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-alone-'));
  const clone = join(folder, 'clone');
  try {
    const {status} = spawnSync('git', ['clone', '--quiet', root, clone], {stdio: 'inherit'});
    if (status !== 0) return 2;
    symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
    if (existsSync(join(root, 'build')))
      cpSync(join(root, 'build'), join(clone, 'build'), {
        recursive: true,
        preserveTimestamps: true,
      });
    if (existsSync(join(root, passesPath))) {
      mkdirSync(join(clone, dirname(passesPath)));
      cpSync(join(root, passesPath), join(clone, passesPath));
    }
    const {SVC_SHARED: _outside, ...env} = process.env;
    const words = ['--conditions=source', 'server/testing/run-tests.ts', 'quick', ...patterns];
    const child = spawn(process.execPath, words, {cwd: clone, env, stdio: 'inherit'});
    return await new Promise(resolve => child.once('close', code => resolve(code ?? 1)));
  } finally {
    rmSync(folder, {recursive: true, force: true, maxRetries: 5});
  }
}

process.exitCode = await main();
