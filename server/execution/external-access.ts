/**
 * What a statement may ask of what lies around its database: the files and addresses it reads from,
 * and the server it runs in, as whoever runs it may see it.
 *
 * Operators run without waiting, and an address of the web is answered only in time: what is not
 * there yet is said by `MissingSource` (missing-prerequisites.ts).
 */
/** What a statement reads from outside. */
export interface Sources {
  /**
   * The bytes of a file or an address, in portions that may be overwritten by the next.
   *
   * @throws {Refusal} `source.refused`, `source.unreadable`.
   * @throws {MissingSource} When the address is to be fetched first.
   */
  open(source: string): Iterable<Uint8Array>;
}

/** The server, as whoever runs the statement may see it. */
export interface VisibleServer {
  /** Who runs the statement. */
  readonly user: string;
  /** All users; for others than root whoever asks alone. */
  users(): readonly VisibleUser[];
  transactions(): readonly VisibleTransaction[];
}

/** How the refreshes of a materialized view went since its database was opened. */
export interface ViewFigures {
  readonly refreshCount: number;
  readonly errorCount: number;
  readonly totalMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly lastMs: number;
  /** Wall clock of the last one that succeeded. */
  readonly lastAt: number | undefined;
  /** Whether the last one failed. */
  readonly hasFailed: boolean;
}

export interface VisibleUser {
  readonly name: string;
  readonly databases: readonly string[];
}

/** A statement that runs, or a transaction that is open between statements. */
export interface VisibleTransaction {
  readonly id: string;
  readonly database: string;
  readonly user: string;
  /** Undefined between statements. */
  readonly text: string | undefined;
  readonly startedAt: number;
  readonly elapsedMs: number;
}
