/**
 * The configuration and what follows from it: defaults, validation, merging, who may do what.
 * Holds invariant P1.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {
  changed,
  type Configuration,
  ConfigurationFault,
  defaultConfiguration,
  flagNames,
  parseConfiguration,
  printConfiguration,
  unknownFields,
} from './configuration.ts';
import type {Permission} from './permissions.ts';
import {Policy} from './policy.ts';
import type {ToolProfile} from './tool.ts';

const flags = Object.entries(flagNames);

function after(...documents: readonly object[]): Configuration {
  return documents.reduce<Configuration>(
    (before, document) => changed(before, JSON.stringify(document)),
    defaultConfiguration,
  );
}

test('nothing is open by itself', () => {
  assert.equal(
    printConfiguration(parseConfiguration('{}')),
    '{"enabled":false,"allowReads":true,"allowInsert":false,"allowUpdate":false,' +
      '"allowDelete":false,"allowSchemaChange":false,"allowAdmin":false,"profile":"all",' +
      '"allowedUsers":["root"],"allowedOrigins":[]}',
  );
});

test('what is printed reads as the same', () => {
  const full = after({
    enabled: true,
    allowInsert: true,
    profile: 'RAG',
    allowedUsers: ['*', 'apitoken:bot'],
    allowedOrigins: ['https://a.example'],
    principalProfiles: {anna: 'Admin', 'apitoken:bot': 'rag'},
    databases: {shop: {allowReads: false, allowedUsers: []}, ['__proto__']: {allowAdmin: true}},
  });
  assert.deepEqual(parseConfiguration(printConfiguration(full)), full);
  assert.deepEqual(
    [...full.principalProfiles],
    [
      ['anna', 'admin'],
      ['apitoken:bot', 'rag'],
    ],
  );
});

test('principals and databases are merged by name, an entry as a whole', () => {
  const first = {
    principalProfiles: {anna: 'rag', bert: 'admin'},
    databases: {a: {allowReads: false, allowInsert: false}, b: {allowAdmin: false}},
  };
  const second = after(first, {
    principalProfiles: {anna: null, carl: 'all'},
    databases: {a: {allowDelete: false, allowedUsers: null}, b: null},
  });
  assert.deepEqual(
    [...second.principalProfiles],
    [
      ['bert', 'admin'],
      ['carl', 'all'],
    ],
  );
  assert.deepEqual([...second.databases], [['a', {allowDelete: false}]]);
  const third = changed(second, '{"principalProfiles":null,"databases":null}');
  assert.deepEqual([third.principalProfiles.size, third.databases.size], [0, 0]);
});

test('a document with one fault is refused as a whole, by the name of the field', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['{"enabled":"yes"}', "MCP configuration field 'enabled' must be a boolean"],
    ['{"allowReads":null}', "MCP configuration field 'allowReads' must be a boolean"],
    ['{"allowAdmin":1}', "MCP configuration field 'allowAdmin' must be a boolean"],
    ['{"profile":"x"}', "Unknown MCP tool profile 'x'. Expected one of: all, rag, admin"],
    ['{"profile":null}', "MCP configuration field 'profile' must be a string"],
    [
      '{"allowedUsers":"root"}',
      "MCP configuration field 'allowedUsers' must be an array of strings",
    ],
    [
      '{"allowedOrigins":[""]}',
      "MCP configuration field 'allowedOrigins' must be an array of strings that are not blank",
    ],
    ['{"principalProfiles":[]}', "MCP configuration field 'principalProfiles' must be an object"],
    ['{"principalProfiles":{" ":"rag"}}', "A name in 'principalProfiles' is blank"],
    [
      '{"principalProfiles":{"a":"x"}}',
      "Unknown MCP tool profile 'x'. Expected one of: all, rag, admin",
    ],
    ['{"databases":{"a":7}}', "MCP configuration field 'databases' must be an object of objects"],
    ['{"databases":{"a":{"enabled":true}}}', "Unknown MCP database override setting 'enabled'"],
    ['{"databases":{"a":{"toString":true}}}', "Unknown MCP database override setting 'toString'"],
    [
      '{"databases":{"a":{"allowReads":null}}}',
      "MCP configuration field 'allowReads' must be a boolean",
    ],
    ['{', 'The MCP configuration is not valid JSON'],
    ['[]', 'The MCP configuration must be a JSON object'],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => parseConfiguration(text), new ConfigurationFault(message), text);
  }
  assert.deepEqual(unknownFields('{"allowRead":false,"enabled":true}'), ['allowRead']);
});

test('a token is known by two names, of which the long one counts', () => {
  const admits = (users: readonly string[], principal: string) =>
    new Policy(after({allowedUsers: users}), principal).isAdmitted;
  assert(admits(['apitoken:bot'], 'apitoken:bot'));
  assert(admits(['bot'], 'apitoken:bot'));
  assert(!admits(['apitoken:bot'], 'bot'));
  assert(admits(['*'], 'anybody'));
  assert(!admits([], 'root'));
  const words = (principalProfiles: object, principal: string) =>
    new Policy(after({principalProfiles}), principal).profileWords;
  const both = {bot: 'admin', 'apitoken:bot': 'rag'};
  assert.match(words(both, 'apitoken:bot'), /principal profile 'rag'/);
  assert.match(words({bot: 'admin'}, 'apitoken:bot'), /principal profile 'admin'/);
  assert.match(words(both, 'bot'), /principal profile 'admin'/);
  assert.equal(words(both, 'anna'), "MCP profile 'all'");
});

test('profiles are intersected', () => {
  const contained = (profile: string, own: string | undefined, profiles: readonly ToolProfile[]) =>
    new Policy(
      after({profile, principalProfiles: own === undefined ? {} : {anna: own}}),
      'anna',
    ).contains({profiles});
  const names = ['all', 'rag', 'admin'] as const;
  const kinds: readonly (readonly ToolProfile[])[] = [[], ['rag'], ['admin'], ['rag', 'admin']];
  for (const profile of names) {
    for (const own of [undefined, ...names]) {
      for (const profiles of kinds) {
        const inOne = (name: string | undefined) =>
          name === undefined || name === 'all' || profiles.some(one => one === name);
        assert.equal(contained(profile, own, profiles), inOne(profile) && inOne(own));
      }
    }
  }
});

test('an override only restricts', () => {
  const flag = fc.option(fc.boolean(), {nil: undefined});
  const users = fc.option(fc.subarray(['anna', 'bert', 'apitoken:anna', '*']), {nil: undefined});
  const override = fc.record({
    ...Object.fromEntries(flags.map(([name]) => [name, flag])),
    allowedUsers: users,
  });
  const global = fc.record(Object.fromEntries(flags.map(([name]) => [name, fc.boolean()])));
  fc.assert(
    fc.property(
      global,
      override,
      fc.constantFrom('anna', 'bert', 'apitoken:anna'),
      (all, own, who) => {
        const policy = new Policy(after(all, {databases: {d: own}}), who);
        const listed = own.allowedUsers;
        const isIn =
          listed === undefined ||
          listed.some(name => ['*', who, who.replace('apitoken:', '')].includes(name));
        assert.equal(policy.admits('d'), isIn);
        for (const [name, permission] of flags as readonly (readonly [string, Permission])[]) {
          const open = (all as Record<string, boolean>)[name] === true;
          const here = (own as unknown as Record<string, boolean | undefined>)[name];
          assert.equal(policy.allows(permission), open);
          assert.equal(policy.allows(permission, 'other'), open);
          assert.equal(policy.allows(permission, 'd'), open && here !== false && isIn);
        }
      },
    ),
  );
});
