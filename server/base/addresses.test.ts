/** Addresses in URLs. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {hostAndPort} from './addresses.ts';

test('only an IPv6 address stands in brackets', () => {
  assert.equal(hostAndPort('2001:db8::1', 80), '[2001:db8::1]:80');
  assert.equal(hostAndPort('127.0.0.1', 80), '127.0.0.1:80');
  assert.equal(hostAndPort('db-0.svc', 80), 'db-0.svc:80');
});
