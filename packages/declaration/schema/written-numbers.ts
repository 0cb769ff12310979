/**
 * Keeps numbers and booleans as a declaration writes them, where a script gets them: 0.0 would otherwise arrive as 0.
 * Arguments, variables and versions are text, so there the source is the value. Hyperparameters stay numbers.
 */
import { type Document, isScalar, parseDocument, visit } from 'yaml';

/** A number of JSON. YAML's other forms (.5, 0x1f) become one. */
export const WRITTEN_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;
const LONGEST_WRITTEN = 60;

class Written {
  readonly value: number | boolean;
  readonly source: string;

  constructor(value: number | boolean, source: string) {
    this.value = value;
    this.source = source;
  }
}

type Use = 'plain' | 'number' | 'text';

/** Marks every number and boolean of the document with its source. */
export function keepWritten(document: Document.Parsed): void {
  visit(document, (key, node) => {
    if (key === 'key' || !isScalar(node)) return;
    const { value, source } = node;
    if ((typeof value === 'number' || typeof value === 'boolean') && source !== undefined)
      node.value = new Written(value, source);
  });
}

const USES: Readonly<Record<string, Use>> = {
  hyperparameters: 'number',
  arguments: 'text',
  command: 'text',
  environment: 'text',
  // 2.10 is no 2.1.
  frameworkVersion: 'text',
};

/** Replaces the marks: by a text or a number in its form in the fields of a script, and by the value elsewhere. */
export function settleWritten(root: unknown): unknown {
  const plain = copier('plain');
  if (!isTable(root) || !isTable(root['training'])) return plain(root);
  const { training, ...others } = root;
  const fields = { number: copier('number'), text: copier('text'), plain };
  const settled = Object.entries(training).map(([field, value]): [string, unknown] => [
    field,
    fields[(Object.hasOwn(USES, field) && USES[field]) || 'plain'](value),
  ]);
  return {
    ...tableFrom(Object.entries(others).map(([field, value]) => [field, plain(value)])),
    training: tableFrom(settled),
  };
}

/** The value of one field that stands alone, as on a command line; what is no YAML is text. */
export function writtenValue([section, field = '']: readonly string[], source: string): unknown {
  const document = parseDocument(source);
  if (document.errors.length > 0) return source;
  keepWritten(document);
  const isText = section === 'training' && Object.hasOwn(USES, field) && USES[field] === 'text';
  return copier(isText ? 'text' : 'plain')(document.toJS());
}

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Written);

/** Own keys of all names, `__proto__` too. */
const tableFrom = (fields: readonly (readonly [string, unknown])[]): Record<string, unknown> =>
  Object.fromEntries(fields);

/** Aliases of YAML name one object in several places, and may name an object that holds them. */
function copier(use: Use): (value: unknown) => unknown {
  const copies = new Map<object, unknown>();
  const copy = (value: unknown): unknown => {
    if (value instanceof Written) return valueOf(value, use);
    if (typeof value !== 'object' || value === null) return value;
    if (copies.has(value)) return copies.get(value);
    const made: unknown[] | Record<string, unknown> = Array.isArray(value) ? [] : {};
    copies.set(value, made);
    for (const [field, item] of Object.entries(value))
      Object.defineProperty(made, field, {
        value: copy(item),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    return made;
  };
  return copy;
}

function valueOf({ value, source }: Written, use: Use): unknown {
  if (use === 'text') return source;
  if (use === 'plain' || typeof value === 'boolean' || source === String(value)) return value;
  return WRITTEN_NUMBER.test(source) && source.length <= LONGEST_WRITTEN ? { number: source } : value;
}
