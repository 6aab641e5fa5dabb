/**
 * What reading a record needs of the schema: names for the ids that its bytes hold.
 *
 * The owner of a catalog and a dictionary implements it; layout/ knows neither.
 */
export interface RecordSchema {
  /** Name of a type; of one that was dropped, some text that says so. */
  typeName(typeId: number): string;
  propertyName(id: number): string;
  /** Undefined when no record ever had a property of that name. */
  propertyId(name: string): number | undefined;
}
