/** The commands of README are those of the page that the lab runs. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {commandsIn, dayByDay} from './e31-documents.ts';

const read = (path: string): string =>
  readFileSync(join(import.meta.dirname, '../../..', path), 'utf8');

test('what README says of Kubernetes is what the page begins with', () => {
  const [first = ''] = commandsIn(read(dayByDay));
  const [, section = ''] = /^## On Kubernetes\n([^]*?)^## /m.exec(read('README.md')) ?? [];
  const said = section.split('\n').filter(line => /^(?:helm|kubectl) /.test(line));
  assert.equal(said.length, 3);
  for (const line of said) {
    // The page asks for a volume for backups besides.
    assert.ok(
      first.split('\n').some(command => command.startsWith(line)),
      line,
    );
  }
});
