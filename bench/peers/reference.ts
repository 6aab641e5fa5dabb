/**
 * The reference system as a peer, by the tools beside the data sets (`SVC_SHARED`).
 *
 * It runs with durable commits (`ARCADE_FLUSH=2`), as ours does; its default is not durable and
 * would make every ratio of writes a lie. Without its tools the figures against it are left out,
 * and the run says so.
 */
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {pinned, runProgram} from '../processes.ts';
import {addressed, type Target} from './target.ts';

const password = 'playwithdata';

/** Starts it in an empty folder; `undefined` when its tools are not there. */
export async function startReference(pin = pinned()): Promise<Target | undefined> {
  const shared = process.env['SVC_SHARED'] || resolve(import.meta.dirname, '../../../shared');
  const tools = join(shared, 'tools/reference-system');
  if (!existsSync(join(tools, 'start.sh'))) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-reference-'));
  const port = await freePort();
  const env = {
    ARCADE_FLUSH: '2',
    ARCADE_PW: password,
    ...(pin ? {ARCADE_CPUS: '0'} : {}),
  };
  const out = await runProgram(['bash', join(tools, 'start.sh'), String(port), folder], {env});
  const pid = Number(out.trim().split('\n').at(-1));
  const parts = addressed(port, password, 'arcadedb-session-id');
  return {
    ...parts,
    label: 'reference 26.11.1 (flush 2)',
    pid,
    readyMillis: Number(readFileSync(join(folder, 'start-ms'), 'utf8')),
    dispose: async () => {
      parts.client.close();
      await runProgram(['bash', join(tools, 'stop.sh'), folder]);
      rmSync(folder, {recursive: true, force: true});
    },
  };
}
