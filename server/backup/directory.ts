/** What archives and checkpoints need of directories. */
import {closeSync, existsSync, fsyncSync, openSync, readdirSync} from 'node:fs';

/** Names in a directory; none when it is absent. */
export function namesIn(directory: string): readonly string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

/** Makes names durable that were given or taken in a directory. */
export function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
