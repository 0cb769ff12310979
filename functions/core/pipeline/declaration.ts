/** From the text of `pipelines/<name>.yaml` to a Pipeline, or to all of its problems at once. */

import { type Problem } from '@tidewheel/kit/errors.ts';
import { check } from '@tidewheel/kit/validation.ts';
import { isPair, isSeq, parseDocument, visit, type YAMLParseError } from 'yaml';
import * as z from 'zod';
import { type Pipeline, pipelineSchema } from './pipeline.ts';
import { CHANGEABLE } from './run-parts.ts';
import { keepWritten, settleWritten } from './written-numbers.ts';

export type Declaration =
  | { readonly valid: true; readonly pipeline: Pipeline }
  | { readonly valid: false; readonly problems: readonly Problem[] };

/** Longest declaration read; a pipeline is a page, not a data set. */
const MAXIMUM_CHARACTERS = 100_000;

/**
 * @param name the name in the key or path, which the declaration must bear
 * @param text YAML (so JSON too), untrusted
 * @param notifiedMarker the only arrival that S3 notifies of; absent where it notifies of all
 */
export function readDeclaration(name: string, text: string, notifiedMarker?: string): Declaration {
  const read = readPlain(text);
  if ('problems' in read) return refuse(read.problems);
  const { numbers } = read;
  const declaration = checkDeclaration(name, withoutExtensions(read.plain));
  if (numbers.length > 0) return refuse([...numbers, ...(declaration.valid ? [] : declaration.problems)]);
  return declaration.valid && notifiedMarker !== undefined
    ? refuseUnnoticed(declaration, notifiedMarker)
    : declaration;
}

interface ChangeShape {
  readonly besides?: readonly string[];
  readonly section?: (typeof CHANGEABLE)[number];
}

/**
 * A declaration with some of its fields changed.
 * @param text YAML (so JSON too), untrusted: a part of a declaration. `null` takes a field out.
 * @param shape `besides`: fields of the text that are not the declaration's; `section`: all fields are of this section
 * @returns the whole declaration, or all problems of the changes
 */
export function changeDeclaration(
  pipeline: Pipeline,
  text: string,
  { besides = [], section }: ChangeShape = {},
): Declaration {
  const read = readPlain(text.trim() === '' ? '{}' : text);
  if ('problems' in read) return refuse(read.problems);
  const { numbers } = read;
  if (!isTable(read.plain))
    return refuse([{ path: '', message: 'is no table of fields: write a part of a declaration' }]);
  const fields = Object.fromEntries(Object.entries(read.plain).filter(([field]) => !besides.includes(field)));
  const plain = section === undefined ? fields : { [section]: fields };
  const foreign = Object.keys(plain)
    .filter((section) => !CHANGEABLE.some((each) => each === section))
    .map((section) => ({
      path: section,
      message: `cannot be changed for one run: change ${CHANGEABLE.join(', ')}, or the declaration of the pipeline`,
    }));
  const changed = checkDeclaration(pipeline.name, merged(pipeline, plain, DEPTH));
  const problems = [...foreign, ...numbers, ...(changed.valid ? [] : changed.problems)];
  return problems.length > 0 ? refuse(problems) : changed;
}

/** A section's fields, and single hyperparameters and variables of the environment, are changed one by one. */
const DEPTH = 3;

function merged(before: unknown, change: unknown, depth: number): unknown {
  if (depth === 0 || !isTable(before) || !isTable(change)) return change;
  const fields = new Map(Object.entries(before));
  for (const [field, value] of Object.entries(change)) {
    if (value === null) fields.delete(field);
    else fields.set(field, merged(fields.get(field), value, depth - 1));
  }
  return Object.fromEntries(fields);
}

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface Plain {
  readonly plain: unknown;
  /** Numbers that no number holds. */
  readonly numbers: readonly Problem[];
}

function readPlain(text: string): Plain | { readonly problems: readonly Problem[] } {
  if (text.length > MAXIMUM_CHARACTERS) {
    const message = `is ${text.length} characters long, keep it under ${MAXIMUM_CHARACTERS}`;
    return { problems: [{ path: '', message }] };
  }
  const document = parseDocument(text, { uniqueKeys: true, prettyErrors: true, merge: true });
  if (document.errors.length > 0) {
    const messages = new Set(document.errors.map(yamlProblem));
    return { problems: [...messages].map((message) => ({ path: '', message })) };
  }
  const numbers = numberProblems(document);
  keepWritten(document);
  const plain = toPlain(document);
  if (plain === undefined) return { problems: [TOO_MANY_ALIASES] };
  return { plain: settleWritten(plain.value), numbers };
}

