/**
 * XML as events, read by `saxes` as it comes. Documents with a DOCTYPE are refused: what is
 * declared there could make a few lines fill the memory, and no format of an import needs one.
 */
import {SaxesParser} from 'saxes';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import {malformed} from '../exchanged-record.ts';
import {textOf} from '../lines.ts';

export type MarkupEvent =
  | {
      readonly kind: 'open';
      readonly name: string;
      readonly attributes: Readonly<Record<string, string>>;
      readonly line: number;
    }
  | {readonly kind: 'text'; readonly text: string}
  | {readonly kind: 'close'; readonly name: string};

const depthMax = 100;

/** @throws {Refusal} `source.malformed` with the line. */
export async function* markupOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<MarkupEvent> {
  const parser = new SaxesParser({xmlns: false, position: true});
  let events: MarkupEvent[] = [];
  let depth = 0;
  parser.on('error', error => {
    throw malformed(parser.line, error.message);
  });
  parser.on('doctype', () => {
    throw malformed(parser.line, 'a DOCTYPE is not read');
  });
  parser.on('opentag', ({name, attributes}) => {
    if (++depth > depthMax) throw malformed(parser.line, `it is nested over ${depthMax} deep`);
    events.push({kind: 'open', name: localName(name), attributes, line: parser.line});
  });
  parser.on('text', text => void events.push({kind: 'text', text}));
  parser.on('cdata', text => void events.push({kind: 'text', text}));
  parser.on('closetag', ({name}) => {
    depth -= 1;
    events.push({kind: 'close', name: localName(name)});
  });
  const taken = (): MarkupEvent[] => {
    const given = events;
    events = [];
    return given;
  };
  for await (const text of textOf(bytes)) {
    write(parser, text);
    yield* taken();
  }
  write(parser, null);
  yield* taken();
}

function write(parser: SaxesParser, text: string | null): void {
  try {
    if (text === null) parser.close();
    else parser.write(text);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw malformed(parser.line, reasonOf(error));
  }
}

/** The name behind the prefix of a name space. */
function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
