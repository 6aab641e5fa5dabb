/** What a row of the table of routes says. */

export interface Described {
  readonly summary: string;
  readonly description: string;
}

export interface Row extends Described {
  /** Method and path below the base. */
  readonly at: string;
  /** The path is below nothing. */
  readonly isOutside?: boolean;
  readonly tag: string;
  readonly answers: readonly number[];
  readonly body?: Readonly<Record<string, unknown>>;
  readonly isOpen?: boolean;
}
