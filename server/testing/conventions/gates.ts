/**
 * The gates that outside tools keep: how each is run, by `make test` over the tree and by
 * gates.test.ts over fixtures, so that what has been seen red is what runs.
 * Invariant G2: every gate has been seen to fail.
 */
import {join} from 'node:path';
import {assert} from '#server/base/assert.ts';

export interface Gate {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Output that means that the gate could do only a part of its work here. */
  readonly skips?: RegExp;
}

/** The gates in the order in which they run; programs come from the packages under `root`. */
export function gatesOf(root: string): readonly Gate[] {
  const packaged = (name: string): string => join(root, 'node_modules/.bin', name);
  return [
    {
      name: 'build',
      program: process.execPath,
      args: ['bin/prepare.mjs', '--strict'],
      skips: /^.*: skipped,.*$/m,
    },
    {name: 'types', program: packaged('tsc'), args: ['-p', 'tsconfig.json', '--pretty', 'false']},
    {
      name: 'purity',
      program: packaged('tsc'),
      args: ['-p', 'tsconfig.pure.json', '--pretty', 'false'],
    },
    {
      name: 'lint',
      program: packaged('oxlint'),
      args: ['--type-aware', '--deny-warnings', '--format', 'unix'],
    },
    {name: 'format', program: packaged('biome'), args: ['format', '--max-diagnostics=none', '.']},
    {name: 'dead code', program: packaged('knip'), args: ['--no-config-hints']},
  ];
}

export function gateNamed(name: string, root: string): Gate {
  const gate = gatesOf(root).find(one => one.name === name);
  assert(gate, `there is a gate named ${name}`);
  return gate;
}
