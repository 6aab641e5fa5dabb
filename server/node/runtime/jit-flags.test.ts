/** The flags of V8 that a server sets are flags that V8 has; for others it prints a line. */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {test} from 'node:test';
import {flagsOfService} from './jit-flags.ts';

/** What V8 says of its flags, as its own help names them: `--flag=value`. */
function defaults(): ReadonlySet<string> {
  const help = execFileSync(process.execPath, ['--v8-options'], {encoding: 'utf8'});
  return new Set([...help.matchAll(/default: (--[\w-]+)=/g)].map(([, name]) => name ?? ''));
}

test('V8 has every flag that is set', () => {
  const known = defaults();
  assert.ok(known.size > 100, 'the help is understood');
  for (const flag of flagsOfService) {
    const [name = ''] = flag.split('=');
    assert.ok(known.has(name), `${name} is no flag of V8 ${process.versions.v8}`);
  }
});
