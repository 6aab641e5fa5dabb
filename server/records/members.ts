/**
 * Which type a record counts for, and the keys of records that lie in another type's bucket
 * (layout/stray-member-key.ts).
 *
 * Invariant X2: a record that lies in no bucket of its type has one stray member's key, and no
 * other record has one; a bucket's counter counts the records of its own type that lie in it, the
 * first bucket of a type those that lie elsewhere too.
 */
import {Refusal} from '#server/base/errors.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {
  strayMemberKey,
  strayMembers,
  strayMembersOf,
  readForeignMember,
} from '#server/layout/stray-member-key.ts';
import type {Rid} from '#server/model/value.ts';
import type {Reader} from '#server/storage/store.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';

const nothing = new Uint8Array();

/** A record is one of the type's from now on. */
export function addMember(transaction: Transaction, type: CatalogType, rid: Rid): void {
  if (!isHome(type, rid)) transaction.put(strayMemberKey(type.id, rid), nothing);
  transaction.count(countedBucket(type, rid), 1);
}

/** A record is none of the type's any more. */
export function removeMember(transaction: Transaction, type: CatalogType, rid: Rid): void {
  if (!isHome(type, rid)) transaction.delete(strayMemberKey(type.id, rid));
  transaction.count(countedBucket(type, rid), -1);
}

function isHome(type: CatalogType, rid: Rid): boolean {
  return type.bucketIds.includes(rid.bucket);
}

/** The bucket whose counter a record of the type is in. */
export function countedBucket(type: CatalogType, rid: Rid): number {
  return isHome(type, rid) ? rid.bucket : (type.bucketIds[0] ?? rid.bucket);
}

/** Walks the ids of the types' records that lie in none of the buckets. */
export class StrayMembers {
  private readonly walker: RowWalker;
  private readonly buckets: ReadonlySet<number>;

  constructor(reader: Reader, typeIds: Iterable<number>, buckets: Iterable<number>) {
    this.walker = new RowWalker(reader, Array.from(typeIds, strayMembersOf), {bufferBytes: 1024});
    this.buckets = new Set(buckets);
  }

  /** The next 1 to `max` of them, or undefined at the end. */
  next(max: number): readonly Rid[] | undefined {
    const rids: Rid[] = [];
    const {walker} = this;
    while (rids.length < max && walker.next()) {
      const {rid} = readForeignMember(walker.bytes, walker.keyStart);
      if (!this.buckets.has(rid.bucket)) rids.push(rid);
    }
    return rids.length === 0 ? undefined : rids;
  }

  close(): void {
    this.walker.close();
  }
}

/**
 * Refuses to empty buckets while records of one type lie in a bucket of another and either is
 * concerned: a bucket is emptied as one range of keys. Guards the commit against new ones.
 */
export function requireNoForeigners(
  transaction: Transaction,
  catalog: Catalog,
  buckets: readonly number[],
): void {
  if (buckets.length === 0) return;
  transaction.require({kind: 'range-untouched', ...strayMembers});
  const emptied = new Set(buckets);
  const walker = new RowWalker(transaction, [strayMembers]);
  try {
    while (walker.next()) {
      const {typeId, rid} = readForeignMember(walker.bytes, walker.keyStart);
      const type = catalog.typeById(typeId);
      const isConcerned =
        emptied.has(rid.bucket) || type?.bucketIds.some(bucket => emptied.has(bucket)) === true;
      if (!isConcerned) continue;
      const host = catalog.typeOfBucket(rid.bucket)?.name ?? `bucket ${rid.bucket}`;
      throw new Refusal(
        'schema.conflict',
        `records of type '${type?.name ?? typeId}' lie among those of '${host}' since their ` +
          'labels were changed: delete them first',
      );
    }
  } finally {
    walker.close();
  }
}
