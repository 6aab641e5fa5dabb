/**
 * Closes what a test has opened, however the test ends: a failed assertion leaves no engine, thread
 * or server behind that would keep the file from ending.
 */
import {after} from 'node:test';

interface Closable {
  close(): unknown;
}

/**
 * Answers `opened`, which is closed behind the test that is running (outside of one: behind the
 * file). The test may close it before, in the order that it needs: nothing is closed twice.
 */
export function closing<T extends Closable>(opened: T): T {
  const close = opened.close.bind(opened);
  let closed: {readonly result: unknown} | undefined;
  opened.close = () => (closed ??= {result: close()}).result;
  after(() => opened.close());
  return opened;
}
