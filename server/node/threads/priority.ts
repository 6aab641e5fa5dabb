/**
 * How far a thread gives way to the others (docs/design/0040-priorities-of-threads.md).
 *
 * Niceness lets a thread run less often, but a niced thread that runs ends its slice of some
 * milliseconds before one that serves clients gets the processor. Only the kernel's idle class
 * gives way at once; Node.js cannot ask for it, the addon of the native store can. This module
 * loads nothing else of the server, so that a thread may be small.
 */
import {createRequire} from 'node:module';
import {getPriority, setPriority} from 'node:os';
import {getEnvironmentData, setEnvironmentData} from 'node:worker_threads';

/**
 * The niceness of a thread by what it does:
 *
 * - `statement`: what a client waits for and takes long. Beside a busy thread that serves clients
 *   it gets a quarter of their processor.
 * - `background`: what nobody waits for at a console, and must come to its end. A tenth.
 * - `idle`: what may wait for as long as the processors are busy. Nothing, in the idle class.
 */
const niceness = {statement: 5, background: 10, idle: 19};

export type Priority = keyof typeof niceness;

const addonKey = 'svc.addon';

/**
 * Lets threads that are started from now on enter the idle class: by the addon at `path`, or not
 * where there is none that this process can use.
 */
export function offerIdleClass(path: string | undefined): void {
  setEnvironmentData(addonKey, path);
}

/**
 * Lowers the priority of the calling thread, for as long as it lives. It is never raised: whoever
 * was started with less keeps that.
 */
export function lowerPriority(priority: Priority): void {
  // Elsewhere it would be the priority of the process.
  if (process.platform !== 'linux') return;
  // Loaded first: beside busy processors a thread that has given way would take seconds for it.
  const enterIdleClass = priority === 'idle' ? loadIdleClass() : undefined;
  if (getPriority() < niceness[priority]) setPriority(niceness[priority]);
  enterIdleClass?.();
}

function loadIdleClass(): (() => boolean) | undefined {
  const path = getEnvironmentData(addonKey);
  if (typeof path !== 'string') return undefined;
  const addon = createRequire(import.meta.url)(path) as {readonly enterIdleClass: () => boolean};
  return addon.enterIdleClass;
}
