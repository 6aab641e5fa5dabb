/** DEFINE FUNCTION and CREATE TRIGGER: syntax tree to commands. */
import type {NewTrigger} from '#server/catalog/change-routine.ts';
import type {FunctionDefinition} from '#server/catalog/definition.ts';
import {nearestNameHint} from '#server/catalog/nearest-name.ts';
import {functionSignature} from '#server/plan/function-table.ts';
import type {SchemaCommand} from '#server/plan/statement.ts';
import type {Name} from './ast.ts';
import type * as Sql from './ast-statement.ts';
import type {BindContext} from './bind-context.ts';

const functionLanguages: ReadonlyMap<string, FunctionDefinition['language']> = new Map([
  ['sql', 'sql'],
  ['opencypher', 'opencypher'],
  ['cypher', 'opencypher'],
  ['js', 'js'],
  ['javascript', 'js'],
]);

const triggerLanguages: ReadonlyMap<string, NewTrigger['language']> = new Map([
  ['sql', 'sql'],
  ['javascript', 'js'],
  ['js', 'js'],
]);

/** The name by which a function is called. */
export function functionName({library, name}: Sql.DropFunction | Sql.DefineFunction): string {
  return `${library.text}.${name.text}`;
}

export function bindDefineFunction(context: BindContext, ast: Sql.DefineFunction): SchemaCommand {
  const name = functionName(ast);
  if (functionSignature(name) !== undefined) {
    context.impossible(
      ast.library.at,
      `'${name}' is a function of the server: choose another name`,
    );
  }
  const language =
    ast.language === undefined ? 'sql' : languageOf(context, ast.language, functionLanguages);
  const parameters = ast.parameters.map(parameter => parameter.text);
  return {kind: 'create-function', definition: {name, language, parameters, code: ast.code}};
}

export function bindCreateTrigger(context: BindContext, ast: Sql.CreateTrigger): SchemaCommand {
  if (ast.language.text.toLowerCase() === 'java') {
    context.impossible(
      ast.language.at,
      'There are no Java classes to call here: write the trigger in SQL or JAVASCRIPT',
    );
  }
  const language = languageOf(context, ast.language, triggerLanguages);
  const {when, event, code, ifNotExists} = ast;
  const typeName = ast.type.text;
  const trigger = {name: ast.name.text, typeName, when, event, language, code};
  return {kind: 'create-trigger', trigger, ifNotExists};
}

function languageOf<L>(context: BindContext, name: Name, known: ReadonlyMap<string, L>): L {
  const language = known.get(name.text.toLowerCase());
  if (language !== undefined) return language;
  const words = [...known.keys()];
  const hint = nearestNameHint(name.text, words);
  return context.syntax(
    name.at,
    `'${name.text}' is no language of functions or triggers${hint}: ` +
      `expected one of ${words.join(', ')}`,
  );
}
