/**
 * The page of every HTTP route with its parameters, body and statuses, made from the OpenAPI
 * document that a server answers. Pure: the document in, Markdown out.
 */
import {openApiDocument} from '#server/protocols/http/documentation/openapi.ts';

type Documents = ReturnType<typeof openApiDocument>;
type Operation = Documents['paths'][string][string];

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly example?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

/** The parts of the page, in the order of the document's tags. */
export function httpReference(): readonly string[] {
  const {paths} = openApiDocument('');
  const byTag = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const [tag = 'Other'] = operation.tags;
      const parts = byTag.get(tag) ?? [];
      parts.push(...operationParts(`${method.toUpperCase()} ${path}`, operation));
      byTag.set(tag, parts);
    }
  }
  return [...byTag].flatMap(([tag, parts]) => [`## ${tag}`, ...parts]);
}

function operationParts(at: string, operation: Operation): string[] {
  const {summary, description, security, parameters, requestBody, responses} = operation;
  const open = security === undefined ? '' : ' No credentials are asked for.';
  return [
    `### \`${at}\``,
    `**${summary}.** ${description}${open}`,
    ...parametersPart(parameters as readonly Parameter[]),
    ...bodyPart(requestBody),
    `Answers ${Object.entries(responses).map(statusText).join('; ')}.`,
  ];
}

function statusText([status, response]: readonly [string, unknown]): string {
  const {description} = response as {readonly description: string};
  return `\`${status}\` ${lowered(description)}`;
}

function lowered(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function parametersPart(parameters: readonly Parameter[]): string[] {
  if (parameters.length === 0) return [];
  const rows = parameters.map(({name, in: where, required, description, schema}) => [
    `\`${name}\``,
    where,
    required === true ? 'yes' : 'no',
    described({...schema, ...(description === undefined ? {} : {description})}),
  ]);
  return [table(['parameter', 'in', 'required', 'what it is'], rows)];
}

function bodyPart(body: unknown): string[] {
  const {content} = (body ?? {}) as {
    readonly content?: Readonly<Record<string, {readonly schema?: Schema}>>;
  };
  if (content === undefined) return [];
  return Object.entries(content).map(([type, {schema}]) => {
    const properties = Object.entries(schema?.properties ?? {});
    if (properties.length === 0) return `The body is \`${type}\`.`;
    const required = schema?.required ?? [];
    const rows = properties.map(([name, field]) => [
      `\`${name}\``,
      required.includes(name) ? 'yes' : 'no',
      described(field),
    ]);
    return table([`field of the body (\`${type}\`)`, 'required', 'what it is'], rows);
  });
}

/** Type, meaning, bounds and an example of one value. */
function described(schema: Schema): string {
  const {description, default: usual, example} = schema;
  const parts = [
    typeText(schema),
    ...(description === undefined ? [] : [description]),
    ...(usual === undefined ? [] : [`default \`${JSON.stringify(usual)}\``]),
    ...(example === undefined ? [] : [`such as \`${JSON.stringify(example)}\``]),
  ].filter(part => part !== '');
  return parts.join('; ').replaceAll('|', '\\|');
}

function typeText({type, items, enum: values, oneOf, ...bounds}: Schema): string {
  if (values !== undefined) return values.map(value => `\`${String(value)}\``).join(', ');
  if (oneOf !== undefined) return oneOf.map(typeText).join(' or ');
  const names = typeof type === 'string' ? [type] : (type ?? []);
  const {minLength, maxLength, minimum, maximum} = bounds;
  const [least, most] = [minLength ?? minimum, maxLength ?? maximum];
  const range = [
    ...(least === undefined ? [] : [`from ${least}`]),
    ...(most === undefined ? [] : [`to ${most}`]),
    ...(minLength === undefined && maxLength === undefined ? [] : ['characters']),
  ].join(' ');
  const of = items === undefined ? '' : ` of ${typeText(items)}`;
  return `${names.join(' or ')}${of}${range === '' ? '' : ` ${range}`}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
