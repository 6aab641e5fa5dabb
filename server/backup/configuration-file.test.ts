/** Where archives lie: what is in force, else what the file says, else the server's setting. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Machine} from '#server/simulation/machine.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {readBackupDocument} from './backup-document.ts';
import {ConfigurationFile} from './configuration-file.ts';

const rootPath = '/data/svc';

function withFile(text: string | undefined) {
  const told: string[] = [];
  const file = new ConfigurationFile({
    rootPath,
    configDirectory: '/data/svc/config',
    directorySetting: () => '/archives',
    configurationStore: {
      read: () => (text === undefined ? undefined : Buffer.from(text)),
      write: () => Promise.reject(new Error('nothing is written')),
    },
    disk: new SimulatedDisk(new Machine()),
    logger: {log: (level, event) => void told.push(`${level} ${event}`)},
  });
  return {file, told};
}

test('what is in force comes first, whatever the file says', () => {
  const {file} = withFile('{"backupDirectory": "later"}');
  const inForce = readBackupDocument({backupDirectory: 'nightly'});
  assert.equal(file.directory(inForce), '/data/svc/nightly');
  assert.equal(file.directory(readBackupDocument({})), '/data/svc/backups');
});

test('the file comes next, also one that is switched off or cannot be used otherwise', () => {
  for (const rest of ['"enabled": false', '"enabled": true', '"version": 7']) {
    const {file} = withFile(`{"backupDirectory": "weekly/all", ${rest}}`);
    assert.equal(file.directory(undefined), '/data/svc/weekly/all', rest);
  }
  assert.equal(withFile('{"enabled": false}').file.directory(undefined), '/data/svc/backups');
});

test('the setting comes last: there is no file, or one that cannot be read, which is told', () => {
  const none = withFile(undefined);
  assert.equal(none.file.directory(undefined), '/archives');
  assert.deepEqual(none.told, []);
  const half = withFile('{"backupDirectory": "we');
  assert.equal(half.file.directory(undefined), '/archives');
  assert.deepEqual(half.told, ['warn auto-backup.configuration']);
});

test('a directory that cannot be is refused by the name of the field', () => {
  for (const wished of ['/var/backups', '../up', 'a/../../up']) {
    const {file} = withFile(JSON.stringify({backupDirectory: wished}));
    assert.throws(() => file.directory(undefined), {
      code: 'database.operation',
      message: /^backupDirectory in backup\.json /,
    });
  }
});
