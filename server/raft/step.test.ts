/** Groups of cores as transcripts: testdata/*.txt, in the language of testing-cluster.ts. */
import {readdirSync} from 'node:fs';
import {testScript} from '#server/testing/script.ts';
import {ScriptCluster} from './testing-cluster.ts';

const folder = new URL('testdata/', import.meta.url);

for (const file of readdirSync(folder).sort()) {
  testScript(new URL(file, folder), ({args, input}) => {
    const lines = input.split('\n');
    // Lines before the first verb say what the nodes find on their disks, and how they are set.
    const isSetup = (line: string) =>
      /^(?:log \w+|known \w+|at \w+|term|quorum|append|bytes|window|uncommitted|follows) /.test(
        line,
      );
    const first = lines.findIndex(line => !isSetup(line));
    const setup = lines.slice(0, first).map((line): [string, string] => {
      const words = line.split(' ');
      const names = /^(?:log|known|at)$/.test(words[0] ?? '') ? 2 : 1;
      return [words.slice(0, names).join(' '), words.slice(names).join(' ')];
    });
    return new ScriptCluster(args, new Map(setup)).run(lines.slice(first)).join('\n');
  });
}
