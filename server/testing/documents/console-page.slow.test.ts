/** Plays what docs/console.md shows in a terminal, and compares its table of commands. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {metaCommands} from '#server/commands/console/meta-commands.ts';
import {freePort} from '../worlds/free-port.ts';
import {rootPassword, startServer, temporaryRoot} from '../worlds/server-process.ts';
import {missingTerminal} from '../terminal/pseudo-terminal.ts';
import {blocksOf, examplesOf, printsAs} from './blocks.ts';
import {runShell} from './shell.ts';
import {playTranscripts} from './transcript.ts';

const root = join(import.meta.dirname, '../../..');
const millisMax = 120_000;

test('docs/console.md shows what a terminal shows', async t => {
  const page = readFileSync(join(root, 'docs/console.md'), 'utf8');
  const server = await startServer({
    root: temporaryRoot('console-page'),
    port: await freePort(),
    settings: {'svc.server.sampleDatabase': 'demo'},
  });
  const environment = {
    SVC_URL: server.url,
    SVC_PASSWORD: rootPassword,
    XDG_STATE_HOME: server.root,
  };
  try {
    const missing = missingTerminal();
    await t.test('its transcripts', {skip: missing}, async () => {
      const blocks = blocksOf(page).filter(({language}) => language === 'console');
      const played = await playTranscripts(blocks, environment);
      assert.equal(played.length, blocks.length);
      for (const {block, documented, shown} of played) {
        const place = `docs/console.md:${block.line}`;
        assert.ok(
          printsAs(documented, shown),
          `${place} says\n${documented}\nbut it shows\n${shown}`,
        );
      }
    });
    const before = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'`);
    const examples = examplesOf(page, 'sh');
    const {ran} = await runShell(examples, {port: 0, millisMax, before: before.join('\n')});
    for (const {example, output} of ran) {
      await t.test(`docs/console.md:${example.block.line}`, () => {
        const said = example.output ?? '';
        assert.ok(printsAs(said, output), `it says\n${said}\nbut prints\n${output}`);
      });
    }
  } finally {
    await server.dispose();
  }
});

test('docs/console.md lists the commands of the console', () => {
  const page = readFileSync(join(root, 'docs/console.md'), 'utf8');
  const rows = metaCommands.map(({name, argument, says}) => {
    const word = argument === undefined ? `:${name}` : `:${name} ${argument}`;
    return `| \`${word.replaceAll('|', '\\|')}\` | ${says} |`;
  });
  const listed = page.split('\n').filter(line => line.startsWith('| `:'));
  assert.deepEqual(listed, rows);
});
