/**
 * What the schema says about a record's properties: conversion to declared types, defaults, and
 * the rules mandatory, notnull, readonly, min, max, regexp.
 *
 * Pure but for the evaluator of defaults. A refusal names type and property and shows the value.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {PropertyDefinition} from '#server/catalog/definition.ts';
import {compareTotal, equalValues, isListValue} from '#server/model/compare.ts';
import {convertValue, parseDataType} from '#server/model/data-type.ts';
import {parseDecimal} from '#server/model/decimal.ts';
import {jsonText} from '#server/model/json.ts';
import {compareNumbers, isNumberValue, type NumberValue} from '#server/model/number.ts';
import {regularExpressionTest} from '#server/model/regular-expression.ts';
import {ridText} from '#server/model/rid.ts';
import {EmbeddedValue, type MapValue, RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {DefaultEvaluator} from './context.ts';

/**
 * Properties as they will be stored; names that begin with @ are attributes and left out. The
 * given map itself where nothing changes.
 */
export function convertProperties(
  catalog: Catalog,
  type: CatalogType,
  properties: MapValue,
): MapValue {
  let changed: Map<string, Value> | undefined;
  for (const [name, value] of properties) {
    if (name.startsWith('@')) {
      changed ??= new Map(properties);
      changed.delete(name);
      continue;
    }
    const declared = type.properties.get(name);
    const stored =
      declared === undefined
        ? plainValue(value)
        : convertDeclared(catalog, declared, value, `${type.name}.${name}`);
    if (Object.is(stored, value)) continue;
    changed ??= new Map(properties);
    changed.set(name, stored);
  }
  return changed ?? properties;
}

/** An undeclared value is stored as it is; records in it become links. */
function plainValue(value: Value): Value {
  return value instanceof RecordValue ? value.rid : value;
}

function convertDeclared(
  catalog: Catalog,
  declared: PropertyDefinition,
  value: Value,
  place: string,
): Value {
  const converted = convertValue(value, declared, place);
  const {ofType} = declared;
  if (ofType === undefined || parseDataType(ofType) !== undefined) return converted;
  return checkElements(catalog, ofType, converted, place);
}

/** Embedded documents follow their own type; links lead to records of the declared one. */
function checkElements(catalog: Catalog, ofType: string, value: Value, place: string): Value {
  if (value instanceof EmbeddedValue) {
    const type = catalog.type(value.typeName);
    if (type === undefined) return value;
    const wanted = catalog.type(ofType);
    if (wanted !== undefined && !wanted.familyIds.has(type.id)) {
      throw misfit(place, `a document of type '${type.name}' is no '${ofType}'`);
    }
    const properties = convertProperties(catalog, type, value.properties);
    checkRules(type, properties);
    checkComplete(type, properties);
    return new EmbeddedValue(value.typeName, properties);
  }
  if (value instanceof Rid) {
    const wanted = catalog.type(ofType);
    const type = catalog.typeOfBucket(value.bucket);
    if (wanted === undefined || type === undefined || wanted.familyIds.has(type.id)) return value;
    throw misfit(place, `${ridText(value)} is a '${type.name}' and no '${ofType}'`);
  }
  if (Array.isArray(value)) {
    return value.map((element, at) => checkElements(catalog, ofType, element, `${place}[${at}]`));
  }
  if (!(value instanceof Map)) return value;
  const checked = new Map<string, Value>();
  for (const [key, entry] of value as MapValue) {
    checked.set(key, checkElements(catalog, ofType, entry, `${place}.${key}`));
  }
  return checked;
}

function misfit(place: string, message: string): Refusal {
  return new Refusal('value.type', `${message} ('${place}')`, {detail: {property: place}});
}

/**
 * The properties with the defaults of those that the record does not have. The given map itself
 * where it has all.
 */
