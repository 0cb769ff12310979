/** From the text of `pipelines/<name>.yaml` to a Pipeline, or to all of its problems at once. */

import { type Problem } from '@tidewheel/kit/errors.ts';
import { isTable } from '@tidewheel/kit/tables.ts';
import { check } from '@tidewheel/kit/validation.ts';
import { isPair, isSeq, parseDocument, visit, type YAMLParseError } from 'yaml';
import * as z from 'zod';
import { heldForClasses } from './packing-parts.ts';
import { type Pipeline, pipelineSchema } from './pipeline.ts';
import { CHANGEABLE } from './run-parts.ts';
import { asWritten, idleProblems, misplacedProblems, placed, writtenPath, writtenSchema } from './tuning.ts';
import { packlessProblems } from './unpacked.ts';
import { keepWritten, settleWritten } from './written-numbers.ts';

export type Declaration =
  | { readonly valid: true; readonly pipeline: Pipeline }
  | { readonly valid: false; readonly problems: readonly Problem[] };

/** Longest declaration read; a pipeline is a page, not a data set. */
const MAXIMUM_CHARACTERS = 100_000;

/**
 * Of a file that a person applies. A field that stands where an earlier release had it is refused, with its new place.
 * @param name the name in the key or path, which the declaration must bear
 * @param text YAML (so JSON too), untrusted
 */
export const readDeclaration = (name: string, text: string): Declaration => read(name, text, 'applied');

/**
 * Of what lies in the bucket, perhaps since an earlier release: its fields count wherever they stand, and it holds the
 * run for what it rejected by classes.
 */
export const readStored = (name: string, text: string): Declaration => read(name, text, 'stored');

function read(name: string, text: string, origin: 'applied' | 'stored'): Declaration {
  const plain = readPlain(text);
  if ('problems' in plain) return refuse(plain.problems);
  const given = withoutExtensions(plain.plain);
  const misplaced = misplacedProblems(given);
  const value = origin === 'stored' ? heldForClasses(placed(given)) : placed(given);
  const packless = packlessProblems(value).map(asPeopleWrite);
  const problems = [...plain.numbers, ...hiddenProblems(text), ...idleProblems(given), ...packless];
  const declaration = checkDeclaration(name, value, [
    ...problems,
    ...(origin === 'applied' ? misplaced : []),
  ]);
  return declaration.valid || origin === 'applied'
    ? declaration
    : refuse([...misplaced, ...declaration.problems]);
}

/** An answer of `tidewheel mcp` hid a value, and the text was stored again. */
function hiddenProblems(text: string): readonly Problem[] {
  const [hidden] = /<hidden(?: [\w.-]+)?>/.exec(text) ?? [];
  return hidden === undefined ? [] : [{ path: '', message: `holds ${hidden}: write the value itself` }];
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
  // The body of one section has all fields of that section.
  if (section !== undefined)
    return checkDeclaration(pipeline.name, merged(pipeline, { [section]: fields }, DEPTH), numbers);
  const change = placed(fields);
  return checkDeclaration(pipeline.name, merged(pipeline, change, DEPTH), [
    ...foreignProblems(change),
    ...misplacedProblems(fields),
    ...numbers,
  ]);
}

const foreignProblems = (change: unknown): readonly Problem[] =>
  Object.keys(isTable(change) ? change : {})
    .filter((section) => section !== 'tuning' && !CHANGEABLE.some((each) => each === section))
    .map((section) => ({
      path: section,
      message: `cannot be changed for one run: change ${CHANGEABLE.join(', ')}, or the declaration of the pipeline`,
    }));

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
  if (!isTable(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([field]) => !field.startsWith('x-')));
}

/**
 * @param value as the code has it: the fields of `tuning` are in their sections
 * @param problems of how it is written
 * @returns every problem by the name that people write
 */
export function checkDeclaration(
  name: string,
  value: unknown,
  problems: readonly Problem[] = [],
): Declaration {
  const checked = check(pipelineSchema, value, 'shown');
  const found = [...problems, ...(checked.ok ? [] : writtenProblems(value, checked.problems))];
  const declared = isTable(value) ? value['name'] : undefined;
  if (typeof declared === 'string' && declared !== name)
    found.push({ path: 'name', message: `is "${declared}" but its key says "${name}", make them equal` });
  return checked.ok && found.length === 0 ? { valid: true, pipeline: checked.value } : refuse(found);
}

/** How `check` begins to speak of a field that is not there. */
const UNKNOWN = 'has no field';

/** Of fields by themselves, whose remedies name what may be written there, and of what fields mean together. */
function writtenProblems(value: unknown, all: readonly Problem[]): readonly Problem[] {
  const single = check(writtenSchema, asWritten(value), 'shown');
  if (single.ok) return all.map(asPeopleWrite);
  const known = new Set(single.problems.map(textOf));
  return [
    ...single.problems,
    ...all
      .map(asPeopleWrite)
      .filter((problem) => !known.has(textOf(problem)) && !problem.message.startsWith(UNKNOWN)),
  ];
}

const textOf = ({ path, message }: Problem): string => `${path} ${message}`;
const asPeopleWrite = ({ path, message }: Problem): Problem => ({ path: writtenPath(path), message });

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
  ...withWord(z.toJSONSchema(writtenSchema, { io: 'input' })),
  patternProperties: { '^x-': { description: 'Fields of your own, such as anchors.' } },
});

/** `packing: none` stands for a table of its own. */
function withWord({ properties = {}, ...schema }: z.core.JSONSchema.JSONSchema): object {
  const { packing, ...others } = properties;
  const word = {
    const: 'none',
    description: 'No shards: the script reads the sealed files (docs/datasets.md).',
  };
  return { ...schema, properties: { ...others, packing: { anyOf: [word, packing] } } };
}
