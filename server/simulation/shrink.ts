/**
 * Makes a failing world smaller: fewer lives, clients, operations and kinds of faults, for as
 * long as it fails still. The result is the shortest history found, not the shortest there is.
 */
import {World, type WorldOptions} from './world.ts';

export interface Shrunk {
  readonly options: WorldOptions;
  readonly failure: Error;
  readonly worldsTried: number;
}

const worldsMax = 200;

/** The error that a world ends with, or undefined when it holds. */
export async function failureOf(options: WorldOptions): Promise<Error | undefined> {
  try {
    await new World(options).run();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Shrinks `options`, which fail with `failure`. */
export async function shrink(options: WorldOptions, failure: Error): Promise<Shrunk> {
  let best = {options, failure};
  let worldsTried = 0;
  for (let progress = true; progress && worldsTried < worldsMax; ) {
    progress = false;
    for (const smaller of smallerThan(best.options)) {
      worldsTried++;
      const found = await failureOf(smaller);
      if (found === undefined) continue;
      best = {options: smaller, failure: found};
      progress = true;
      break;
    }
  }
  return {...best, worldsTried};
}

function* smallerThan(options: WorldOptions): Generator<WorldOptions> {
  const {lives, clients, operationsPerClient, endings, syncFailurePercent} = options;
  for (let fewer = 1; fewer < lives; fewer++) yield {...options, lives: fewer};
  if (clients > 1) yield {...options, clients: 1};
  if (clients > 2) yield {...options, clients: clients - 1};
  for (const part of [4, 2]) {
    const fewer = Math.floor(operationsPerClient / part);
    if (fewer >= 1) yield {...options, operationsPerClient: fewer};
  }
  if (operationsPerClient > 1) {
    yield {...options, operationsPerClient: operationsPerClient - 1};
  }
  if (endings.length > 1) {
    for (const ending of endings) {
      yield {...options, endings: endings.filter(other => other !== ending)};
    }
  }
  if (syncFailurePercent > 0) yield {...options, syncFailurePercent: 0};
  if (options.diskFullPercent > 0) yield {...options, diskFullPercent: 0};
}
