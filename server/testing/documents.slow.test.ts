/**
 * Runs every shell block of README.md and docs/ against a real server, in order, and compares what
 * they print with what the document says they print.
 */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {examplesOf, printsAs} from './documents/blocks.ts';
import {runShell} from './documents/shell.ts';
import {freePort} from './server-process.ts';

const root = join(import.meta.dirname, '../..');
const millisMax = 120_000;

/** Documents whose blocks make a whole: they start a server and end it. */
const documents = ['README.md', 'docs/http.md', 'docs/isolation.md'];

for (const path of documents) {
  test(`every block of ${path} runs and prints what it says`, {skip: missingTools()}, async t => {
    const examples = examplesOf(readFileSync(join(root, path), 'utf8'), 'sh');
    assert.ok(examples.length >= 5, `${path} has blocks`);
    const {ran, errors} = await runShell(examples, {port: await freePort(), millisMax});
    for (const {example, output, status} of ran) {
      const {block} = example;
      const place = `${path}:${block.line}`;
      await t.test(place, () => {
        assert.equal(status, 0, `${place} ended with ${status}\n${output}\n${errors.slice(-4000)}`);
        if (example.output === undefined) return;
        assert.ok(
          printsAs(example.output, output),
          `${place} says\n${example.output}\nbut prints\n${output}\n${errors.slice(-4000)}`,
        );
      });
    }
  });
}

/** The blocks speak HTTP with curl, which the product itself does not need. */
function missingTools(): string | false {
  try {
    execFileSync('curl', ['--version'], {stdio: 'ignore'});
    return false;
  } catch {
    return 'curl is not installed';
  }
}