/** Without marker and schedule nothing would start a run when data arrives. */
function refuseUnnoticed(declaration: Declaration & { readonly valid: true }, marker: string): Declaration {
  const { settle, schedule } = declaration.pipeline;
  if (settle.marker === marker || schedule !== undefined) return declaration;
  const message = `must be "${marker}", because S3 notifies this deployment of that name alone (docs/deploy.md), or declare a schedule`;
  return refuse([{ path: 'settle.marker', message }]);
}

/** Without the advice that the parser has for programmers. */
function yamlProblem({ code, message }: YAMLParseError): string {
  if (code === 'MULTIPLE_DOCS') return 'holds several YAML documents: write one, without a line of ---';
  // Each level takes a call of the parser.
  if (message.startsWith('Maximum call stack')) return 'is nested too deeply, take levels out';
  return `is not YAML: ${message}`;
}

/** As YAML's core schema writes them: decimal, hexadecimal, octal. */
const WHOLE_NUMBER = /^(?:[-+]?\d+|0x[\da-fA-F]+|0o[0-7]+)$/;

/** A number would otherwise become another one without a word. */
function numberProblems(document: ReturnType<typeof parseDocument>): readonly Problem[] {
  const problems: Problem[] = [];
  visit(document, {
    Scalar: (key, { value, source = '' }, ancestors) => {
      if (key === 'key' || typeof value !== 'number' || !WHOLE_NUMBER.test(source)) return;
      if (Number.isFinite(value) && BigInt(source.replace(/^\+/, '')) === BigInt(value)) return;
      const path = pathTo(ancestors, key);
      problems.push({
        path,
        message: `has ${source.replace(/^(?:[-+]|0[xo])/, '').length} digits, more than a number holds: put it in quotes to pass it as text`,
      });
    },
  });
  return problems;
}

/** `a.b[0]` of the node that lies at `key` below the last of the ancestors. */
function pathTo(ancestors: readonly unknown[], key: number | 'value' | null): string {
  return ancestors.reduce<string>((path, node, depth) => {
    if (isPair(node)) return `${path}${path === '' ? '' : '.'}${String(node.key)}`;
    const below = ancestors[depth + 1];
    if (!isSeq(node)) return path;
    return `${path}[${below === undefined ? Number(key) : node.items.indexOf(below)}]`;
  }, '');
}

/** Fields of the file's own, such as anchors that several fields repeat: `x-types: &types [g5.xlarge, g6.xlarge]`. */
function withoutExtensions(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([field]) => !field.startsWith('x-')));
}

/** The same for a body that is parsed already. */
function checkDeclaration(name: string, value: unknown): Declaration {
  const checked = check(pipelineSchema, value, 'shown');
  const problems = checked.ok ? [] : [...checked.problems];
  const declared = named(value);
  if (declared !== undefined && declared !== name) {
    problems.push({ path: 'name', message: `is "${declared}" but its key says "${name}", make them equal` });
  }
  return checked.ok && problems.length === 0 ? { valid: true, pipeline: checked.value } : refuse(problems);
}

const TOO_MANY_ALIASES: Problem = {
  path: '',
  message: 'repeats itself too often by YAML aliases (*name), write the values out',
};

/** A few lines of YAML aliases can otherwise grow to gigabytes. */
const MAXIMUM_ALIASES = 20;

function toPlain(document: ReturnType<typeof parseDocument>): { readonly value: unknown } | undefined {
  try {
    return { value: document.toJS({ maxAliasCount: MAXIMUM_ALIASES }) };
  } catch {
    return undefined;
  }
}

function named(value: unknown): string | undefined {
  const name = typeof value === 'object' && value !== null && 'name' in value ? value.name : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** The record of a pipeline holds its problems, and an item of DynamoDB 400 KB. */
const MOST_PROBLEMS = 50;
const LONGEST_TEXT = 1_000;

function refuse(all: readonly Problem[]): Declaration {
  const problems = all
    .slice(0, MOST_PROBLEMS)
    .map(({ path, message }) => ({ path: shortened(path), message: shortened(message) }));
  const untold = all.length - problems.length;
  if (untold > 0) problems.push({ path: '', message: `has ${untold} more problems, correct these first` });
  return { valid: false, problems };
}

/** What to write instead stands at the end. */
const shortened = (text: string): string =>
  text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT / 2)} … ${text.slice(-LONGEST_TEXT / 2)}` : text;

/** JSON Schema of a pipeline, for editors (docs/pipeline.schema.json). */
export const pipelineJsonSchema = (): unknown => ({
  ...z.toJSONSchema(pipelineSchema, { io: 'input' }),
  patternProperties: { '^x-': { description: 'Fields of your own, such as anchors.' } },
});
