/** Ports for the servers of tests: each for one process, and out of the way of connections. */
import assert from 'node:assert/strict';
import {type ChildProcess, fork} from 'node:child_process';
import {once} from 'node:events';
import {createServer} from 'node:net';
import {join} from 'node:path';
import {test} from 'node:test';
import {endOf, takePort} from './free-port.ts';

test('a port is for one process, as long as that lives', async () => {
  const other = await Other.start();
  try {
    assert.equal(await takePort(other.port), false, 'the other process has it');
    await other.kill();
    assert.equal(await takePort(other.port), true, 'the other process has ended');
    assert.equal(await takePort(other.port), false, 'it is taken already');
  } finally {
    await other.kill();
  }
});

test('a port that somebody listens on, at whatever address, is not free', async () => {
  const other = await Other.start();
  await other.kill();
  const server = createServer().listen(other.port, '127.0.0.3');
  await once(server, 'listening');
  assert.equal(await takePort(other.port), false);
  server.close();
  await once(server, 'close');
  assert.equal(await takePort(other.port), true);
});

test('no port is one that the kernel gives to connections, where it leaves enough', () => {
  assert.equal(endOf('32768\t60999\n'), 32_768);
  assert.equal(endOf('11240\t60999\n'), 11_240);
  assert.equal(endOf('11239\t60999\n'), 65_536);
  assert.equal(endOf('1024\t65535\n'), 65_536);
});

/** A process that has drawn a port. */
class Other {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(): Promise<Other> {
    const program = join(import.meta.dirname, 'testing-port.ts');
    const child = fork(program, {execArgv: ['--conditions=source']});
    const [port] = (await once(child, 'message')) as [number];
    return new Other(child, port);
  }

  async kill(): Promise<void> {
    if (this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}
