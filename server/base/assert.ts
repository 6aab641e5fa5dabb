/**
 * Assertions: what must hold or else the program itself is wrong.
 *
 * They stay on in production. Nobody catches an AssertionFailure: the process stops and is
 * started again, because going on with a broken invariant is how data is lost. What a user can
 * cause is never asserted; it is refused (errors.ts).
 */

/** A bug in this program. Nothing but the outermost handler of a process may catch it. */
export class AssertionFailure extends Error {
  override readonly name = 'AssertionFailure';
}

/** Throws AssertionFailure with `message` unless `condition` holds. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailure(message);
}

/**
 * Marks a branch that the compiler has proved empty, such as the default of a switch over a union.
 * A member added to the union later makes the call a type error.
 */
export function unreachable(value: never): never {
  throw new AssertionFailure(`unreachable: ${describe(value)}`);
}

function describe(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    const kind = (value as {kind?: unknown}).kind;
    return typeof kind === 'string' ? `an object of kind '${kind}'` : 'an object';
  }
  return String(value);
}
