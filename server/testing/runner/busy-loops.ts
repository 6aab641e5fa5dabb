/**
 * Processes that do nothing but keep the processors busy: a suite that is green beside them asserts
 * nothing about how fast the machine is (`make test BUSY=4`).
 */
import {spawn} from 'node:child_process';

/** Starts `count` of them; they end when disposed of, or with this process. */
export function busyLoops(count: number): Disposable {
  const loop = `process.stdin.resume().on('end', () => process.exit());
    setInterval(() => { for (const end = Date.now() + 100; Date.now() < end; ); }, 0);`;
  const children = Array.from({length: count}, () =>
    spawn(process.execPath, ['-e', loop], {stdio: ['pipe', 'ignore', 'inherit']}),
  );
  return {
    [Symbol.dispose]: () => {
      for (const child of children) child.kill('SIGKILL');
    },
  };
}
