/**
 * The one table of operators, functions and methods: what binders may call, what the manual
 * lists, what `execution/` implements (a test holds that both sides name the same set).
 *
 * Names: operators are `op:equal`, methods `.toLowerCase`, functions as users write them
 * (`abs`, `text.indexOf`). Look-up of functions and methods ignores case.
 * `functions-<family>.ts` files hold the rows; this file holds their shape and the look-up.
 */
export interface FunctionSignature {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** A `construct` looks like a function and is understood by binders alone. */
  readonly kind: 'operator' | 'function' | 'method' | 'aggregate' | 'table' | 'construct';
  /** Names of the arguments, `name?` and `names...` as signature.ts says; of operators none. */
  readonly parameters: readonly string[];
  /** The least number of arguments, the receiver of a method not counted. */
  readonly argsMin: number;
  /** undefined: any number. */
  readonly argsMax: number | undefined;
  /** `null-in-null-out`: a null argument (or receiver) answers null without a call. */
  readonly nulls: 'null-in-null-out' | 'handled';
  /** Same arguments, same view: same answer. */
  readonly deterministic: boolean;
  /** What an implementation may touch beyond its arguments. */
  readonly needs: 'nothing' | 'graph' | 'clock' | 'random' | 'database';
  /** Changes records: what calls it is no read. */
  readonly writes?: true;
  /** Rough nanoseconds a call, for the optimizer. */
  readonly cost: number;
  /** One sentence for completion and the manual. */
  readonly says: string;
  /** An expression of SQL and its answer, over the people of the manual's page; a test runs it. */
  readonly example?: readonly [expression: string, answer: string];
  /** A method of shapes alone. */
  readonly needsShape?: true;
  /** Reserved name of later work: binders refuse it with 'not-available'. */
  readonly later?: string;
}
