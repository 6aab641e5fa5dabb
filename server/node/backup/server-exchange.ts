/** Imports and exports of this server, put together for the service that does them. */
import {resolve} from 'node:path';
import {type ExchangeOptions, ExchangeService} from '#server/exchange/exchange-service.ts';
import type {Principal} from '#server/security/principal.ts';
import type {SessionService} from '#server/session/service.ts';
import {version} from '../version.ts';

/** Who reads and writes: rights were asked of those who gave the order. */
const server: Principal = {name: 'root', root: true, grants: new Map([['*', ['admin']]])};

export function createServerExchange(
  options: Omit<ExchangeOptions, 'rootPath' | 'release' | 'sessionOf'> & {
    readonly service: SessionService;
  },
): ExchangeService {
  const {service, settings} = options;
  return new ExchangeService({
    ...options,
    rootPath: resolve(settings().get('svc.server.rootPath')),
    release: version,
    sessionOf: database => service.importSession(server, database),
  });
}
