/** The cluster of the scenarios from S01 on: three pods of a StatefulSet written by hand. */
import {randomBytes} from 'node:crypto';
import {Cluster} from '../svc/cluster.ts';
import {statefulSet} from '../svc/stateful-set.ts';
import type {World} from './scenario.ts';

/** Applies it and waits until it is whole. Notes how long that took. */
export async function threeServers({lab, namespace, version, note}: World): Promise<Cluster> {
  const rootPassword = randomBytes(12).toString('hex');
  const names = {name: 'db', namespace, replicas: 3, rootPassword};
  const cluster = new Cluster(lab.kubernetes, names);
  const began = performance.now();
  const token = randomBytes(24).toString('hex');
  const objects = statefulSet({...names, image: `svc/server:${version}`, token});
  for (const object of objects) await lab.kubernetes.apply(object);
  await cluster.untilWhole();
  note(`from apply to three members: ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  return cluster;
}
