/**
 * The part of the suite `mcp` that outside programs judge: the official clients, each over both
 * transports, and the conformance scenarios of the protocol's own tools.
 *
 * The scenarios are written for versions of the protocol from 2025-06-18 on and for a server with
 * tools of theirs; the baseline names those that do not fit, each with its reason. Their client
 * brings no credentials, so a relay before the server adds them, and changes nothing else.
 */
import {execFile} from 'node:child_process';
import {once} from 'node:events';
import {globSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {createServer, request, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {typescriptClient, walkOverHttp, walkOverLines} from '../agents/client-walk.ts';
import {pythonClient, scenarioProgram} from '../agents/outside-tools.ts';
import {freePort} from '../worlds/free-port.ts';
import {rootPassword, startServer, temporaryRoot} from '../worlds/server-process.ts';
import {type Difference, matches, type SuiteOutcome} from './suite.ts';

const run = promisify(execFile);

/** What a scenario writes of each thing that it looked at. */
interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** The official clients over both transports: a case each. */
export async function runClients(): Promise<SuiteOutcome> {
  const clients = {typescript: typescriptClient, python: await pythonClient()};
  const transports = {http: walkOverHttp, stdio: walkOverLines};
  const cases: string[] = [];
  const differences: Difference[] = [];
  for (const [language, client] of Object.entries(clients)) {
    for (const [transport, walk] of Object.entries(transports)) {
      const name = `client.${language}.${transport}`;
      cases.push(name);
      const lines = await walk(client);
      if (lines.length > 0) differences.push({name, lines});
    }
  }
  return {cases, differences};
}

/** The scenarios that are not skipped, against a server of their own. */
export async function runScenarios(skipped: readonly string[]): Promise<SuiteOutcome> {
  const program = await scenarioProgram();
  const listed = await run(process.execPath, [program, 'list', '--server']);
  const cases = [...listed.stdout.matchAll(/^ +- (\S+) \[/gm)].map(
    ([, name]) => `scenario.${name}`,
  );
  const port = await freePort();
  await using server = await startServer({root: temporaryRoot('mcp-scenarios'), port});
  const admin = server.client();
  await admin.agentConfiguration({enabled: true});
  admin.close();
  const relay = relayTo(`${server.url}/api/v1/mcp`);
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  try {
    const url = `http://127.0.0.1:${(relay.address() as AddressInfo).port}/mcp`;
    const differences: Difference[] = [];
    for (const name of cases) {
      if (skipped.some(pattern => matches(pattern, name))) continue;
      const lines = await failuresOf([program, 'server', '--url', url, '--scenario'], name);
      if (lines.length > 0) differences.push({name, lines});
    }
    return {cases, differences};
  } finally {
    relay.close();
  }
}

/** Hands requests on as they are, with the credentials of root. */
function relayTo(url: string): Server {
  const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
  return createServer((incoming, outgoing) => {
    const {method, headers} = incoming;
    const onward = request(url, {method, headers: {...headers, authorization}}, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
}

/** What the checks of one scenario found; a scenario that checked nothing found that. */
async function failuresOf(words: readonly string[], name: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-scenario-'));
  try {
    const scenario = name.slice(name.indexOf('.') + 1);
    // The program ends with 1 when a check fails; what it found stands in its files.
    await run(process.execPath, [...words, scenario, '--output-dir', folder]).catch(() => {});
    const checks = globSync(join(folder, '*/checks.json')).flatMap(
      path => JSON.parse(readFileSync(path, 'utf8')) as readonly Check[],
    );
    if (checks.length === 0) return ['nothing was checked'];
    return checks
      .filter(({status}) => status === 'FAILURE')
      .map(({id, errorMessage}) => `${id}: ${errorMessage ?? 'failed'}`);
  } finally {
    rmSync(folder, {recursive: true, force: true});
  }
}
