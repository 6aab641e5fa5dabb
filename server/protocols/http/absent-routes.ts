/**
 * Routes that clients of such servers know and that are not here: whoever asks one is told so by
 * its name, where another unknown path is a bare 404.
 */
import {basePath} from './protocol-names.ts';
import {PlainFailure} from './message/failure.ts';

/** What the paths below a prefix are about. */
const absent: readonly (readonly [prefix: string, what: string])[] = [
  ['ts/', 'time series are not there yet'],
  ['ai/', 'there is no assistant; agents connect by /mcp'],
  ['server/support', 'there is no support desk in the server'],
  ['cluster/accept-', 'a member takes a copy by cluster/resync, and no other one is accepted'],
];

/** @throws {PlainFailure} 501 for a path of such a route. */
export function refuseAbsent(method: string, path: string): void {
  if (!path.startsWith(basePath)) return;
  const below = path.slice(basePath.length);
  const found = absent.find(([prefix]) => below.startsWith(prefix));
  if (found === undefined) return;
  const detail = `The route ${method} ${path.slice(0, 200)} is not available: ${found[1]}`;
  throw new PlainFailure(501, 'Route not available', {detail});
}
