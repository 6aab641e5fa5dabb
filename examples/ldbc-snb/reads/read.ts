/** A read of the benchmark: its text, and the names of its parameters. */
export interface Read {
  readonly name: string;
  /** What it answers, in a sentence. */
  readonly asks: string;
  readonly params: readonly string[];
  readonly statement: string;
}
