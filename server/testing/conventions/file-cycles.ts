/**
 * Cycles between files: the groups of files that import each other around a circle.
 *
 * Imports of types alone vanish before the code runs, so they are told apart: a group that is one
 * only by them is a `type-cycle`. Each file of a group is a violation of its own, so that an
 * exception names every file and a group cannot grow unseen.
 */
export interface CycleViolation {
  readonly rule: 'file-cycle' | 'type-cycle';
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

export interface ImportingFile {
  readonly path: string;
  readonly targets: readonly {readonly path: string; readonly typeOnly: boolean}[];
}

export function fileCycles(files: readonly ImportingFile[]): CycleViolation[] {
  const known = new Set(files.map(({path}) => path));
  const graph = (withTypes: boolean): Graph =>
    new Map(
      files.map(({path, targets}) => [
        path,
        targets.flatMap(target =>
          known.has(target.path) && (withTypes || !target.typeOnly) ? [target.path] : [],
        ),
      ]),
    );
  const byValues = circles(graph(false));
  const inValues = new Set(byValues.flat());
  const byTypes = circles(graph(true)).filter(group => !group.every(path => inValues.has(path)));
  return [
    ...byValues.flatMap(group => violations('file-cycle', group)),
    ...byTypes.flatMap(group => violations('type-cycle', group)),
  ];
}

function violations(rule: CycleViolation['rule'], group: readonly string[]): CycleViolation[] {
  const message = `imports itself around a circle of ${group.join(', ')}`;
  return group.map(path => ({rule, path, line: 1, message}));
}

type Graph = ReadonlyMap<string, readonly string[]>;

/** The strongly connected components with more than one file, by Tarjan's algorithm. */
function circles(graph: Graph): readonly (readonly string[])[] {
  const numbers = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (path: string): number => {
    const number = numbers.size;
    let low = number;
    numbers.set(path, number);
    stack.push(path);
    for (const next of graph.get(path) ?? []) {
      if (!numbers.has(next)) low = Math.min(low, visit(next));
      else if (stack.includes(next)) low = Math.min(low, numbers.get(next) ?? low);
    }
    if (low === number) {
      const group = stack.splice(stack.indexOf(path));
      if (group.length > 1) found.push(group.sort());
    }
    return low;
  };
  for (const path of graph.keys()) if (!numbers.has(path)) visit(path);
  return found;
}
