/** Work in portions, between which others may have a turn. */
export type Cooperative<Result> = Generator<undefined, Result, undefined>;

/** All portions, one after the other. */
export function runToCompletion<Result>(work: Cooperative<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
