/**
 * Running programs in JavaScript that are not ours, apart from everything: without network, files,
 * clock or chance but what is given, within memory and time that are given.
 *
 * A program gets a text and answers a text. Everything is synchronous, as statements are.
 */
export interface JavaScriptEngine {
  /** A world of its own for the programs of one statement; close it. Cost: a quarter of a ms. */
  open(world: JavaScriptWorld): JavaScriptSandbox;
}

export interface JavaScriptWorld {
  /** Milliseconds of the processor that one call of a program may take, its questions included. */
  readonly callMsMax: number;
  /** The time that the program sees, milliseconds since 1970-01-01 UTC. */
  readonly now: number;
  /** A number from 0 on and below 1. */
  readonly random: () => number;
  /** Asked between the steps of a program: whether it is to end now. */
  readonly isEnded: () => boolean;
  /** Answers what the program asks. What it throws ends the program and comes out of the call. */
  readonly answer: (question: string) => string;
}

export interface JavaScriptSandbox {
  /**
   * A program, ready to be called.
   *
   * @param source - An expression whose value is a function: it gets a text and the function by
   *   which to ask, and answers a text.
   * @throws {Refusal} `javascript.failed` when it is malformed, and from its calls when it throws
   *   or uses up its memory or time.
   */
  program(source: string): (input: string) => string;
  close(): void;
}
