/**
 * Keeps what V8 compiles while a server starts (dist/code/), so that later starts read it instead.
 *
 * A server is started once, with an empty root and a free port of the loopback interface, and
 * stopped as soon as it is ready; bin/svc points the runtime at what that left behind. Node.js uses
 * a file of it only for the very source, version and flags that it was made with, and compiles
 * otherwise: nothing but time depends on it. Paths in it are relative, so dist/ may move.
 * Source: docs/design/0033-code-of-the-first-start.md.
 */
import {spawn} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {isCurrent, stampOf} from './build-stamp.mjs';

const startMsMax = 30_000;
const outputCharactersMax = 4_096;

/** Makes dist/code/ under `root` where its inputs have changed; answers one line about it. */
export async function buildCodeCache(root) {
  const dist = join(root, 'dist');
  const launcher = join(root, 'bin/svc');
  if (!existsSync(join(dist, 'main.mjs'))) return 'code cache: skipped, there is no bundle';
  const kept = join(dist, 'code');
  // The version of the runtime is in package.json, and that in the bundle's stamp.
  const stamp = stampOf([join(dist, 'stamp'), launcher, import.meta.filename], []);
  if (isCurrent(join(dist, 'code-stamp'), stamp, [kept])) return 'code cache: up to date';

  const fresh = `${kept}.${process.pid}`;
  const data = mkdtempSync(join(tmpdir(), 'svc-first-start-'));
  try {
    await startAndStop(launcher, data, fresh);
    if (!existsSync(fresh) || readdirSync(fresh).length === 0) {
      return 'code cache: skipped, the runtime left none';
    }
    rmSync(kept, {recursive: true, force: true});
    renameSync(fresh, kept);
    writeFileSync(join(dist, 'code-stamp'), stamp);
  } finally {
    for (const folder of [fresh, data]) rmSync(folder, {recursive: true, force: true});
  }
  return 'code cache: built dist/code';
}

/** Resolves when the server has ended by itself or by our signal behind its start. */
function startAndStop(launcher, data, cache) {
  const settings = [
    `svc.server.rootPath=${join(data, 'root')}`,
    'svc.server.httpIncomingHost=127.0.0.1',
    'svc.server.httpIncomingPort=0',
  ];
  const env = {
    ...process.env,
    SVC_SERVER_ROOTPASSWORD: randomBytes(16).toString('hex'),
    NODE_COMPILE_CACHE: cache,
    NODE_COMPILE_CACHE_PORTABLE: '1',
  };
  const child = spawn(launcher, ['start', ...settings.flatMap(setting => ['--set', setting])], {
    cwd: data,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), startMsMax);
  let output = '';
  let isReady = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      output = (output + text).slice(-outputCharactersMax);
      if (isReady || !output.includes('server.ready')) return;
      isReady = true;
      child.kill('SIGTERM');
    });
  }
  const {promise, resolve, reject} = Promise.withResolvers();
  child.on('error', reject);
  child.on('close', (code, signal) => {
    clearTimeout(limit);
    if (code === 0) resolve();
    else reject(new Error(`a first start ended with ${code ?? signal}:\n${output}`));
  });
  return promise;
}
