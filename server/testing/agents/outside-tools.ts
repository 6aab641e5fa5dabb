/**
 * Programs that judge the agent tool server from outside: the official Python client and the
 * protocol's own conformance scenarios. They are installed once, from the package registries, into
 * a folder outside the checkout (`SVC_AGENTS_CACHE`, default `~/.cache/svc-agents`), under a name
 * that changes with what is to be installed.
 */
import {execFile} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync} from 'node:fs';
import {homedir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import type {ClientProgram} from './client-walk.ts';

const run = promisify(execFile);
const requirements = join(import.meta.dirname, 'requirements.txt');
const scenarios = '@modelcontextprotocol/conformance@0.1.16';
const installMillisMax = 300_000;

/** The official Python client, in an environment of its own. @throws {Error} what pip said. */
export async function pythonClient(): Promise<ClientProgram> {
  const pins = readFileSync(requirements, 'utf8');
  const folder = await installed('python', pins, async fresh => {
    await run('python3', ['-m', 'venv', fresh]);
    const words = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    await run(join(fresh, 'bin/python'), [...words, '-r', requirements], {
      timeout: installMillisMax,
    });
  });
  return [join(folder, 'bin/python'), join(import.meta.dirname, 'official_client.py')];
}

/** The path of the conformance scenarios' program. @throws {Error} what npm said. */
export async function scenarioProgram(): Promise<string> {
  const folder = await installed('scenarios', scenarios, async fresh => {
    const words = ['install', '--no-audit', '--no-fund', '--no-save', '--prefix', fresh];
    await run('npm', [...words, scenarios], {timeout: installMillisMax});
  });
  return join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
}

/** The folder gets its name when everything is in it, so that a broken installation is none. */
async function installed(
  name: string,
  what: string,
  install: (fresh: string) => Promise<void>,
): Promise<string> {
  const cache = process.env['SVC_AGENTS_CACHE'] ?? join(homedir(), '.cache/svc-agents');
  const key = createHash('sha256').update(what).digest('hex').slice(0, 16);
  const folder = join(cache, `${name}-${key}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, {recursive: true});
  process.stderr.write(`installing ${name} into ${cache}\n`);
  const fresh = mkdtempSync(join(cache, 'installing-'));
  try {
    await install(fresh);
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, {recursive: true, force: true});
    throw error;
  }
  return folder;
}
