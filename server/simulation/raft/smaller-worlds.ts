/** How large a world of nodes is, and which worlds are a bit smaller: for the shrinker. */

export interface WorldSize<Kind extends string> {
  readonly seed: number;
  /** Voters at the beginning. */
  readonly voters: number;
  /** Nodes that can be added. */
  readonly spares: number;
  readonly seconds: number;
  readonly operationsPerSecond: number;
  readonly faultsPerSecond: number;
  readonly faults: readonly Kind[];
  /** Places in the plan of faults that are left out. */
  readonly without: readonly number[];
}

/** Fewer seconds, kinds of faults, nodes and operations; parts of the plan of faults last. */
export function* smallerWorlds<Kind extends string>(
  options: WorldSize<Kind>,
): Generator<WorldSize<Kind>> {
  const {seconds, faults, without, spares, voters, operationsPerSecond} = options;
  for (const part of [4, 2, 1.2]) {
    const fewer = Math.floor(seconds / part);
    // The plan of faults depends on its length: a shorter world is another one, tried first.
    if (fewer >= 1 && fewer < seconds && without.length === 0) yield {...options, seconds: fewer};
  }
  if (without.length === 0) {
    for (const kind of faults) yield {...options, faults: faults.filter(one => one !== kind)};
  }
  if (spares > 0) yield {...options, spares: spares - 1};
  if (voters > 3) yield {...options, voters: 3};
  if (operationsPerSecond > 2) yield {...options, operationsPerSecond: operationsPerSecond / 2};
  const planned = Math.round(seconds * options.faultsPerSecond);
  const left = Array.from({length: planned}, (_, place) => place).filter(
    place => !without.includes(place),
  );
  // Large parts of the plan first: most faults have nothing to do with it.
  for (let size = Math.ceil(left.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < left.length; from += size) {
      yield {...options, without: [...without, ...left.slice(from, from + size)]};
    }
  }
}
