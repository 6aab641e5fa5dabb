/**
 * Requests under way, under the names by which their caller may cancel them.
 *
 * An id means something within one conversation alone, so a request whose conversation is not
 * named cannot be cancelled: another client of the same user may have given the same id.
 */
import type {RequestId} from './message.ts';

/** What names a request to everybody who may cancel it. */
export interface RequestName {
  readonly user: string;
  readonly conversation: string;
  readonly id: RequestId;
}

export class RunningRequests {
  readonly #controllers = new Map<string, AbortController>();

  /**
   * Runs `work` with a signal that is aborted when the request is cancelled, or `outer` is. Of
   * several requests of one name that run at once, the first can be cancelled.
   */
  async run<T>(
    name: RequestName,
    outer: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const key = keyOf(name);
    const controller = new AbortController();
    const isNamed = !this.#controllers.has(key);
    if (isNamed) this.#controllers.set(key, controller);
    const abort = (): void => controller.abort(outer?.reason);
    if (outer?.aborted === true) abort();
    outer?.addEventListener('abort', abort);
    try {
      return await work(controller.signal);
    } finally {
      outer?.removeEventListener('abort', abort);
      if (isNamed) this.#controllers.delete(key);
    }
  }

  /** Whether there is such a request; it has been told to end. */
  cancel(name: RequestName): boolean {
    const controller = this.#controllers.get(keyOf(name));
    controller?.abort();
    return controller !== undefined;
  }
}

function keyOf({user, conversation, id}: RequestName): string {
  return JSON.stringify([user, conversation, id]);
}
