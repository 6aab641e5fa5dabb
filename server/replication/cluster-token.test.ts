/** The cluster's token: where it comes from, and that equal clusters have equal ones. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {clusterTokens, type ClusterTokenSources} from './cluster-token.ts';

const nothing: ClusterTokenSources = {
  given: '',
  path: '',
  readFile: path => {
    throw new Error(`no ${path}`);
  },
  clusterName: 'c',
  rootPassword: undefined,
};

const clusterToken = async (sources: ClusterTokenSources): Promise<string> =>
  (await clusterTokens(sources)).token;

test('the setting comes before the file, the file before what is derived', async () => {
  const sources = {...nothing, readFile: () => ' from the file\n', rootPassword: 'password'};
  assert.equal(await clusterToken({...sources, given: 'given', path: '/t'}), 'given');
  assert.equal(await clusterToken({...sources, path: '/t'}), 'from the file');
  assert.match(await clusterToken(sources), /^[\w-]{43}$/);
});

test('further lines of the file are tokens that others may come with', async () => {
  const readFile = (): string => 'new\r\n\n  old\n';
  const tokens = await clusterTokens({...nothing, path: '/t', readFile});
  assert.deepEqual(tokens, {token: 'new', alsoAccepted: ['old']});
});

test('one name and one password give one token, others give others', async () => {
  const derive = (clusterName: string, rootPassword: string): Promise<string> =>
    clusterToken({...nothing, clusterName, rootPassword});
  const token = await derive('c', 'password');
  assert.equal(await derive('c', 'password'), token);
  assert.notEqual(await derive('d', 'password'), token);
  assert.notEqual(await derive('c', 'Password'), token);
});

const refused: readonly (readonly [string, Partial<ClusterTokenSources>, RegExp])[] = [
  ['a file that is not there', {path: '/t'}, /cannot read svc\.ha\.clusterTokenPath: no \/t/],
  ['an empty file', {path: '/t', readFile: () => ' \n'}, /the file \/t is empty/],
  ['nothing at all', {}, /need a token: give one .*svc\.server\.rootPassword/],
];

for (const [name, sources, says] of refused) {
  test(`${name} is refused`, async () => {
    await assert.rejects(
      clusterTokens({...nothing, ...sources}),
      error => error instanceof Refusal && says.test(error.message),
    );
  });
}
