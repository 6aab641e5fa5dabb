/**
 * Runs every shell block of README.md and docs/ against a real server, in order, and compares what
 * they print with what the document says they print.
 */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {metaCommands} from '#server/commands/console/meta-commands.ts';
import {blocksOf, examplesOf, printsAs} from './blocks.ts';
import {runShell} from './shell.ts';
import {playTranscripts} from './transcript.ts';
import {freePort, rootPassword, startServer, temporaryRoot} from '../worlds/server-process.ts';
import {missingTerminal} from '../terminal/pseudo-terminal.ts';

const root = join(import.meta.dirname, '../../..');
const millisMax = 120_000;

/** Documents whose blocks make a whole: they start a server and end it. */
const documents = [
  'README.md',
  'docs/http.md',
  'docs/isolation.md',
  'docs/durability.md',
  'docs/backup.md',
  'docs/operations.md',
  'docs/import-export.md',
  'docs/upgrade.md',
  'docs/mcp.md',
  'docs/migrate/neo4j.md',
  'docs/migrate/arcadedb-orientdb.md',
  'docs/migrate/postgresql.md',
];

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

/** The blocks speak HTTP with curl, which the product itself does not need. */
function missingTools(): string | false {
  try {
    execFileSync('curl', ['--version'], {stdio: 'ignore'});
    return false;
  } catch {
    return 'curl is not installed';
  }
}
