/**
 * Databases that a start creates where they are missing: the sample one and those named in
 * `svc.server.defaultDatabases` (`name[user:password,...];...`).
 */
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
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
}

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
  readonly users: readonly {readonly name: string; readonly password: string}[];
}

/** @throws {Refusal} `start.refused` for a text of another form. */
export function parseDefaultDatabases(text: string): readonly DefaultDatabase[] {
  return text
    .split(';')
    .map(part => part.trim())
    .filter(part => part !== '')
    .map(part => {
      const [, name, users] = /^([^[\]]+)(?:\[([^\]]*)\])?$/.exec(part) ?? [];
      if (name === undefined) throw badDefault(text);
      const entries = (users ?? '').split(',').filter(entry => entry.trim() !== '');
      return {
        name: name.trim(),
        users: entries.map(entry => {
          const at = entry.indexOf(':');
          if (at < 1) throw badDefault(text);
          return {name: entry.slice(0, at).trim(), password: entry.slice(at + 1)};
        }),
      };
    });
}

function badDefault(text: string): Refusal {
  const shown = text.replaceAll(/:[^,\]]*/g, ':*****');
  return new Refusal(
    'start.refused',
    `svc.server.defaultDatabases is '${shown}': expected name[user:password,...];...`,
  );
}

async function createMissing(
  {engine, service, security}: Parts,
  root: Principal,
  {name, users}: DefaultDatabase,
): Promise<void> {
  if (engine.status(name) === undefined) await service.createDatabase(root, name);
  for (const user of users) {
    if (security.principalOf(user.name) !== undefined) continue;
    await security.createUser({...user, databases: {[name]: ['admin']}});
  }
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
