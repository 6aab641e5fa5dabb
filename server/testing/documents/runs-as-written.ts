/** What the tests of a page of the manual assert whose blocks run against a real server. */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {freePort} from '../worlds/free-port.ts';
import {examplesOf, printsAs} from './blocks.ts';
import {runShell} from './shell.ts';

const root = join(import.meta.dirname, '../../..');
const millisMaxDefault = 120_000;

/**
 * Tests that every shell block of a page runs, in order, and prints what the page says. The blocks
 * of a page make a whole: they start a server and end it.
 *
 * @param options - `before` gives the commands that run in front of the first block.
 */
export function runsAsWritten(
  path: string,
  options: {readonly before?: () => string; readonly millisMax?: number} = {},
): void {
  test(`every block of ${path} runs and prints what it says`, {skip: missingTools()}, async t => {
    const examples = examplesOf(readFileSync(join(root, path), 'utf8'), 'sh');
    assert.ok(examples.length >= 5, `${path} has blocks`);
    const {ran, errors} = await runShell(examples, {
      port: await freePort(),
      raftPort: await freePort(),
      millisMax: options.millisMax ?? millisMaxDefault,
      before: options.before?.() ?? '',
    });
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
