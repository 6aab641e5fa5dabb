/** Every command of docs/kubernetes is run by a scenario or says why not; README says the same. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {scenarios} from '../scenario-table.ts';
import {blocksOf, commandsOf, dayByDay, pages, typedBy} from './documented.ts';

const programs = [
  'make',
  'helm',
  'kubectl',
  'docker',
  'podman',
  'ctr',
  'skopeo',
  'svc',
  'git',
  'npm',
];
const isCommand = new RegExp(`^(?:${programs.join('|')}) `, 'm');

for (const page of pages()) {
  test(`the commands of ${page} are run, or the page says why not`, () => {
    const scenario = typedBy[page];
    for (const {language, text, notRun} of blocksOf(page)) {
      if (language === 'sh') {
        assert.ok(
          scenarios.some(({id}) => id === scenario),
          `nobody runs this:\n${text}`,
        );
        assert.equal(notRun, undefined, `${scenario} runs this:\n${text}`);
      } else if (isCommand.test(text)) {
        assert.ok((notRun?.length ?? 0) > 10, `neither run, nor said why not:\n${text}`);
      }
    }
  });
}

test('what README says of Kubernetes is what the page begins with', () => {
  const [first = ''] = commandsOf(dayByDay);
  const readme = readFileSync(join(import.meta.dirname, '../../..', 'README.md'), 'utf8');
  const [, section = ''] = /^## On Kubernetes\n([^]*?)^## /m.exec(readme) ?? [];
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
