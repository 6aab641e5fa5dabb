/**
 * The dictionary of names: every entry can be read, no name has two ids, and what the schema
 * declares is there. Records are held against it when they are looked at.
 */
import {readUtf8, utf8Bytes} from '#server/base/utf8.ts';
import {idOfNameKey, nameKey, nameKeyBytes, namesRange} from '#server/layout/name-key.ts';
import {isUtf8} from '#server/layout/record-fault.ts';
import type {CheckState, Findings} from './check-state.ts';
import type {Finding} from './finding.ts';
import {unknownKey} from './unknown-keys.ts';

/** Fills `state.names`; so it comes before the records. */
export function* checkNames(state: CheckState): Findings {
  const ids = new Map<string, number>();
  yield* state.rows([namesRange()], ({bytes, keyStart, keyEnd, end}) => {
    if (keyEnd - keyStart !== nameKeyBytes) {
      return [unknownKey(bytes.subarray(keyStart, keyEnd), 'no key of a name is that long')];
    }
    const id = idOfNameKey(bytes, keyStart);
    const place = `name ${id}`;
    if (keyEnd === end || !isUtf8(bytes.subarray(keyEnd, end))) {
      state.names.set(id, undefined);
      return [{kind: 'name-damaged', place, says: 'its bytes are no name'}];
    }
    const name = readUtf8(bytes, keyEnd, end);
    const other = ids.get(name);
    ids.set(name, id);
    state.names.set(id, name);
    if (other === undefined) return [];
    return [{kind: 'name-damaged', place, says: `'${name}' is name ${other} already`}];
  });
  yield* declaredFindings(state);
}

/** The schema names its properties itself, so what the dictionary lacks of them is known. */
function* declaredFindings(state: CheckState): Generator<Finding> {
  for (const type of state.context.catalog.types) {
    for (const {id, name} of type.definition.properties) {
      const stored = state.names.get(id);
      if (stored === name) continue;
      const place = `${type.name}.${name}`;
      if (state.names.has(id)) {
        const says = `its name ${id} is '${stored ?? ''}' in the dictionary`;
        yield {kind: 'name-damaged', place, says};
        continue;
      }
      state.names.set(id, name);
      yield {
        kind: 'name-declared',
        place,
        says: `the dictionary lacks its name ${id}`,
        mend: ({transaction}) => {
          const key = nameKey(id);
          if (transaction.get(key) !== undefined) return;
          transaction.require({kind: 'unchanged', key});
          transaction.put(key, utf8Bytes(name));
        },
      };
    }
  }
}
