/**
 * Messages that are larger than the server takes, over HTTP and over standard input: each is
 * refused in words of its own, and its bytes are not kept.
 */
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {readFileSync, rmSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {createInterface} from 'node:readline';
import type {Writable} from 'node:stream';
import {test} from 'node:test';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {rootPassword, startServer, temporaryRoot} from '#server/testing/worlds/server-process.ts';

const MB = 1024 * 1024;
const sizeMax = 4 * MB;
const piece = Buffer.alloc(MB, 'x');
/** Twice what V8 lets gather of buffers that nobody needs before it collects them. */
const pieces = 200;
/** Less than one message has, of several that were sent: what comes is dropped as it comes. */
const growthMax = pieces * MB;
const settings = {
  'svc.server.httpBodyContentMaxSize': sizeMax,
  'svc.server.httpIncomingHost': '127.0.0.1',
};

/** The most memory that a process has had, in bytes. */
function mostMemory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
  return Number(kilobytes) * 1024;
}

async function* message(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"');
  for (let at = 0; at < pieces; at++) yield piece;
  yield Buffer.from('"}}');
}

const hasProc = process.platform === 'linux' ? false : 'there is no /proc here';

test('a message of 200 MB over HTTP is refused with 413', {skip: hasProc}, async () => {
  const port = await freePort();
  await using server = await startServer({root: temporaryRoot('mcp-size'), port, settings});
  const admin = server.client();
  await admin.agentConfiguration({enabled: true});
  admin.close();
  const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
  const send = (body: string | ReadableStream): Promise<Response> =>
    fetch(`${server.url}/api/v1/mcp`, {
      method: 'POST',
      headers: {authorization},
      body,
      ...(typeof body === 'string' ? {} : {duplex: 'half' as const}),
    });
  const ping = '{"id":1,"method":"ping"}';
  assert.equal((await send(ping)).status, 200);
  const before = mostMemory(server.pid);
  for (const body of ['x'.repeat(pieces * MB), ReadableStream.from(message())]) {
    // The server may close the connection on somebody who goes on sending.
    const status = await send(body).then(
      answer => answer.status,
      () => 'closed',
    );
    assert(status === 413 || status === 'closed', String(status));
  }
  const answer = await send('x'.repeat(sizeMax + 1));
  assert.equal(answer.status, 413);
  assert.match(await answer.text(), /svc\.server\.httpBodyContentMaxSize/);
  assert.equal((await send(ping)).status, 200);
  const growth = mostMemory(server.pid) - before;
  assert(growth < growthMax, `${Math.round(growth / MB)} MB more`);
});

test('a line of 200 MB is refused, and the next one answered', {skip: hasProc}, async () => {
  const root = temporaryRoot('mcp-size-lines');
  const given = {
    ...settings,
    'svc.server.rootPath': root,
    'svc.server.rootPassword': rootPassword,
    'svc.server.httpIncomingPort': 0,
  };
  const words = Object.entries(given).map(([key, value]) => `-D${key}=${value}`);
  const script = join(resolve(import.meta.dirname, '../../..'), 'bin/mcp-stdio.sh');
  const child = spawn(script, [], {
    env: {...process.env, SVC_SETTINGS: words.join(' ')},
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const lines = createInterface({input: child.stdout})[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const {value, done} = await lines.next();
    assert(done !== true, 'the server ended');
    return JSON.parse(value) as unknown;
  };
  const pong = {jsonrpc: '2.0', id: 1, result: {}};
  const ping = '{"id":1,"method":"ping"}\n';
  try {
    child.stdin.write(ping);
    assert.deepEqual(await next(), pong);
    const before = mostMemory(child.pid ?? 0);
    for (let round = 0; round < 2; round++) {
      for await (const part of message()) await write(child.stdin, part);
      await write(child.stdin, Buffer.from(`\n${ping}`));
      const refusal =
        `Invalid Request: a line has at most ${sizeMax} bytes ` +
        '(svc.server.httpBodyContentMaxSize)';
      assert.deepEqual(await next(), {
        jsonrpc: '2.0',
        id: null,
        error: {code: -32_600, message: refusal},
      });
      assert.deepEqual(await next(), pong);
    }
    const growth = mostMemory(child.pid ?? 0) - before;
    assert(growth < growthMax, `${Math.round(growth / MB)} MB more`);
  } finally {
    child.stdin.end();
    if (child.exitCode === null) await once(child, 'exit');
    rmSync(root, {recursive: true, force: true, maxRetries: 5});
  }
});

async function write(stream: Writable, part: Uint8Array): Promise<void> {
  if (!stream.write(part)) await once(stream, 'drain');
}
