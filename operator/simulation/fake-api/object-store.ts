/**
 * The core of the fake API server: objects with versions, generations, ownership of fields by
 * appliers, preconditions, finalizers of claims, and a history that watches read and that can be
 * compacted.
 *
 * What it does not know of a real one: conversion, quotas, field-level conflicts between appliers
 * (the operator always forces), and lists inside objects, which an apply replaces whole.
 */
import type {KubeObject} from '#operator/api/kube-object.ts';
import {canonicalJson} from '#operator/api/kube-object.ts';
import {
  ApiError,
  type DeleteOptions,
  type Kind,
  keyOf,
  type Ref,
  type Scope,
  type WatchEvent,
} from '#operator/kubernetes/api.ts';
import {appliedMerge, mergePatch} from './merge.ts';

interface Change {
  readonly version: number;
  readonly kind: string;
  readonly event: Extract<WatchEvent, {object: KubeObject}>;
}

export interface StoreOptions {
  /** RFC 3339. */
  readonly now: () => string;
  /** Checks and completes an object before it is stored. @throws {ApiError} */
  readonly admit: (object: KubeObject, old: KubeObject | undefined) => KubeObject;
}

/** Kinds whose status is a subresource: a write elsewhere leaves it alone. */
const WITH_STATUS = new Set([
  'SvcCluster',
  'SvcBackupSchedule',
  'SvcBackup',
  'StatefulSet',
  'Pod',
  'PersistentVolumeClaim',
]);

export class ObjectStore {
  readonly #options: StoreOptions;
  readonly #objects = new Map<string, KubeObject>();
  readonly #applied = new Map<string, KubeObject>();
  #history: Change[] = [];
  readonly #listeners = new Set<() => void>();
  #version = 0;
  #compacted = 0;
  #uids = 0;
  /** Writes by others than the cluster's own machinery, which a settled operator makes none of. */
  writes = 0;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  get version(): number {
    return this.#version;
  }

  get({kind, namespace, name}: Ref): KubeObject {
    const found = this.#objects.get(idOf(kind, {namespace, name}));
    if (found === undefined) throw notFound(kind.kind, name);
    return found;
  }

  find(ref: Ref): KubeObject | undefined {
    return this.#objects.get(idOf(ref.kind, ref));
  }

  list(scope: Scope): readonly KubeObject[] {
    const found: KubeObject[] = [];
    for (const object of this.#objects.values()) if (isIn(scope, object)) found.push(object);
    return found;
  }

  create(kind: Kind, given: KubeObject): KubeObject {
    const id = idOf(kind, given.metadata);
    if (this.#objects.has(id)) {
      throw new ApiError(409, 'AlreadyExists', `${kind.kind} ${given.metadata.name} exists`);
    }
    const admitted = this.#options.admit(given, undefined);
    const {status: _, ...rest} = admitted;
    const object = WITH_STATUS.has(kind.kind) ? rest : admitted;
    const metadata = {
      ...object.metadata,
      uid: `uid-${++this.#uids}`,
      generation: 1,
      creationTimestamp: this.#options.now(),
    };
    return this.#put(kind, id, {...object, metadata}, 'ADDED');
  }

  replace(kind: Kind, object: KubeObject): KubeObject {
    const id = idOf(kind, object.metadata);
    const old = this.#at(kind, id, object.metadata.name);
    const {resourceVersion} = object.metadata;
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
      throw new ApiError(409, 'Conflict', `${object.metadata.name} was changed meanwhile`);
    }
    return this.#change(kind, id, old, object);
  }

  apply(kind: Kind, object: KubeObject): KubeObject {
    const id = idOf(kind, object.metadata);
    const old = this.#objects.get(id);
    const before = this.#applied.get(id);
    const stored =
      old === undefined
        ? this.create(kind, object)
        : this.#change(kind, id, old, appliedMerge(old, before ?? object, object) as KubeObject);
    this.#applied.set(id, object);
    return stored;
  }

  patch(ref: Ref, patch: unknown, subresource?: string): KubeObject {
    const id = idOf(ref.kind, ref);
    const old = this.#at(ref.kind, id, ref.name);
    const merged = mergePatch(old, patch) as KubeObject;
    if (merged.metadata.resourceVersion !== old.metadata.resourceVersion) {
      throw new ApiError(409, 'Conflict', `${ref.name} was changed meanwhile`);
    }
    if (subresource !== 'status') return this.#change(ref.kind, id, old, merged);
    const {status, ...rest} = {...old, status: merged['status']};
    const next = status === undefined ? rest : {...rest, status};
    if (canonicalJson(next) === canonicalJson(old)) return old;
    return this.#put(ref.kind, id, next, 'MODIFIED');
  }

