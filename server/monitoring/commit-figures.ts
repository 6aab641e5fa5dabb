/** What became of the transactions of a server since its start: plain numbers, added to. */
export class CommitFigures {
  /** Commits that were appended. */
  appended = 0;
  /** Bytes of their entries. */
  appendedBytes = 0;
  /** Commits that another one was faster than. */
  conflicts = 0;
  /** Commits that were refused for any other reason. */
  refused = 0;
  /** Transactions that had written and were rolled back. */
  rollbacks = 0;
  /** Views that were taken to read from. */
  snapshots = 0;
  /** Copies of databases as of one moment that could not be made. */
  copiesFailed = 0;
}
