/**
 * A server that answers every request with the same bytes: the floor that Node's HTTP server and
 * our driver set on this machine. A target's share of it says what the database itself costs.
 */
import {spawn} from 'node:child_process';
import http from 'node:http';
import type {AddressInfo} from 'node:net';
import {placed} from '../processes.ts';
import {addressed, type Target} from './target.ts';

/** Starts it in a process of its own; its answer has the size of a point read's. */
export async function startNullServer(): Promise<Target> {
  const words = [...placed('server'), process.execPath, '--conditions=source'];
  words.push(new URL(import.meta.url).pathname);
  const [program = '', ...rest] = words;
  const startedAt = performance.now();
  const child = spawn(program, rest, {stdio: ['pipe', 'pipe', 'inherit']});
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', chunk => resolve(Number(String(chunk))));
    child.once('exit', () => reject(new Error('the null server ended')));
  });
  const parts = addressed(port, 'none');
  return {
    ...parts,
    label: 'null server (node:http)',
    pid: child.pid ?? 0,
    readyMillis: performance.now() - startedAt,
    dispose: async () => {
      parts.client.close();
      child.kill();
    },
  };
}

function serve(): void {
  const row = {'@rid': '#1:1', '@type': 'Pt', '@cat': 'v', id: 1, pad: 'x'.repeat(100)};
  const envelope = {user: 'root', result: [row], limit: 20_000, returned: 1, truncated: false};
  const body = JSON.stringify(envelope);
  const headers = {'Content-Type': 'application/json', 'Content-Length': body.length};
  const server = http.createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(200, headers).end(body));
  });
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
  });
  // Its parent's end is its own.
  process.stdin.resume().on('end', () => process.exit(0));
}

if (import.meta.main) serve();
