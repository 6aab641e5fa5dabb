/**
 * What the services of a server begin with, and what they do when the engine goes on, is taken over
 * by another leader, or fails.
 */
import {rootName} from '#server/access/users.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Parts, Services} from './create-services.ts';
import {createDefaultDatabases} from './default-databases.ts';
import {firstRootPassword, type PasswordPrompt} from './root-password.ts';

/** Writes what a server begins with, and starts what it does by itself. */
export async function beginServices(
  given: Settings,
  parts: Parts,
  services: Services,
): Promise<void> {
  // In a cluster its leader writes them.
  const isAlone = parts.cluster === undefined;
  if (isAlone) await writeRoot(given, services, parts.prompt);
  await services.archives.backups.start();
  await services.exchanges.start(isAlone);
  if (isAlone) await writeDatabases(given, parts, services);
}

/** What a server or a cluster begins with: root, and the databases that the settings name. */
async function writeFirst(given: Settings, parts: Parts, services: Services): Promise<void> {
  await writeRoot(given, services, nobodyToAsk);
  await writeDatabases(given, parts, services);
}

async function writeRoot(
  given: Settings,
  {security}: Services,
  prompt: PasswordPrompt,
): Promise<void> {
  if (security.hasRoot) return;
  const password = await firstRootPassword(given, prompt);
  await security.ensureRoot(password);
  // The start does not wait for another hash.
  void security.addVerifier(rootName, password);
}

async function writeDatabases(
  given: Settings,
  {engine}: Parts,
  {service, security, exchanges}: Services,
): Promise<void> {
  await createDefaultDatabases(given, {engine, service, security, exchanges});
}

/** What becomes of the rest when the engine fails, or another server's entry is executed. */
export function followEngine(given: Settings, parts: Parts, services: Services): void {
  const {engine, cluster, logger} = parts;
  const {service, security, digests, agents, stop} = services;
  const {backups} = services.archives;
  const sweeps = (work: Promise<unknown>): void => {
    work.catch((error: unknown) => logger.log('error', 'database.not-swept', {error}));
  };
  // What a leader cannot finish is done by the next one.
  const lead = (): void => {
    sweeps(Promise.all([backups.leads(), services.exchanges.sweep()]));
    writeFirst(given, parts, services).catch((error: unknown) => {
      logger.log('error', 'cluster.not-begun', {error});
    });
  };
  const failed = (reason: string): void => {
    // A member may stay and answer reads: the others serve what is newer.
    const stays = cluster !== undefined && !given.get('svc.ha.stopServerOnReplicationFailure');
    if (stays) logger.log('error', 'cluster.halted', {reason});
    else stop.resolve(reason);
  };
  engine.listen({
    failed,
    documentChanged: () => {
      security.reload();
      agents?.reload();
      backups.configurationChanged();
    },
    databasesChanged: () => backups.databasesChanged(),
    dropping: database => {
      digests.release();
      service.databaseDropped(database);
    },
    marked: (marker, database) => digests.hold(marker, database),
    takenBack: () => sweeps(backups.takenBack()),
    leadership: leads => {
      cluster?.leadershipChanged();
      if (!leads) return;
      service.resumeWork();
      lead();
    },
  });
  if (engine.failure !== undefined) failed(engine.failure);
  if (cluster?.member?.log.isLeading === true) lead();
}

const nobodyToAsk: PasswordPrompt = {
  isTerminal: false,
  ask: () => Promise.resolve(''),
  tell: () => {},
};