export function withDefaults(
  catalog: Catalog,
  type: CatalogType,
  properties: MapValue,
  evaluate: DefaultEvaluator,
): MapValue {
  let added: Map<string, Value> | undefined;
  for (const property of type.ruledProperties) {
    if (property.defaultText === undefined || properties.has(property.name)) continue;
    const value = evaluate(property.defaultText);
    const place = `${type.name}.${property.name}`;
    added ??= new Map(properties);
    added.set(property.name, convertDeclared(catalog, property, value, place));
  }
  return added ?? properties;
}

type RuledType = Pick<CatalogType, 'name' | 'ruledProperties'>;

/**
 * Refuses (`value.validation`) values that break a rule; what is missing is for `checkComplete`.
 *
 * @param before - Properties of the stored record when one is changed: readonly ones must be
 * the same in both.
 */
export function checkRules(type: RuledType, properties: MapValue, before?: MapValue): void {
  for (const property of type.ruledProperties) {
    const place = `${type.name}.${property.name}`;
    const value = properties.get(property.name);
    if (before !== undefined && property.readonly) checkReadonly(place, property, value, before);
    if (value === undefined) continue;
    if (value === null) {
      if (property.notNull) throw broken(place, 'cannot be null');
      continue;
    }
    checkBounds(place, property, value);
    if (property.regexp !== undefined && typeof value === 'string') {
      checkPattern(place, property.regexp, value);
    }
  }
}

/** A mandatory property that the record does not have. */
export function missingProperty(
  type: RuledType,
  record: {get(name: string): Value | undefined},
): PropertyDefinition | undefined {
  return type.ruledProperties.find(
    property => property.mandatory && record.get(property.name) === undefined,
  );
}

/** @throws {Refusal} `value.validation` for a mandatory property that is missing. */
export function checkComplete(
  type: RuledType,
  record: {get(name: string): Value | undefined},
): void {
  const missing = missingProperty(type, record);
  if (missing === undefined) return;
  throw broken(`${type.name}.${missing.name}`, 'is mandatory, but the record does not have it');
}

function checkReadonly(
  place: string,
  property: PropertyDefinition,
  value: Value | undefined,
  before: MapValue,
): void {
  const old = before.get(property.name);
  const same = value === undefined || old === undefined ? value === old : equalValues(value, old);
  if (!same) throw broken(place, 'is readonly and cannot be changed');
}

function checkBounds(place: string, property: PropertyDefinition, value: Value): void {
  const {min, max} = property;
  if (min !== undefined && againstBound(property, value, min) < 0) {
    throw broken(place, `${measured(value)} is less than ${shown(min)}`);
  }
  if (max !== undefined && againstBound(property, value, max) > 0) {
    throw broken(place, `${measured(value)} is greater than ${shown(max)}`);
  }
}

/** Compares the value, or its length or size, with a bound. */
function againstBound(property: PropertyDefinition, value: Value, bound: Value): number {
  const size = sizeOf(value);
  if (size !== undefined || isNumberValue(value)) {
    return compareNumbers(size ?? (value as NumberValue), boundNumber(property, bound));
  }
  return compareTotal(value, convertValue(bound, property, property.name));
}

function sizeOf(value: Value): number | undefined {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  if (isListValue(value)) return value.length;
  return value instanceof Map ? value.size : undefined;
}

function boundNumber(property: PropertyDefinition, bound: Value): NumberValue {
  if (isNumberValue(bound)) return bound;
  const number = typeof bound === 'string' ? parseDecimal(bound.trim()) : undefined;
  if (number !== undefined) return number;
  throw new Refusal('value.validation', `min or max of '${property.name}' is not a number`);
}

function checkPattern(place: string, pattern: string, value: string): void {
  if (regularExpressionTest(pattern)(value)) return;
  throw broken(place, `does not match the regular expression '${pattern}': ${shown(value)}`);
}

function measured(value: Value): string {
  const size = sizeOf(value);
  return size === undefined ? `value ${shown(value)}` : `size ${size}`;
}

function shown(value: Value): string {
  const text = jsonText(value);
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}

function broken(place: string, message: string): Refusal {
  return new Refusal('value.validation', `The property '${place}' ${message}`, {
    detail: {property: place},
  });
}
