/** Addresses in URLs. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {hostAndPort, shownAddress} from './addresses.ts';

test('only an IPv6 address stands in brackets', () => {
  assert.equal(hostAndPort('2001:db8::1', 80), '[2001:db8::1]:80');
  assert.equal(hostAndPort('127.0.0.1', 80), '127.0.0.1:80');
  assert.equal(hostAndPort('db-0.svc', 80), 'db-0.svc:80');
});

const shown: readonly (readonly [string, string])[] = [
  ['https://user:p@ss@db.example:8080/a/b.zip?key=word#end', 'https://db.example:8080/a/b.zip'],
  ['https://db.example?key=word', 'https://db.example'],
  ['http://db.example/a@b?c', 'http://db.example/a@b'],
  ['file:///backups/a.zip', 'file:///backups/a.zip'],
  ['a@b?c', 'a@b?c'],
  ['music', 'music'],
];

for (const [given, told] of shown) {
  test(`${given} is told as ${told}`, () => assert.equal(shownAddress(given), told));
}
