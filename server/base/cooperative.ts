/** Work in portions, between which others may have a turn. */
export type InPortions<Result> = Generator<undefined, Result, undefined>;

/** All portions, one after the other. */
export function atOnce<Result>(work: InPortions<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
