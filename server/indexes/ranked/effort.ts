/**
 * What a search reports of its work, so that the statement it runs for stays within its bounds.
 */
export interface Effort {
  /**
   * Reports how many rows, terms or comparisons were looked at.
   *
   * @throws {Refusal} when the statement's time or memory is over, or it was cancelled.
   */
  spend(units: number): void;
}

/** An effort without bound, for tests and for what is small. */
export const unbounded: Effort = {spend: () => undefined};
