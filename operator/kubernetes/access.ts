/**
 * Where the API server is and how the operator proves who it is, out of a kubeconfig or of the
 * service account of its pod.
 *
 * One agent serves all calls: the client library would make one for each of them, and a connection
 * with it. Headers are asked for with each call, because the token of a service account is renewed
 * about every hour and the library reads it again.
 */
import https from 'node:https';
import http from 'node:http';
import {KubeConfig} from '@kubernetes/client-node';
import type {Endpoint} from '#server/client/exchange.ts';

export interface Access {
  /** `timeoutMs`: silence after which a call counts as lost. */
  endpoint(timeoutMs: number): Endpoint;
  headers(): Promise<Readonly<Record<string, string>>>;
  /** The namespace of the kubeconfig's context or of the pod; undefined where neither says one. */
  readonly namespace: string | undefined;
  close(): void;
}

const CONNECTIONS_MAX = 64;

/** KUBECONFIG, `~/.kube/config`, or the service account of the pod, in this order. */
export async function defaultAccess(): Promise<Access> {
  const config = new KubeConfig();
  config.loadFromDefault();
  return accessOf(config);
}

/** @throws {Error} when the configuration names no cluster. */
export async function accessOf(config: KubeConfig): Promise<Access> {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('no Kubernetes cluster is configured: set KUBECONFIG');
  const url = new URL(cluster.server);
  const agent = await agentOf(config, url);
  return {
    endpoint: timeoutMillis => ({url, agent, timeoutMillis}),
    headers: async () => {
      const {headers = {}, auth} = await optionsOf(config);
      const basic =
        typeof auth === 'string'
          ? {Authorization: `Basic ${Buffer.from(auth).toString('base64')}`}
          : {};
      const given = Object.entries(headers as http.OutgoingHttpHeaders);
      return {...basic, ...Object.fromEntries(given.map(([name, value]) => [name, String(value)]))};
    },
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    close: () => agent.destroy(),
  };
}

async function optionsOf(config: KubeConfig): Promise<https.RequestOptions> {
  const options: https.RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return options;
}

async function agentOf(config: KubeConfig, url: URL): Promise<http.Agent> {
  const kept = {keepAlive: true, maxSockets: CONNECTIONS_MAX};
  if (url.protocol === 'http:') return new http.Agent(kept);
  const {ca, cert, key, pfx, passphrase, servername, rejectUnauthorized} = await optionsOf(config);
  return new https.Agent({
    ...kept,
    ca,
    cert,
    key,
    pfx,
    passphrase,
    ...(servername === undefined ? {} : {servername}),
    ...(rejectUnauthorized === undefined ? {} : {rejectUnauthorized}),
  });
}
