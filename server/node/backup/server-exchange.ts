/** Imports and exports of this server, put together for the service that does them. */
import {resolve} from 'node:path';
import {type ExchangeOptions, ExchangeService} from '#server/exchange/exchange-service.ts';
import type {SessionService} from '#server/session/service.ts';
import {version} from '../version.ts';

export function createServerExchange(
  options: Omit<ExchangeOptions, 'rootPath' | 'release' | 'sessionOf' | 'keep' | 'enterLoad'> & {
    readonly service: SessionService;
  },
): ExchangeService {
  const {service, settings} = options;
  return new ExchangeService({
    ...options,
    rootPath: resolve(settings().get('svc.server.rootPath')),
    release: version,
    sessionOf: (who, database) => service.importSession(who, database),
    keep: who => service.keep(who),
    enterLoad: who => service.loads.enter(who),
  });
}
