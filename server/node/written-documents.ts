/**
 * Documents of the server that an administrator writes into their files while it runs.
 *
 * A file that is not what the log says is taken over, by an entry of the log that brings it to
 * every member, once it has rested from one look to the next: an editor may write it in pieces.
 * One that cannot be used is told with what is wrong in it, and what was in force stays. A member
 * that does not lead takes none.
 */
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {reasonOf} from '#server/base/errors.ts';
import {readWhole} from '#server/platform/checked-file.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {stampOf} from './keys/watched-files.ts';

export interface WrittenDocuments<Name extends string> {
  readonly configDirectory: string;
  readonly names: readonly Name[];
  /** What the log says; undefined: nothing. */
  readonly kept: (name: Name) => Uint8Array | undefined;
  /** Takes one over, or rejects with what is wrong in it. */
  readonly adopt: (name: Name, bytes: Uint8Array) => Promise<void>;
  readonly timers: Timers;
  readonly logger: Logger;
  /** What the lines in the log begin with. */
  readonly event: string;
}

/** The time from one look to the next, and to the one behind a change, in milliseconds. */
const lookMs = 2_000;
const restMs = 250;

/** Begins to look at the files, which were read already; the answered function ends it. */
export function watchDocuments<Name extends string>(documents: WrittenDocuments<Name>): () => void {
  const {configDirectory, names, timers} = documents;
  const files = names.map(name => {
    const path = join(configDirectory, name);
    const stamp = stampOf([path]);
    return {name, path, taken: stamp, seen: stamp};
  });
  const look = (): void => {
    let rests = true;
    for (const file of files) {
      const now = stampOf([file.path]);
      if (now === file.taken) continue;
      if (now === file.seen) {
        file.taken = now;
        void take(documents, file);
      } else rests = false;
      file.seen = now;
    }
    cancel = timers.after(rests ? lookMs : restMs, look);
  };
  let cancel = timers.after(lookMs, look);
  return () => cancel();
}

async function take<Name extends string>(
  {kept, adopt, logger, event}: WrittenDocuments<Name>,
  {name, path}: {readonly name: Name; readonly path: string},
): Promise<void> {
  // One that was taken away is written again with the next change, or at the next start.
  if (!existsSync(path)) return;
  try {
    const bytes = readWhole(createDisk(), path);
    const known = kept(name);
    if (known !== undefined && bytes.equals(known)) return;
    await adopt(name, bytes);
    logger.log('info', `${event}.taken`, {path});
  } catch (error) {
    const advice = 'what was in force before stays; in a cluster the leader takes changes';
    logger.log('error', `${event}.refused`, {path, reason: reasonOf(error), advice});
  }
}
