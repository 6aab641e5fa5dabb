/**
 * Makes a failing world smaller for as long as it fails still: the result is the shortest history
 * found, not the shortest there is. What smaller means is the world's own (`smallerThan`).
 */

/** A world as the shrinker sees it: the options of one, and those that are a bit smaller. */
export interface Shrinkable<Options, Result = unknown> {
  /** Runs the world of these options; throws what it ends with when it does not hold. */
  readonly run: (options: Options) => Result | Promise<Result>;
  readonly smallerThan: (options: Options) => Iterable<Options>;
}

export interface Shrunk<Options> {
  readonly options: Options;
  readonly failure: Error;
  readonly worldsTried: number;
}

const worldsMax = 200;

/** The error that a world ends with, or undefined when it holds. */
export async function failureOf<Options>(
  world: Shrinkable<Options>,
  options: Options,
): Promise<Error | undefined> {
  try {
    await world.run(options);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Shrinks `options`, which fail with `failure`. */
export async function shrink<Options>(
  world: Shrinkable<Options>,
  options: Options,
  failure: Error,
): Promise<Shrunk<Options>> {
  let best = {options, failure};
  let worldsTried = 0;
  for (let progress = true; progress && worldsTried < worldsMax; ) {
    progress = false;
    for (const smaller of world.smallerThan(best.options)) {
      worldsTried++;
      const found = await failureOf(world, smaller);
      if (found === undefined) continue;
      best = {options: smaller, failure: found};
      progress = true;
      break;
    }
  }
  return {...best, worldsTried};
}
