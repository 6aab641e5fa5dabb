/**
 * XML that is no format of graphs: each element inside the outermost one becomes a document, its
 * attributes and inner elements properties, elements that occur several times lists.
 */
import type {MapValue, Value} from '#server/model/value.ts';
import {type ExchangedItem, itemOrBad} from '../exchanged-record.ts';
import type {ImportOptions} from '../import-options.ts';
import {plainRecord} from '../plain-record.ts';
import {type MarkupEvent, markupOf} from './markup.ts';

interface Element {
  readonly name: string;
  readonly line: number;
  readonly fields: Map<string, Value>;
  text: string;
}

export async function* readXml(
  bytes: AsyncIterable<Buffer>,
  options: ImportOptions,
): AsyncGenerator<ExchangedItem> {
  const stack: Element[] = [];
  for await (const event of markupOf(bytes)) {
    const closed = step(stack, event);
    if (closed === undefined) continue;
    const {name, line, fields} = closed;
    if (stack.length === 1) {
      yield itemOrBad(() => plainRecord(documentIn(closed), options, line), line);
    } else {
      const parent = stack.at(-1);
      const value = fields.size === 0 ? closed.text.trim() : fields;
      if (parent !== undefined) addTo(parent.fields, name, value);
    }
  }
}

/** The element that the event closes. */
function step(stack: Element[], event: MarkupEvent): Element | undefined {
  switch (event.kind) {
    case 'open': {
      const {name, line, attributes} = event;
      stack.push({name, line, fields: new Map(Object.entries(attributes)), text: ''});
      return undefined;
    }
    case 'text': {
      const top = stack.at(-1);
      if (top !== undefined && stack.length > 1) top.text += event.text;
      return undefined;
    }
    default: {
      const closed = stack.pop();
      return stack.length === 0 ? undefined : closed;
    }
  }
}

function documentIn({fields, text}: Element): MapValue {
  const own = text.trim();
  return own === '' ? fields : new Map([...fields, ['text', own]]);
}

function addTo(fields: Map<string, Value>, name: string, value: Value): void {
  const before = fields.get(name);
  if (before === undefined) fields.set(name, value);
  else if (Array.isArray(before)) fields.set(name, [...(before as Value[]), value]);
  else fields.set(name, [before, value]);
}
