/** Pages by their origin, with the names that the settings say a server is reached by. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {acceptsOrigin} from './origin.ts';

const ownHosts = ['db.example', '10.0.0.7', 'fd00::7'];
const accepts = (origin: string, host: string, allowed: readonly string[] = []): boolean =>
  acceptsOrigin({origin, host, ownHosts}, allowed);

test('a page of this server is one whose host is its own and the one addressed', () => {
  for (const [origin, host] of [
    ['http://db.example:2480', 'db.example:2480'],
    ['http://DB.example', 'db.EXAMPLE:80'],
    ['https://db.example', 'db.example:443'],
    ['http://10.0.0.7:2480', '10.0.0.7:2480'],
    ['http://[fd00::7]:2480', '[fd00:0::7]:2480'],
  ] as const) {
    assert.equal(accepts(origin, host), true, origin);
  }
  for (const [origin, host] of [
    ['http://db.example:8080', 'db.example:2480'],
    ['http://db.example', '10.0.0.7'],
    ['https://db.example', 'db.example:80'],
    ['http://evil.example', 'evil.example'],
    ['http://evil.example', 'db.example'],
    ['http://db.example.evil.example', 'db.example.evil.example'],
    ['http://10.0.0.8', '10.0.0.8'],
    ['null', 'db.example'],
  ] as const) {
    assert.equal(accepts(origin, host), false, origin);
  }
  assert.equal(acceptsOrigin({origin: 'http://db.example', host: undefined, ownHosts}, []), false);
});
