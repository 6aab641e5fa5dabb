/** Work that is done at once or in a promise, handled alike: a promise costs time nobody waits. */

/** What `work` answers; what `other` makes of its failure, at once or later. */
export function recover<T>(
  work: () => T | Promise<T>,
  other: (error: unknown) => Promise<T>,
): T | Promise<T> {
  try {
    const result = work();
    return result instanceof Promise ? result.catch(other) : result;
  } catch (error) {
    return other(error);
  }
}

/** Calls `end` once `work` has ended, well or not, at once or later. */
export function finallyDo<T>(work: () => T | Promise<T>, end: () => void): T | Promise<T> {
  let ends = true;
  try {
    const result = work();
    if (!(result instanceof Promise)) return result;
    ends = false;
    return result.finally(end);
  } finally {
    if (ends) end();
  }
}

/** Does `work`; `failed` is called when it throws or rejects. */
export function mapError<T>(work: () => T | Promise<T>, failed: () => void): T | Promise<T> {
  const whenFailed = (error: unknown): never => {
    failed();
    throw error;
  };
  try {
    const result = work();
    return result instanceof Promise ? result.catch(whenFailed) : result;
  } catch (error) {
    return whenFailed(error);
  }
}
