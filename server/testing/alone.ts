/**
 * `make alone`: what somebody meets who clones the repository and has nothing beside it. Clones
 * this checkout into an empty folder, without `SVC_SHARED`, and runs the quick tests there, with
 * those that can use data from outside the repository. What needs such data must be skipped.
 *
 * The packages and the compiled RocksDB of this checkout are used: both are made from the lock
 * file and from sources that the clone has as well.
 */
import {spawn, spawnSync} from 'node:child_process';
import {cpSync, existsSync, mkdtempSync, rmSync, symlinkSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

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
    const {SVC_SHARED: _outside, ...env} = process.env;
    const words = ['--conditions=source', 'server/testing/run-tests.ts', 'quick', ...patterns];
    const child = spawn(process.execPath, words, {cwd: clone, env, stdio: 'inherit'});
    return await new Promise(resolve => child.once('close', code => resolve(code ?? 1)));
  } finally {
    rmSync(folder, {recursive: true, force: true, maxRetries: 5});
  }
}

process.exitCode = await main();
