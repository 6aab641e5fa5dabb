/** What a statement may ask about the server it runs in, as whoever runs it may see it. */
export interface ServerView {
  /** Who runs the statement. */
  readonly user: string;
  /** All users; for others than root whoever asks alone. */
  users(): readonly UserView[];
  transactions(): readonly TransactionView[];
}

export interface UserView {
  readonly name: string;
  readonly databases: readonly string[];
}

/** A statement that runs, or a transaction that is open between statements. */
export interface TransactionView {
  readonly id: string;
  readonly database: string;
  readonly user: string;
  /** Undefined between statements. */
  readonly text: string | undefined;
  readonly startedAt: number;
  readonly elapsedMs: number;
}
