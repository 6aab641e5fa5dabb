/**
 * One process per root: the file `svc.lock` holds the process id of the owner.
 *
 * A lock whose process is gone is taken over, so a killed server starts again without help; the
 * stores' own locks stand behind this one. The file need not be durable: power loss ends all
 * processes.
 */
import {Refusal} from '#server/base/errors.ts';
import {readWhole} from '#server/platform/checked-file.ts';
import type {Disk} from '#server/platform/disk.ts';

export interface ProcessIdentity {
  readonly pid: number;
  /** Whether a process with this id runs on this machine. */
  isAlive(pid: number): boolean;
}

/** Takes the lock or refuses the start; the returned function gives it back (idempotent). */
export function lockRoot(disk: Disk, rootPath: string, process: ProcessIdentity): () => void {
  const path = `${rootPath}/svc.lock`;
  if (disk.exists(path)) {
    const owner = Number.parseInt(readWhole(disk, path).toString('latin1'), 10);
    if (owner !== process.pid && Number.isSafeInteger(owner) && process.isAlive(owner)) {
      throw new Refusal(
        'start.refused',
        `the process ${owner} works on ${rootPath} already: stop it, or choose another root`,
        {detail: {pid: owner}},
      );
    }
    disk.unlink(path);
  }
  const file = disk.open(path, 'create-new');
  file.writeAt(Buffer.from(`${process.pid}\n`, 'latin1'), 0);
  file.close();
  let held = true;
  return () => {
    if (held && disk.exists(path)) disk.unlink(path);
    held = false;
  };
}
