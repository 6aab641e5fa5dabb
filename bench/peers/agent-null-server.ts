/**
 * A server of the agent protocol made with its official library, whose one tool does nothing: what
 * the library costs on this machine without a database behind it.
 */
import {spawn} from 'node:child_process';
import {join} from 'node:path';
import {placed} from '../processes.ts';
import {addressed, type Target} from './target.ts';

/** Starts it in a process of its own, as a user would: with no condition of ours. */
export async function startAgentNullServer(): Promise<Target> {
  const file = join(import.meta.dirname, 'agent-null-server.mjs');
  const [program, ...rest] = [...placed('server'), process.execPath, file];
  const startedAt = performance.now();
  const child = spawn(program, rest, {stdio: ['pipe', 'pipe', 'inherit']});
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', chunk => resolve(Number(String(chunk))));
    child.once('exit', () => reject(new Error('the server of the library ended')));
  });
  const parts = addressed(port, 'none');
  return {
    ...parts,
    label: 'official library, a tool that does nothing',
    pid: child.pid ?? 0,
    readyMillis: performance.now() - startedAt,
    dispose: async () => {
      parts.client.close();
      child.kill();
    },
  };
}
