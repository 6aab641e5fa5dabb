/**
 * The official TypeScript client against a real server, over HTTP and over standard input: every
 * method of the protocol, each answer checked by the schemas that the client brings. The Python
 * client takes the same walk by `make conformance SUITE=mcp`.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {typescriptClient, walkOverHttp, walkOverLines} from '#server/testing/agents/client-walk.ts';

test('the official client over HTTP', async () => {
  assert.deepEqual(await walkOverHttp(typescriptClient), []);
});

test('the official client over standard input', async () => {
  assert.deepEqual(await walkOverLines(typescriptClient), []);
});