  delete(ref: Ref, {uid, resourceVersion, propagation = 'Background'}: DeleteOptions): void {
    const id = idOf(ref.kind, ref);
    const object = this.#at(ref.kind, id, ref.name);
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) {
      throw new ApiError(409, 'Conflict', `${ref.name} was changed meanwhile`);
    }
    if (uid !== undefined && uid !== object.metadata.uid) {
      throw new ApiError(409, 'Conflict', `${ref.name} is another object by now`);
    }
    const isHeld = (object.metadata.finalizers ?? []).length > 0 || ref.kind.kind === 'Pod';
    if (isHeld && object.metadata.deletionTimestamp === undefined) {
      const metadata = {...object.metadata, deletionTimestamp: this.#options.now()};
      this.#put(ref.kind, id, {...object, metadata}, 'MODIFIED');
      return;
    }
    if (!isHeld) this.remove(ref);
    if (propagation !== 'Orphan') this.#collect(object);
  }

  /** Takes an object away for good, as its last finalizer or its kubelet does. */
  remove({kind, namespace, name}: Ref): void {
    const id = idOf(kind, {namespace, name});
    const object = this.#at(kind, id, name);
    this.#objects.delete(id);
    this.#applied.delete(id);
    this.#record(kind.kind, 'DELETED', {
      ...object,
      metadata: {...object.metadata, resourceVersion: String(++this.#version)},
    });
  }

  /** Changes of a scope after a version, up to now. @throws {ApiError} `Expired`. */
  changesAfter(scope: Scope, version: number): readonly Change[] {
    if (version < this.#compacted) {
      throw new ApiError(410, 'Expired', 'that version was compacted away');
    }
    const found: Change[] = [];
    // The history is in the order of versions, and a watch lacks the end of it alone.
    for (let at = this.#history.length - 1; at >= 0; at--) {
      const change = this.#history[at];
      if (change === undefined || change.version <= version) break;
      if (isIn(scope, change.event.object)) found.push(change);
    }
    return found.reverse();
  }

  /** Forgets how it came to this. */
  compact(): void {
    this.#compacted = this.#version;
    this.#history = [];
  }

  /** Called after each change; the returned function ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #at(kind: Kind, id: string, name: string): KubeObject {
    const found = this.#objects.get(id);
    if (found === undefined) throw notFound(kind.kind, name);
    return found;
  }

  #change(kind: Kind, id: string, old: KubeObject, given: KubeObject): KubeObject {
    const admitted = this.#options.admit(given, old);
    const isSpecNew = canonicalJson(admitted.spec) !== canonicalJson(old.spec);
    const object = {
      ...admitted,
      metadata: {
        ...admitted.metadata,
        uid: old.metadata.uid ?? '',
        creationTimestamp: old.metadata.creationTimestamp ?? '',
        resourceVersion: old.metadata.resourceVersion ?? '',
        generation: (old.metadata.generation ?? 0) + (isSpecNew ? 1 : 0),
      },
    };
    const kept = WITH_STATUS.has(kind.kind) ? withStatusOf(object, old) : object;
    if (canonicalJson(kept) === canonicalJson(old)) return old;
    return this.#put(kind, id, kept, 'MODIFIED');
  }

  #put(kind: Kind, id: string, given: KubeObject, type: 'ADDED' | 'MODIFIED'): KubeObject {
    const metadata = {...given.metadata, resourceVersion: String(++this.#version)};
    const object = deepFrozen({...given, metadata});
    this.#objects.set(id, object);
    this.#record(kind.kind, type, object);
    return object;
  }

  #record(kind: string, type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject): void {
    this.#history.push({version: this.#version, kind, event: {type, object}});
    for (const listener of this.#listeners) listener();
  }

  /** What belongs to an object goes with it. */
  #collect({metadata: {uid}}: KubeObject): void {
    for (const object of this.#objects.values()) {
      if (!object.metadata.ownerReferences?.some(owner => owner.uid === uid)) continue;
      const {apiVersion, kind} = object;
      const {namespace = '', name} = object.metadata;
      const plural = `${kind.toLowerCase()}s`;
      const ref = {kind: {apiVersion, kind, plural, isNamespaced: true}, namespace, name};
      if (this.find(ref) !== undefined) this.delete(ref, {});
    }
  }
}

function withStatusOf(object: KubeObject, {status}: KubeObject): KubeObject {
  const {status: _, ...rest} = object;
  return status === undefined ? rest : {...rest, status};
}

function idOf(kind: Kind, name: {readonly namespace?: string; readonly name: string}): string {
  return `${kind.kind} ${keyOf(name)}`;
}

function notFound(kind: string, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${kind} ${name} not found`);
}

/** Equality of labels is all of a selector that the operator uses. */
function isIn({kind, namespace, labelSelector}: Scope, object: KubeObject): boolean {
  if (object.kind !== kind.kind || object.apiVersion !== kind.apiVersion) return false;
  if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
  return (labelSelector ?? '')
    .split(',')
    .filter(part => part !== '')
    .every(part => {
      const [name = '', value] = part.split('=');
      const label = object.metadata.labels?.[name];
      return value === undefined ? label !== undefined : label === value;
    });
}

function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const item of Object.values(value)) deepFrozen(item);
  return Object.freeze(value);
}
