/** What every class of work is given. */

/** What every class is given. */
export interface BenchOptions {
  readonly rounds: number;
  /** Length of one round at one point. */
  readonly seconds: number;
  /** How many megabytes of data a class works on, where its size can be chosen. */
  readonly megabytes: number;
}
