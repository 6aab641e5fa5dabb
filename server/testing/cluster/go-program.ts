/**
 * Programs in Go that tests and benchmarks run: an outside checker of histories, and a peer.
 *
 * Each has a folder here with its source and the exact releases of what it uses (`go.sum`); it is
 * built once into `.cache/` by the machine's Go, which fetches them by the module proxy.
 */
import {execFile} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, readFileSync, renameSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {promisify} from 'node:util';

const cache = resolve(import.meta.dirname, '../../../.cache/go');
const run = promisify(execFile);
const buildMillisMax = 900_000;

/** Whether programs can be built here; else why not. */
export async function goObstacle(): Promise<string | undefined> {
  try {
    await run('go', ['version']);
    return undefined;
  } catch {
    return 'Go is not on the PATH';
  }
}

/**
 * The path of a built program; builds it where its sources have changed.
 *
 * @throws {Error} with what the compiler said.
 */
export async function goProgram(name: 'porcupine' | 'etcd'): Promise<string> {
  const folder = join(import.meta.dirname, name);
  const hash = createHash('sha256');
  for (const file of ['main.go', 'go.mod', 'go.sum']) hash.update(readFileSync(join(folder, file)));
  const built = join(cache, `${name}-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(built)) return built;
  mkdirSync(cache, {recursive: true});
  process.stderr.write(`building ${name} (go build)\n`);
  const unfinished = `${built}.${process.pid}`;
  await run('go', ['build', '-mod=readonly', '-trimpath', '-o', unfinished, '.'], {
    cwd: folder,
    timeout: buildMillisMax,
    maxBuffer: 2 ** 24,
  });
  renameSync(unfinished, built);
  return built;
}
