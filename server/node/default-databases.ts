/**
 * Databases that a start creates where they are missing: the sample one and those named in
 * `svc.server.defaultDatabases`, `name[user:password:group,...]{import:address};...`.
 *
 * What is there already is left as it is, its data and its users: a restart throws nothing away.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {ExchangeService} from '#server/exchange/exchange-service.ts';
import type {Security} from '#server/security/security.ts';
import type {SessionService} from '#server/session/service.ts';
import type {Principal} from '#server/security/principal.ts';
import {statementRequest} from '#server/session/statement-request.ts';
import type {Engine} from '#server/engine/engine.ts';
import {demoStatements} from './demo.ts';

interface Parts {
  readonly engine: Engine;
  readonly service: SessionService;
  readonly security: Security;
  readonly exchanges: Pick<ExchangeService, 'importNew' | 'restoreFrom'>;
}

/** @throws {Refusal} `start.refused`, and what an import or a restore is refused with. */
export async function createDefaultDatabases(settings: Settings, parts: Parts): Promise<void> {
  const root = parts.security.principalOf('root');
  if (root === undefined) throw new Refusal('start.refused', 'there is no user root');
  for (const requested of parseDefaultDatabases(settings.get('svc.server.defaultDatabases'))) {
    await createMissing(parts, root, requested);
  }
  const sample = settings.get('svc.server.sampleDatabase');
  if (sample !== '' && parts.engine.status(sample) === undefined) {
    await createSample(parts, root, sample);
  }
}

interface DefaultDatabase {
  readonly name: string;
  /** `secret`: the password, and behind its last colon a group, if it is the name of one. */
  readonly users: readonly {readonly name: string; readonly secret: string}[];
  /** Where its data come from; undefined: it begins empty. */
  readonly data: {readonly way: 'import' | 'restore'; readonly address: string} | undefined;
}

/** @throws {Refusal} `start.refused` for a text of another form. */
export function parseDefaultDatabases(text: string): readonly DefaultDatabase[] {
  return text
    .split(';')
    .map(part => part.trim())
    .filter(part => part !== '')
    .map(part => {
      const [, name, users, data] = form.exec(part) ?? [];
      if (name === undefined) throw badDefault(text);
      const entries = (users ?? '').split(',').filter(entry => entry.trim() !== '');
      return {
        name: name.trim(),
        users: entries.map(entry => {
          const at = entry.indexOf(':');
          if (at < 1) throw badDefault(text);
          return {name: entry.slice(0, at).trim(), secret: entry.slice(at + 1)};
        }),
        data: data === undefined ? undefined : dataIn(data, text),
      };
    });
}

const form = /^([^[\]{}]+)(?:\[([^\]]*)\])?\s*(?:\{([^}]*)\})?$/;

function dataIn(data: string, text: string): DefaultDatabase['data'] {
  const [, way, address] = /^\s*(import|restore):(.+)$/.exec(data) ?? [];
  if ((way !== 'import' && way !== 'restore') || address === undefined) throw badDefault(text);
  return {way, address: address.trim()};
}

function badDefault(text: string): Refusal {
  const shown = text.replaceAll(/:[^,\]}]*/g, ':*****');
  return new Refusal(
    'start.refused',
    `svc.server.defaultDatabases is '${shown}': expected ` +
      'name[user:password:group,...]{import:address};..., where the group, the users and what ' +
      'is imported, or restored, may be left out',
  );
}

async function createMissing(
  parts: Parts,
  root: Principal,
  {name, users, data}: DefaultDatabase,
): Promise<void> {
  const {engine, service, security, exchanges} = parts;
  if (engine.status(name) === undefined) {
    if (data === undefined) await service.createDatabase(root, name);
    else if (data.way === 'import') {
      await exchanges.importNew(root, name, {from: data.address, options: new Map()}, () => {});
    } else {
      const target = {target: name, overwrite: false, password: undefined};
      await exchanges.restoreFrom(data.address, target, () => {});
    }
  }
  for (const user of users) {
    if (security.principalOf(user.name) !== undefined) continue;
    const {password, group} = secretOf(security, name, user.secret);
    await security.createUser({name: user.name, password, databases: {[name]: [group]}});
  }
}

function secretOf(
  security: Security,
  database: string,
  secret: string,
): {readonly password: string; readonly group: string} {
  const at = secret.lastIndexOf(':');
  const group = secret.slice(at + 1).trim();
  if (at < 1 || !security.hasGroup(database, group)) return {password: secret, group: 'admin'};
  return {password: secret.slice(0, at), group};
}

async function createSample({service}: Parts, root: Principal, database: string): Promise<void> {
  await service.createDatabase(root, database);
  for (const text of demoStatements) {
    const cursor = await service.run(root, statementRequest(database, text));
    try {
      while ((await cursor.next()) !== undefined);
    } finally {
      cursor.close();
    }
  }
}
